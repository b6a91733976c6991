"""The paper's working example: at which angle to carry a cup."""

from __future__ import annotations

import numpy as np

from reward_learning_ros.core.compiled import features_kernel
from reward_learning_ros.core.task import Task, TrajectorySpace


@features_kernel
def features(trajectory: np.ndarray, out: np.ndarray) -> None:
    """Weigh the angle s so that R = cos θ · −5 (s + 1) + sin θ · −(π/2 − s)."""
    angle = trajectory[0, 0]
    out[0] = -5.0 * (angle + 1.0)
    out[1] = -(np.pi / 2 - angle)


def make_task() -> Task:
    """Return the cup: one angle from 0 (horizontal) to π/2 (vertical), θ = (cos, sin)."""
    return Task(
        name='cup',
        description='Carry a cup at an angle between horizontal and vertical.',
        feature_names=('horizontal', 'vertical'),
        features=features,
        plan=np.array([[np.pi / 4]]),
        space=TrajectorySpace(
            delta_low=np.array([-np.pi / 4]),
            delta_high=np.array([np.pi / 4]),
            fixed_waypoints=0,
        ),
        theta='unit_nonnegative',
        presets={'horizontal': np.array([1.0, 0.0]), 'vertical': np.array([0.0, 1.0])},
        axis_names=('angle',),
    )
