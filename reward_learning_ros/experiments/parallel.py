"""Many jobs in processes, or on a Dask cluster: the same rows in the same order either way.

On one machine the processes are our own: they are up in a few seconds where Dask's LocalCluster
takes ten times as long, they open no port, and they need no extra.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import reward_learning_ros
from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.cores import SINGLE_THREADED, available_cores
from reward_learning_ros.core.errors import (
    InvalidInputError,
    MissingExtraError,
    RewardLearningError,
)

# A job whose worker died this often is taken to be the reason.
ATTEMPTS = 3


class JobError(RewardLearningError):
    """A job failed in a way that cannot be handed on as it is; the message says how."""


class WorkerDiedError(RewardLearningError):
    """A job was given up because its workers died repeatedly."""

    def __init__(self, index: int) -> None:
        super().__init__(
            f'job {index} was given up: every worker that ran it died '
            '(perhaps there is too little memory for so many of them)'
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a job: a result, or an error and where it happened."""

    result: Any = None
    error: Exception | None = None
    trace: str = ''

    def unwrap(self) -> Any:
        """Return the result, or raise the error with the trace of the worker as its cause."""
        if self.error is not None:
            raise self.error from JobError(f'in a worker:\n{self.trace}')
        return self.result


def attempt(function: Callable[[Any], Any], job: Any) -> Outcome:
    """Run a job and return what became of it; an interruption goes through."""
    try:
        return Outcome(result=function(job))
    except Exception as error:
        return Outcome(error=_portable(error), trace=traceback.format_exc())


def _portable(error: Exception) -> Exception:
    """Return an error that survives the way to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        # Constructors with arguments of their own cannot be undone by pickle.
        if isinstance(error, InvalidInputError):
            return InvalidInputError(str(error))
        return JobError(f'{type(error).__name__}: {error}')
    return error


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


# Clusters that start their machines on demand take a while for the first.
FIRST_WORKER_SEC = 120.0
ANSWER_SEC = 10.0
# Jobs that are submitted to the scheduler at a time.
_BATCH = 1000


class SchedulerError(RewardLearningError):
    """A Dask cluster cannot be used; the message names its address and why."""


def run_on_cluster(
    function: Callable[[Any], Any], jobs: list[Any], address: str
) -> Iterator[tuple[int, Outcome]]:
    """Yield index and outcome of each job as soon as it is there, in any order."""
    try:
        from distributed import Client, as_completed
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise MissingExtraError('distributed', 'study', 'a Dask cluster') from None

    try:
        client = Client(address, timeout=ANSWER_SEC, set_as_default=False)
    except (OSError, ValueError) as error:
        raise SchedulerError(f'no Dask scheduler answers at {address}: {error}') from None
    with client, client.as_current():
        _require_same_release(client, address)
        futures = client.map(partial(attempt, function), jobs, pure=False, batch_size=_BATCH)
        indices = {future.key: index for index, future in enumerate(futures)}
        try:
            for future in as_completed(futures):
                index = indices[future.key]
                try:
                    outcome: Outcome = future.result()
                except KilledWorker:
                    raise WorkerDiedError(index) from None
                future.release()
                yield index, outcome
        finally:
            client.cancel(futures, force=True)


def _require_same_release(client: Any, address: str) -> None:
    """Raise unless there is a worker and all have this package in this release."""
    try:
        client.wait_for_workers(1, timeout=FIRST_WORKER_SEC)
    except TimeoutError:
        raise SchedulerError(f'the Dask scheduler at {address} has no workers') from None
    ours = reward_learning_ros.__version__
    for worker, theirs in client.run(_release, on_error='return').items():
        if theirs != ours:
            raise SchedulerError(
                f'the Dask worker {worker} has reward_learning_ros {theirs}, not {ours}'
            )


def _release() -> str:
    return reward_learning_ros.__version__


def run_all(
    function: Callable[[Any], Any],
    jobs: Iterable[Any],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[int, Any], None] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the index and the result of each job, in the order of the jobs.

    A worker that dies loses nothing: its job is run again. An error of a job ends the run at once
    and is raised here. Work is done only while the results are asked for.

    Args:
        function: What to do with each job. It must be importable by name (a function of a module,
            or a `partial` of one) and depend on nothing but the job, seed included.
        jobs: What to do it with; they and their results must be picklable.
        workers: Processes; all cores by default, and 1 means this process.
        scheduler: Address of a Dask scheduler (`tcp://host:8786`), whose workers are used in place
            of processes. They need the same release of this package.
        on_done: Told index and result of each job as soon as it is done, in any order.

    Raises:
        WorkerDiedError: The workers of one job die again and again.
        SchedulerError: There is no scheduler at the address, or no worker at the scheduler.
        MissingExtraError: Dask is asked for but not installed.
    """
    todo = list(jobs)
    if workers is not None:
        whole_number(workers, 'workers', 1)
    waiting: dict[int, Any] = {}
    position = 0
    for index, outcome in _outcomes(function, todo, workers or available_cores(), scheduler):
        result = outcome.unwrap()
        if on_done is not None:
            on_done(index, result)
        waiting[index] = result
        while position in waiting:
            yield position, waiting.pop(position)
            position += 1


def _outcomes(
    function: Callable[[Any], Any], jobs: list[Any], workers: int, scheduler: str | None
) -> Iterator[tuple[int, Outcome]]:
    """Yield what becomes of each job as soon as it is known."""
    if scheduler is not None:
        yield from run_on_cluster(function, jobs, scheduler)
    elif workers == 1 or len(jobs) < 2:
        for index, job in enumerate(jobs):
            yield index, attempt(function, job)
    else:
        yield from run_in_processes(function, jobs, min(workers, len(jobs)))
