"""The tasks by name: those of this package, task files, and those of other packages.

Imports core and arm; no ROS.

A task of this package is a module here whose `make_task()` returns it. A task file is a YAML file
in the package's `config/tasks`, in `$XDG_CONFIG_HOME/reward_learning_ros/tasks`, or in a directory
of `$REWARD_LEARNING_TASKS`. Other packages name theirs in the entry-point group
`reward_learning_ros.tasks`.
"""

from __future__ import annotations

from typing import Any

from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.task import Task
from reward_learning_ros.tasks.registry import ENTRY_POINT_GROUP, find_task, find_tasks

__all__ = ['ENTRY_POINT_GROUP', 'broken_tasks', 'load_task', 'task_names']


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks but those that are known to be broken."""
    return tuple(sorted(name for name, found in find_tasks().items() if found.error is None))


def broken_tasks() -> dict[str, str]:
    """Return the tasks that cannot be loaded, and why."""
    return {
        name: str(found.error)
        for name, found in sorted(find_tasks().items())
        if found.error is not None
    }


def load_task(name: str, **options: Any) -> Task:
    """Return the task of that name.

    Args:
        name: One of `task_names()`.
        options: What its factory takes, such as `library_size` and `cache_directory` of the tasks
            with physics.

    Raises:
        UnknownNameError: There is no such task.
        RewardLearningError: The task is broken, or needs what is not installed.
    """
    found = find_task(name)
    if found is None:
        raise UnknownNameError('task', name, find_tasks())
    return found.load(options)
