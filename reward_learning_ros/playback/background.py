"""Planning beside the command loop: work is handed over, and its result taken when it is there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Generic, TypeVar

from reward_learning_ros.core.errors import RewardLearningError

T = TypeVar('T')


class PlanningTimeoutError(RewardLearningError):
    """Planning did not end in time."""

    def __init__(self, max_sec: float) -> None:
        super().__init__(f'planning takes longer than {max_sec:.1f} s on this machine')


class SynchronousExecutor(Executor):
    """Does the work at once, in the thread of the caller: for simulations in lockstep."""

    def submit(self, function: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        """Return the result of a function, or its exception, as a future that is done."""
        future: Future[T] = Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as error:  # kept for whoever takes the result, as every executor does
            future.set_exception(error)
        return future


class PlanningSlot(Generic[T]):
    """Room for one piece of work at a time."""

    def __init__(self, executor: Executor, *, max_sec: float) -> None:
        """Begin empty.

        Args:
            executor: does the work; one that does it later keeps its order.
            max_sec: work that takes longer is given up.
        """
        self._executor = executor
        self._max_sec = max_sec
        self._future: Future[T] | None = None
        self._begin_sec = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether there is work whose result was not taken."""
        return self._future is not None

    def submit(self, work: Callable[[], T], now_sec: float) -> None:
        """Hand over work; the result of what was handed over before is not wanted any more."""
        self.drop()
        self._future = self._executor.submit(work)
        self._begin_sec = now_sec

    def drop(self) -> None:
        """Give up the work."""
        if self._future is not None:
            self._future.cancel()
            self._future = None

    def take(self, now_sec: float) -> T | None:
        """Return the result, None if there is none yet.

        Raises:
            PlanningTimeoutError: the work takes too long.
            RewardLearningError: what the work raised.
        """
        future = self._future
        if future is None:
            return None
        if future.done():
            self._future = None
            return future.result()
        # Time may run back, as in a simulation that begins again.
        if abs(now_sec - self._begin_sec) > self._max_sec:
            self.drop()
            raise PlanningTimeoutError(self._max_sec)
        return None
