"""What equal budget means: every method gets the same steps and looks at as many trajectories.

In each outer step a method may look at N trajectories besides the data: the mean of `sampling` is
over N, and the auxiliaries of Double Metropolis–Hastings together have N candidates and inner
steps. Nothing stops early, so that all methods of one budget do the same number of outer steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.samplers.base import Problem, Settings
from reward_learning_ros.core.samplers.library_sampling import LibraryMaximum
from reward_learning_ros.core.samplers.normalizer import Table

# The paper's methods, and Double Metropolis–Hastings as printed: one auxiliary for all data.
METHODS = ('ignore', 'sampling', 'maximum', 'double_mh')
ONE_AUXILIARY = 'double_mh_one'
ALL_METHODS = (*METHODS, ONE_AUXILIARY)
# Steps with which an auxiliary goes on from the candidate that it chose.
INNER_STEPS = 24


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How many steps each method does, and how many trajectories each step looks at.

    Attributes:
        name: By which it is asked for.
        chains: Chains of θ.
        warmup: Outer steps of each chain that are not kept.
        draws: Draws of each chain that are kept.
        thin: Outer steps for each of them.
        looked_at: Trajectories N that an outer step looks at.
        printed: Whether auxiliaries start from the data, as Algorithm 3 is printed, and the
            maximum is one over N random trajectories. Otherwise auxiliaries choose among
            candidates and go on from there, and the maximum is the true one: finding it is left
            out of the account.
    """

    name: str
    chains: int
    warmup: int
    draws: int
    thin: int
    looked_at: int
    printed: bool

    @property
    def outer_steps(self) -> int:
        """Outer steps of all chains together."""
        return self.chains * (self.warmup + self.draws * self.thin)

    def settings(self, method: str, count: int) -> Settings:
        """Return the settings of a method that learns from `count` blocks of data.

        Args:
            method: One of `ALL_METHODS`.
            count: Trajectories if they are independent, sequences if they are dependent.
        """
        if method not in ALL_METHODS:
            raise UnknownNameError('method', method, ALL_METHODS)
        settings = Settings(
            chains=self.chains,
            warmup=self.warmup,
            batch=self.draws,
            max_draws=self.draws,
            thin=self.thin,
            samples=self.looked_at,
            one_auxiliary=method == ONE_AUXILIARY,
        )
        share = max(1, self.looked_at // (1 if method == ONE_AUXILIARY else count))
        if self.printed:
            return replace(settings, auxiliary_start='data', inner_steps=share)
        steps = min(INNER_STEPS, max(1, share // 2))
        return replace(settings, inner_steps=steps, candidates=max(1, share - steps))

    def options(self, method: str, count: int) -> dict[str, Any]:
        """Return the arguments of `infer` for a method on a task with a library."""
        sampler: Callable[[Problem], Any] | None = None
        if method == 'maximum':
            sampler = MaximumOfFew if self.printed else MaximumOfHull
        return {
            'method': 'double_mh' if method == ONE_AUXILIARY else method,
            'settings': self.settings(method, count),
            'sampler': sampler,
            'threads': 1,
        }


class MaximumOfHull(LibraryMaximum):
    """The true maximum, in a hundredth of the time: a linear reward is largest at a corner."""

    def choose(self, statistics: np.ndarray) -> Table:
        """Choose the members whose features are corners of their convex hull."""
        corners = ConvexHull(statistics[:, :-1]).vertices
        return Table(np.ascontiguousarray(statistics[corners]), np.zeros(len(corners)))


class MaximumOfFew(LibraryMaximum):
    """The largest value among random members, as the paper's authors' code has it."""

    def choose(self, statistics: np.ndarray) -> Table:
        """Draw as many as `sampling` does, once for the whole run."""
        count = self._problem.settings.samples
        rng = np.random.default_rng(self._problem.stream(1))
        chosen = rng.integers(len(statistics), size=count)
        return Table(np.ascontiguousarray(statistics[chosen]), np.zeros(count))


BUDGETS = {
    budget.name: budget
    for budget in (
        # Long enough that the error of the draws is far below the spread of any posterior.
        Budget(
            name='thorough',
            chains=4,
            warmup=400,
            draws=250,
            thin=4,
            looked_at=450,
            printed=False,
        ),
        # As the simulations of the authors' code: 50 outer steps of which the last 25 are kept,
        # and 25 trajectories in each.
        Budget(
            name='printed',
            chains=1,
            warmup=24,
            draws=26,
            thin=1,
            looked_at=25,
            printed=True,
        ),
    )
}


def find_budget(name: str) -> Budget:
    """Return the computational budget of a name."""
    if name not in BUDGETS:
        raise UnknownNameError('budget', name, BUDGETS)
    return BUDGETS[name]
