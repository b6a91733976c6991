"""The paper's simulations, the published study, calibration, sweeps, sessions without an arm.

Imports core, parameters, tasks, learning, recording, participant, figures and study; no ROS.
"""
