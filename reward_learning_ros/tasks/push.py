"""Push, of the simulations: how far to push a box, and how far to travel for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reward_learning_ros.arm.world import Outcome
from reward_learning_ros.core.task import Task
from reward_learning_ros.tasks.simulated import LIBRARY_SIZE, Array
from reward_learning_ros.tasks.tool_space import path_lengths, tool_task

DURATION_SEC = 3.0
WAYPOINTS = 4
PLAN = np.linspace((0.4, 0.0, 0.5), (0.5, 0.05, 0.35), WAYPOINTS)
# Metres of travel weigh less than metres of the box: both features vary by about as much.
LENGTH_SCALE = 0.5
# To be counted up when the drawing or the features change.
VERSION = 1


def measure(trajectories: Array, outcome: Outcome) -> Array:
    """Return how far the box moved along the table, and the length of the tool's path, metres."""
    moved = outcome.final('box_position') - outcome.initial('box_position')
    length = path_lengths(outcome.path('tool_position'))
    return np.column_stack([np.linalg.norm(moved[:, :2], axis=1), -LENGTH_SCALE * length])


def make_task(
    *, library_size: int = LIBRARY_SIZE, cache_directory: Path | str | None = None
) -> Task:
    """Return Push: four waypoints, anywhere in front of the arm, and a box to its left.

    Args:
        library_size: How many trajectories are simulated.
        cache_directory: Where they are kept; the user's cache by default.
    """
    return tool_task(
        'push',
        description='Push a box to the side; keep the way short.',
        feature_names=('box', 'length'),
        measure=measure,
        version=VERSION,
        plan=PLAN,
        duration_sec=DURATION_SEC,
        library_size=library_size,
        cache_directory=cache_directory,
    )
