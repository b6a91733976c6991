"""Recovery of the arm after a reflex or a user stop: three steps in their order; no ROS.

ros2_control deactivates everything on a hardware that reports an error, the state broadcaster
included. So the arm's error is cleared first, then its hardware component is active again, then
its controllers. None of the steps moves the arm, and none is a consent to a motion.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from reward_learning_ros.core.errors import RewardLearningError


class RecoveryStep(enum.Enum):
    """The steps, in their order; the value says what is done."""

    ERRORS = 'clear the errors of the arm'
    HARDWARE = 'activate its hardware'
    CONTROLLERS = 'activate its controllers'


STEPS = tuple(RecoveryStep)
# How long each may take: the arm unlocks nothing, but clearing its errors takes a second or two.
STEP_TIMEOUT_SEC = 10.0


class RecoveryRefusedError(RewardLearningError):
    """Recovery does not begin; says why."""


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """What became of a step.

    Attributes:
        step: which one.
        is_done: whether it succeeded.
        words: what was found or done, or why it failed.
    """

    step: RecoveryStep
    is_done: bool
    words: str

    def __str__(self) -> str:
        """Return it as a line of a report."""
        return f'{self.step.value}: {"" if self.is_done else "FAILED, "}{self.words}'


class RecoverySequence:
    """Says which step is next; whoever does it says what became of it.

    A step that fails, or is not over in time, ends the sequence: no later step is tried on an arm
    that is not ready for it.

    Attributes:
        outcomes: of the steps so far.
        step: the one under way; None before the first and after the last.
    """

    def __init__(self, timeout_sec: float = STEP_TIMEOUT_SEC) -> None:
        self.outcomes: tuple[StepOutcome, ...] = ()
        self.step: RecoveryStep | None = None
        self._timeout_sec = timeout_sec
        self._deadline_sec = 0.0

    @property
    def is_running(self) -> bool:
        """Whether a step is under way."""
        return self.step is not None

    @property
    def is_complete(self) -> bool:
        """Whether all steps were done."""
        return len(self.outcomes) == len(STEPS) and all(each.is_done for each in self.outcomes)

    @property
    def report(self) -> str:
        """The outcomes, one in each line."""
        return '\n'.join(map(str, self.outcomes))

    def begin(self, now_sec: float) -> RecoveryStep:
        """Begin, and return the first step.

        Args:
            now_sec: on a clock that never jumps.

        Raises:
            RecoveryRefusedError: It is under way, or was.
        """
        if self.step is not None or self.outcomes:
            raise RecoveryRefusedError('the recovery is already under way')
        return self._go_to(STEPS[0], now_sec)

    def finish_step(
        self, step: RecoveryStep, *, is_done: bool, words: str, now_sec: float
    ) -> RecoveryStep | None:
        """Take note of what became of a step, and return the next one, if there is one.

        An answer to a step that is no longer waited for changes nothing.
        """
        if step is not self.step:
            return None
        self.outcomes = (*self.outcomes, StepOutcome(step=step, is_done=is_done, words=words))
        self.step = None
        following = STEPS[STEPS.index(step) + 1 :]
        return self._go_to(following[0], now_sec) if is_done and following else None

    def look(self, now_sec: float) -> None:
        """Give up a step that is not over in time."""
        if self.step is not None and now_sec >= self._deadline_sec:
            self.finish_step(
                self.step,
                is_done=False,
                words=f'not done within {self._timeout_sec:.0f} s',
                now_sec=now_sec,
            )

    def _go_to(self, step: RecoveryStep, now_sec: float) -> RecoveryStep:
        self.step = step
        self._deadline_sec = now_sec + self._timeout_sec
        return step
