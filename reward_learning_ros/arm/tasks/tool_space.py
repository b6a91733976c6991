"""The trajectory space of the paper's simulations: tool positions anywhere before the arm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reward_learning_ros.arm.tasks.simulated import Array
from reward_learning_ros.core.task import TrajectorySpace

# The bounds of the published simulations, metres in the base frame.
LOW = np.array([0.3, -0.5, 0.1])
HIGH = np.array([0.75, 0.5, 0.6])


def tool_space() -> TrajectorySpace:
    """Return the space of trajectories whose later waypoints are anywhere within the bounds."""
    return TrajectorySpace(
        delta_low=LOW - HIGH, delta_high=HIGH - LOW, workspace_low=LOW, workspace_high=HIGH
    )


def draw_in(plan: Array) -> Callable[[int, np.random.Generator], Array]:
    """Return a function that draws trajectories which start where a plan (n, 3) does."""

    def draw(count: int, rng: np.random.Generator) -> Array:
        trajectories = np.tile(plan, (count, 1, 1))
        trajectories[:, 1:] = rng.uniform(LOW, HIGH, (count, len(plan) - 1, 3))
        return trajectories

    return draw


def path_lengths(positions: Array) -> Array:
    """Return the lengths (N,) of paths (N, S, m)."""
    steps = np.linalg.norm(np.diff(positions, axis=1), axis=2)
    return np.asarray(steps.sum(axis=1))
