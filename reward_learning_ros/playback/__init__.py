"""Playback of plans on an arm: motions, safety checks and states.

Imports core, parameters, interface, arm and sensing; no ROS.

This file itself imports nothing: who needs only parameters or ages of requests waits for no kernels.
"""
