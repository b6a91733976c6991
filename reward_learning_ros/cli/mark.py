"""Mark a moment of a session: a key, a note, and when it was.

The mark goes into the recording, with the time at which it was noted beside the moment that is
meant. A moment that has passed is given by --ago or --at.
"""

from __future__ import annotations

import argparse
import datetime
import time
from dataclasses import dataclass

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import Parameters, from_arguments, parameter
from reward_learning_ros.parameters import add_arguments as add_parameters

NAME = 'mark'
HELP = 'mark a moment of a session, with a note'

_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class MarkParameters(Parameters):
    """The note of a mark, and which moment it is about."""

    note: str = parameter('', description='What happened; never a name')
    ago: float = parameter(
        0.0,
        description='How long ago it was',
        minimum=0.0,
        maximum=86_400.0,
        unit='s',
    )
    at: str = parameter('', description='When it was, 2026-11-18T20:15:30+01:00 for example')
    session: str = parameter(
        '', description='Folder of a session that has ended; unset, the one that runs'
    )
    namespace: str = parameter('', description='ROS namespace of the session', is_namespace=True)
    discovery_sec: float = parameter(
        5.0,
        description='How long to wait for the session to be found',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the key and the options."""
    parser.add_argument('key', metavar='KEY', help='one short word for moments of this kind')
    add_parameters(parser, MarkParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Mark the moment, say so, and return 0.

    Raises:
        RewardLearningError: The key, the note or the time is refused, no session runs, or the
            recording cannot take it.
    """
    from pathlib import Path

    from reward_learning_ros.interface import OperatorMark
    from reward_learning_ros.study.answering import mark_moment

    config = from_arguments(MarkParameters, options)
    machine_ns = time.time_ns()
    mark = OperatorMark(
        stamp_ns=_moment_ns(config, machine_ns),
        machine_ns=machine_ns,
        key=options.key,
        note=config.note,
    )
    if config.session:
        mark_moment(Path(config.session), mark)
    else:
        from reward_learning_ros.cli._temporary_node import publish_record

        publish_record(mark, config.namespace, config.discovery_sec)
    when = f', {mark.ago_sec:.1f} s ago' if mark.ago_sec else ''
    print(f'marked: {mark.key}{when}')
    return 0


def _moment_ns(config: MarkParameters, machine_ns: int) -> int:
    """Return the moment that is meant."""
    if config.at and config.ago:
        raise InvalidInputError('--at and --ago are two ways to say when: give one of them')
    if not config.at:
        return machine_ns - round(config.ago * _NANOSECONDS)
    try:
        moment = datetime.datetime.fromisoformat(config.at)
    except ValueError:
        raise InvalidInputError(
            f'--at {config.at!r} must be a date and time as 2026-11-18T20:15:30'
        ) from None
    # Without a zone it is that of this machine.
    moment_ns = round(moment.astimezone().timestamp() * 1e6) * 1000
    if moment_ns > machine_ns:
        raise InvalidInputError(f'--at {config.at} is in the future')
    return moment_ns
