"""Playback of plans on an arm: motions, guards and states; no ROS.

Nothing is imported here: who needs only parameters or ages of requests waits for no kernels.
"""
