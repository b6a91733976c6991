"""Push, of the user study: reach a goal, push the cabinet or leave it, keep it short."""

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
    """Measure goal and box as the published study does, and the length of the way, in metres."""
    last = trajectory.shape[0] - 1
    out[0] = -np.sqrt((trajectory[last, 0] - GOAL[0]) ** 2 + (trajectory[last, 1] - GOAL[1]) ** 2)
    out[1] = BOX_SCALE * interpolate(table, trajectory)
    length = 0.0
    for i in range(1, last + 1):
        length += np.sqrt(
            (trajectory[i, 0] - trajectory[i - 1, 0]) ** 2
            + (trajectory[i, 1] - trajectory[i - 1, 1]) ** 2
            + (trajectory[i, 2] - trajectory[i - 1, 2]) ** 2
        )
    out[2] = -length


def make_task(
    *, library_size: int = cabinet.LIBRARY_SIZE, cache_directory: Path | str | None = None
) -> Task:
    """Return Push: three waypoints along the table, the last two free.

    Args:
        library_size: How many trajectories are simulated, about.
        cache_directory: Where they are kept; the user's cache by default.
    """
    world = cabinet.cabinet_world()
    directory = None if cache_directory is None else Path(cache_directory)
    return Task(
        name='push_study',
        description='Reach a goal; push a cabinet on the way, or leave it.',
        feature_names=('goal', 'box', 'length'),
        features=cabinet.cabinet_features(world, features, 3, library_size, directory),
        plan=cabinet.PLAN,
        space=cabinet.push_space(),
        duration_sec=20.0,
        # Those of the study weigh two features; the length is ours.
        presets={
            'both': unit_vector(1.0, 1.0, 0.0),
            'goal': unit_vector(0.9, 0.1, 0.0),
            'box': unit_vector(0.25, 1.0, 0.0),
            'goal_short': unit_vector(0.8, 0.0, 0.6),
        },
        scene=(*objects_of(world), cabinet.goal_mark()),
        predict=predict_in(world, cabinet.SIMULATED_SEC),
    )
