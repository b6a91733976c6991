"""From samples of torque and pose to contacts and the corrections of a pass.

Imports core, parameters, interface and arm; no ROS.
"""
