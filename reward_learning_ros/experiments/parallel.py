"""Many jobs on all cores, or on a Dask cluster: the same rows in the same order either way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.experiments.jobs import Outcome, attempt


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
        from reward_learning_ros.experiments.dask_cluster import run_on_cluster

        yield from run_on_cluster(function, jobs, scheduler)
    elif workers == 1 or len(jobs) < 2:
        for index, job in enumerate(jobs):
            yield index, attempt(function, job)
    else:
        from reward_learning_ros.experiments.process_pool import run_in_processes

        yield from run_in_processes(function, jobs, min(workers, len(jobs)))
