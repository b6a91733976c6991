"""Beliefs about θ within milliseconds, by tables of log Z that were made before anybody pushed.

log Z depends on the plan and on the waypoints at which it could be corrected, not on what a person
does. So it is tabulated at points of θ, β, … as soon as a plan is known, for the first 1, 2, …
waypoints; when corrections of those are told, the points are weighted by what they say. The method
`tabulated` does the same for given corrections, and adds members and points where the posterior
turns out to be: that takes longer, and needs to know the corrections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.human_model import (
    LEFT_OUT,
    Evidence,
    HumanModel,
    gather_evidence,
    space_key,
)
from reward_learning_ros.core.inference import Inference
from reward_learning_ros.core.samplers.base import Problem, Settings
from reward_learning_ros.core.samplers.double_mh import draw_ensemble
from reward_learning_ros.core.samplers.ensemble import EnsembleSize
from reward_learning_ros.core.samplers.log_normalizers import (
    LogNormalizers,
    Sample,
    log_normalizers,
)
from reward_learning_ros.core.samplers.points import Points
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence

# Independent ensembles for each space, for the error of its table.
PARTS = 2
# Replicates of the tables in which those count by random shares; with two of them, each in turn
# and every share between.
REPLICATES = 8
# For seven waypoints of Press or Reach about a second of one core. Twice as many members and
# more did not bring beliefs nearer to the reference.
SETTINGS = Settings(points=4096, ensemble=EnsembleSize(seeds=8192, members=16, anneal_steps=24))
# Points that should count before anything is told of a plan, and how they come to be.
WANTED_POINTS = 1500.0
MORE_POINTS = 2048
MAX_EXTENSIONS = 4
# Points with a smaller share of the largest weight are let go.
NEGLIGIBLE = 1e-6
# Quantiles of a belief.
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, kw_only=True, eq=False)
class BeliefPoints:
    """Points of θ, β, … at which log Z is known; can be pickled.

    Attributes:
        draws: (M, P) θ, β, …
        etas: (M, S) weights η.
        log_density: (M,) of the prior over what the points were drawn from.
    """

    draws: np.ndarray
    etas: np.ndarray
    log_density: np.ndarray

    @cached_property
    def order(self) -> np.ndarray:
        """The order (M, P) of the points along each component."""
        return np.argsort(self.draws, axis=0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Belief:
    """What is known of θ, as weighted points.

    Attributes:
        points: where.
        weights: (M,) of the points; they sum to one.
        size: how many components θ has.
        members: how many members of the ensembles count where the belief is.
    """

    points: BeliefPoints
    weights: np.ndarray
    size: int
    members: float

    @property
    def effective_points(self) -> float:
        """How many points count."""
        return float(1.0 / (self.weights @ self.weights))

    @property
    def mean(self) -> np.ndarray:
        """The mean (d,) of θ."""
        return np.asarray(self.weights @ self.points.draws[:, : self.size])

    def table(self) -> np.ndarray:
        """Return mean, standard deviation and 5, 50 and 95 % quantiles (5, d) of θ."""
        theta, mean = self.points.draws[:, : self.size], self.mean
        rows = np.empty((2 + len(QUANTILES), self.size))
        rows[0] = mean
        rows[1] = np.sqrt(self.weights @ (theta - mean) ** 2)
        for axis in range(self.size):
            order = self.points.order[:, axis]
            shares = np.cumsum(self.weights[order])
            places = np.searchsorted(shares, np.array(QUANTILES) * shares[-1])
            rows[2:, axis] = theta[order[np.minimum(places, len(order) - 1)], axis]
        return rows


class BeliefTables:
    """The tables that there are, for corrections of one plan and of those before it."""

    def __init__(self, task: Task, model: HumanModel, points: BeliefPoints) -> None:
        self._task = task
        self._model = model
        self._points = points
        self._tables: dict[bytes, LogNormalizers] = {}
        # A random walk through the shares would do as well; these are the same every time.
        share = (np.arange(REPLICATES) + 0.5) / REPLICATES
        self._shares = np.column_stack([share, 1.0 - share])

    def add(self, key: bytes, table: LogNormalizers) -> None:
        """Take the table of one space."""
        self._tables[key] = table

    def has(self, key: bytes) -> bool:
        """Tell whether the table of a space is there."""
        return key in self._tables

    def belief(self, sequences: Sequence[CorrectionSequence]) -> Belief | None:
        """Return what is known of θ after corrections; None where a table lacks."""
        evidence = gather_evidence(self._task, tuple(sequences), self._model)
        tables = [self._tables.get(space_key(space)) for space in evidence.spaces]
        if any(table is None for table in tables):
            return None
        return self._weighted(evidence, [each for each in tables if each is not None])

    def _weighted(self, evidence: Evidence, tables: list[LogNormalizers]) -> Belief | None:
        points = self._points
        data, copies = data_of(evidence, points.etas.shape[1])
        exponents = points.log_density + points.etas @ data
        for count, table in zip(copies, tables, strict=True):
            exponents = exponents - count * table.values
        weights = _normalized(exponents)
        if weights is None:
            return None
        # What has no weight in the whole has none in the replicates.
        kept = np.flatnonzero(weights > NEGLIGIBLE * weights.max())
        replicated = np.tile((points.log_density + points.etas @ data)[kept], (REPLICATES, 1))
        members = np.inf
        for count, table in zip(copies, tables, strict=True):
            if count == 0:
                continue
            rows = table.rows(kept)
            members = min(members, float(weights[kept] @ rows.effective))
            replicated -= count * rows.aligned(weights[kept]).replicated(self._shares)
        largest = replicated.max(axis=1, keepdims=True)
        shares = np.exp(replicated - largest)
        weights = np.zeros(len(exponents))
        weights[kept] = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
        return Belief(points=points, weights=weights, size=self._task.size, members=members)


def obstacle_to_tables(task: Task, options: Mapping[str, Any]) -> str:
    """Return why no tables can be made before a pass, in words; empty if they can.

    Args:
        task: What is corrected.
        options: Of `infer`, as far as they are those of `HumanModel`.
    """
    if task.library is not None:
        return (
            f'trajectories of task {task.name!r} are simulated as wholes: what a pass came to is '
            'known when it is over'
        )
    if options.get('silence') == LEFT_OUT:
        return f'silence is {LEFT_OUT!r}, and who will push where is not known before a pass'
    return ''


class TableMaker:
    """Makes tables for a plan, and for those before it; keeps what it drew for the next plan."""

    def __init__(
        self, task: Task, options: Mapping[str, Any], *, seed: int, settings: Settings = SETTINGS
    ) -> None:
        """Draw nothing yet.

        Args:
            task: What is corrected.
            options: Of `infer`, as far as they are those of `HumanModel`.
            seed: Of all random numbers.
            settings: How many points, and how large the ensembles are.

        Raises:
            InvalidInputError: For this task or model no tables can be made beforehand.
        """
        obstacle = obstacle_to_tables(task, options)
        if obstacle:
            raise InvalidInputError(obstacle)
        self.task = task
        self._options = options
        self._seed = seed
        self._settings = settings
        self._samples: dict[bytes, list[Sample]] = {}

    def points(
        self,
        earlier: Sequence[CorrectionSequence],
        silent: CorrectionSequence,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> tuple[BeliefPoints, dict[bytes, LogNormalizers]]:
        """Return points where θ may be after earlier passes, with log Z of those at them.

        Args:
            earlier: Passes of plans before.
            silent: A pass of the plan in which nobody pushes.
            should_stop: Asked in between; a true answer ends in a `CancelledError`.
        """
        problem = self._problem(earlier or (silent,), should_stop)
        rng = np.random.default_rng(problem.stream(4))
        points = Points.of_prior(problem, self._settings.points, rng)
        if not earlier:
            return _published(points), {}
        spaces = problem.evidence.spaces
        tables = [self._table(problem, index, points.etas) for index in range(len(spaces))]
        data, copies = data_of(problem.evidence, points.etas.shape[1])
        for attempt in range(MAX_EXTENSIONS + 1):
            exponents = points.log_prior - points.log_origin + points.etas @ data
            for count, table in zip(copies, tables, strict=True):
                exponents = exponents - count * table.values
            weights = _normalized(exponents)
            if (
                weights is None
                or 1.0 / (weights @ weights) >= WANTED_POINTS
                or attempt == MAX_EXTENSIONS
            ):
                break
            least = 0.5 ** (attempt + 1) * self._settings.points ** (-1.0 / problem.unknowns)
            points, etas = points.extended(problem, weights, MORE_POINTS, least, rng)
            more = [self._table(problem, index, etas) for index in range(len(spaces))]
            tables = [table.joined(new) for table, new in zip(tables, more, strict=True)]
        if weights is not None:
            kept = weights > NEGLIGIBLE * weights.max()
            points, tables = points.rows(kept), [table.rows(kept) for table in tables]
        keys = [space_key(space) for space in spaces]
        return _published(points), dict(zip(keys, tables, strict=True))

    def tables(
        self,
        points: BeliefPoints,
        silent: CorrectionSequence,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[bytes, LogNormalizers]]:
        """Yield the tables for the first 1, 2, … corrections of a pass, each with its space's key.

        Args:
            points: Where log Z is wanted.
            silent: A pass of the plan in which nobody pushes.
            should_stop: Asked in between; a true answer ends in a `CancelledError`.
        """
        seen = set()
        for count in range(1, len(silent) + 1):
            problem = self._problem((first_corrections(silent, count),), should_stop)
            (space,) = problem.evidence.spaces
            key = space_key(space)
            if key not in seen:
                seen.add(key)
                yield key, self._table(problem, 0, points.etas)

    def _problem(
        self, sequences: Sequence[CorrectionSequence], should_stop: Callable[[], bool]
    ) -> Problem:
        return Inference(
            self.task,
            tuple(sequences),
            method='tabulated',
            seed=self._seed,
            settings=self._settings,
            **self._options,
        ).problem(should_stop=should_stop)

    def _table(self, problem: Problem, index: int, etas: np.ndarray) -> LogNormalizers:
        key = space_key(problem.evidence.spaces[index])
        if key not in self._samples:
            size = replace(
                problem.settings.ensemble, seeds=problem.settings.ensemble.seeds // PARTS
            )
            ensembles = [draw_ensemble(problem, index, size, part) for part in range(PARTS)]
            self._samples[key] = [
                Sample(statistics=each.members.statistics, log_mixture=each.members.log_mixture)
                for each in ensembles
            ]
        return log_normalizers(self._samples[key], etas, should_stop=problem.should_stop)


def first_corrections(sequence: CorrectionSequence, count: int) -> CorrectionSequence:
    """Return the first corrections of a sequence."""
    return CorrectionSequence(
        plan=sequence.plan,
        corrected=sequence.corrected[:count],
        profiles=sequence.resolved_profiles()[:count],
        pushed=None if sequence.pushed is None else sequence.pushed[:count],
    )


def data_of(evidence: Evidence, weights: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum (S,) of all statistics, and how many blocks each space has."""
    blocks = evidence.blocks
    data = np.sum([np.zeros(weights), *(block.statistics for block in blocks)], axis=0)
    return data, np.bincount([block.space for block in blocks], minlength=len(evidence.spaces))


def _published(points: Points) -> BeliefPoints:
    return BeliefPoints(
        draws=points.draws, etas=points.etas, log_density=points.log_prior - points.log_origin
    )


def _normalized(exponents: np.ndarray) -> np.ndarray | None:
    """Return weights that sum to one; None where nothing is possible."""
    exponents = np.where(np.isnan(exponents), -np.inf, exponents)
    largest = exponents.max()
    if not np.isfinite(largest):
        return None
    weights = np.exp(exponents - largest)
    return np.asarray(weights / weights.sum())
