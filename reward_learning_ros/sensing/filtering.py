"""A causal low-pass with a stated delay, exact for any spacing of the samples.

A median of three takes out lone spikes; two equal first-order stages follow, critically damped,
so that a release never rings into a second contact. For an input held between samples, the
exponential step is the exact solution whatever the time between two samples, so lost samples
change nothing but what they would have said.
"""

from __future__ import annotations

import math

import numpy as np

from reward_learning_ros.core.kernel_cache import numba

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
