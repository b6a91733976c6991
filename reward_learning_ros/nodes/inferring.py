"""What the inference does next: when it learns, and which plan is shown.

No ROS: what is heard comes from outside, and what is to be published goes there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    Correction,
    InferenceEvent,
    InferenceState,
    InferenceStatus,
    Plan,
    PlaybackState,
    RecorderStatus,
)
from reward_learning_ros.learning import Learner, Lesson
from reward_learning_ros.learning.lesson import tool_paths_of
from reward_learning_ros.learning.worker import LearningWorker, Outcome
from reward_learning_ros.nodes.reward_inference_parameters import (
    ONLINE,
    RewardInferenceParameters,
)

# While a plan is shown, the person may correct it further.
_IN_PASS = (PlaybackState.HOMING, PlaybackState.PLAYING, PlaybackState.PAUSED)
# What tells how far to trust θ, by the names that the posterior has for it.
_QUALITY = (
    'max_r_hat',
    'min_ess_bulk',
    'min_ess_tail',
    'outer_acceptance',
    'inner_acceptance',
    'stuck_auxiliaries',
    'effective_members',
    'corrections_outside',
)


class InferenceRefusedError(RewardLearningError):
    """The inference does not do what it is asked to; says why."""


@dataclass(frozen=True, kw_only=True)
class Past:
    """What an inference before this one had heard and shown.

    Attributes:
        plans: that were shown, in their order.
        corrections: that were heard, in their order.
        status: what it said last; None if nothing.
    """

    plans: tuple[Plan, ...] = ()
    corrections: tuple[Correction, ...] = ()
    status: InferenceStatus | None = None


@dataclass(frozen=True, kw_only=True)
class News:
    """What is to be published.

    Attributes:
        plan: to be shown from now on; None if it stays as it is.
        lesson: what was learned; None if nothing was.
    """

    plan: Plan | None = None
    lesson: Lesson | None = None


@dataclass
class Inferring:
    """Decides when to learn, and which plan is shown.

    Attributes:
        config: what is learned, how, and when.
        now_ns: the time, of which plans get their stamps; 0 before there is any.
        worker: the process that learns.
        plan: what is shown; None before the clock runs.
    """

    config: RewardInferenceParameters
    now_ns: Callable[[], int]
    plan: Plan | None = None
    worker: LearningWorker = field(init=False)

    def __post_init__(self) -> None:
        self.paths = tool_paths_of(self.config)
        self.learner = Learner(self.paths)
        self.worker = LearningWorker(self.config)
        self._playback: PlaybackState | None = None
        self._recorder = RecorderStatus()
        self._last_heard_ns = 0
        self._event = InferenceEvent.STARTED
        self._considered: tuple[int, ...] = ()
        self._at_work: tuple[int, ...] = ()
        self._learned_from: tuple[int, ...] = ()
        # Of which corrections the plan that is shown is what was learned.
        self._shown_from: tuple[int, ...] = ()
        self._reasons: tuple[str, ...] = ()
        self._fault = ''
        self._quality: dict[str, str] = {}
        self._heard: set[int] = set()

    @property
    def status(self) -> InferenceStatus:
        """What it does, and which corrections count."""
        state = InferenceState.WAITING
        if self.worker.is_busy:
            state = InferenceState.INFERRING
        elif self.plan is None or not (self.worker.is_ready or self._fault):
            state = InferenceState.STARTING
        return InferenceStatus(
            state=state,
            event=self._event,
            corrections_ns=self._stamps,
            considered_ns=self._considered,
            learned_from_ns=self._learned_from,
            heard=len(self._heard),
            plan_stamp_ns=0 if self.plan is None else self.plan.stamp_ns,
            reasons=self._reasons,
            fault=self._fault or self.worker.fault,
            quality=self._quality,
        )

    @property
    def shown_corrections(self) -> list[Correction]:
        """The corrections of the plan that is shown."""
        stamp_ns = 0 if self.plan is None else self.plan.stamp_ns
        return [c for c in self.learner.corrections if c.plan_stamp_ns == stamp_ns]

    def resume(self, past: Past) -> None:
        """Go on where an inference before this one ended."""
        for plan in past.plans:
            self.learner.add_plan(plan)
            self.plan = plan
        for correction in past.corrections:
            self.learner.add_correction(correction)
            self._heard.add(correction.stamp_ns)
        status = past.status
        if status is not None:
            self.learner.keep_only(status.counted_among(c.stamp_ns for c in past.corrections))
            self._shown_from = status.learned_from_ns

    def hear(self, stamp_ns: int) -> None:
        """Take note that a correction came, of whatever use it is."""
        self._last_heard_ns = max(self._last_heard_ns, stamp_ns)

    def correct(self, correction: Correction) -> None:
        """Take a correction.

        Raises:
            RewardLearningError: Nothing can be learned from it; says why.
        """
        self._heard.add(correction.stamp_ns)
        if not self.learner.add_correction(correction):
            return
        self._event = InferenceEvent.CORRECTED
        if correction in self.learner.waiting:
            raise InferenceRefusedError(
                f'the plan {correction.plan_stamp_ns} that it corrects is not known'
            )

    def know(self, plan: Plan) -> None:
        """Take note of a plan that was shown elsewhere, and that may have been corrected.

        Raises:
            RewardLearningError: It is no plan of the task.
        """
        self.learner.add_plan(plan)

    def watch(self, playback: PlaybackState) -> None:
        """Take note of what playback does."""
        self._playback = playback

    def feel(self, recorder: RecorderStatus) -> None:
        """Take note of whether somebody pushes."""
        self._recorder = recorder

    def undo(self) -> News:
        """Forget the last correction, and show what it was a correction of.

        Raises:
            InferenceRefusedError: There is none.
        """
        undone = self.learner.undo()
        if undone is None:
            raise InferenceRefusedError('there is no correction to undo')
        self._event = InferenceEvent.UNDONE
        self._stop_learning()
        before = self.learner.plans.get(undone.plan_stamp_ns)
        if before is None or undone.stamp_ns not in self._shown_from:
            return News()
        return self._show(before, ())

    def reset(self) -> News:
        """Forget all corrections, and show the initial plan."""
        self.learner.reset()
        self._event = InferenceEvent.RESET
        self._stop_learning()
        return self._show(self.paths.initial_plan(0), ())

    def advance(self) -> News | None:
        """Look after the learning; return what is to be published, if anything."""
        if self.plan is None:
            return self._show(self.paths.initial_plan(0), ()) if self.now_ns() > 0 else None
        if self._is_due():
            self._at_work = self._stamps
            self.worker.submit(self.learner.sequences())
        # No plan is changed under a hand that pushes: its correction would be cut off. What has
        # been learned waits until the hand lets go, and until it is known what comes of that.
        is_pushing = self._recorder.is_pushing(self._last_heard_ns)
        outcome = None if self.worker.is_busy and is_pushing else self.worker.poll()
        news = None if outcome is None else self._take(outcome)
        if news is None and not is_pushing and self._is_over():
            # The next pass begins at the plan again: its corrections are not built on these.
            news = self._show(self.plan, self._shown_from)
        return news

    @property
    def _stamps(self) -> tuple[int, ...]:
        return tuple(correction.stamp_ns for correction in self.learner.corrections)

    def _is_due(self) -> bool:
        """Tell whether there is something new to learn from, and now is the time for it."""
        stamps = self._stamps
        if stamps in ((), self._considered) or (self.worker.is_busy and stamps == self._at_work):
            return False
        return self.config.mode == ONLINE or self._playback not in _IN_PASS

    def _is_over(self) -> bool:
        """Tell whether a pass with corrections is over, and nothing comes of them."""
        return (
            self._playback is PlaybackState.FINISHED
            and not self.worker.is_busy
            and bool(self.shown_corrections)
        )

    def _stop_learning(self) -> None:
        self.worker.cancel()
        self._at_work = ()
        self._considered = ()
        self._reasons = ()

    def _take(self, outcome: Outcome) -> News | None:
        self._considered = self._at_work
        lesson = outcome.lesson
        if lesson is None:
            self._event, self._fault = InferenceEvent.FAILED, outcome.error
            return None
        self._event, self._fault = InferenceEvent.LEARNED, ''
        self._learned_from = self._considered
        self._reasons = lesson.reasons
        self._quality = _quality_of(lesson, outcome)
        if not lesson.is_trusted:
            return News(lesson=lesson)
        plan = lesson.stamped_plan(0)
        if self.plan is not None and not self.shown_corrections and _is_same(plan, self.plan):
            # Learned again after a restart: it is shown already.
            self._shown_from = self._learned_from
            return News(lesson=lesson)
        return dataclasses.replace(self._show(plan, self._learned_from), lesson=lesson)

    def _show(self, plan: Plan, learned_from: tuple[int, ...]) -> News:
        """Show a plan from now on, under a stamp of its own."""
        last_ns = 0 if self.plan is None else self.plan.stamp_ns
        self.plan = dataclasses.replace(plan, stamp_ns=max(self.now_ns(), last_ns + 1))
        self.learner.add_plan(self.plan)
        self._shown_from = learned_from
        return News(plan=self.plan)


def _is_same(one: Plan, other: Plan) -> bool:
    return dataclasses.replace(one, stamp_ns=0) == dataclasses.replace(other, stamp_ns=0)


def _quality_of(lesson: Lesson, outcome: Outcome) -> dict[str, str]:
    numbers: dict[str, Any] = lesson.posterior.diagnostics
    quality = {name: f'{numbers[name]:.4g}' for name in _QUALITY if name in numbers}
    quality['relevance'] = f'{lesson.posterior.relevance:.4g}'
    quality['beta'] = f'{float(np.median(lesson.posterior.beta_samples)):.4g}'
    quality['duration_sec'] = f'{outcome.duration_sec:.3f}'
    return quality
