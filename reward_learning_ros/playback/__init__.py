"""Playback of plans on an arm: motions, safety checks and states.

Imports core, parameters, interface, arm and sensing; no ROS.

This file itself imports nothing, so that whoever needs only parameters waits for no kernels.
"""
