"""Reach as the published code of the user study has it: a lower workspace, θ in the unit box."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reward_learning_ros.core.task import Task
from reward_learning_ros.tasks import reach

# The published code clips waypoints to this height, also those of the initial plan, which starts
# above it.
CEILING_M = 0.45


def make_task() -> Task:
    """Return Reach with the workspace and the domain of θ of the published samplers."""
    task = reach.make_task()
    assert task.space.workspace_high is not None
    x, y, _ = task.space.workspace_high
    return replace(
        task,
        name='published_reach',
        description='Reach, with the workspace and the domain of θ of the published code.',
        theta='box',
        space=replace(task.space, workspace_high=np.array([x, y, CEILING_M])),
    )
