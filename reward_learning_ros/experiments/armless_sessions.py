"""Sessions without an arm: passes of simulated people, and what a learner makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros import core
from reward_learning_ros.core.human_model import InadmissibleCorrectionWarning
from reward_learning_ros.core.replanning import prior_mean, unasked_plan
from reward_learning_ros.participant.people import Person

Array = NDArray[np.float64]

# What a 90 % interval of each component of θ is expected to hold.
INTERVAL = 0.9


__all__ = [
    'AfterPass',
    'Estimate',
    'GradientStep',
    'Inferred',
    'Learner',
    'prior_mean',
    'run_session',
]


class Learner(Protocol):
    """Protocol of what learns θ from passes in a session without an arm."""

    def __call__(
        self, task: core.Task, passes: Sequence[core.CorrectionSequence], seed: int
    ) -> Estimate:
        """Return what the passes so far say of θ."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """An estimate of θ from passes: mean, interval and draws.

    Attributes:
        theta: (d,) the mean.
        interval: (2, d) the central 90 % of each component; None if it is not known.
        draws: (N, d) of the posterior, by which the plan is chosen; None shows that of the mean.
    """

    theta: Array
    interval: Array | None = None
    draws: Array | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class AfterPass:
    """How far a session is, before the first pass and after each.

    Attributes:
        error: ‖θ* − θ̂‖.
        regret: What the plan for θ̂ lacks for the person.
        pushes: At how many waypoints they pushed in this pass.
        covered: Share of the components of θ* inside their intervals; NaN if there are none.
    """

    error: float
    regret: float
    pushes: int = 0
    covered: float = float('nan')


@dataclass(frozen=True, kw_only=True, eq=False)
class Inferred:
    """Learns by inference, with options of `core.infer`.

    Attributes:
        options: Of `core.infer`.
        settings: How long and how hard to work.
        bold: Whether the plan for the posterior's mean is shown however uncertain its gain is.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    settings: core.Settings = core.PASS_SETTINGS
    bold: bool = False

    def __call__(
        self, task: core.Task, passes: Sequence[core.CorrectionSequence], seed: int
    ) -> Estimate:
        """Return the posterior mean."""
        with warnings.catch_warnings():
            # A hand does not keep to the bounds of the trajectory space.
            warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
            posterior = core.infer(
                task,
                list(passes),
                seed=seed,
                settings=self.settings,
                **self.options,
            )
        return Estimate(
            theta=posterior.mean,
            interval=posterior.interval(INTERVAL),
            draws=None if self.bold else posterior.samples,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class GradientStep:
    """The online step of the pHRI literature: θ moves along the change of features of each pass.

    Attributes:
        step: Its size.
    """

    step: float

    def __call__(
        self, task: core.Task, passes: Sequence[core.CorrectionSequence], seed: int
    ) -> Estimate:
        """Return θ after one step for each pass, from the prior's mean, kept in the domain."""
        theta = prior_mean(task)
        for sequence in passes:
            before, after = task.evaluate(np.stack([sequence.plan, sequence.corrected[-1]]))
            theta = np.maximum(theta + self.step * (after - before), 0.0)
            length = np.linalg.norm(theta)
            theta = theta / length if length > 0.0 else prior_mean(task)
        return Estimate(theta=theta)


def run_session(
    person: Person,
    learner: Learner,
    *,
    task: core.Task | None = None,
    passes: int = 3,
    seed: int = 0,
    on_pass: Callable[[AfterPass], None] = lambda after: None,
) -> list[AfterPass]:
    """Let a person correct passes, the plan for what was learned shown after each.

    Args:
        person: Who corrects; their task says what they think of plans.
        learner: Who learns.
        task: As learner and planner see it; the person's by default.
        passes: How many.
        seed: Of the learner.
        on_pass: Told of each pass.

    Returns:
        How it stood before the first pass, which shows the task's own plan, and after each. The
        Regret before is that of the plan for the prior's mean: of who asked nobody.
    """
    seen = person.task if task is None else task
    unasked = prior_mean(seen)
    story = [
        AfterPass(
            error=float(np.linalg.norm(person.theta - unasked)),
            regret=person.regret_of(unasked_plan(seen)),
        )
    ]
    plan = np.array(seen.plan)
    given: list[core.CorrectionSequence] = []
    for _ in range(passes):
        given.append(person.correct(plan))
        estimate = learner(seen, given, seed)
        free = len(plan) - seen.space.fixed_waypoints
        accepted = core.accepted_plan(given, free)
        if estimate.draws is None:
            plan = core.plan(seen, estimate.theta)
        elif accepted is not None:
            plan = accepted
        else:
            doubt = core.doubt_after(given)
            plan = core.choose_plan(seen, estimate.draws, doubt=doubt).trajectory
        covered = float('nan')
        if estimate.interval is not None:
            low, high = estimate.interval
            covered = float(((person.theta >= low) & (person.theta <= high)).mean())
        story.append(
            AfterPass(
                error=float(np.linalg.norm(person.theta - estimate.theta)),
                regret=person.regret_of(plan),
                pushes=int(given[-1].is_push.sum()),
                covered=covered,
            )
        )
        on_pass(story[-1])
    return story
