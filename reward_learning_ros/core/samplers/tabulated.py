"""The posterior by summation: log Z tabulated at points of θ, β, …, which are then reweighted.

The model is an exponential family, so log Z depends on the weights η alone and not on what the
person did: it is read off the ensemble that Double Metropolis–Hastings draws for its auxiliaries,
at quasi-random points of the prior, and again where the posterior turns out to be. What an
estimate from finitely many members leaves open is carried into the draws: each comes from one of
several replicates of the table, in which groups of members count by random shares (the Bayesian
bootstrap).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from reward_learning_ros.core.errors import NotCoveredError
from reward_learning_ros.core.samplers.base import Chain, Problem
from reward_learning_ros.core.samplers.double_mh import ADAPTED_ANCHORS, draw_ensemble
from reward_learning_ros.core.samplers.ensemble import Ensemble, EnsembleSize
from reward_learning_ros.core.samplers.library_evidence import library_evidence
from reward_learning_ros.core.samplers.log_normalizers import (
    LogNormalizers,
    Sample,
    log_normalizers,
)
from reward_learning_ros.core.samplers.points import (
    Points,
    spread_matters,
    systematic,
)

# Independent ensembles for each space. What they disagree about is the error of the table.
PARTS = 4
# Of each anchor, in each of them.
MIN_PART_MEMBERS = 4
# What is drawn before the posterior is known is there to find it: of seeds, members and moves this
# share, and rungs further apart. Then each ensemble gets anchors where the posterior is.
FIRST_SHARE = 0.5
FIRST_STEPS_SHARE = 0.6
FIRST_RUNG_RATIO = 3.0
PLACED_SHARE = 0.5
# The error of a table that data use K times counts K times: it has K times the members, up to so
# often.
MAX_OFTEN = 8
# Replicates of the table, in which the ensembles count by random shares. With this concentration
# of a Dirichlet distribution their variance is that of the mean of the ensembles.
REPLICATES = 64
CONCENTRATION = (PARTS - 2.0) / PARTS
# Points that must count; more are drawn until they do, so many at a time, so often.
MIN_POINTS = 400.0
MORE_POINTS = 1024
MAX_EXTENSIONS = 8
# Members that should count where the posterior is, and must; anchors are added until they do, so
# often.
WANTED_MEMBERS = 100.0
MIN_MEMBERS = 10.0
# The error of the mean over the spread that is small enough.
WANTED_ERROR = 0.1
# Points with a smaller weight than this share of the largest one are let go.
NEGLIGIBLE = 1e-8
MAX_REFINEMENTS = 3
# The share of the posterior that may lie where fewer than `MIN_MEMBERS` count.
MAX_UNCOVERED = 0.05
# The share of the range of log β at either end that counts as its edge.
EDGE = 0.02


class Tabulated:
    """Draws from points that are weighted by a table of log Z."""

    counters = 2
    # Draws cost nothing, and few of them are further from the weights than the table is.
    min_batch = 1000

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        blocks = problem.evidence.blocks
        self._copies = np.bincount(
            [block.space for block in blocks], minlength=self._space_count()
        )
        self._data = np.sum([np.zeros(problem.weights), *(b.statistics for b in blocks)], axis=0)
        self._often = int(np.clip(self._copies.max(initial=1), 1, MAX_OFTEN))
        self._rng = np.random.default_rng(problem.stream(4))
        self._shares = self._rng.dirichlet(np.full(PARTS, CONCENTRATION), REPLICATES)
        self._ensembles: list[list[Ensemble]] = []
        self._points = Points.of_prior(problem, problem.settings.points, self._rng)
        self._samples = self._draw_samples()
        self._tables = self._tabulate(self._points.etas)
        self._refine()
        self._extend()
        self._require_coverage()
        self._draw_replicates()

    def start(self, index: int) -> Chain:
        """Return a new chain, with replicates of its own."""
        chain = Chain.start(self._problem, index, self.counters)
        own = self._replicate_weights[index % REPLICATES :: self._problem.settings.chains]
        chain.state = own.mean(axis=0)
        return chain

    def run(self, chain: Chain, thin: int, draws: np.ndarray) -> None:
        """Fill the draws: a systematic sample of the points in random order."""
        chosen = chain.rng.permutation(systematic(chain.state, len(draws), chain.rng))
        draws[:] = self._points.draws[chosen]
        chain.counters += [len(draws), 1.0 + np.count_nonzero(np.diff(chosen))]
        size = self._problem.size
        scales = size + 1 + (self._problem.alpha is not None)
        chain.outer.position[:] = draws[-1]
        chain.outer.position[size:scales] = np.log(draws[-1, size:scales])

    def weights(self) -> np.ndarray:
        """Return the weights (M,) of the points, which are the posterior; they sum to one."""
        return self._weights_given([table.values[None] for table in self._tables])[0]

    def adapt(self, recent: np.ndarray) -> None:
        """Do nothing: the table knows where the posterior is."""

    def diagnostics(self, chains: list[Chain]) -> dict[str, float]:
        """Return how many points and members count, and what the error of log Z does."""
        weights = self.weights()
        beta = self._problem.beta
        place = np.log(self._points.draws[:, self._problem.size] / beta.low)
        place /= max(np.log(beta.high / beta.low), 1e-12)
        at_edge = (place < EDGE) | (place > 1.0 - EDGE)
        return {
            'points': float(len(weights)),
            'effective_points': float(1.0 / (weights @ weights)),
            'table_members': float(self._least_effective(weights)),
            'table_error': self._error(),
            'beta_at_edge': 0.0 if beta.is_fixed else float(weights[at_edge].sum()),
        }

    def _space_count(self) -> int:
        return len(self._problem.evidence.spaces)

    def _draw_samples(self) -> list[list[Sample]]:
        """Return independent samples of each space."""
        size = part_of(self._problem.settings.ensemble, self._often)
        self._ensembles = [
            [draw_ensemble(self._problem, index, size, part) for part in range(PARTS)]
            for index in range(self._space_count())
        ]
        return self._samples_of_ensembles()

    def _refined_samples(self, etas: np.ndarray, attempt: int) -> list[list[Sample]]:
        """Return samples with more members at weights η (J, S)."""
        problem = self._problem
        self._ensembles = [
            [
                ensemble.refined(
                    etas,
                    problem.stream(3, attempt, index, part),
                    problem.executor,
                    math.ceil(PLACED_SHARE * problem.settings.ensemble.members * self._often),
                )
                for part, ensemble in enumerate(parts)
            ]
            for index, parts in enumerate(self._ensembles)
        ]
        return self._samples_of_ensembles()

    def _samples_of_ensembles(self) -> list[list[Sample]]:
        return [[_sample_of(ensemble) for ensemble in parts] for parts in self._ensembles]

    def _tabulate(self, etas: np.ndarray) -> list[LogNormalizers]:
        problem = self._problem
        return [
            log_normalizers(samples, etas, problem.executor, problem.should_stop)
            for samples in self._samples
        ]

    def _weights_given(self, log_z: list[np.ndarray]) -> np.ndarray:
        """Return the weights (R, M) with log Z (R, M) of each space."""
        points = self._points
        exponents = (points.log_prior + points.etas @ self._data - points.log_origin)[None]
        for copies, values in zip(self._copies, log_z, strict=True):
            exponents = exponents - copies * values
        exponents = np.where(np.isnan(exponents), -np.inf, exponents)
        largest = exponents.max(axis=1, keepdims=True)
        if not np.isfinite(largest).all():
            raise NotCoveredError(
                f'none of {len(points.draws)} points of the prior of θ is possible given the '
                'corrections and the prior'
            )
        weights = np.exp(exponents - largest)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _effective(self) -> np.ndarray:
        """Return how many members count at each point (M,), in the worst of the spaces."""
        used = [
            t.effective for t, copies in zip(self._tables, self._copies, strict=True) if copies
        ]
        return np.min([np.full(len(self._points.draws), np.inf), *used], axis=0)

    def _error(self) -> float:
        """Return the error of the mean over the spread, in the worst component."""
        draws = self._points.draws
        weights = self._replicate_weights.mean(axis=0)
        means = self._replicate_weights @ draws
        spread = np.sqrt(weights @ (draws - weights @ draws) ** 2)
        free = spread_matters(self._problem) & (spread > 0.0)
        return float((means.std(axis=0)[free] / spread[free]).max(initial=0.0))

    def _least_effective(self, weights: np.ndarray) -> float:
        """Return how many members count at least, but for a small share of the posterior."""
        effective = self._effective()
        order = np.argsort(effective)
        covered = np.cumsum(weights[order]) > MAX_UNCOVERED
        return float(effective[order[int(np.argmax(covered))]])

    def _refine(self) -> None:
        """Add anchors where the posterior is, until the table is accurate enough there."""
        for attempt in range(1, MAX_REFINEMENTS + 1):
            weights = self.weights()
            lacking = weights * (self._effective() < WANTED_MEMBERS)
            is_covered = lacking.sum() <= MAX_UNCOVERED
            self._draw_replicates()
            is_placed = attempt > 1 or not self._ensembles
            if is_placed and is_covered and self._error() <= WANTED_ERROR:
                return
            wanted = weights if is_covered else lacking
            chosen = np.unique(systematic(wanted, ADAPTED_ANCHORS, self._rng))
            self._samples = self._refined_samples(self._points.etas[chosen], attempt)
            self._points = self._points.rows(weights > NEGLIGIBLE * weights.max())
            self._tables = self._tabulate(self._points.etas)

    def _extend(self) -> None:
        """Add points where the posterior is, until enough of them count."""
        problem = self._problem
        free = int(spread_matters(problem).sum())
        for attempt in range(MAX_EXTENSIONS):
            weights = self.weights()
            if 1.0 / (weights @ weights) >= MIN_POINTS:
                return
            least = 0.5 ** (attempt + 1) * problem.settings.points ** (-1.0 / free)
            self._points, etas = self._points.extended(
                problem, weights, MORE_POINTS, least, self._rng
            )
            self._tables = [
                table.joined(more)
                for table, more in zip(self._tables, self._tabulate(etas), strict=True)
            ]

    def _require_coverage(self) -> None:
        """Refuse to answer where too few members count.

        Raises:
            NotCoveredError: They do in more than a small share of the posterior.
        """
        weights = self.weights()
        least = self._least_effective(weights)
        if least < MIN_MEMBERS:
            point = self._points.draws[int(np.argmax(weights * (self._effective() <= least)))]
            theta = np.array2string(point[: self._problem.size], precision=3)
            raise NotCoveredError(
                f'the ensemble does not cover θ = {theta}, β = {point[self._problem.size]:.3g}: '
                f'{least:.0f} effective members where {MIN_MEMBERS:.0f} are needed; use a larger '
                'ensemble, or double_mh'
            )

    def _draw_replicates(self) -> None:
        """Weight the points by each replicate of the table."""
        weights = self.weights()
        log_z = [table.aligned(weights).replicated(self._shares) for table in self._tables]
        self._replicate_weights = self._weights_given(log_z)


class LibraryTabulated(Tabulated):
    """The same over a library of trajectories, where sums over all members are exact."""

    def _space_count(self) -> int:
        return 1

    def _draw_samples(self) -> list[list[Sample]]:
        statistics = np.array(library_evidence(self._problem).library.statistics)
        log_count = np.full(len(statistics), np.log(len(statistics)))
        return [[Sample(statistics=statistics, log_mixture=log_count, is_complete=True)]]


def part_of(size: EnsembleSize, often: int) -> EnsembleSize:
    """Return the size of one of the independent ensembles at first.

    Args:
        size: Of an ensemble for Double Metropolis–Hastings.
        often: How often the data use the space.
    """
    share = FIRST_SHARE / PARTS * often
    return replace(
        size,
        seeds=math.ceil(size.seeds * share),
        members=max(MIN_PART_MEMBERS, round(size.members * share)),
        anneal_steps=math.ceil(size.anneal_steps * FIRST_STEPS_SHARE),
        rung_ratio=max(size.rung_ratio, FIRST_RUNG_RATIO),
        # Each takes as long as a hundred moves.
        tunings=1,
    )


def _sample_of(ensemble: Ensemble) -> Sample:
    members = ensemble.members
    return Sample(statistics=members.statistics, log_mixture=members.log_mixture)
