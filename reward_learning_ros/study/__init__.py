"""Studies: simulated people, calibration, statistics, figures; no ROS."""
