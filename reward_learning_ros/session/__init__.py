"""A whole session: its states, its inference, its folder, its processes and its report.

Imports core, parameters, interface, arm, tasks, playback, sensing, learning, recording,
participant and figures; no ROS.
"""
