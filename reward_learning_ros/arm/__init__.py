"""The FR3 arm: kinematics, limits, timing, simulation; no ROS."""
