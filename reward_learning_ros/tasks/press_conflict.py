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
from reward_learning_ros.core.motor_noise import reached_probability
from reward_learning_ros.core.scenery import SceneObject
from reward_learning_ros.core.task import Task, TrajectorySpace
from reward_learning_ros.tasks.press import BUTTON, BUTTON_RADIUS, GOAL

OBSTACLE = (0.65, 0.05)
# Of the nearest distance to the obstacle and of the sum of squared steps; 1.5 and 1 on Press.
OBSTACLE_SCALE = 2.0
LENGTH_SCALE = 3.0


@features_kernel
def features(trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure goal, button, obstacle and length as on Press, in metres."""
    last = trajectory.shape[0] - 1
    pressed = False
    nearest = np.inf
    length = 0.0
    for i in range(1, last + 1):
        x, y, z = trajectory[i, 0], trajectory[i, 1], trajectory[i, 2]
        to_button = (x - BUTTON[0]) ** 2 + (y - BUTTON[1]) ** 2 + (z - BUTTON[2]) ** 2
        pressed |= to_button < BUTTON_RADIUS**2
        nearest = min(nearest, (x - OBSTACLE[0]) ** 2 + (y - OBSTACLE[1]) ** 2)
        length += (
            (x - trajectory[i - 1, 0]) ** 2
            + (y - trajectory[i - 1, 1]) ** 2
            + (z - trajectory[i - 1, 2]) ** 2
        )
    out[0] = 0.25 - np.sqrt(
        (trajectory[last, 0] - GOAL[0]) ** 2
        + (trajectory[last, 1] - GOAL[1]) ** 2
        + (trajectory[last, 2] - GOAL[2]) ** 2
    )
    out[1] = 0.25 if pressed else -0.25
    out[2] = OBSTACLE_SCALE * np.sqrt(nearest)
    out[3] = -LENGTH_SCALE * length


@table_kernel
def soft_features(table: np.ndarray, trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure the same where a hand misses what it means by the noise in `table`."""
    features(trajectory, out)
    missed = 1.0
    for i in range(1, trajectory.shape[0]):
        x, y, z = trajectory[i, 0], trajectory[i, 1], trajectory[i, 2]
        to_button = (x - BUTTON[0]) ** 2 + (y - BUTTON[1]) ** 2 + (z - BUTTON[2]) ** 2
        missed *= 1.0 - reached_probability(to_button, BUTTON_RADIUS, table[0], 3)
    out[1] = 0.25 - 0.5 * missed


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
        scene=(
            SceneObject(
                name='goal',
                shape='sphere',
                position=np.array(GOAL),
                size=np.full(3, 0.04),
                role='goal',
            ),
            SceneObject(
                name='button',
                shape='cylinder',
                position=np.array([BUTTON[0], BUTTON[1], BUTTON[2] / 2]),
                size=np.array([2 * BUTTON_RADIUS, 2 * BUTTON_RADIUS, BUTTON[2]]),
            ),
            SceneObject(
                name='obstacle',
                shape='cylinder',
                position=np.array([*OBSTACLE, 0.25]),
                size=np.array([0.06, 0.06, 0.5]),
                role='obstacle',
            ),
        ),
    )
