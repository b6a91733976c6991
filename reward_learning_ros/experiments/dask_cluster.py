"""Jobs on a Dask cluster; the scheduler gives the jobs of a worker that died to others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import reward_learning_ros
from reward_learning_ros.core.errors import MissingExtraError, RewardLearningError
from reward_learning_ros.experiments.jobs import Outcome, WorkerDiedError, attempt

# Clusters that start their machines on demand take a while for the first.
FIRST_WORKER_SEC = 120.0
ANSWER_SEC = 10.0
# Jobs that are told to the scheduler at a time.
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
