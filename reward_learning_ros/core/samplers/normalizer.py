"""Metropolis–Hastings with an approximate normalizer (Algorithm 1), compiled: one chain.

The normalizer of each space comes from a table of statistics T_j with log weights a_j:
`ignore` has an empty table, `sampling` (equation M3) uniform corrections, `maximum` (equation M4)
the best ones, and the reference posterior a large weighted pool.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import (
    GENERATOR_TYPE,
    LOG_PRIOR_TYPE,
    LogPrior,
    copy_vector,
)
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.samplers.base import Chain, Problem
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform
from reward_learning_ros.core.samplers.kernels import Space, make_scratch
from reward_learning_ros.core.samplers.lists import list_maker
from reward_learning_ros.core.samplers.optimum import best_statistics
from reward_learning_ros.core.samplers.outer import (
    OUTER_TYPE,
    Outer,
    natural_parameters,
    propose_outer,
    record_position,
)
from reward_learning_ros.core.samplers.space import statistics_size


class Table(NamedTuple):
    """Statistics of sampled corrections, whose weighted sum estimates the normalizer."""

    statistics: np.ndarray  # (N, S)
    log_weights: np.ndarray  # (N,)


TABLE_TYPE = types.NamedTuple(
    [types.Array(types.float64, 2, 'C'), types.Array(types.float64, 1, 'C')], Table
)
_list_tables = list_maker(TABLE_TYPE)
_VECTOR = types.Array(types.float64, 1, 'C')


@numba.njit(
    types.float64(TABLE_TYPE, _VECTOR, types.boolean),
    cache=True,
    nogil=True,
)
def log_normalizer(table: Table, eta: np.ndarray, maximum: bool) -> float:
    """Return log Σ_j exp(η · T_j + a_j), or the largest of the exponents."""
    rows, size = table.statistics.shape
    if rows == 0:
        return 0.0
    exponents = np.empty(rows)
    largest = -np.inf
    for row in range(rows):
        exponent = table.log_weights[row]
        for index in range(size):
            exponent += eta[index] * table.statistics[row, index]
        exponents[row] = exponent
        largest = max(largest, exponent)
    if maximum:
        return largest
    total = 0.0
    for row in range(rows):
        total += np.exp(exponents[row] - largest)
    return largest + np.log(total)


@numba.njit(
    types.void(
        LOG_PRIOR_TYPE,
        types.ListType(TABLE_TYPE),
        types.Array(types.float64, 1, 'C'),
        types.boolean,
        OUTER_TYPE,
        _VECTOR,
        types.int64,
        types.Array(types.float64, 2, 'C'),
        types.Array(types.float64, 1, 'C'),
        GENERATOR_TYPE,
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def normalizer_chain(
    log_prior: LogPrior,
    tables: Any,
    copies: np.ndarray,
    maximum: bool,
    outer: Outer,
    data: np.ndarray,
    thin: int,
    draws: np.ndarray,
    counters: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Run one chain on from where it is, `thin` steps for each row of `draws`.

    Args:
        tables: One for each space.
        copies: (S,) how many blocks of data live in each space.
        maximum: Whether the normalizer is the maximum instead of the sum.
        outer: Position, domain and proposal of θ, β, …; the position is changed.
        data: (S,) statistics of all data together.
        draws: (N, P) receives θ, β, ….
        counters: Tried and accepted steps, first; added to.
    """
    dimensions = outer.factor.shape[0]
    proposed = np.empty(draws.shape[1])
    eta = np.empty(data.shape[0])
    log_density = 0.0
    # The first round evaluates the position itself.
    for step in range(-1, draws.shape[0] * thin):
        if step < 0:
            copy_vector(proposed, outer.position)
            inside = True
        else:
            counters[0] += 1
            inside = propose_outer(outer, proposed, rng)
        if inside:
            natural_parameters(proposed, dimensions, eta)
            density = log_prior(proposed[:dimensions])
            for index in range(eta.shape[0]):
                density += eta[index] * data[index]
            for space in range(copies.shape[0]):
                density -= copies[space] * log_normalizer(tables[space], eta, maximum)
            if step < 0:
                log_density = density
            elif density >= log_density or np.log(rng.random()) < density - log_density:
                counters[1] += 1
                copy_vector(outer.position, proposed)
                log_density = density
        if step >= 0 and (step + 1) % thin == 0:
            record_position(outer.position, dimensions, eta.shape[0], draws[step // thin])


class TableSampler:
    """Metropolis–Hastings with a normalizer read from one table for each space."""

    counters = 2
    maximum = False

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.use_tables(
            [self.make_table(space, index) for index, space in enumerate(problem.evidence.spaces)]
        )
        blocks = problem.evidence.blocks
        self._copies = np.bincount(
            [block.space for block in blocks], minlength=len(self.tables)
        ).astype(np.float64)
        self._data = np.sum([np.zeros(problem.weights), *(b.statistics for b in blocks)], axis=0)

    def make_table(self, space: Space, index: int) -> Table:
        """Return the corrections that stand for a space."""
        raise NotImplementedError

    def use_tables(self, tables: list[Table]) -> None:
        """Take one table for each space."""
        self.tables = tables
        self._listed = _list_tables(tables)

    def start(self, index: int) -> Chain:
        """Return a new chain."""
        return Chain.start(self._problem, index, self.counters)

    def run(self, chain: Chain, thin: int, draws: np.ndarray) -> None:
        """Run a chain on."""
        normalizer_chain(
            self._problem.log_prior,
            self._listed,
            self._copies,
            self.maximum,
            chain.outer,
            self._data,
            thin,
            draws,
            chain.counters,
            chain.rng,
        )

    def adapt(self, recent: np.ndarray) -> None:
        """Do nothing: the normalizer is fixed."""

    def diagnostics(self, chains: list[Chain]) -> dict[str, float]:
        """Return nothing: the normalizer is fixed."""
        return {}


class Ignore(TableSampler):
    """The method `ignore`: the normalizer is one."""

    def make_table(self, space: Space, index: int) -> Table:
        """Return an empty table."""
        return Table(np.zeros((0, self._problem.weights)), np.zeros(0))


class Sampling(TableSampler):
    """Estimate the normalizer as a mean over N uniform corrections (equation M3)."""

    def make_table(self, space: Space, index: int) -> Table:
        """Draw the N corrections, once for the whole run."""
        count = self._problem.settings.samples
        statistics = uniform_statistics(
            self._problem, space, count, self._problem.stream(1, index)
        )
        return Table(statistics, np.full(count, -np.log(count)))


class Maximum(TableSampler):
    """Put the largest value in the place of the normalizer (equation M4)."""

    maximum = True

    def make_table(self, space: Space, index: int) -> Table:
        """Find the corrections that are best for some θ."""
        problem = self._problem
        statistics = best_statistics(
            problem.features,
            space,
            problem.domain,
            problem.stream(1, index),
            problem.executor,
        )
        return Table(statistics, np.zeros(len(statistics)))


def uniform_statistics(
    problem: Problem, space: Space, count: int, seed: np.random.SeedSequence
) -> np.ndarray:
    """Return the statistics (count, S) of uniform corrections."""
    statistics = np.zeros((count, statistics_size(space, problem.size)))
    deltas = np.zeros((count, *space.delta_low.shape))
    scratch = make_scratch(space, problem.size)
    rng = np.random.default_rng(seed)
    if not fill_uniform(problem.features, space, scratch, deltas, statistics, rng):
        raise InvalidInputError('no admissible corrections were found in the trajectory space')
    return statistics
