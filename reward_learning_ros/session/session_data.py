"""What is known about one session once it is over: all that its report is made of."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array
from reward_learning_ros.core.errors import RewardLearningError, UnknownNameError
from reward_learning_ros.core.planner import plan
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence
from reward_learning_ros.interface import (
    ContactReport,
    Correction,
    InferenceStatus,
    ParticipantStatus,
    PassCorrections,
    Plan,
    SessionState,
    SessionStatus,
    ThetaSummary,
)
from reward_learning_ros.learning import ToolPaths
from reward_learning_ros.session.terminal import pass_line
from reward_learning_ros.session.understanding import NOTHING, learned_share, prior_of, understood

DONE = 'done'
ABORTED = 'aborted'
OUTCOMES = (DONE, ABORTED)


@dataclass(frozen=True, kw_only=True, eq=False)
class PassOutcome:
    """The outcome of one pass: pushes, θ, the next plan, and how long it took.

    Attributes:
        pushes: At how many waypoints somebody pushed; of an older recording, how many corrections.
        told: Of how many waypoints it is known whether somebody pushed; 0 in an older recording.
        is_active: Whether it was learned from in the end; not if it was undone.
        theta: θ as it was published after the pass; None if nothing was learned.
        trajectory: (n, m) the plan that was shown next; None if there was none.
        reasons: Why the plan for that θ was not shown, in words; empty if it was.
        latency_sec: From the end of the last push to the next plan; None if unknown.
        wait_sec: From the end of the pass, or of the last push if that was later, to the next
            plan: how long the person had nothing to do; None if unknown.
        plan_stamp_ns: Stamp of the plan that was played; 0 if unknown.
        live_theta: θ as it was believed last before `theta` was there; None if it never was.
        live_distance: How far a component of the mean of the live belief, in the same passes, is
            from that of `theta`, on average; None where there was no live belief.
        live_updates: How often a live belief was published during the pass.
    """

    pushes: int
    told: int = 0
    is_active: bool = True
    theta: ThetaSummary | None = None
    trajectory: np.ndarray | None = None
    reasons: tuple[str, ...] = ()
    latency_sec: float | None = None
    wait_sec: float | None = None
    plan_stamp_ns: int = 0
    live_theta: ThetaSummary | None = None
    live_distance: float | None = None
    live_updates: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Fault:
    """A fault during a session: where, what and when.

    Attributes:
        source: Which node, or what else.
        text: What it said.
        time_sec: From the start of the session; None if unknown.
    """

    source: str
    text: str
    time_sec: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class SessionData:
    """All of a recorded session that its report and summary are made from.

    Only the task must be given: a session that ended before anything happened has a report too.

    Attributes:
        task: What the arm did.
        study: Name of the study.
        participant: Name of the participant.
        trial: Number of the trial.
        outcome: `done` or `aborted`.
        reason: Why it ended, in words; empty if there is nothing to say.
        started: When it began, with a time zone.
        duration_sec: How long it took.
        seed: Of all random numbers.
        versions: Of the software, by name.
        configuration: What else was chosen, by name: method, dependence, mode, arm …
        initial_plan: (n, m) before the first correction; the task's by default.
        final_plan: (n, m) what the arm showed last; None if it learned nothing.
        sequences: What was learned from, a sequence for each pass.
        corrections: The same as they were recorded, of each pass or, of old, of each contact.
        contacts: What is known of each contact beyond that.
        posterior: Of θ and β, after the last pass; None if there is none.
        trusted: Whether the plan for it may be shown; None if there is none. By default, whether
            the draws are trusted.
        passes: What each pass came to, in order.
        theta_star: (d,) what the participant wants, where that is known.
        beta_star: How reliably they pick it, where that is known.
        ideal: (n, m) the best trajectory for `theta_star`; found here by default.
        faults: What went wrong.
    """

    task: Task
    study: str = ''
    participant: str = ''
    trial: int = 0
    outcome: str = DONE
    reason: str = ''
    started: datetime.datetime | None = None
    duration_sec: float | None = None
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    initial_plan: np.ndarray | None = None
    final_plan: np.ndarray | None = None
    sequences: tuple[CorrectionSequence, ...] = ()
    corrections: tuple[PassCorrections | Correction, ...] = ()
    contacts: tuple[ContactReport, ...] = ()
    posterior: Posterior | None = None
    trusted: bool | None = None
    passes: tuple[PassOutcome, ...] = ()
    theta_star: np.ndarray | None = None
    beta_star: float | None = None
    ideal: np.ndarray | None = None
    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise UnknownNameError('outcome', self.outcome, OUTCOMES)
        shape = self.task.plan.shape
        start = self.task.plan if self.initial_plan is None else self.initial_plan
        self._set('initial_plan', finite_array(start, 'initial_plan', shape))
        for name in ('final_plan', 'ideal'):
            if getattr(self, name) is not None:
                self._set(name, finite_array(getattr(self, name), name, shape))
        for each in self.passes:
            for summary in (each.theta, each.live_theta):
                if summary is not None:
                    finite_array(summary.mean, 'theta of a pass', (self.task.size,))
            if each.trajectory is not None:
                finite_array(each.trajectory, 'trajectory of a pass', shape)
        if self.trusted is None and self.posterior is not None:
            self._set('trusted', self.posterior.is_trustworthy)
        if self.theta_star is not None:
            theta = finite_array(self.theta_star, 'theta_star', (self.task.size,))
            self._set('theta_star', theta)
            if self.ideal is None:
                self._set('ideal', plan(self.task, theta, seed=self.seed))

    def _set(self, name: str, value: Any) -> None:
        # Frozen for everyone else.
        object.__setattr__(self, name, value)

    @property
    def correction_count(self) -> int:
        """From how many corrections θ was learned: pushes, or of old contacts."""
        return sum(
            len(sequence) if sequence.pushed is None else int(sequence.pushed.sum())
            for sequence in self.sequences
        )

    @cached_property
    def prior(self) -> ThetaSummary:
        """The statistics of θ before anybody was asked."""
        return prior_of(self.task)

    @cached_property
    def unasked_plan(self) -> np.ndarray:
        """The plan (n, m) of who asks nobody: the best one for the prior's mean."""
        return plan(self.task, self.prior.mean, seed=self.seed)

    def understood_of(self, outcome: PassOutcome) -> str:
        """Return in one sentence what the arm has understood after a pass."""
        if outcome.theta is None:
            return NOTHING
        change = None
        if outcome.trajectory is not None and not outcome.reasons:
            unasked, shown = self.task.evaluate(np.stack([self.unasked_plan, outcome.trajectory]))
            change = shown - unasked
        return understood(self.prior, outcome.theta, task=self.task.name, change=change)

    def learned_share_of(self, theta: ThetaSummary) -> float:
        """Return how much of what could be known of θ was learned."""
        return learned_share(self.prior, theta)

    @cached_property
    def theta_mean(self) -> np.ndarray | None:
        """The estimate (d,) of θ; None if nothing was learned."""
        if self.posterior is not None:
            return self.posterior.mean
        thetas = [each.theta for each in self.passes if each.is_active and each.theta is not None]
        return np.asarray(thetas[-1].mean) if thetas else None

    def error_of(self, theta: np.ndarray) -> float | None:
        """Return ‖θ* − θ‖; None where θ* is not known."""
        if self.theta_star is None:
            return None
        return float(np.linalg.norm(self.theta_star - theta))

    def regret_of(self, trajectory: np.ndarray) -> float | None:
        """Return what a trajectory (n, m) lacks of the ideal one's reward (equation U1)."""
        if self.theta_star is None or self.ideal is None:
            return None
        ideal, shown = self.task.evaluate(np.stack([self.ideal, trajectory])) @ self.theta_star
        return float(max(0.0, ideal - shown))

    @property
    def error(self) -> float | None:
        """The Error of the estimate; None where θ* or the estimate is not known."""
        return None if self.theta_mean is None else self.error_of(self.theta_mean)

    @property
    def unasked_error(self) -> float | None:
        """The Error of the prior's mean."""
        return self.error_of(self.prior.mean)

    @cached_property
    def unasked_regret(self) -> float | None:
        """The Regret of the plan of who asks nobody; None where θ* is not known."""
        return None if self.theta_star is None else self.regret_of(self.unasked_plan)

    @property
    def initial_regret(self) -> float | None:
        """The Regret of the plan before the first correction."""
        assert self.initial_plan is not None
        return self.regret_of(self.initial_plan)

    @property
    def regret(self) -> float | None:
        """The Regret of the plan that was shown last, the initial one if there was no other."""
        return self.initial_regret if self.final_plan is None else self.regret_of(self.final_plan)


# Nothing more comes of a pass in these states: the arm stands, and what was done is learned from.
_BETWEEN_PASSES = (SessionState.READY, SessionState.WAITING, SessionState.AWAY, SessionState.ENDED)


@dataclass(frozen=True, kw_only=True)
class LatestStatuses:
    """The latest status of each node that a pass is judged by; None before the first.

    Attributes:
        session: what the session does.
        inference: what the inference does.
        theta: what was learned.
        plan: what is shown next.
        participant: what a simulated participant wants, to say the Regret; nothing else may know.
    """

    session: SessionStatus | None = None
    inference: InferenceStatus | None = None
    theta: ThetaSummary | None = None
    plan: Plan | None = None
    participant: ParticipantStatus | None = None


class PassReporter:
    """Summarizes each pass of a running session in one line."""

    def __init__(self, paths: ToolPaths, seed: int = 0) -> None:
        """Begin before the first pass.

        Args:
            paths: How the arm follows the task, its features softened as in the session.
            seed: Of the session.
        """
        self._paths = paths
        self._seed = seed
        self._passes = 0
        self._pushes = 0
        self._theta_star: np.ndarray | None = None

    def update(self, heard: LatestStatuses) -> str:
        """Return the line of a pass that is over by now; empty if none is, or it was told."""
        session, inference = heard.session, heard.inference
        if heard.participant is not None and self._theta_star is None:
            self._theta_star = heard.participant.theta
        if session is None or inference is None or session.passes <= self._passes:
            return ''
        if session.state not in _BETWEEN_PASSES or not inference.is_settled:
            return ''
        outcome = PassOutcome(
            # Fewer than before if a pass was undone.
            pushes=max(0, inference.pushes - self._pushes),
            theta=heard.theta if inference.learned_from_ns else None,
            trajectory=self._trajectory(heard.plan),
            reasons=inference.reasons,
        )
        self._passes, self._pushes = session.passes, inference.pushes
        shown = outcome.trajectory
        return pass_line(
            session.passes,
            pushes=outcome.pushes,
            understood=self._data.understood_of(outcome),
            regret=None if shown is None else self._data.regret_of(shown),
            unasked_regret=self._data.unasked_regret,
        )

    @cached_property
    def _data(self) -> SessionData:
        """What the passes are judged by; made once, since it searches for plans."""
        return SessionData(task=self._paths.task, seed=self._seed, theta_star=self._theta_star)

    def _trajectory(self, plan: Plan | None) -> np.ndarray | None:
        try:
            return None if plan is None else self._paths.trajectory_of(plan)
        except RewardLearningError:
            return None
