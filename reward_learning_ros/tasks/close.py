"""Close, of the simulations: push a door closed, and keep the tool near the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reward_learning_ros.arm.world import Outcome
from reward_learning_ros.core.task import Task
from reward_learning_ros.tasks.simulated import LIBRARY_SIZE, Array
from reward_learning_ros.tasks.tool_space import tool_task

DURATION_SEC = 3.0
WAYPOINTS = 3
PLAN = np.linspace((0.4, 0.0, 0.5), (0.5, 0.2, 0.4), WAYPOINTS)
# Radians of the door and metres of height vary by about as much with these.
DOOR_SCALE = 0.5
HEIGHT_SCALE = 2.0
# To be counted up when the drawing or the features change.
VERSION = 1


def measure(trajectories: Array, outcome: Outcome) -> Array:
    """Return how far the door was closed (radians) and the tool's mean height (metres), scaled."""
    closed = (outcome.initial('door_angle') - outcome.final('door_angle'))[:, 0]
    height = outcome.path('tool_position')[..., 2].mean(axis=1)
    return np.column_stack([DOOR_SCALE * closed, -HEIGHT_SCALE * height])


def make_task(
    *, library_size: int = LIBRARY_SIZE, cache_directory: Path | str | None = None
) -> Task:
    """Return Close: three waypoints, anywhere in front of the arm, and a door ajar.

    Args:
        library_size: How many trajectories are simulated.
        cache_directory: Where they are kept; the user's cache by default.
    """
    return tool_task(
        'close',
        description='Push a door closed; keep the tool near the table.',
        feature_names=('closed', 'low'),
        measure=measure,
        version=VERSION,
        plan=PLAN,
        duration_sec=DURATION_SEC,
        library_size=library_size,
        cache_directory=cache_directory,
    )
