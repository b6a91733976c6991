"""Tables of log Z in a process of their own, made while the arm is on its way to a plan."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from reward_learning_ros import core
from reward_learning_ros.core.belief_tables import BeliefPoints, TableMaker
from reward_learning_ros.core.errors import CancelledError, RewardLearningError
from reward_learning_ros.core.samplers.log_normalizers import LogNormalizers
from reward_learning_ros.learning.inference_result import model_options, tool_paths_of
from reward_learning_ros.learning.inference_worker import Outcome, WorkerProcess
from reward_learning_ros.learning.learning_parameters import LearningParameters

# As the process that learns: playback and the recorders may not wait for a core.
_NICENESS = 10


@dataclass(frozen=True, kw_only=True)
class TableWish:
    """For what tables are wanted.

    Attributes:
        earlier: what was told of the passes before.
        silent: a pass of the plan that is shown, in which nobody pushes.
    """

    earlier: tuple[core.CorrectionSequence, ...]
    silent: core.CorrectionSequence


@dataclass(frozen=True, kw_only=True)
class TableAnswer:
    """The points of a job, or one of its tables, or its end.

    Attributes:
        job: by which it was submitted.
        points: at which all its tables are; only in the first answer.
        tables: by the keys of their spaces.
        is_last: whether nothing more will come.
    """

    job: int
    points: BeliefPoints | None = None
    tables: dict[bytes, LogNormalizers]
    is_last: bool = False


class TableWorker(WorkerProcess):
    """The process that makes tables, as it is seen from outside."""

    name, does = 'tables', 'makes tables'

    def submit(self, wish: TableWish) -> int:
        """Make tables, instead of those wished before; return the job's number."""
        return self._submit(wish)

    def poll(self) -> TableAnswer | Outcome | None:
        """Return the next answer; an `Outcome` says why there will be none."""
        answer: TableAnswer | Outcome | None = self._receive()
        if isinstance(answer, Outcome) or (answer is not None and answer.is_last):
            self._job = None
        return answer

    def _target(self) -> Callable[[Connection, LearningParameters], None]:
        return _serve


def _serve(connection: Connection, parameters: LearningParameters) -> None:
    """Be the process: make what is wished last, until nobody is there any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    try:
        task = tool_paths_of(parameters).task
        options = model_options(parameters, task)
        maker = TableMaker(task, options, seed=parameters.seed)
    except RewardLearningError as error:
        with contextlib.suppress(OSError):
            connection.send(str(error))
        return
    with contextlib.suppress(EOFError, OSError):
        connection.send(None)
        while True:
            job = connection.recv()
            # Only the newest one counts.
            while connection.poll():
                job = connection.recv()
            if job is not None:
                _make(connection, maker, *job)


def _make(connection: Connection, maker: TableMaker, number: int, wish: Any) -> None:
    def answer(**content: Any) -> None:
        connection.send(TableAnswer(job=number, **content))

    try:
        # A message means that this job is no longer wanted, and so does the end of the other side.
        points, earlier = maker.points(wish.earlier, wish.silent, connection.poll)
        answer(points=points, tables=earlier)
        for key, table in maker.tables(points, wish.silent, connection.poll):
            if connection.poll():
                return
            answer(tables={key: table})
        answer(tables={}, is_last=True)
    except CancelledError:
        return
    except RewardLearningError as error:
        connection.send(Outcome(job=number, error=str(error)))
