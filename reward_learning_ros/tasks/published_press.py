"""Press as the published code of the user study has it: θ anywhere in the unit box."""

from __future__ import annotations

from dataclasses import replace

from reward_learning_ros.core.task import Task
from reward_learning_ros.tasks import press


def make_task() -> Task:
    """Return Press with the domain of θ that the published samplers draw from."""
    return replace(
        press.make_task(),
        name='published_press',
        description='Press, with the domain of θ of the published code.',
        theta='box',
    )
