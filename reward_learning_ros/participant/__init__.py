"""The simulated person at the arm: who they are, what they mean, and the hand that does it.

Imports core, parameters, interface, arm, sensing and learning; no ROS.
"""
