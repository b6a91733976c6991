"""What contact detection knows between two ticks, what it tells, and its settings, as records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reward_learning_ros.sensing.bias import FEATURE_COUNT
from reward_learning_ros.sensing.samples import JOINT_COUNT

# Windows that wait until it has stayed quiet: up to 2.5 s.
WAITING = 25

IDLE, CONTACT = 0, 1
DETECT, LEARN = 0, 1
# Where the tool is seen: nobody knows, held away from its set-point, or at it.
UNSEEN, HELD_AWAY, AT_SET_POINT = 0, 1, 2
RELEASED, GAP, CLOCK_JUMP, TIMEOUT, ZEROED = range(5)
ONSET, END = 0, 1

_JOINTS = (JOINT_COUNT,)
# What is gathered during a contact and told at its end.
_OF_A_CONTACT = [
    ('peak_statistic', 'f8'),
    ('peak_torque', 'f8'),
    ('peak_force', 'f8'),
    ('ticks', 'i8'),
    ('saturated', 'i8'),
    ('zero_wrench', 'i8'),
    ('gap_ns', 'i8'),
]
STATE = np.dtype(
    [
        ('mode', 'i8'),
        ('tool', 'i8'),
        ('time_ns', 'i8'),
        ('epoch', 'i8'),
        ('settled_ns', 'i8'),
        ('zero_until_ns', 'i8'),
        ('last_raw', 'f8', _JOINTS),
        ('raw_before', 'f8', _JOINTS),
        ('first_stage', 'f8', _JOINTS),
        ('torque', 'f8', _JOINTS),
        ('roughness', 'f8', _JOINTS),
        ('force_first_stage', 'f8', (3,)),
        ('force', 'f8', (3,)),
        ('force_baseline', 'f8', (3,)),
        ('force_time_ns', 'i8'),
        ('weights', 'f8', (FEATURE_COUNT, JOINT_COUNT)),
        ('covariance', 'f8', (FEATURE_COUNT, FEATURE_COUNT)),
        ('feature', 'f8', (FEATURE_COUNT,)),
        ('bias', 'f8', _JOINTS),
        ('bias_variance', 'f8'),
        ('bias_time_ns', 'i8'),
        ('noise_variance', 'f8', _JOINTS),
        ('noise_windows', 'i8'),
        ('fluctuation', 'f8', _JOINTS),
        ('glance_start_ns', 'i8'),
        ('glance_count', 'i8'),
        ('glance_sum', 'f8', _JOINTS),
        ('glance_square', 'f8', _JOINTS),
        ('window_start_ns', 'i8'),
        ('window_count', 'i8'),
        ('window_feature', 'f8', (FEATURE_COUNT,)),
        ('window_torque', 'f8', _JOINTS),
        ('window_residual', 'f8', _JOINTS),
        ('window_square', 'f8', _JOINTS),
        ('jump_ns', 'i8'),
        ('waiting', 'i8'),
        ('waiting_feature', 'f8', (WAITING, FEATURE_COUNT)),
        ('waiting_torque', 'f8', (WAITING, JOINT_COUNT)),
        ('waiting_residual', 'f8', (WAITING, JOINT_COUNT)),
        ('waiting_square', 'f8', (WAITING, JOINT_COUNT)),
        ('phase', 'i8'),
        ('evidence_sec', 'f8'),
        ('rising_ns', 'i8'),
        ('rising_statistic', 'f8'),
        ('crossing_ns', 'i8'),
        ('crossing_statistic', 'f8'),
        ('sudden_ns', 'i8'),
        ('earliest_onset_ns', 'i8'),
        ('below_ns', 'i8'),
        ('onset_variance', 'f8'),
        ('unsure_ns', 'i8'),
        ('unsure_torque', 'f8'),
        ('released_ns', 'i8'),
        ('steady_ns', 'i8'),
        ('steady_torque', 'f8', _JOINTS),
        ('bridging', 'i8'),
        ('gap_start_ns', 'i8'),
        ('direction', 'f8', _JOINTS),
        ('onset_ns', 'i8'),
        *_OF_A_CONTACT,
        ('total_saturated', 'i8'),
        ('total_zero_wrench', 'i8'),
    ]
)
# Moments that have not come are -1.
TIMES = (
    'time_ns',
    'bias_time_ns',
    'force_time_ns',
    'rising_ns',
    'crossing_ns',
    'sudden_ns',
    'zero_until_ns',
    'below_ns',
    'jump_ns',
    'unsure_ns',
    'steady_ns',
)

EVENT = np.dtype(
    [
        ('kind', 'i8'),
        ('tick', 'i8'),
        ('time_ns', 'i8'),
        ('onset_ns', 'i8'),
        ('end_ns', 'i8'),
        ('reason', 'i8'),
        *_OF_A_CONTACT,
    ]
)


class Settings(NamedTuple):
    """The parameters as the machine uses them; see ContactParameters for what they mean."""

    on_threshold: float
    off_threshold: float
    on_torque_nm: float
    off_torque_nm: float
    on_dwell_sec: float
    off_dwell_ns: int
    gap_ns: int
    bridge_ns: int
    longest_ns: int
    time_constant_sec: float
    delay_ns: int
    noise_floor_variance: float
    prior_variance: float
    model_error_variance: float
    drift_variance_per_sec: float
    quiet_windows: int
    saturation_nm: np.ndarray
