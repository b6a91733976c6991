"""The climbs of the planner, compiled: pattern search, and random steps after it."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import (
    FEATURES_TYPE,
    GENERATOR_TYPE,
    Features,
    copy_matrix,
)
from reward_learning_ros.core.samplers.kernels import SPACE_TYPE, VECTOR, Space

# Steps of the local refinement, as shares of the box of deltas: from what annealing leaves open to
# a hundredth of a millimetre.
MAX_STEP, MIN_STEP = 0.1, 1e-4
# The size of random steps at first, as a share of the box of deltas, and what a success and a
# failure make of it: the size stays where one step in five succeeds.
POLISHING_STEP, LONGER, SHORTER = 0.02, 1.5, 1.5**-0.25
# What straightening may cost of the reward.
SLACK = 1e-9

MATRIX = types.Array(types.float64, 2, 'C')


@numba.njit(
    types.float64(FEATURES_TYPE, SPACE_TYPE, VECTOR, MATRIX, VECTOR),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def _reward(
    features: Features,
    space: Space,
    theta: np.ndarray,
    trajectory: np.ndarray,
    values: np.ndarray,
) -> float:
    """Return R(ξ, θ), −∞ outside the workspace and where there is no reward."""
    waypoints, dimensions = trajectory.shape
    for waypoint in range(waypoints - space.profiles.shape[0], waypoints):
        for axis in range(dimensions):
            value = trajectory[waypoint, axis]
            if value < space.workspace_low[axis] or value > space.workspace_high[axis]:
                return -np.inf
    features(trajectory, values)
    reward = 0.0
    for index in range(theta.shape[0]):
        reward += theta[index] * values[index]
    return reward if np.isfinite(reward) else -np.inf


@numba.njit(types.float64(MATRIX), cache=True, nogil=True)
def _roughness(trajectory: np.ndarray) -> float:
    """Return the sum of squared steps, which a straight and even trajectory has least of."""
    total = 0.0
    for waypoint in range(1, trajectory.shape[0]):
        for axis in range(trajectory.shape[1]):
            total += (trajectory[waypoint, axis] - trajectory[waypoint - 1, axis]) ** 2
    return total


@numba.njit(
    types.float64(
        FEATURES_TYPE,
        SPACE_TYPE,
        VECTOR,
        MATRIX,
        MATRIX,
        types.float64,
        types.boolean,
        types.int64,
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def refine(
    features: Features,
    space: Space,
    theta: np.ndarray,
    deltas: np.ndarray,
    trajectory: np.ndarray,
    smallest: float,
    straighten: bool,
    sweeps: int,
) -> float:
    """Climb to the top of the hill that a trajectory is on, by pattern search.

    Tries one coordinate at a time: of a delta, which moves a waypoint with all later ones, and of
    a delta against the next, which moves the waypoint alone. Where nothing helps, steps halve.

    Args:
        features: Compiled features.
        space: Of single trajectories.
        theta: (d,) reward weights.
        deltas: (K, m) of the trajectory, changed.
        trajectory: (n, m), changed.
        smallest: The step at which to stop, as a share of the box of deltas.
        straighten: Instead of more reward, look for a straighter way with the same.
        sweeps: Over all coordinates, at most.

    Returns:
        The reward in the end; −∞ if the trajectory was not in the space and no step led there.
    """
    rows, dimensions = deltas.shape
    waypoints = trajectory.shape[0]
    fixed = waypoints - rows
    values = np.empty(theta.shape[0])
    best = float(_reward(features, space, theta, trajectory, values))
    floor = best - SLACK
    roughness = _roughness(trajectory)
    step = MAX_STEP
    while step > smallest and sweeps > 0:
        sweeps -= 1
        improved = False
        for row in range(rows):
            for axis in range(dimensions):
                for trial in range(4):
                    alone = trial >= 2 and row + 1 < rows
                    low, high = space.delta_low[row, axis], space.delta_high[row, axis]
                    before = deltas[row, axis]
                    size = step * (high - low) * (1.0 if trial % 2 == 0 else -1.0)
                    # Onto the bound rather than not at all: many optima lie there.
                    moved = min(max(before + size, low), high) - before
                    if alone:
                        # The next delta gives back what this one takes, as far as it can.
                        low, high = space.delta_low[row + 1, axis], space.delta_high[row + 1, axis]
                        follower = deltas[row + 1, axis]
                        moved = follower - min(max(follower - moved, low), high)
                    if moved == 0.0:
                        continue
                    last = fixed + row + 1 if alone else waypoints
                    for waypoint in range(fixed + row, last):
                        trajectory[waypoint, axis] += moved
                    if straighten:
                        rough = _roughness(trajectory)
                        taken = rough < roughness - 1e-12
                        if taken:
                            reward = _reward(features, space, theta, trajectory, values)
                            taken = reward >= floor
                    else:
                        reward = _reward(features, space, theta, trajectory, values)
                        taken = reward > best + 1e-12
                    if taken:
                        improved = True
                        deltas[row, axis] += moved
                        if alone:
                            deltas[row + 1, axis] -= moved
                        if straighten:
                            roughness = rough
                        best = reward
                    else:
                        for waypoint in range(fixed + row, last):
                            trajectory[waypoint, axis] -= moved
        if not improved:
            step *= 0.5
    return best


@numba.njit(
    types.float64(
        FEATURES_TYPE,
        SPACE_TYPE,
        VECTOR,
        MATRIX,
        MATRIX,
        types.int64,
        GENERATOR_TYPE,
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def polish(
    features: Features,
    space: Space,
    theta: np.ndarray,
    deltas: np.ndarray,
    trajectory: np.ndarray,
    steps: int,
    rng: np.random.Generator,
) -> float:
    """Climb on by random steps in all coordinates at once, a (1 + 1) evolution strategy.

    Args:
        features: Compiled features.
        space: Of single trajectories.
        theta: (d,) reward weights.
        deltas: (K, m) of the trajectory, changed.
        trajectory: (n, m), changed.
        steps: How many are tried.
        rng: Of all random numbers.

    Returns:
        The reward in the end.
    """
    rows, dimensions = deltas.shape
    fixed = trajectory.shape[0] - rows
    values = np.empty(theta.shape[0])
    best = float(_reward(features, space, theta, trajectory, values))
    tried_deltas = deltas.copy()
    tried = trajectory.copy()
    # One size for steps of all waypoints, another one for steps of a few.
    sizes = np.full(2, POLISHING_STEP)
    for step in range(steps):
        kind = step % 2
        first, last = 0, rows - 1
        if kind == 1:
            first = int(rng.random() * rows)
            last = min(rows - 1, first + int(rng.random() * 3))
        copy_matrix(tried_deltas, deltas)
        for row in range(first, last + 1):
            for axis in range(dimensions):
                width = space.delta_high[row, axis] - space.delta_low[row, axis]
                moved = sizes[kind] * width * rng.standard_normal()
                tried_deltas[row, axis] += moved
                # A waypoint moves alone: the next delta takes it back.
                if row + 1 < rows:
                    tried_deltas[row + 1, axis] -= moved
        for row in range(rows):
            for axis in range(dimensions):
                # Onto the bound rather than not at all: many optima lie there.
                tried_deltas[row, axis] = min(
                    max(tried_deltas[row, axis], space.delta_low[row, axis]),
                    space.delta_high[row, axis],
                )
                before = 0.0
                if row > 0:
                    before = tried[fixed + row - 1, axis] - space.plan[fixed + row - 1, axis]
                place = space.plan[fixed + row, axis] + before + tried_deltas[row, axis]
                place = min(max(place, space.workspace_low[axis]), space.workspace_high[axis])
                tried[fixed + row, axis] = place
                tried_deltas[row, axis] = place - space.plan[fixed + row, axis] - before
                outside = tried_deltas[row, axis] < space.delta_low[row, axis] - 1e-12
                if outside or tried_deltas[row, axis] > space.delta_high[row, axis] + 1e-12:
                    tried[fixed + row, axis] = np.nan
        reward = _reward(features, space, theta, tried, values)
        if reward > best:
            best = reward
            copy_matrix(deltas, tried_deltas)
            copy_matrix(trajectory, tried)
            sizes[kind] = min(sizes[kind] * LONGER, 0.5)
        else:
            sizes[kind] *= SHORTER
            if sizes[kind] < MIN_STEP:
                sizes[kind] = POLISHING_STEP
    return best
