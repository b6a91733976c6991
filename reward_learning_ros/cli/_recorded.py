"""How a recorded session was run, and what the command line changes about it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.text import YamlError, load_yaml
from reward_learning_ros.parameters import Parameters, from_mapping, parameter, specifications
from reward_learning_ros.parameters.sources import with_present_names

if TYPE_CHECKING:
    from reward_learning_ros.learning import LearningParameters

_P = TypeVar('_P', bound=Parameters)


def add_topics_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the topics of other people's bags."""
    parser.add_argument(
        '--topic',
        action='append',
        default=[],
        metavar='PART=NAME',
        help='which topic of the bag is the plan, corrections, torques … (may be repeated)',
    )


def topics_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the topics that were named on the command line, by their part in a session.

    Raises:
        InvalidInputError: One is not of the form PART=NAME.
    """
    topics = {}
    for text in options.topic:
        part, separator, name = text.partition('=')
        if not separator or not part or not name:
            raise InvalidInputError(f'--topic {text}: must be PART=NAME, such as plan=/my/plan')
        topics[part] = name
    return topics


def session_of(path: Path) -> dict[str, Any] | None:
    """Return what `session.yaml` says, if a path is a session's folder or in it."""
    from reward_learning_ros.session.folder import SessionFolder

    for folder in (path, *list(path.absolute().parents)[:2]):
        session = SessionFolder(path=folder)
        if session.configuration.is_file():
            return session.read()
    return None


def settings_of(texts: Sequence[str]) -> dict[str, Any]:
    """Return the values of options NAME=VALUE, read as YAML.

    Raises:
        InvalidInputError: One is not of that form.
    """
    settings = {}
    for text in texts:
        name, separator, value = text.partition('=')
        if not separator:
            raise InvalidInputError(f'--set {text}: must be NAME=VALUE, such as on_threshold=6')
        try:
            settings[name.replace('-', '_')] = load_yaml(value)
        except YamlError:
            raise InvalidInputError(f'--set {text}: the value cannot be read') from None
    return settings


def resolved(
    cls: type[_P], session: Mapping[str, Any] | None, node: str, given: Mapping[str, Any]
) -> _P:
    """Return a configuration: default < that of the session's node < what is given.

    Args:
        cls: The configuration.
        session: What `session.yaml` says; None without a session.
        node: Whose parameters they are in the session.
        given: Values on the command line, also of other configurations.

    Raises:
        ParameterError: A value is refused.
    """
    of_node = {} if session is None else session['nodes'].get(node, {}).get('parameters', {})
    values = {**with_present_names(cls, of_node), **with_present_names(cls, given)}
    known = specifications(cls)
    return from_mapping(cls, {name: values[name] for name in values if name in known})


def resolved_learning(
    session: Mapping[str, Any] | None, given: Mapping[str, Any]
) -> LearningParameters:
    """Return how is learned: as in the session, but for what is given.

    Another human model than the session's comes with its own silence and motor noise.

    Raises:
        ParameterError: A value is refused.
    """
    from reward_learning_ros.learning import LearningParameters, parameters_as_recorded

    if session is None:
        return resolved(LearningParameters, None, 'reward_inference', given)
    of_node = dict(session['nodes'].get('reward_inference', {}).get('parameters', {}))
    if 'human_model' in given:
        for name in ('silence', 'motor_noise_m'):
            of_node.pop(name, None)
    return parameters_as_recorded({**of_node, **given})


# Time left is judged by the steps of the last minutes: single ones may differ by much.
_JUDGED_SEC = 300.0


@dataclass(frozen=True, kw_only=True)
class ParallelParameters(Parameters):
    """Where jobs run in parallel: worker processes here, or a Dask scheduler."""

    workers: int = parameter(0, description='Processes; 0 means all cores', minimum=0)
    scheduler: str = parameter(
        '',
        description='Address of a Dask scheduler (tcp://host:8786), in place of processes',
    )


@contextmanager
def kept_on_interrupt(what: str) -> Iterator[None]:
    """Tell a user who interrupts the command that finished work is kept."""
    try:
        yield
    except KeyboardInterrupt:
        print(f'interrupted: {what} kept; the same command goes on from there', file=sys.stderr)
        raise


@contextmanager
def progress_bar(description: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show steps done and time left on standard error; yield what to call after each step.

    Args:
        description: What is being done.
        total: Steps in all.
        done: Steps that were done before, in a run that was interrupted.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn('left'),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        speed_estimate_period=_JUDGED_SEC,
    ) as bar:
        row = bar.add_task(description, total=total, completed=done)
        yield lambda: bar.advance(row)
