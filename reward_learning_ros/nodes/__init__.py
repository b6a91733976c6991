"""The ROS 2 nodes: thin shells around the packages that do the work.

Imports core, parameters, interface, arm, playback, sensing, learning, recording, participant and
session.
"""
