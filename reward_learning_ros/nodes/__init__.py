"""The ROS 2 nodes: thin shells around core, arm and sensing."""
