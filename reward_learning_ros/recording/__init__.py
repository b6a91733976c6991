"""Recordings: rosbag2 in MCAP and SQLite, sessions read back, re-inference and re-detection.

Imports what is below sessions: core, tasks, arm, sensing, interface, learning. No ROS.
"""
