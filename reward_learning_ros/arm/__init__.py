"""The FR3: description, kinematics, limits, timing, MuJoCo simulation, controllers.

Imports core, parameters and interface. No ROS.
"""
