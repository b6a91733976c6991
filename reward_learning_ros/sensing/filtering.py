"""The filters that torque and force pass before contact detection looks at them, compiled.

The low-pass is causal, has a stated delay, and is exact for any spacing of the samples. A median
of three removes lone spikes; two equal first-order stages follow, critically damped, so that a
release never rings into a second contact. For an input held between samples the exponential step
is the exact solution whatever the time between two samples, so a lost sample changes nothing but
what it would have added.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing.samples import JOINT_COUNT

FILTER_STATE = np.dtype(
    [
        # The last two samples, for the median and the roughness.
        ('last_raw', 'f8', (JOINT_COUNT,)),
        ('raw_before', 'f8', (JOINT_COUNT,)),
        ('first_stage', 'f8', (JOINT_COUNT,)),
        # The filtered torque.
        ('torque', 'f8', (JOINT_COUNT,)),
        # Running mean of the absolute second difference of the samples.
        ('roughness', 'f8', (JOINT_COUNT,)),
        ('force_first_stage', 'f8', (3,)),
        # The filtered force, and the force that is measured while nobody pushes.
        ('force', 'f8', (3,)),
        ('force_baseline', 'f8', (3,)),
        # When the force was measured last; -1 if never.
        ('force_time_ns', 'i8'),
    ]
)


class FilterSettings(NamedTuple):
    """What the filters need of ContactParameters.

    Attributes:
        time_constant_sec: of both stages of the low-pass.
        gap_ns: a force older than this is unknown.
        roughness_rise_sec: time constant with which a rising roughness is followed. It is the
            dwell of an onset: a burst of noise has to be known as one before it becomes a contact.
        roughness_fall_sec: the same for a falling one; ten times as long, so that the pauses
            within a burst do not count as quiet.
        baseline_sec: time constant of the force that is measured while nobody pushes.
    """

    time_constant_sec: float
    gap_ns: int
    roughness_rise_sec: float
    roughness_fall_sec: float
    baseline_sec: float


# |H|² = 1 / (1 + (ωτ)²)² is one half where (ωτ)² = √2 − 1.
_CUTOFF_FACTOR = math.sqrt(math.sqrt(2.0) - 1.0)


def time_constant_sec(cutoff_hz: float) -> float:
    """Returns τ of both stages for the frequency at which half the power is left."""
    return _CUTOFF_FACTOR / (2.0 * math.pi * cutoff_hz)


def delay_sec(cutoff_hz: float) -> float:
    """Returns the delay of slow signals through both stages, 2τ.

    A ramp comes out later by exactly this. The median adds the time of one sample.
    """
    return 2.0 * time_constant_sec(cutoff_hz)


@numba.njit(cache=True)
def median_of_three(first: float, second: float, third: float) -> float:
    """Returns the middle one of three numbers."""
    return max(min(first, second), min(max(first, second), third))


@numba.njit(cache=True)
def low_pass_step(
    first_stage: np.ndarray, second_stage: np.ndarray, value: np.ndarray, step: float
) -> None:
    """Advances the two stages, each (k,), by one sample; the second stage is the output.

    Args:
        first_stage: written.
        second_stage: written.
        value: (k,) the input during the step.
        step: duration of the step in units of τ.
    """
    decay = math.exp(-step)
    for j in range(len(value)):
        # Distances from the input decay as u·exp(−h) and (v + u·h)·exp(−h).
        first_distance = first_stage[j] - value[j]
        second_distance = second_stage[j] - value[j]
        second_stage[j] = value[j] + (second_distance + first_distance * step) * decay
        first_stage[j] = value[j] + first_distance * decay


@numba.njit(cache=True)
def restart_torque_filter(filters: Any, torque_nm: np.ndarray) -> None:
    """Begins again at a torque (7,), as if it had been there for a long time."""
    for j in range(JOINT_COUNT):
        filters.last_raw[j] = torque_nm[j]
        filters.raw_before[j] = torque_nm[j]
        filters.first_stage[j] = torque_nm[j]
        filters.torque[j] = torque_nm[j]


@numba.njit(cache=True)
def filter_torque(
    settings: FilterSettings, filters: Any, raw_nm: np.ndarray, step_sec: float
) -> None:
    """Advances the filtered torque and its roughness by one sample (7,)."""
    middle = np.empty(JOINT_COUNT)
    for j in range(JOINT_COUNT):
        last, before = filters.last_raw[j], filters.raw_before[j]
        second_difference = abs(raw_nm[j] - 2.0 * last + before)
        rises = second_difference > filters.roughness[j]
        memory_sec = settings.roughness_rise_sec if rises else settings.roughness_fall_sec
        share = min(step_sec / memory_sec, 1.0)
        filters.roughness[j] += share * (second_difference - filters.roughness[j])
        middle[j] = median_of_three(raw_nm[j], last, before)
        filters.raw_before[j] = last
        filters.last_raw[j] = raw_nm[j]
    low_pass_step(
        filters.first_stage, filters.torque, middle, step_sec / settings.time_constant_sec
    )


@numba.njit(cache=True)
def filter_force(
    settings: FilterSettings, filters: Any, wrench: np.ndarray, age_ns: int, time_ns: int
) -> bool:
    """Advances the filtered force, and returns whether the wrench (6,) is zero.

    Near a singularity the arm reports a wrench of exactly zero, which is no measurement.
    """
    if age_ns > settings.gap_ns:
        return False
    is_zero = True
    for k in range(6):
        is_zero &= wrench[k] == 0.0
    if is_zero:
        return True
    if filters.force_time_ns < 0 or time_ns - filters.force_time_ns > settings.gap_ns:
        for k in range(3):
            filters.force_first_stage[k] = wrench[k]
            filters.force[k] = wrench[k]
            if filters.force_time_ns < 0:
                filters.force_baseline[k] = wrench[k]
    else:
        step = (time_ns - filters.force_time_ns) * 1e-9 / settings.time_constant_sec
        low_pass_step(filters.force_first_stage, filters.force, wrench[:3], step)
    filters.force_time_ns = time_ns
    return False


@numba.njit(cache=True)
def follow_force_baseline(settings: FilterSettings, filters: Any, step_sec: float) -> None:
    """Lets the baseline of the force follow the force, while nobody pushes."""
    share = min(step_sec / settings.baseline_sec, 1.0)
    for k in range(3):
        filters.force_baseline[k] += share * (filters.force[k] - filters.force_baseline[k])
