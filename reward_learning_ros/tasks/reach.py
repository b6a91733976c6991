"""Reach, of the user study: deliver the coffee, move away afterwards, keep it short."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reward_learning_ros.core.compiled import features_kernel
from reward_learning_ros.core.domain import unit_vector
from reward_learning_ros.core.grid import bind_table, table_kernel
from reward_learning_ros.core.motor_noise import reached_probability
from reward_learning_ros.core.scenery import SceneObject
from reward_learning_ros.core.task import Task, TrajectorySpace

PERSON = (0.5, 0.4)
DELIVERY_RADIUS = 0.05
# The published code clips waypoints to this height, also those of the initial plan, which starts
# above it.
CEILING_M = 0.45


@features_kernel
def features(trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure delivered, away and length as the published study does, in metres."""
    waypoints = trajectory.shape[0]
    delivered = False
    length = 0.0
    for i in range(1, waypoints):
        x, y = trajectory[i, 0], trajectory[i, 1]
        delivered |= (x - PERSON[0]) ** 2 + (y - PERSON[1]) ** 2 < DELIVERY_RADIUS**2
        length += np.sqrt(
            (x - trajectory[i - 1, 0]) ** 2
            + (y - trajectory[i - 1, 1]) ** 2
            + (trajectory[i, 2] - trajectory[i - 1, 2]) ** 2
        )
    out[0] = 0.5 if delivered else -0.5
    out[1] = abs(trajectory[waypoints - 1, 1] - PERSON[1])
    out[2] = np.exp(-16.0 / waypoints * length)


@table_kernel
def soft_features(table: np.ndarray, trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure the same where a hand misses what it means by the noise in `table`.

    Only the delivery switches. It fails if all waypoints miss the person.
    """
    features(trajectory, out)
    missed = 1.0
    for i in range(1, trajectory.shape[0]):
        x, y = trajectory[i, 0], trajectory[i, 1]
        to_person = (x - PERSON[0]) ** 2 + (y - PERSON[1]) ** 2
        missed *= 1.0 - reached_probability(to_person, DELIVERY_RADIUS, table[0], 2)
    out[0] = 0.5 - missed


def make_task() -> Task:
    """Return Reach: eight waypoints in front of a person.

    The workspace is where the study's controller kept the arm; its height admits the initial plan.
    """
    return Task(
        name='reach',
        description='Hand over a cup of coffee, then move away.',
        feature_names=('delivered', 'away', 'length'),
        features=features,
        soft_features=lambda noise_m: bind_table(soft_features, np.array([noise_m])),
        plan=np.linspace((0.35, 0.0, 0.5), (0.5, 0.1, 0.3), 8),
        space=TrajectorySpace(
            delta_low=np.full(3, -0.15),
            delta_high=np.full(3, 0.15),
            workspace_low=np.array([0.3, -0.4, 0.1]),
            workspace_high=np.array([0.75, 0.4, 0.5]),
        ),
        duration_sec=30.0,
        # Those that the participants of the study were asked to teach, the most frequent ones.
        presets={
            'deliver_and_leave': unit_vector(1.0, 1.0, 0.125),
            'away': unit_vector(0.1, 1.0, 0.6),
            'short': unit_vector(0.3, 0.05, 1.0),
        },
        scene=(
            SceneObject(
                name='delivered here',
                shape='cylinder',
                position=np.array([*PERSON, 0.25]),
                size=np.array([2 * DELIVERY_RADIUS, 2 * DELIVERY_RADIUS, 0.5]),
                role='goal',
            ),
            SceneObject(
                name='person',
                shape='sphere',
                position=np.array([PERSON[0], PERSON[1] + 0.2, 0.4]),
                size=np.full(3, 0.25),
                role='person',
            ),
        ),
    )


def make_published_task() -> Task:
    """Return Reach with the workspace and the domain of θ of the published samplers."""
    task = make_task()
    assert task.space.workspace_high is not None
    x, y, _ = task.space.workspace_high
    return replace(
        task,
        name='published_reach',
        description='Reach, with the workspace and the domain of θ of the published code.',
        theta='box',
        space=replace(task.space, workspace_high=np.array([x, y, CEILING_M])),
    )
