"""The state of contact detection between two samples, what it is told and what it reports."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np

from reward_learning_ros.sensing.bias import BIAS_STATE, BiasSettings
from reward_learning_ros.sensing.filtering import FILTER_STATE, FilterSettings
from reward_learning_ros.sensing.samples import JOINT_COUNT


class Phase(IntEnum):
    """The states of the detector; in all but the first a contact is open."""

    IDLE = 0
    HOLDING = 1
    FALLING = 2
    BRIDGING = 3


class Mode(IntEnum):
    """What a quiet or loud torque is evidence of."""

    DETECT = 0
    LEARN = 1


class Tool(IntEnum):
    """What is known of the tool: unknown, at its set-point or held away from it."""

    UNKNOWN = 0
    HELD_AWAY = 1
    AT_SET_POINT = 2


class EndReason(Enum):
    """Why a contact ended; events have the place in this list."""

    RELEASED = 'released'
    GAP = 'gap in the torque'
    CLOCK_JUMP = 'clock jumped'
    TIMEOUT = 'longer than any push'
    ZEROED = 'bias zeroed'


ONSET, END = 0, 1

_JOINTS = (JOINT_COUNT,)
# What is gathered during a contact and reported at its end.
_SUMMARY = [
    ('peak_statistic', 'f8'),
    ('peak_torque', 'f8'),
    ('peak_force', 'f8'),
    ('ticks', 'i8'),
    ('saturated', 'i8'),
    ('zero_wrench', 'i8'),
    ('gap_ns', 'i8'),
]
# Evidence of an onset.
_ONSET_STATE = np.dtype(
    [
        # For how long the torque was above the threshold, less twice the time below.
        ('evidence_sec', 'f8'),
        # When the statistic left the quiet range, and crossed the threshold, and what it was then.
        ('rising_ns', 'i8'),
        ('rising_statistic', 'f8'),
        ('crossing_ns', 'i8'),
        ('crossing_statistic', 'f8'),
        # Since when a sudden torque has stayed.
        ('sudden_ns', 'i8'),
        # No contact begins before: the last one ended here, or the samples began.
        ('earliest_ns', 'i8'),
    ]
)
# The open contact.
_CONTACT_STATE = np.dtype(
    [
        ('onset_ns', 'i8'),
        ('onset_variance', 'f8'),
        # Since when the torque has been below the threshold of an end, while FALLING.
        ('below_ns', 'i8'),
        # Since when the bias has been too uncertain to say so, and the torque at that time.
        ('unsure_ns', 'i8'),
        ('unsure_torque', 'f8'),
        # Since when the torque has been a small residue of the push, and what it was then.
        ('residue_ns', 'i8'),
        ('residue_torque', 'f8', _JOINTS),
        # The last sample before a gap, while BRIDGING, and the residual torque of the push.
        ('gap_start_ns', 'i8'),
        ('direction', 'f8', _JOINTS),
        *_SUMMARY,
    ]
)
STATE = np.dtype(
    [
        ('phase', 'i8'),
        ('mode', 'i8'),
        ('tool', 'i8'),
        ('time_ns', 'i8'),
        ('epoch', 'i8'),
        # Before this the filter settles and nothing is decided.
        ('settled_ns', 'i8'),
        # Until then all torque is bias; 0: begins with the next sample; -1: not at all.
        ('zero_until_ns', 'i8'),
        ('released_ns', 'i8'),
        ('filters', FILTER_STATE),
        ('bias', BIAS_STATE),
        ('onset', _ONSET_STATE),
        ('contact', _CONTACT_STATE),
        ('total_saturated', 'i8'),
        ('total_zero_wrench', 'i8'),
        # Place of the sample in its block, and events of the block so far.
        ('tick', 'i8'),
        ('event_count', 'i8'),
    ]
)
EVENT = np.dtype(
    [
        ('kind', 'i8'),
        ('tick', 'i8'),
        ('time_ns', 'i8'),
        ('onset_ns', 'i8'),
        ('end_ns', 'i8'),
        ('reason', 'i8'),
        *_SUMMARY,
    ]
)


def initial_state() -> np.ndarray:
    """Returns a state (1,) before the first sample; moments that have not come are -1."""
    state = np.zeros(1, dtype=STATE)
    state['time_ns'] = state['zero_until_ns'] = -1
    state['filters']['force_time_ns'] = -1
    state['bias']['time_ns'] = state['bias']['step_ns'] = -1
    for name in ('rising_ns', 'crossing_ns', 'sudden_ns'):
        state['onset'][name] = -1
    for name in ('below_ns', 'unsure_ns', 'residue_ns'):
        state['contact'][name] = -1
    return state


class Settings(NamedTuple):
    """ContactParameters as the kernels need them; see there for what they mean."""

    filters: FilterSettings
    bias: BiasSettings
    on_threshold: float
    off_threshold: float
    sudden_threshold: float
    on_torque_nm: float
    off_torque_nm: float
    on_dwell_sec: float
    off_dwell_ns: int
    sudden_ns: int
    max_ramp_ns: int
    delay_ns: int
    gap_ns: int
    bridge_ns: int
    max_contact_ns: int
    settling_ns: int
    zero_ns: int
    aftermath_ns: int
    unsure_share: float
    max_unsure_ns: int
    residue_share: float
    residue_variance: float
    residue_ns: int
    noise_floor_variance: float
    saturation_nm: np.ndarray


class Samples(NamedTuple):
    """The samples that the detector steps over, as arrays."""

    time_ns: np.ndarray
    epoch: np.ndarray
    torque_nm: np.ndarray
    joint_position_rad: np.ndarray
    joint_velocity_rad_s: np.ndarray
    wrench: np.ndarray
    wrench_age_ns: np.ndarray


class Info(NamedTuple):
    """What the detector computed for each sample, and the events.

    Attributes:
        statistic: (n,) residual torque in standard deviations.
        residual_nm: (n, 7) filtered torque without its bias.
        force_n: (n, 3) filtered force of the wrench without its baseline, NaN if unknown.
        phase: (n,) after each sample.
        events: (count,) of EVENT.
    """

    statistic: np.ndarray
    residual_nm: np.ndarray
    force_n: np.ndarray
    phase: np.ndarray
    events: np.ndarray
