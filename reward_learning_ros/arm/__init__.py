"""The FR3: description, kinematics, limits, timing, scenes and its simulation in MuJoCo.

Imports core, parameters and interface; no ROS.
"""
