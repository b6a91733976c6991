"""Recordings: rosbag2 bags written, read and repaired, sessions read back and inferred again.

Imports core, parameters, interface, arm, sensing and learning; no ROS.
"""
