"""Which plan to show after a pass: the best one for the posterior's mean, unless it is a gamble.

Rewards are linear in θ, so the plan for the posterior's mean is the best one on average. But a
person who sees a plan get worse by their own corrections loses more than an average says, the plan
of who asked nobody is often good already, and posteriors of people who are no draws from the model
are too sure. So new plans, for the posterior's mean and for smaller steps towards it from the
prior's, are compared with the unasked plan over draws of θ, some of them from the prior: of a
person whom the model does not describe at all, the passes say nothing. What is lost counts more
than what is gained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array, number_between
from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.core.planner import Admissible, plan
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence

# Steps from the prior's mean towards the posterior's that are tried, the whole way first.
SHARES = (1.0, 0.5, 0.25)
# How much more a loss counts than a gain, and how likely a person is none that the model
# describes; docs/learning.md has what others gave.
LOSS_AVERSION = 1.5
DOUBT = 0.2
# The same of a person who never pushed, and at what share of a pass's waypoints one must have
# pushed to be taken at one's word.
SILENT_DOUBT = 0.8
ENGAGED = 0.5
# Points that the prior's mean is taken over.
PRIOR_POINTS = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenPlan:
    """A plan to be shown, and what is expected of it.

    Attributes:
        trajectory: (n, m).
        theta: (d,) the weights that it is the best one for.
        share: How far θ is on the way from the prior's mean to the posterior's; 0 for the unasked
            plan.
        gain: Expected reward beyond that of the unasked plan, by the posterior.
        risk: The probability that it is worse than the unasked plan, by the posterior.
    """

    trajectory: np.ndarray
    theta: np.ndarray
    share: float
    gain: float
    risk: float


def prior_mean(task: Task) -> np.ndarray:
    """Return the prior's mean of θ (d,)."""
    return np.asarray(_prior_points(task).mean(axis=0))


@lru_cache(maxsize=8)
def _prior_points(task: Task) -> np.ndarray:
    assert isinstance(task.theta, ThetaDomain)
    return task.theta.quasi_random(PRIOR_POINTS)


def _worth(gains: np.ndarray, loss_aversion: float) -> float:
    return float(np.where(gains < 0.0, loss_aversion * gains, gains).mean())


@lru_cache(maxsize=8)
def unasked_plan(task: Task, seed: int = 0, admissible: Admissible | None = None) -> np.ndarray:
    """Return the plan (n, m) for the prior's mean: of who asked nobody."""
    found = plan(task, prior_mean(task), seed=seed, admissible=admissible)
    found.setflags(write=False)
    return found


def doubt_after(passes: Sequence[CorrectionSequence]) -> float:
    """Return how likely the passes so far say nothing of θ.

    Silence is a statement of somebody who is known to push. Of those who push once a pass or
    never, nobody knows whether they liked the rest, saw no push that would help, or did not look.
    """
    most = max((float(sequence.is_push.mean()) for sequence in passes), default=0.0)
    return SILENT_DOUBT + (DOUBT - SILENT_DOUBT) * min(1.0, most / ENGAGED)


def accepted_plan(passes: Sequence[CorrectionSequence], free: int) -> np.ndarray | None:
    """Return the plan (n, m) that a person who had pushed before let pass; None if there is none.

    Args:
        passes: What the person did.
        free: How many waypoints of a pass can be pushed; of all of them it must be known that
            nobody pushed.
    """
    if len(passes) < 2 or not any(sequence.is_push.any() for sequence in passes[:-1]):
        return None
    last = passes[-1]
    return None if last.is_push.any() or len(last) < free else np.array(last.plan)


def choose_plan(
    task: Task,
    draws: Any,
    *,
    loss_aversion: float = LOSS_AVERSION,
    doubt: float = DOUBT,
    shares: Sequence[float] = SHARES,
    seed: int = 0,
    admissible: Admissible | None = None,
) -> ChosenPlan:
    """Return the plan to show, given draws (N, d) of the posterior of θ.

    Args:
        task: The task.
        draws: (N, d) of the posterior, such as `Posterior.samples`.
        loss_aversion: How much more a loss against the unasked plan counts than a gain. Where no
            plan is worth it, the unasked one is shown.
        doubt: The probability that the passes say nothing of θ; `doubt_after` has one. With none,
            and losses that count like gains, the plan for the posterior's mean is shown.
        shares: Steps from the prior's mean to the posterior's.
        seed: Of all random numbers: the same gives the same plan.
        admissible: Tells which trajectories can be driven, as in `plan`.
    """
    thetas = finite_array(draws, 'draws', (None, task.size))
    number_between(loss_aversion, 'loss_aversion', 1.0, 1e6)
    number_between(doubt, 'doubt', 0.0, 1.0)
    unasked, before = unasked_plan(task, seed, admissible), prior_mean(task)
    mean = thetas.mean(axis=0)
    unasked_features = task.evaluate(unasked)
    best = ChosenPlan(trajectory=np.array(unasked), theta=before, share=0.0, gain=0.0, risk=0.0)
    most = 0.0
    # The best plan between two means is on a hill of theirs, or on none that is worth a search.
    near: tuple[np.ndarray, ...] = ()
    for share in shares:
        theta = (1.0 - share) * before + share * mean
        trajectory = plan(task, theta, seed=seed, admissible=admissible, near=near)
        near = (*near, trajectory) if near else (unasked, trajectory)
        change = task.evaluate(trajectory) - unasked_features
        gains = thetas @ change
        worth = (1.0 - doubt) * _worth(gains, loss_aversion)
        worth += doubt * _worth(_prior_points(task) @ change, loss_aversion)
        if worth > most:
            most = worth
            best = ChosenPlan(
                trajectory=trajectory,
                theta=theta,
                share=float(share),
                gain=float(gains.mean()),
                risk=float((gains < 0.0).mean()),
            )
    return best
