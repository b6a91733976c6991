"""Push as the published code of the user study has it: two features."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from reward_learning_ros.core.domain import unit_vector
from reward_learning_ros.core.grid import interpolate, table_kernel
from reward_learning_ros.core.task import Task
from reward_learning_ros.tasks import cabinet
from reward_learning_ros.tasks.cabinet import GOAL
from reward_learning_ros.tasks.simulated import objects_of, predict_in

BOX_SCALE = 2.5


@table_kernel
def features(table: np.ndarray, trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure goal and box as the published study does, in metres."""
    last = trajectory.shape[0] - 1
    out[0] = -np.sqrt((trajectory[last, 0] - GOAL[0]) ** 2 + (trajectory[last, 1] - GOAL[1]) ** 2)
    out[1] = BOX_SCALE * interpolate(table, trajectory)


def make_task(
    *, library_size: int = cabinet.LIBRARY_SIZE, cache_directory: Path | str | None = None
) -> Task:
    """Return Push with the features and θ of the published recordings.

    Args:
        library_size: How many trajectories are simulated, about.
        cache_directory: Where they are kept; the user's cache by default.
    """
    world = cabinet.cabinet_world()
    directory = None if cache_directory is None else Path(cache_directory)
    return Task(
        name='published_push',
        description='Push, with the two features of the published recordings.',
        feature_names=('goal', 'box'),
        features=cabinet.cabinet_features(world, features, 2, library_size, directory),
        plan=cabinet.PLAN,
        space=cabinet.push_space(),
        theta='box',
        duration_sec=20.0,
        presets={
            'both': unit_vector(1.0, 1.0),
            'goal': unit_vector(0.9, 0.1),
            'box': unit_vector(0.25, 1.0),
        },
        scene=(*objects_of(world), cabinet.goal_mark()),
        predict=predict_in(world, cabinet.SIMULATED_SEC),
    )
