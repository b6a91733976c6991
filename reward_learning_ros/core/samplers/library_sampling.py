"""The samplers, by name, where the trajectory space is a library of simulated trajectories."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.samplers.base import (
    Problem,
    Sampler,
)
from reward_learning_ros.core.samplers.library_double_mh import LibraryDoubleMH
from reward_learning_ros.core.samplers.library_evidence import library_evidence
from reward_learning_ros.core.samplers.normalizer import Table, TableSampler
from reward_learning_ros.core.samplers.tabulated import LibraryTabulated


class _LibraryTable(TableSampler):
    """Metropolis–Hastings with a normalizer read from members of the library."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.use_tables([self.choose(library_evidence(problem).library.statistics)])

    def choose(self, statistics: np.ndarray) -> Table:
        """Return the members, of statistics (N, d + 1), that stand for all of them."""
        raise NotImplementedError


class LibraryIgnore(_LibraryTable):
    """The method `ignore` over a trajectory library: the normalizer is one."""

    def choose(self, statistics: np.ndarray) -> Table:
        """Choose none."""
        return Table(np.zeros((0, statistics.shape[1])), np.zeros(0))


class LibrarySampling(_LibraryTable):
    """Estimate the normalizer as a mean over random members (equation M3)."""

    def choose(self, statistics: np.ndarray) -> Table:
        """Draw them, once for the whole run."""
        count = self._problem.settings.samples
        rng = np.random.default_rng(self._problem.stream(1))
        chosen = rng.integers(len(statistics), size=count)
        return Table(np.ascontiguousarray(statistics[chosen]), np.full(count, -np.log(count)))


class LibraryMaximum(_LibraryTable):
    """Put the largest value in the place of the normalizer (equation M4)."""

    maximum = True

    def choose(self, statistics: np.ndarray) -> Table:
        """Choose all."""
        return Table(np.array(statistics), np.zeros(len(statistics)))


class LibrarySummation(_LibraryTable):
    """Sum the normalizer over all members: exact, and slower than the others."""

    def choose(self, statistics: np.ndarray) -> Table:
        """Choose all."""
        return Table(np.array(statistics), np.full(len(statistics), -np.log(len(statistics))))


LIBRARY_METHODS: dict[str, Callable[[Problem], Sampler]] = {
    'ignore': LibraryIgnore,
    'sampling': LibrarySampling,
    'maximum': LibraryMaximum,
    'double_mh': LibraryDoubleMH,
    'summation': LibrarySummation,
    'tabulated': LibraryTabulated,
}


def find_library_method(name: str) -> Callable[[Problem], Sampler]:
    """Return the sampler of that name for tasks with a library."""
    if name not in LIBRARY_METHODS:
        raise UnknownNameError('method', name, LIBRARY_METHODS)
    return LIBRARY_METHODS[name]
