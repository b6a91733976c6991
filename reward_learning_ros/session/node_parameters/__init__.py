"""The parameters of each node: one frozen dataclass, the only place of defaults and ranges.

Imports the packages whose parameters a node takes; `nodes` derives ROS parameters from it. No ROS.
"""
