"""The tasks that come with the package, one file each, and how others are found."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.task import Task

# A module below this one for each task; its `make_task()` returns it.
_BUILT_IN = ('cup', 'press', 'reach')
ENTRY_POINT_GROUP = 'reward_learning_ros.tasks'


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks that can be loaded."""
    return tuple(sorted({*_BUILT_IN, *_factories_of_others()}))


def load_task(name: str) -> Task:
    """Return the task of that name."""
    if name in _BUILT_IN:
        module = import_module(f'reward_learning_ros.core.tasks.{name}')
        task: Task = module.make_task()
        return task
    others = _factories_of_others()
    if name not in others:
        raise UnknownNameError('task', name, task_names())
    return others[name]()


def _factories_of_others() -> dict[str, Callable[[], Task]]:
    return {point.name: point.load() for point in entry_points(group=ENTRY_POINT_GROUP)}
