"""What is known about one session once it is over: all that its report is made of."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array
from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.planner import plan
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence
from reward_learning_ros.interface import Correction, ThetaSummary

DONE = 'done'
ABORTED = 'aborted'
OUTCOMES = (DONE, ABORTED)


@dataclass(frozen=True, kw_only=True, eq=False)
class Step:
    """What one inference during the session came to.

    Attributes:
        corrections: How many it was learned from, 1 or more.
        theta: θ as it was published.
        trajectory: (n, m) the plan for that θ; None if the arm could follow none.
        reasons: Why the plan was not shown, in words; empty if it was.
        latency_sec: From the end of the correction to the new plan; None if unknown.
    """

    corrections: int
    theta: ThetaSummary
    trajectory: np.ndarray | None = None
    reasons: tuple[str, ...] = ()
    latency_sec: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Fault:
    """Something that went wrong.

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
    """A session, in the coordinates of its task.

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
        sequences: What was learned from, a sequence for each plan that was corrected.
        corrections: The same as they were sensed, in the order in which they were made.
        posterior: Of θ and β, after the last correction; None if there is none.
        steps: What each inference came to, in order.
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
    corrections: tuple[Correction, ...] = ()
    posterior: Posterior | None = None
    steps: tuple[Step, ...] = ()
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
        for step in self.steps:
            finite_array(step.theta.mean, 'theta of a step', (self.task.size,))
            if step.trajectory is not None:
                finite_array(step.trajectory, 'trajectory of a step', shape)
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
        """How many corrections θ was learned from."""
        return sum(len(sequence) for sequence in self.sequences)

    @cached_property
    def theta_mean(self) -> np.ndarray | None:
        """The estimate (d,) of θ; None if nothing was learned."""
        if self.posterior is not None:
            return self.posterior.mean
        return np.asarray(self.steps[-1].theta.mean) if self.steps else None

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
    def initial_regret(self) -> float | None:
        """The Regret of the plan before the first correction."""
        assert self.initial_plan is not None
        return self.regret_of(self.initial_plan)

    @property
    def regret(self) -> float | None:
        """The Regret of the plan that was shown last, the initial one if there was no other."""
        return self.initial_regret if self.final_plan is None else self.regret_of(self.final_plan)
