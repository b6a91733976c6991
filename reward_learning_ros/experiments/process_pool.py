"""Jobs in processes of this machine, one at a time in each; one that dies is replaced."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from reward_learning_ros.core.cores import SINGLE_THREADED
from reward_learning_ros.experiments.jobs import (
    ATTEMPTS,
    JobError,
    Outcome,
    WorkerDiedError,
    attempt,
)

# A process that was told to end and has not is killed.
_END_SEC = 5.0
# Spawned, because a fork would copy the locks of running threads.
_CONTEXT = get_context('spawn')


class _Worker:
    """A process, the way to it, and the job that it is at."""

    def __init__(self, function: bytes) -> None:
        self.connection, theirs = _CONTEXT.Pipe()
        self.process: BaseProcess = _CONTEXT.Process(
            target=_serve, args=(function, theirs), daemon=True
        )
        self.process.start()
        # Only the worker may hold its end: then its death closes the way.
        theirs.close()
        self.index = -1

    def give(self, index: int, job: Any) -> None:
        """Start a job."""
        self.index = index
        # If it died, the same way says so when it is read.
        with suppress(OSError):
            self.connection.send(job)

    def take(self) -> Outcome | None:
        """Return what became of the job, or None if the worker died over it."""
        try:
            outcome: Outcome = self.connection.recv()
        except (EOFError, OSError):
            return None
        return outcome

    def end(self) -> None:
        """End the process, whatever it is at."""
        self.process.terminate()
        self.process.join(_END_SEC)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.connection.close()


def run_in_processes(
    function: Callable[[Any], Any], jobs: list[Any], workers: int
) -> Iterator[tuple[int, Outcome]]:
    """Yield index and outcome of each job as soon as it is there, in any order."""
    # Loaded in the worker only after the number of threads is settled.
    packed = pickle.dumps(function)
    todo = deque(range(len(jobs)))
    deaths = [0] * len(jobs)
    team: list[_Worker] = []
    try:
        while len(team) < workers:
            index = todo.popleft()
            team.append(_Worker(packed))
            team[-1].give(index, jobs[index])
        busy = {worker.connection: worker for worker in team}
        while busy:
            for ready in connection.wait(list(busy)):
                assert isinstance(ready, Connection)
                worker = busy.pop(ready)
                index = worker.index
                outcome = worker.take()
                if outcome is None:
                    deaths[index] += 1
                    if deaths[index] == ATTEMPTS:
                        raise WorkerDiedError(index)
                    todo.appendleft(index)
                    worker.end()
                    team.remove(worker)
                    worker = _Worker(packed)
                    team.append(worker)
                if todo:
                    # Before the result is handed on, so that the worker is not kept waiting.
                    following = todo.popleft()
                    worker.give(following, jobs[following])
                    busy[worker.connection] = worker
                if outcome is not None:
                    yield index, outcome
    finally:
        for worker in team:
            worker.process.terminate()
        for worker in team:
            worker.end()


def _serve(packed: bytes, way: Connection) -> None:
    """Run jobs until the way closes; the body of a worker."""
    # Ctrl-C reaches the whole group; the parent decides what becomes of its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # A worker is one core's work.
    os.environ.update(SINGLE_THREADED, NUMBA_NUM_THREADS='1')
    function = attempt(pickle.loads, packed)
    while True:
        try:
            job = way.recv()
            _send(way, function if function.error else attempt(function.result, job))
        except (EOFError, OSError):
            return


def _send(way: Connection, outcome: Outcome) -> None:
    try:
        way.send(outcome)
    except OSError:
        raise
    except Exception as error:
        way.send(Outcome(error=JobError(f'the result cannot be handed back: {error}')))


def _end_with_parent() -> None:
    """End this process when its parent is gone, killed perhaps, and nobody wants the result."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
