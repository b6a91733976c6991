"""Features of what a hand can mean: softened by the noise of where it ends up.

The optimum of a feature that switches lies on the edge of the switch, where a millimetre decides.
A person who means to press a button does not mean the last millimetre. So the features of a
trajectory are averaged over hands that miss it by Gaussian noise: exactly enough where a task has
a formula for that, else over a fixed set of perturbed trajectories.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from reward_learning_ros.core.compiled import (
    FEATURES_SIGNATURE,
    JIT_ENABLED,
    Features,
    unowned,
)
from reward_learning_ros.core.kernel_cache import numba

# Perturbed trajectories that features are averaged over: one and its mirror image alternate. So
# many, and a switch has as many steps, each of a few per cent.
PERTURBATIONS = 32


@numba.njit(
    types.float64(types.float64, types.float64, types.float64, types.int64),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def reached_probability(
    squared_distance: float, radius: float, motor_noise: float, axes: int
) -> float:
    """Return how likely a hand ends up within a radius of a point that it is meant to come near.

    Noise across the direction to the point adds to the distance; what is left is noise along it.

    Args:
        squared_distance: From the point, as meant, in square metres.
        radius: In metres.
        motor_noise: Standard deviation along each axis, in metres.
        axes: In how many axes the distance is measured.
    """
    # Farther out nothing is left that would matter, and most of a way is.
    farthest = radius + 6.0 * motor_noise
    if squared_distance > farthest * farthest:
        return 0.0
    distance = math.sqrt(squared_distance + (axes - 1) * motor_noise * motor_noise)
    return 0.5 * math.erfc((distance - radius) / (motor_noise * math.sqrt(2.0)))


def perturbations(
    shape: tuple[int, int], fixed_waypoints: int, axes: tuple[int, ...], motor_noise_m: float
) -> np.ndarray:
    """Return by what the waypoints are missed (PERTURBATIONS, n, m), the same every time."""
    waypoints, dimensions = shape
    rng = np.random.default_rng(0)
    noise = np.zeros((PERTURBATIONS, waypoints, dimensions))
    drawn = rng.standard_normal((PERTURBATIONS // 2, waypoints - fixed_waypoints, len(axes)))
    # Of the standard deviation that is wanted, not only on average.
    drawn /= np.sqrt((drawn**2).mean(axis=0))
    noise[0::2, fixed_waypoints:, list(axes)] = motor_noise_m * drawn
    noise[1::2] = -noise[0::2]
    return noise


def averaged(features: Features, noise: np.ndarray) -> Features:
    """Return features averaged over perturbations (Q, n, m) of the trajectory.

    Trajectories that have no features, because the arm cannot go there, do not count.
    """
    count, waypoints, dimensions = noise.shape
    kept = np.ascontiguousarray(noise)

    def average(trajectory: np.ndarray, out: np.ndarray) -> None:
        missed = np.empty((waypoints, dimensions))
        values = np.empty(out.shape[0])
        for feature in range(out.shape[0]):
            out[feature] = 0.0
        counted = 0
        for index in range(count):
            for waypoint in range(waypoints):
                for axis in range(dimensions):
                    missed[waypoint, axis] = (
                        trajectory[waypoint, axis] + kept[index, waypoint, axis]
                    )
            features(unowned(missed), unowned(values))
            finite = True
            for feature in range(out.shape[0]):
                finite = finite and np.isfinite(values[feature])
            if finite:
                counted += 1
                for feature in range(out.shape[0]):
                    out[feature] += values[feature]
        for feature in range(out.shape[0]):
            out[feature] = out[feature] / counted if counted else np.nan

    if not JIT_ENABLED:
        return average
    compiled: Any = numba.njit(FEATURES_SIGNATURE, error_model='numpy')(average)
    return compiled  # type: ignore[no-any-return]
