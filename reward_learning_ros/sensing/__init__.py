"""From torque and pose samples to corrections; no ROS."""
