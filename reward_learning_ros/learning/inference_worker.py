"""Learning in a process of its own, so that whoever asks for it always answers.

The process loads and compiles everything before the first corrections come. A new job replaces
the one at work; a process that dies is replaced, and its job given to the next.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from reward_learning_ros import core
from reward_learning_ros.core.cores import single_threaded_children
from reward_learning_ros.core.errors import CancelledError, RewardLearningError
from reward_learning_ros.learning.inference_result import (
    InferenceResult,
    learn,
    tool_paths_of,
    warm_up,
)
from reward_learning_ros.learning.learning_parameters import LearningParameters

Sequences = tuple[core.CorrectionSequence, ...]

# A job at which so many processes died is given up: it would kill the next one too.
MAX_DEATHS = 3
# How long a process may take to end before it is killed.
_SHUTDOWN_TIMEOUT_SEC = 1.0
# Learning may wait for a core, playback and the recorders may not.
_NICENESS = 10


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job: a result, or why there is none.

    Attributes:
        job: by which it was submitted.
        result: what was inferred; None if nothing was.
        error: why not, in words.
        duration_sec: that the process needed.
    """

    job: int
    result: InferenceResult | None = None
    error: str = ''
    duration_sec: float = 0.0


class WorkerProcess:
    """A child process that works at one job after the other; no method blocks.

    Attributes:
        deaths: how many processes died.
        fault: why the last one died or could not start, in words; empty while one is well.
    """

    # Of the process, and what it does.
    name, does = '', ''

    def __init__(self, parameters: LearningParameters) -> None:
        self._parameters = parameters
        self._context = multiprocessing.get_context('spawn')
        self._process: Any = None
        self._connection: Connection | None = None
        self._is_ready = False
        self._job: tuple[int, Any] | None = None
        self._jobs = 0
        self._deaths_of_job = 0
        self.deaths = 0
        self.fault = ''

    @property
    def is_ready(self) -> bool:
        """Whether a process is there and warm."""
        return self._is_ready

    @property
    def process_id(self) -> int | None:
        """Of the process; None if there is none."""
        return None if self._process is None else self._process.pid

    @property
    def is_busy(self) -> bool:
        """Whether a job waits for its outcome."""
        return self._job is not None

    def start(self) -> None:
        """Start a process; `poll` tells when it is ready."""
        ours, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=self._target(), args=(theirs, self._parameters), name=self.name, daemon=True
        )
        with single_threaded_children():
            self._process.start()
        theirs.close()
        self._connection = ours
        self._is_ready = False
        if self._job is not None:
            self._send()

    def cancel(self) -> None:
        """Give up the job at work."""
        if self._job is not None:
            self._job = None
            self._send()

    def stop(self) -> None:
        """End the process; does nothing without one."""
        self._job = None
        self._close()

    def _target(self) -> Callable[[Connection, LearningParameters], None]:
        """Return what the process does."""
        raise NotImplementedError

    def _submit(self, content: Any) -> int:
        """Work at a job instead of the one before; return its number."""
        self._jobs += 1
        self._job = (self._jobs, content)
        self._deaths_of_job = 0
        self._send()
        return self._jobs

    def _receive(self) -> Any:
        """Return the next answer to the job, None without one; look after the process.

        It is an `Outcome` with an error where no process will answer any more.
        """
        while self._connection is not None:
            try:
                if not self._connection.poll():
                    break
                message = self._connection.recv()
            except (EOFError, OSError):
                return self._replace()
            if message is None:
                self._is_ready = True
                self.fault = ''
            elif isinstance(message, str):
                # It could not even begin: another one could not either.
                self.fault = message
                self._close()
                return self._given_up()
            elif self._job is not None and message.job == self._job[0]:
                return message
        return None

    def _send(self) -> None:
        if self._connection is None:
            return
        # A broken pipe: `_receive` will see that the process is gone.
        with contextlib.suppress(OSError):
            self._connection.send(self._job)

    def _replace(self) -> Outcome | None:
        """Start another process after one died, with the same job."""
        self._process.join(_SHUTDOWN_TIMEOUT_SEC)
        code = self._process.exitcode
        self._close()
        self.deaths += 1
        self._deaths_of_job += 1
        self.fault = f'the process that {self.does} died (exit code {code})'
        if self._deaths_of_job >= MAX_DEATHS:
            outcome = self._given_up()
            self._deaths_of_job = 0
            self.start()
            return outcome
        self.start()
        return None

    def _given_up(self) -> Outcome | None:
        if self._job is None:
            return None
        outcome = Outcome(job=self._job[0], error=self.fault)
        self._job = None
        return outcome

    def _close(self) -> None:
        self._is_ready = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            if self._process.is_alive():
                self._process.terminate()
                self._process.join(_SHUTDOWN_TIMEOUT_SEC)
            if self._process.is_alive():
                self._process.kill()
                self._process.join(_SHUTDOWN_TIMEOUT_SEC)
            self._process = None


class LearningWorker(WorkerProcess):
    """The process that learns, as it is seen from outside."""

    name, does = 'learning', 'learns'

    def submit(self, sequences: Sequences) -> int:
        """Learn from corrections, instead of from those before; return the job's number."""
        return self._submit(sequences)

    def poll(self) -> Outcome | None:
        """Return what became of the job, once; look after the process in between."""
        outcome: Outcome | None = self._receive()
        if outcome is not None:
            self._job = None
        return outcome

    def _target(self) -> Callable[[Connection, LearningParameters], None]:
        return _serve


def _serve(connection: Connection, parameters: LearningParameters) -> None:
    """Be the process: learn what comes in, until nobody is there any more."""
    # Ctrl-C reaches the whole group; the one who started us decides when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # Softened once: each softened task compiles its features.
        task = tool_paths_of(parameters).task
        warm_up(parameters, task)
    except RewardLearningError as error:
        connection.send(str(error))
        return
    # Not before: nothing moves until this process is ready.
    os.nice(_NICENESS)
    with contextlib.suppress(EOFError, OSError):
        connection.send(None)
        while True:
            job = connection.recv()
            # Only the newest one counts.
            while connection.poll():
                job = connection.recv()
            if job is not None:
                connection.send(_learn(connection, parameters, task, *job))


def _learn(
    connection: Connection,
    parameters: LearningParameters,
    task: core.Task,
    number: int,
    sequences: Sequences,
) -> Outcome:
    began_sec = time.monotonic()
    try:
        # A message means that this job is no longer wanted, and so does the end of the other side.
        result = learn(parameters, sequences, task=task, should_stop=connection.poll)
    except CancelledError:
        return Outcome(job=number, error='cancelled')
    except RewardLearningError as error:
        return Outcome(job=number, error=str(error))
    return Outcome(job=number, result=result, duration_sec=time.monotonic() - began_sec)
