"""Where tasks are found, and what becomes of those that are broken."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.core.task import Task

PACKAGE = 'reward_learning_ros'
ENTRY_POINT_GROUP = f'{PACKAGE}.tasks'
# Directories of task files, separated as in PATH.
DIRECTORIES_VARIABLE = 'REWARD_LEARNING_TASKS'
# For each task the module beside this one and the function in it that makes the task.
BUILT_IN = {
    'cup': ('cup', 'make_task'),
    'press': ('press', 'make_task'),
    'press_conflict': ('press_conflict', 'make_task'),
    'published_press': ('press', 'make_published_task'),
    'published_reach': ('reach', 'make_published_task'),
    'reach': ('reach', 'make_task'),
}


class BrokenTaskError(RewardLearningError):
    """A task of another package could not be made; the message says where it is and why."""


@dataclass(frozen=True, kw_only=True)
class FoundTask:
    """A task that can be loaded, or the reason why not.

    Attributes:
        origin: Where it was found, in words.
        factory: Finds the function that makes it.
        error: Why it cannot be loaded, as far as this is known without loading it.
    """

    origin: str
    factory: Callable[[], Callable[..., Any]]
    error: RewardLearningError | None = None

    def load(self, options: Mapping[str, Any]) -> Task:
        """Make the task."""
        if self.error is not None:
            raise self.error
        try:
            factory = self.factory()
            if options:
                self._check(factory, options)
            task = factory(**options)
        except RewardLearningError:
            raise
        except Exception as error:  # Anything may be wrong in somebody else's code.
            raise BrokenTaskError(f'{self.origin}: {type(error).__name__}: {error}') from error
        if not isinstance(task, Task):
            raise BrokenTaskError(f'{self.origin} made a {type(task).__name__}, not a Task')
        return task

    def _check(self, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
        known = inspect.signature(factory).parameters
        for option in options:
            if option not in known:
                raise InvalidInputError(
                    f'{self.origin} takes no option {option!r}; known: '
                    f'{", ".join(known) or "none"}'
                )


def find_tasks() -> dict[str, FoundTask]:
    """Return all tasks by name; of two with one name, the second is dropped with a reason."""
    found: dict[str, FoundTask] = {}
    for name, look in _all_tasks():
        task = look()
        if name not in found:
            found[name] = task
            continue
        # Both are reported, the second under the name of its place.
        found[f'{name} ({task.origin})'] = FoundTask(
            origin=task.origin,
            factory=task.factory,
            error=InvalidInputError(
                f'{task.origin}: the name {name!r} is taken by {found[name].origin}'
            ),
        )
    return found


def find_task(name: str) -> FoundTask | None:
    """Return the task that `find_tasks` has under a name, without a look at any other."""
    for other, look in _all_tasks():
        if other == name:
            return look()
    return find_tasks().get(name)


def task_directories() -> list[Path]:
    """Return the directories of task files, first those of the package."""
    configuration = os.environ.get('XDG_CONFIG_HOME', '')
    # The specification says that a relative path is to be ignored.
    home = Path(configuration) if os.path.isabs(configuration) else Path.home() / '.config'
    listed = os.environ.get(DIRECTORIES_VARIABLE, '').split(os.pathsep)
    places = [share_directory() / 'config' / 'tasks', home / PACKAGE / 'tasks']
    return [*places, *(Path(entry) for entry in listed if entry)]


def share_directory() -> Path:
    """Return the folder that holds this package's `config`: installed, or in its repository."""
    package = Path(__file__).resolve().parents[1]
    for parent in package.parents:
        installed = parent / 'share' / PACKAGE
        if (installed / 'package.xml').is_file():
            return installed
        if (parent / 'package.xml').is_file() and (parent / 'config').is_dir():
            return parent
    return package.parent


def _all_tasks() -> Iterator[tuple[str, Callable[[], FoundTask]]]:
    """Yield names in the order in which they are taken, and what has a look at the task."""
    for name in BUILT_IN:
        yield name, partial(_built_in, name)
    for directory in task_directories():
        for path in sorted(directory.glob('*.yaml')):
            yield path.stem, partial(_from_file, path)
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry: entry.name):
        yield point.name, partial(_from_entry_point, point)


def _built_in(name: str) -> FoundTask:
    module_name, function = BUILT_IN[name]
    module = f'{PACKAGE}.tasks.{module_name}'

    def factory() -> Callable[..., Any]:
        made: Callable[..., Any] = getattr(import_module(module), function)
        return made

    return FoundTask(origin=module, factory=factory)


def _from_file(path: Path) -> FoundTask:
    from reward_learning_ros.tasks.task_files import check_task, read_task

    error = None
    try:
        check_task(path)
    except RewardLearningError as found:
        error = found
    return FoundTask(origin=str(path), factory=lambda: lambda: read_task(path), error=error)


def _from_entry_point(point: EntryPoint) -> FoundTask:
    return FoundTask(origin=f'entry point {point.name} = {point.value}', factory=point.load)
