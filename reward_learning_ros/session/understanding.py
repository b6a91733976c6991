"""What was learned of θ beside what was known before, in numbers and in one sentence."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import PUSHED, SILENT, UNKNOWN
from reward_learning_ros.interface import PassCorrections, Plan, ThetaSummary
from reward_learning_ros.recording.session_records import (
    LatestCorrections,
    SessionRecording,
    known_waypoints,
)

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
    """Return in one sentence what was inferred; `NOTHING` if the intervals support no claim.

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


# Pushes by how far they were meant to move the plan, in metres.
SIZES_M = (0.0, 0.02, 0.05, np.inf)
SIZE_NAMES = ('below 2 cm', '2 to 5 cm', 'above 5 cm')
_STATISTICS = ('median', 'q95')


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedWaypoint:
    """One waypoint of a pass: what was meant there, and what was recorded.

    Attributes:
        plan_stamp_ns: Stamp of the plan that was played.
        waypoint: Which of its waypoints, from 0.
        meant: `pushed`, `silent` or `unknown`.
        recorded: Likewise.
        meant_delta_m: (3,) by how much this waypoint and all later ones were meant to be moved.
        recorded_delta_m: (3,) by how much they were recorded to be.
        meant_displacement_m: (3,) where the waypoint was meant to be, off the plan.
        recorded_displacement_m: (3,) where it was recorded to be.
    """

    plan_stamp_ns: int
    waypoint: int
    meant: str
    recorded: str
    meant_delta_m: np.ndarray
    recorded_delta_m: np.ndarray
    meant_displacement_m: np.ndarray
    recorded_displacement_m: np.ndarray

    @property
    def delta_difference_m(self) -> float:
        """How far the recorded delta is from the meant one."""
        return float(np.linalg.norm(self.recorded_delta_m - self.meant_delta_m))

    @property
    def displacement_difference_m(self) -> float:
        """How far the recorded waypoint is from the meant one."""
        return float(np.linalg.norm(self.recorded_displacement_m - self.meant_displacement_m))


@dataclass(frozen=True, kw_only=True, eq=False)
class MeantAndRecorded:
    """All waypoints of a session that were meant or recorded, pass by pass."""

    waypoints: tuple[ComparedWaypoint, ...]

    @property
    def lost(self) -> int:
        """How many pushes were meant and recorded as silence."""
        return self._count(PUSHED, SILENT)

    @property
    def invented(self) -> int:
        """How many pushes were recorded where silence was meant."""
        return self._count(SILENT, PUSHED)

    @property
    def unrecorded(self) -> int:
        """How many pushes were meant where nothing is known."""
        return self._count(PUSHED, UNKNOWN)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each waypoint, as a table has it."""
        rows = []
        for each in self.waypoints:
            row: dict[str, Any] = {
                'plan_stamp_ns': each.plan_stamp_ns,
                'waypoint': each.waypoint,
                'meant': each.meant,
                'recorded': each.recorded,
            }
            for name in ('meant_delta', 'recorded_delta'):
                values = getattr(each, f'{name}_m').tolist()
                row |= {f'{name}_{axis}_m': v for axis, v in zip('xyz', values, strict=True)}
            row['delta_difference_m'] = each.delta_difference_m
            row['displacement_difference_m'] = each.displacement_difference_m
            rows.append(row)
        return rows

    def summary(self) -> dict[str, Any]:
        """Return counts, and by size of the push the median and 95 % of what is lost of it."""
        pushes = [each for each in self.waypoints if each.meant == PUSHED]
        by_size = {}
        for name, (low, high) in zip(SIZE_NAMES, itertools.pairwise(SIZES_M), strict=True):
            chosen = [
                each
                for each in pushes
                if low <= np.linalg.norm(each.meant_delta_m) < high and each.recorded != UNKNOWN
            ]
            by_size[name] = {
                'pushes': len(chosen),
                'delta_difference_m': _quantiles(each.delta_difference_m for each in chosen),
                'displacement_difference_m': _quantiles(
                    each.displacement_difference_m for each in chosen
                ),
            }
        return {
            'waypoints': len(self.waypoints),
            'meant_pushes': len(pushes),
            'recorded_pushes': sum(each.recorded == PUSHED for each in self.waypoints),
            'lost_pushes': self.lost,
            'invented_pushes': self.invented,
            'unrecorded_pushes': self.unrecorded,
            'by_size': by_size,
        }

    def _count(self, meant: str, recorded: str) -> int:
        return sum(each.meant == meant and each.recorded == recorded for each in self.waypoints)


def meant_and_recorded(recording: SessionRecording) -> MeantAndRecorded | None:
    """Compare what a simulated participant meant with what was recorded of it.

    A waypoint of which neither says anything is left out, and so is a pass that is none of a plan
    that is known.

    Returns:
        The comparison; None if the participant did not say what they mean.
    """
    meant = _latest(heard.record for heard in recording.meant)
    if not meant:
        return None
    recorded = _latest(heard.record for heard in recording.corrections)
    plans = {heard.record.stamp_ns: heard.record for heard in recording.plans}
    waypoints: list[ComparedWaypoint] = []
    for stamp_ns in dict.fromkeys([*meant, *recorded]):
        if stamp_ns in plans:
            waypoints += _compared(plans[stamp_ns], meant.get(stamp_ns), recorded.get(stamp_ns))
    return MeantAndRecorded(waypoints=tuple(waypoints))


def _latest(records: Iterable[Any]) -> dict[int, PassCorrections]:
    latest = LatestCorrections()
    for record in records:
        latest.add(record)
    return {
        record.plan_stamp_ns: record
        for record in latest.records
        if isinstance(record, PassCorrections)
    }


def _compared(
    plan: Plan, meant: PassCorrections | None, recorded: PassCorrections | None
) -> list[ComparedWaypoint]:
    try:
        meant_deltas, meant_states = _by_waypoint(plan, meant)
        recorded_deltas, recorded_states = _by_waypoint(plan, recorded)
    except InvalidInputError:
        return []
    places = np.cumsum(meant_deltas, axis=0), np.cumsum(recorded_deltas, axis=0)
    return [
        ComparedWaypoint(
            plan_stamp_ns=plan.stamp_ns,
            waypoint=waypoint,
            meant=meant_states[waypoint],
            recorded=recorded_states[waypoint],
            meant_delta_m=meant_deltas[waypoint],
            recorded_delta_m=recorded_deltas[waypoint],
            meant_displacement_m=places[0][waypoint],
            recorded_displacement_m=places[1][waypoint],
        )
        for waypoint in range(len(plan.positions))
        if (meant_states[waypoint], recorded_states[waypoint]) != (UNKNOWN, UNKNOWN)
    ]


def _by_waypoint(plan: Plan, corrections: PassCorrections | None) -> tuple[np.ndarray, list[str]]:
    """Return the deltas (n, 3), zero where there is none, and the state of every waypoint."""
    deltas = np.zeros((len(plan.positions), 3))
    states = [UNKNOWN] * len(deltas)
    if corrections is not None:
        told = known_waypoints(plan, corrections)
        deltas[told] = corrections.delta_positions
        for waypoint, is_push in zip(told.tolist(), corrections.is_push.tolist(), strict=True):
            states[waypoint] = PUSHED if is_push else SILENT
    return deltas, states


def _quantiles(values: Iterable[float]) -> dict[str, float] | None:
    found = list(values)
    if not found:
        return None
    return dict(zip(_STATISTICS, np.quantile(found, [0.5, 0.95]).tolist(), strict=True))
