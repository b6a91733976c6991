"""The paper's simulations, the published study, calibration, sweeps, sessions without an arm.

Imports recording, participant, study and figures. No ROS.
"""
