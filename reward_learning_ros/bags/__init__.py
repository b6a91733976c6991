"""Recordings, ours and those of others; no ROS."""
