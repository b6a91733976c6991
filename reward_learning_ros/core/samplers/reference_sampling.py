"""The near-exact posterior: normalizers reweighted from a large pool of corrections.

What the other samplers are judged by. It takes seconds where they take a fraction of one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from reward_learning_ros.core.errors import NotCoveredError
from reward_learning_ros.core.samplers.base import Chain, Problem, natural_anchors
from reward_learning_ros.core.samplers.double_mh import ADAPTED_ANCHORS, draw_ensemble
from reward_learning_ros.core.samplers.ensemble import Ensemble, EnsembleSize
from reward_learning_ros.core.samplers.kernels import Space
from reward_learning_ros.core.samplers.normalizer import Table, TableSampler, uniform_statistics
from reward_learning_ros.core.samplers.outer import natural_parameters

# Twelve times the members and thirty times the moves of an ordinary ensemble.
POOL = EnsembleSize(seeds=400_000, members=384, anneal_steps=192, numbers=20_000_000)
UNIFORM_POOL = 400_000
# Fewer effective corrections than this do not determine a normalizer.
MIN_POOL_ESS = 100.0
# Draws of θ at which the pool's coverage is checked.
CHECKED_DRAWS = 64


class Reference(TableSampler):
    """Metropolis–Hastings with normalizers from a pool drawn from a mixture over the prior."""

    def __init__(self, problem: Problem) -> None:
        self._ensembles: list[Ensemble] = []
        self._adaptations = 0
        super().__init__(problem)

    def make_table(self, space: Space, index: int) -> Table:
        """Draw the pool."""
        self._ensembles.append(draw_ensemble(self._problem, index, POOL))
        return _table(self._ensembles[-1])

    def adapt(self, recent: np.ndarray) -> None:
        """Draw more where the chains are."""
        etas = natural_anchors(self._problem, recent, ADAPTED_ANCHORS)
        self._adaptations += 1
        self._ensembles = [
            ensemble.refined(
                etas, self._problem.stream(3, self._adaptations, index), self._problem.executor
            )
            for index, ensemble in enumerate(self._ensembles)
        ]
        self.use_tables([_table(ensemble) for ensemble in self._ensembles])

    def diagnostics(self, chains: list[Chain]) -> dict[str, float]:
        """Return how many corrections of the pool count where the chains are now."""
        etas = np.zeros((len(chains), self._problem.weights))
        for chain, eta in zip(chains, etas, strict=True):
            natural_parameters(chain.outer.position, self._problem.size, eta)
        return {'pool_ess': min(self._pool_ess(eta) for eta in etas)}

    def check(
        self, samples: np.ndarray, betas: np.ndarray, others: Mapping[str, np.ndarray]
    ) -> float:
        """Return the smallest effective size of the pool over draws.

        Args:
            samples: (N, d) of θ.
            betas: (N,) of β.
            others: (N,) each of what else was inferred.

        Raises:
            NotCoveredError: The pool does not cover them.
        """
        chosen = np.linspace(0, len(samples) - 1, min(CHECKED_DRAWS, len(samples))).astype(int)
        draws = np.column_stack([samples, betas, *others.values()])[chosen]
        etas = natural_anchors(self._problem, draws[None], len(draws))
        sizes = [self._pool_ess(eta) for eta in etas]
        worst = int(np.argmin(sizes))
        if sizes[worst] < MIN_POOL_ESS:
            theta = np.array2string(samples[chosen[worst]], precision=3)
            raise NotCoveredError(
                f'the pool does not cover θ = {theta}, β = {betas[chosen[worst]]:.3g}: '
                f'{sizes[worst]:.0f} effective corrections where {MIN_POOL_ESS:.0f} are needed'
            )
        return sizes[worst]

    def _pool_ess(self, eta: np.ndarray) -> float:
        sizes = []
        for table in self.tables:
            exponents = table.statistics @ eta + table.log_weights
            weights = np.exp(exponents - exponents.max())
            sizes.append(weights.sum() ** 2 / (weights @ weights))
        return float(min(sizes))


class UniformReference(Reference):
    """The same with uniform corrections: the plain definition, which a large β does not allow."""

    def make_table(self, space: Space, index: int) -> Table:
        """Draw the pool."""
        seed = self._problem.stream(1, index)
        statistics = uniform_statistics(self._problem, space, UNIFORM_POOL, seed)
        return Table(statistics, np.full(UNIFORM_POOL, -np.log(UNIFORM_POOL)))

    def adapt(self, recent: np.ndarray) -> None:
        """Do nothing: the pool is what it is."""


def _table(ensemble: Ensemble) -> Table:
    return Table(ensemble.members.statistics, -ensemble.members.log_mixture)
