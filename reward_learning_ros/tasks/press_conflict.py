"""Press with goal, button and obstacle in conflict: different θ want visibly different plans.

On Press the plan for the prior's mean is nearly the best for most θ, so that Regret cannot tell
learning from knowing nothing. Here the obstacle stands between the button and the goal, and both
its distance and the length of the way weigh more: who wants the button gives up distance, who
wants distance gives up the button or the goal, who wants a short way gives up something of each.
"""

from __future__ import annotations

import numpy as np

from reward_learning_ros.core.compiled import features_kernel
from reward_learning_ros.core.domain import unit_vector
from reward_learning_ros.core.grid import bind_table, table_kernel
from reward_learning_ros.core.task import Task, TrajectorySpace
from reward_learning_ros.tasks.press import GOAL, measure, press_scene, soft_button

OBSTACLE = (0.65, 0.05)
# Of the nearest distance to the obstacle and of the sum of squared steps; 1.5 and 1 on Press.
OBSTACLE_SCALE = 2.0
LENGTH_SCALE = 3.0


@features_kernel
def features(trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure goal, button, obstacle and length as on Press, in metres."""
    measure(trajectory, OBSTACLE, out)
    out[2] = OBSTACLE_SCALE * out[2]
    out[3] = -LENGTH_SCALE * out[3]


@table_kernel
def soft_features(table: np.ndarray, trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure the same where a hand misses what it means by the noise in `table`."""
    features(trajectory, out)
    out[1] = soft_button(trajectory, table[0])


def make_task() -> Task:
    """Return Press with the obstacle between button and goal."""
    return Task(
        name='press_conflict',
        description='Press a button or reach a goal past an obstacle between the two.',
        feature_names=('goal', 'button', 'obstacle', 'length'),
        features=features,
        soft_features=lambda noise_m: bind_table(soft_features, np.array([noise_m])),
        plan=np.linspace((0.35, 0.0, 0.5), GOAL, 8),
        space=TrajectorySpace(delta_low=np.full(3, -0.1), delta_high=np.full(3, 0.1)),
        duration_sec=20.0,
        presets={
            'goal_and_button': unit_vector(1.0, 1.0, 0.1, 0.1),
            'keep_clear': unit_vector(0.1, 0.1, 1.0, 0.1),
            'short': unit_vector(0.3, 0.1, 0.2, 1.0),
        },
        scene=press_scene(OBSTACLE),
    )
