"""What was learned of θ beside what was known before, in numbers and in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.core.task import Task
from reward_learning_ros.interface import ThetaSummary

NOTHING = 'nothing yet'
# Points of the prior: its quantiles are known to a thousandth of its width.
_PRIOR_POINTS = 4096
_QUANTILES = (0.05, 0.5, 0.95)
# A mean this many of the prior's standard deviations away has moved far.
_MUCH = 1.5


class _Behaviour(NamedTuple):
    """What a plan does that has more, or less, of a feature, and how much more is seen."""

    more: str
    less: str
    min_change: float


# Of our own tasks; of others nobody knows what a feature measures: there, only its weight is told.
# What switches must have switched, other features are in metres.
_PRESS = {
    'goal': _Behaviour('ends closer to the goal', 'stops farther from the goal', 0.01),
    'button': _Behaviour('presses the button', 'leaves the button alone', 0.25),
    'obstacle': _Behaviour(
        'goes further around the obstacle', 'passes closer to the obstacle', 0.015
    ),
    'length': _Behaviour('takes a shorter way', 'takes a longer way', 0.005),
}
_REACH = {
    'delivered': _Behaviour('hands the cup over', 'does not hand the cup over', 0.5),
    'away': _Behaviour('ends farther from the person', 'ends closer to the person', 0.01),
    'length': _Behaviour('takes a shorter way', 'takes a longer way', 0.01),
}
_BEHAVIOURS: Mapping[str, Mapping[str, _Behaviour]] = {
    'press': _PRESS,
    'published_press': _PRESS,
    'reach': _REACH,
    'published_reach': _REACH,
}


def prior_of(task: Task) -> ThetaSummary:
    """Return the statistics of θ before anybody was asked."""
    assert isinstance(task.theta, ThetaDomain)
    points = task.theta.quasi_random(_PRIOR_POINTS)
    return ThetaSummary(
        features=task.feature_names,
        mean=points.mean(axis=0),
        sd=points.std(axis=0),
        quantiles=np.quantile(points, _QUANTILES, axis=0),
    )


def learned_share(prior: ThetaSummary, theta: ThetaSummary) -> float:
    """Return how much of what could be known was learned: the share of the prior's variance gone.

    1 if θ is known, 0 if nothing was learned; below 0 if θ is less certain than before.
    """
    return float(1.0 - np.square(theta.sd).sum() / np.square(prior.sd).sum())


def understood(
    prior: ThetaSummary,
    theta: ThetaSummary,
    *,
    task: str = '',
    change: NDArray[np.float64] | None = None,
) -> str:
    """Return in one sentence what was understood; `NOTHING` if the intervals support no claim.

    A weight has grown or shrunk if its 90 % interval excludes the prior's mean. What the plan does
    about it is told instead where the plan really does so.

    Args:
        prior: Before anybody was asked.
        theta: By now.
        task: Name of the task, for what its features are called.
        change: (d,) by how much the features of the plan for θ exceed those of the plan for the
            prior's mean; None without a plan.
    """
    low, _, high = theta.quantiles
    shifts = (theta.mean - prior.mean) / np.where(prior.sd > 0.0, prior.sd, 1.0)
    claims = []
    for index in np.argsort(-np.abs(shifts)).tolist():
        if low[index] > prior.mean[index]:
            side = 1
        elif high[index] < prior.mean[index]:
            side = -1
        else:
            continue
        moved = 0.0 if change is None else float(change[index])
        behaviour = _BEHAVIOURS.get(task, {}).get(theta.features[index])
        if behaviour is not None and side * moved >= behaviour.min_change:
            claims.append(behaviour.more if side > 0 else behaviour.less)
        else:
            is_signed = bool(prior.quantiles[0, index] < 0.0)
            claims.append(_claim(theta.features[index], side, abs(shifts[index]), is_signed))
    return '; '.join(claims) or NOTHING


def _claim(feature: str, side: int, size: float, is_signed: bool) -> str:
    much = 'much ' if size >= _MUCH else ''
    amount = f'{much}{"more" if side > 0 else "less"}'
    if is_signed:
        # A weight below zero matters too: it speaks against the feature.
        return f'wants {amount} of {feature} than before'
    return f'{feature} matters {amount} than before'
