"""What the long commands share: a progress bar, and where the work is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from reward_learning_ros.parameters import Parameters, parameter

# Time left is judged by the steps of the last minutes: single ones may differ by much.
_JUDGED_SEC = 300.0


@dataclass(frozen=True, kw_only=True)
class ParallelParameters(Parameters):
    """Where many jobs are run."""

    workers: int = parameter(0, description='Processes; 0 means all cores', minimum=0)
    scheduler: str = parameter(
        '',
        description='Address of a Dask scheduler (tcp://host:8786), in place of processes',
    )


@contextmanager
def going_on_later(what: str) -> Iterator[None]:
    """Say, when the user interrupts, that what is finished is kept."""
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
