"""Runs the recovery of the arm in a node: step after step, each with a deadline."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from reward_learning_ros.arm.franka import (
    STEP_TIMEOUT_SEC,
    RecoveryRefusedError,
    RecoverySequence,
    RecoveryStep,
)
from reward_learning_ros.core.errors import RewardLearningError

_PERIOD_SEC = 0.1


class Recovery:
    """Recovers the arm, once at a time.

    Args:
        node: in whose executor the steps are done.
        do: does a step and returns what was done, or raises RewardLearningError. It is told how
            to find out whether the step is still wanted: one that took too long is not.
        timeout_sec: of each step.
    """

    def __init__(
        self,
        node: Node,
        do: Callable[[RecoveryStep, Callable[[], bool]], Awaitable[str]],
        *,
        timeout_sec: float = STEP_TIMEOUT_SEC,
    ) -> None:
        self._node = node
        self._do = do
        self._timeout_sec = timeout_sec
        self._sequence = RecoverySequence(timeout_sec)
        self._finished: Future | None = None
        # On a steady clock: simulated time may stand still.
        node.create_timer(_PERIOD_SEC, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def is_running(self) -> bool:
        """Whether a recovery is under way."""
        return self._sequence.is_running

    def begin(self) -> Future:
        """Begin; return what is done when the recovery has ended, with its sequence as result.

        Raises:
            RecoveryRefusedError: One is under way.
        """
        if self.is_running:
            raise RecoveryRefusedError('the arm is being recovered already')
        self._sequence = RecoverySequence(self._timeout_sec)
        self._finished = Future(executor=self._node.executor)
        self._start(self._sequence, self._sequence.begin(time.monotonic()))
        return self._finished

    def _start(self, sequence: RecoverySequence, step: RecoveryStep) -> None:
        assert self._node.executor is not None, 'who asks is spun by an executor'
        self._node.get_logger().info(f'recovery: {step.value}')
        self._node.executor.create_task(self._work(sequence, step))

    async def _work(self, sequence: RecoverySequence, step: RecoveryStep) -> None:
        is_done = True
        try:
            words = await self._do(step, lambda: sequence.step is step)
        except RewardLearningError as error:
            is_done, words = False, str(error)
        following = sequence.finish_step(
            step, is_done=is_done, words=words, now_sec=time.monotonic()
        )
        if following is not None:
            self._start(sequence, following)
        elif sequence is self._sequence:
            self._conclude()

    def _look(self) -> None:
        self._sequence.look(time.monotonic())
        self._conclude()

    def _conclude(self) -> None:
        if self._finished is None or self._sequence.is_running:
            return
        finished, self._finished = self._finished, None
        for outcome in self._sequence.outcomes:
            if outcome.is_done:
                self._node.get_logger().info(f'recovery: {outcome}')
            else:
                self._node.get_logger().error(f'recovery: {outcome}')
        finished.set_result(self._sequence)
