"""When the inference infers, and which plan is shown.

No ROS: what is heard comes from outside, and what is to be published goes there.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    InferenceEvent,
    InferenceState,
    InferenceStatus,
    LiveTheta,
    PassCorrections,
    Plan,
    PlaybackState,
    PlaybackStatus,
    RecorderStatus,
    data_digest,
)
from reward_learning_ros.learning import Corrections, InferenceResult, Learner, stamp_of
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.learning.inference_worker import LearningWorker, Outcome
from reward_learning_ros.learning.learning_parameters import (
    AT_ONCE,
    RewardInferenceParameters,
)
from reward_learning_ros.session.live_belief import LiveBelief

# How long the recorder may take to tell the rest of a pass that is over. It answers within a few
# periods of the arm's state; who waits longer waits for a recorder that is not there.
RECORDER_TIMEOUT_SEC = 2.0

# On its way with a plan, or held on it: the person may correct it further.
_IN_PASS = (
    PlaybackState.APPROACHING,
    PlaybackState.PLAYING,
    PlaybackState.PAUSED,
    PlaybackState.FAULT,
)
_NO_TURN = (0.0, 0.0, 0.0, 1.0)
# Times are on nanoseconds, but not all of them are floating-point numbers.
_SAME_TIME_SEC = 1e-6
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
class SessionHistory:
    """What an inference before this one had heard and shown.

    Attributes:
        plans: that were shown, in their order.
        corrections: what was told last of each pass, in the order in which they began.
        status: what it said last; None if nothing.
    """

    plans: tuple[Plan, ...] = ()
    corrections: tuple[Corrections, ...] = ()
    status: InferenceStatus | None = None


@dataclass(frozen=True, kw_only=True)
class Update:
    """What is to be published.

    Attributes:
        plan: to be shown from now on; None if it stays as it is.
        result: what was inferred; None if nothing was.
    """

    plan: Plan | None = None
    result: InferenceResult | None = None


@dataclass
class InferenceManager:
    """Decides when to infer, and which plan is shown.

    θ is inferred from all active passes, the present one as far as it got: whenever what was told
    of pushes changed, and when the pass is over, since silence says something too. A pass that is
    over is always followed by a plan with a stamp of its own, be it the same trajectory again: one
    stamp, one pass. No plan changes while somebody pushes.

    During a pass the inference goes ahead: what follows if nobody pushes any more is known when
    the pass ends, unless somebody does.

    Attributes:
        config: what is learned, how, and when the plan is replaced.
        now_ns: the time, of which plans get their stamps; 0 before there is any.
        steady_sec: a clock that never jumps.
        plan: what is shown; None before the clock runs.
        worker: the process that infers.
        live: the belief while a person pushes; None if it is switched off.
    """

    config: RewardInferenceParameters
    now_ns: Callable[[], int]
    steady_sec: Callable[[], float] = time.monotonic
    plan: Plan | None = None
    worker: LearningWorker = field(init=False)
    live: LiveBelief | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.paths = tool_paths_of(self.config)
        self.learner = Learner(self.paths)
        self.worker = LearningWorker(self.config)
        if self.config.live_belief:
            self.live = LiveBelief(self.config, self.learner, self.paths.task, self.steady_sec)
        self._playback: PlaybackStatus | None = None
        self._recorder = RecorderStatus()
        # When playback or the recorder last told something else than before.
        self._last_word_sec = self.steady_sec()
        # Stamps of the plans that were seen to be played.
        self._played: set[int] = set()
        # What was told last of each pass, of whatever use it is.
        self._told: dict[int, PassCorrections] = {}
        self._heard: set[int] = set()
        self._event = InferenceEvent.STARTED
        self._at_work: tuple[Corrections, ...] = ()
        self._considered: tuple[Corrections, ...] = ()
        self._learned_from: tuple[Corrections, ...] = ()
        # Whether what is at work is a pass as it would end if nobody pushed any more; and what
        # came of that, until the pass ends.
        self._is_ahead = False
        self._foreseen: tuple[tuple[Corrections, ...], Outcome] | None = None
        # The plan that was inferred and is not shown yet; the one that undo or reset brought back.
        self._inferred: Plan | None = None
        self._restored: Plan | None = None
        # Stamps of the passes that the plan which is shown was inferred from.
        self._shown_from: tuple[int, ...] = ()
        self._reasons: tuple[str, ...] = ()
        self._fault = ''
        self._quality: dict[str, str] = {}

    @property
    def status(self) -> InferenceStatus:
        """What it does, and which passes are active."""
        state = InferenceState.WAITING
        if self.worker.is_busy and not self._is_unasked:
            state = InferenceState.INFERRING
        elif self.plan is None or not (self.worker.is_ready or self._fault):
            state = InferenceState.STARTING
        return InferenceStatus(
            state=state,
            event=self._event,
            corrections_ns=_stamps(self.learner.active),
            considered_ns=_stamps(self._considered),
            learned_from_ns=_stamps(self._learned_from),
            data=self.learner.digest,
            considered_data=_digest(self._considered),
            learned_data=_digest(self._learned_from),
            pushes=self.learner.pushes,
            heard=len(self._heard),
            plan_stamp_ns=0 if self.plan is None else self.plan.stamp_ns,
            reasons=self._reasons,
            fault=self._fault or self.worker.fault,
            quality=self._quality,
            tables_ready=0 if self.live is None else self.live.ready,
            tables_wanted=0 if self.live is None else self.live.wanted,
            tables_fault='' if self.live is None else self.live.fault,
        )

    @property
    def shown_corrections(self) -> list[Corrections]:
        """The corrections of the plan that is shown."""
        stamp_ns = 0 if self.plan is None else self.plan.stamp_ns
        return [each for each in self.learner.active if each.plan_stamp_ns == stamp_ns]

    def resume(self, history: SessionHistory) -> None:
        """Go on where an inference before this one ended.

        Raises:
            RewardLearningError: The plans are none of the task.
        """
        for plan in history.plans:
            self.learner.add_plan(plan)
            self.plan = plan
        for corrections in history.corrections:
            try:
                self.on_corrections(corrections)
            except RewardLearningError:
                # The one before said so, and went on.
                continue
        self._event = InferenceEvent.STARTED
        status = history.status
        if status is not None:
            self.learner.keep_only(status.active_among(map(stamp_of, history.corrections)))
            self._shown_from = status.learned_from_ns

    def on_corrections(self, corrections: Corrections) -> None:
        """Take corrections.

        Raises:
            RewardLearningError: Nothing can be learned from them; says why.
        """
        self._heard.add(stamp_of(corrections))
        self._last_word_sec = self.steady_sec()
        if isinstance(corrections, PassCorrections):
            self._told[corrections.plan_stamp_ns] = corrections
        if not self.learner.add_corrections(corrections):
            return
        self._event = InferenceEvent.CORRECTED
        if corrections.plan_stamp_ns not in self.learner.plans:
            raise InferenceRefusedError(
                f'the plan {corrections.plan_stamp_ns} that they correct is not known'
            )

    def on_recorded_plan(self, plan: Plan) -> None:
        """Take note of a plan that was shown elsewhere, and that may have been corrected.

        Raises:
            RewardLearningError: It is no plan of the task, or what was told of it is none of it.
        """
        self.learner.add_plan(plan)

    def on_playback(self, playback: PlaybackStatus) -> None:
        """Take note of what playback does."""
        if playback.state is PlaybackState.PLAYING:
            self._played.add(playback.plan_stamp_ns)
        if self._playback is None or playback.state is not self._playback.state:
            self._last_word_sec = self.steady_sec()
        self._playback = playback

    def on_recorder(self, recorder: RecorderStatus) -> None:
        """Take note of whether somebody pushes, and how far the pass is told."""
        if recorder != self._recorder:
            self._last_word_sec = self.steady_sec()
        self._recorder = recorder

    def on_shift(self, shift_m: np.ndarray) -> None:
        """Take note of how far the rest of the plan is shifted while somebody pushes (3,)."""
        if self.live is not None:
            self.live.on_shift(shift_m)

    def live_theta(self) -> LiveTheta | None:
        """Return the belief in what is told and felt, if it is to be published now."""
        if self.live is None or self.plan is None:
            return None
        return self.live.theta(
            self.plan, in_contact=self._recorder.in_contact, kept=self._learned_from
        )

    def undo(self) -> Update:
        """Forget the last pass, and show what it was a pass of.

        Raises:
            InferenceRefusedError: There is none.
        """
        undone = self.learner.undo()
        if undone is None:
            raise InferenceRefusedError('there is no correction to undo')
        self._event = InferenceEvent.UNDONE
        self._stop_inference()
        if stamp_of(undone) in self._shown_from:
            self._restored = self.learner.plans.get(undone.plan_stamp_ns)
        return self._restore()

    def reset(self) -> Update:
        """Forget all passes, and show the initial plan."""
        self.learner.reset()
        self._event = InferenceEvent.RESET
        self._stop_inference()
        self._restored = self.paths.initial_plan(0)
        return self._restore()

    def advance(self) -> Update | None:
        """Look after the inference; return what is to be published, if anything."""
        if self.plan is None:
            return self._show(self.paths.initial_plan(0), ()) if self.now_ns() > 0 else None
        if self.live is not None:
            self.live.follow(self.plan)
        outcome = self._begin_inference() if self._is_due() else None
        self._look_ahead()
        outcome = outcome or self._poll()
        result = None if outcome is None else self._take(outcome)
        update = self._show_next()
        if result is None:
            return update
        return Update(plan=None if update is None else update.plan, result=result)

    @property
    def _is_moving_on(self) -> bool:
        """Whether playback is on its way with a plan, or held on it."""
        return self._playback is not None and self._playback.state in _IN_PASS

    @property
    def _is_quiet(self) -> bool:
        """Whether neither playback nor the recorder told anything new for long."""
        return self.steady_sec() - self._last_word_sec >= RECORDER_TIMEOUT_SEC

    @property
    def _was_played(self) -> bool:
        """Whether the arm set out on the plan that is shown."""
        return self.plan is not None and (
            self.plan.stamp_ns in self._played or self.plan.stamp_ns in self._told
        )

    @property
    def _is_told(self) -> bool:
        """Whether all that the recorder told of the plan that is shown was heard."""
        return self._recorder.is_heard(self._told.get(self._recorder.plan_stamp_ns))

    @property
    def _is_pushing(self) -> bool:
        """Whether somebody pushes, or what came of it is still on its way."""
        return self._recorder.in_contact or not (self._is_told or self._is_quiet)

    @property
    def _is_over(self) -> bool:
        """Whether the pass of the plan that is shown is over, and all of it told."""
        if self.plan is None or self._is_moving_on:
            return False
        if self._recorder.plan_stamp_ns == self.plan.stamp_ns and self._recorder.is_complete:
            return self._is_told or self._is_quiet
        return self._was_played and self._is_quiet

    def _is_due(self) -> bool:
        """Tell whether there is something to infer from that was not inferred from yet."""
        active = self.learner.active
        before = self._at_work if self.worker.is_busy else self._considered
        if not active or active in (before, self._considered):
            return False
        return self._is_over or self._essence(active) != self._essence(before)

    def _essence(self, records: tuple[Corrections, ...]) -> list[tuple[Any, ...]]:
        """Return what makes an inference worthwhile: of the present pass only its pushes."""
        present_ns = 0 if self.plan is None else self.plan.stamp_ns
        result: list[tuple[Any, ...]] = []
        for each in records:
            if not isinstance(each, PassCorrections):
                result.append((each.stamp_ns,))
            elif each.plan_stamp_ns != present_ns:
                result.append((each.plan_stamp_ns, each.digest))
            elif each.pushes:
                pushes = each.is_push
                content = (each.times_sec, each.delta_positions, each.delta_orientations)
                result.append(
                    (each.plan_stamp_ns, *(array[pushes].tobytes() for array in content))
                )
        return result

    def _begin_inference(self) -> Outcome | None:
        """Infer from what is active; return what comes of it, if that is known already."""
        foreseen, self._foreseen = self._foreseen, None
        self._at_work = self.learner.active
        self._is_ahead = False
        self._inferred = None
        if foreseen is not None and foreseen[0] == self._at_work:
            self.worker.cancel()
            return foreseen[1]
        sequences = self.learner.sequences()
        if sequences:
            self.worker.submit(sequences)
        else:
            # Passes of which nothing is known.
            self.worker.cancel()
            self._considered = self._at_work
        return None

    @property
    def _is_unasked(self) -> bool:
        """Whether what is at work is ahead of what was told."""
        return self._is_ahead and self._at_work != self.learner.active

    def _look_ahead(self) -> None:
        """Infer from the present pass as it would end, if there is nothing else to infer from."""
        if self._is_unasked and self.worker.is_busy and not self._is_moving_on:
            # The pass ended otherwise.
            if self._is_over:
                self.worker.cancel()
            return
        if (
            not self.config.infers_ahead
            or self.config.replan == AT_ONCE
            or not self._is_moving_on
            or self.worker.is_busy
        ):
            return
        ahead = self._ahead()
        if ahead is None or (self._foreseen is not None and self._foreseen[0] == ahead):
            return
        if ahead != self._considered:
            self._at_work, self._is_ahead = ahead, True
            self.worker.submit(self.learner.sequences_of(ahead))

    def _ahead(self) -> tuple[Corrections, ...] | None:
        """Return what would be active if nobody pushed any more; None before anything is told."""
        assert self.plan is not None
        active = self.learner.active
        if not active or active[-1].plan_stamp_ns != self.plan.stamp_ns:
            return None
        present = active[-1]
        if not isinstance(present, PassCorrections) or not len(present.times_sec):
            return None
        rest = self.plan.times_sec[self.plan.times_sec > present.times_sec[-1] + _SAME_TIME_SEC]
        ended = dataclasses.replace(
            present,
            times_sec=np.append(present.times_sec, rest),
            delta_positions=np.vstack([present.delta_positions, np.zeros((len(rest), 3))]),
            delta_orientations=np.vstack(
                [present.delta_orientations, np.tile(_NO_TURN, (len(rest), 1))]
            ),
        )
        return (*active[:-1], ended)

    def _poll(self) -> Outcome | None:
        """Return what came of the inference; keep what is ahead of what was told."""
        is_unasked = self._is_unasked
        outcome = self.worker.poll()
        if outcome is not None and is_unasked:
            self._foreseen = (self._at_work, outcome)
            return None
        return outcome

    def _stop_inference(self) -> None:
        self.worker.cancel()
        self._at_work = ()
        self._is_ahead = False
        self._foreseen = None
        self._considered = ()
        self._inferred = None
        self._reasons = ()

    def _take(self, outcome: Outcome) -> InferenceResult | None:
        self._considered = self._at_work
        result = outcome.result
        if result is None:
            self._event, self._fault = InferenceEvent.FAILED, outcome.error
            return None
        self._event, self._fault = InferenceEvent.LEARNED, ''
        self._learned_from = self._considered
        self._reasons = result.reasons
        self._quality = _quality_of(result, outcome)
        if self.live is not None:
            self._quality |= self.live.compared(self._considered, result.theta)
        if result.is_trusted:
            self._inferred = result.stamped_plan(0)
        return result

    def _show_next(self) -> Update | None:
        """Show another plan, if one is to be shown now."""
        # A plan that changed under a hand would cut off what it does.
        if self._is_pushing or self.worker.is_busy or self._is_due():
            return None
        assert self.plan is not None
        learned_from = _stamps(self._learned_from)
        if self._is_over:
            # Of the next pass nothing builds on this one, whatever was learned.
            if self._inferred is not None:
                return self._show(self._inferred, learned_from)
            if self._restored is not None:
                return self._show(self._restored, ())
            return self._show(self.plan, self._shown_from)
        if self._inferred is None:
            restored = self._restore()
            return None if restored.plan is None else restored
        if not self._may_replan():
            return None
        if _is_same(self._inferred, self.plan) and not self._is_corrected:
            # Inferred again after a restart or an undo: it is shown already.
            self._inferred, self._shown_from = None, learned_from
            return None
        return self._show(self._inferred, learned_from)

    def _may_replan(self) -> bool:
        """Tell whether the plan may be replaced before its pass is over."""
        if self.config.replan == AT_ONCE:
            return True
        return not (self._is_moving_on or self._was_played)

    @property
    def _is_corrected(self) -> bool:
        """Whether somebody pushed the plan that is shown."""
        return any(
            not isinstance(each, PassCorrections) or each.pushes for each in self.shown_corrections
        )

    def _restore(self) -> Update:
        """Show what undo or reset brought back, unless a pass or a push is not over."""
        if self._restored is None or self._is_pushing or not self._may_replan():
            return Update()
        return self._show(self._restored, ())

    def _show(self, plan: Plan, learned_from: tuple[int, ...]) -> Update:
        """Show a plan from now on, under a stamp of its own."""
        last_ns = 0 if self.plan is None else self.plan.stamp_ns
        self.plan = dataclasses.replace(plan, stamp_ns=max(self.now_ns(), last_ns + 1))
        self.learner.add_plan(self.plan)
        if self.live is not None:
            # Now: the tables that are there are of another plan.
            self.live.follow(self.plan)
        self._shown_from = learned_from
        self._inferred = None
        self._restored = None
        return Update(plan=self.plan)


def _stamps(records: tuple[Corrections, ...]) -> tuple[int, ...]:
    return tuple(map(stamp_of, records))


def _digest(records: tuple[Corrections, ...]) -> str:
    return data_digest(each for each in records if isinstance(each, PassCorrections))


def _is_same(one: Plan, other: Plan) -> bool:
    return dataclasses.replace(one, stamp_ns=0) == dataclasses.replace(other, stamp_ns=0)


def _quality_of(result: InferenceResult, outcome: Outcome) -> dict[str, str]:
    numbers: dict[str, Any] = result.posterior.diagnostics
    quality = {name: f'{numbers[name]:.4g}' for name in _QUALITY if name in numbers}
    quality['relevance'] = f'{result.posterior.relevance:.4g}'
    quality['beta'] = f'{float(np.median(result.posterior.beta_samples)):.4g}'
    quality['duration_sec'] = f'{outcome.duration_sec:.3f}'
    return quality
