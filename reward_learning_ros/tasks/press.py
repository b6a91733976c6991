"""Press, of the user study: reach a goal, press a button, avoid an obstacle, keep it short."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reward_learning_ros.core.compiled import features_kernel
from reward_learning_ros.core.domain import unit_vector
from reward_learning_ros.core.grid import bind_table, table_kernel
from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.core.motor_noise import reached_probability
from reward_learning_ros.core.scenery import SceneObject
from reward_learning_ros.core.task import Task, TrajectorySpace

GOAL = (0.7, 0.3, 0.1)
BUTTON = (0.6, -0.1, 0.15)
BUTTON_RADIUS = 0.05
OBSTACLE = (0.5, 0.05)


@numba.njit(inline='always')
def measure(trajectory: np.ndarray, obstacle: tuple[float, float], out: np.ndarray) -> None:
    """Fill `out` with goal and button as features, then distance of the obstacle and length."""
    last = trajectory.shape[0] - 1
    pressed = False
    nearest = np.inf
    length = 0.0
    for i in range(1, last + 1):
        x, y, z = trajectory[i, 0], trajectory[i, 1], trajectory[i, 2]
        to_button = (x - BUTTON[0]) ** 2 + (y - BUTTON[1]) ** 2 + (z - BUTTON[2]) ** 2
        pressed |= to_button < BUTTON_RADIUS**2
        nearest = min(nearest, (x - obstacle[0]) ** 2 + (y - obstacle[1]) ** 2)
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
    out[2] = np.sqrt(nearest)
    out[3] = length


@numba.njit(inline='always')
def soft_button(trajectory: np.ndarray, noise_m: float) -> float:
    """Return the feature of the button where a hand misses what it means.

    Only the button switches. It stays unpressed if all waypoints miss it.
    """
    missed = 1.0
    for i in range(1, trajectory.shape[0]):
        x, y, z = trajectory[i, 0], trajectory[i, 1], trajectory[i, 2]
        to_button = (x - BUTTON[0]) ** 2 + (y - BUTTON[1]) ** 2 + (z - BUTTON[2]) ** 2
        missed *= 1.0 - reached_probability(to_button, BUTTON_RADIUS, noise_m, 3)
    return 0.25 - 0.5 * missed


@features_kernel
def features(trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure goal, button, obstacle and length as the published study does, in metres."""
    measure(trajectory, OBSTACLE, out)
    out[2] = 1.5 * out[2]
    out[3] = -out[3]


@table_kernel
def soft_features(table: np.ndarray, trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure the same where a hand misses what it means by the noise in `table`."""
    features(trajectory, out)
    out[1] = soft_button(trajectory, table[0])


def press_scene(obstacle: tuple[float, float]) -> tuple[SceneObject, ...]:
    """Return goal, button and obstacle, the latter at (x, y)."""
    return (
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
            position=np.array([*obstacle, 0.25]),
            size=np.array([0.06, 0.06, 0.5]),
            role='obstacle',
        ),
    )


def make_task() -> Task:
    """Return Press: eight waypoints from above the table to the goal."""
    return Task(
        name='press',
        description='Reach a goal; press a button on the way, keep clear of an obstacle.',
        feature_names=('goal', 'button', 'obstacle', 'length'),
        features=features,
        soft_features=lambda noise_m: bind_table(soft_features, np.array([noise_m])),
        plan=np.linspace((0.35, 0.0, 0.5), GOAL, 8),
        space=TrajectorySpace(delta_low=np.full(3, -0.1), delta_high=np.full(3, 0.1)),
        duration_sec=20.0,
        # Those that the participants of the study were asked to teach.
        presets={
            'goal_button_obstacle': unit_vector(1.0, 0.75, 0.5, 0.0),
            'goal_obstacle': unit_vector(1.0, 0.0, 0.85, 0.0),
            'goal': unit_vector(1.0, 0.0, 0.0, 0.0),
        },
        scene=press_scene(OBSTACLE),
    )


def make_published_task() -> Task:
    """Return Press with the domain of θ that the published samplers draw from."""
    return replace(
        make_task(),
        name='published_press',
        description='Press, with the domain of θ of the published code.',
        theta='box',
    )
