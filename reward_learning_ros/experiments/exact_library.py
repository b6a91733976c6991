"""The exact posterior where the trajectories are a library and θ has two weights: sums on a grid.

What no sampler can beat on average: it tells how much of an error is the data's and how much is
the method's.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from reward_learning_ros.core.domain import BOX, UNIT_NONNEGATIVE, ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.library import TrajectoryLibrary

# Points along the quarter circle, and along each side of a box.
ARC_POINTS = 1024
SIDE_POINTS = 64
# θ whose sums are done at a time.
_BATCH = 64


class ExactPosterior:
    """Normalizers of all θ of a grid, summed over all trajectories for one β."""

    def __init__(self, library: TrajectoryLibrary, domain: ThetaDomain, beta: float) -> None:
        self._theta = _grid(domain)
        self._beta = beta
        parts = np.array_split(self._theta, max(1, len(self._theta) // _BATCH))
        features = np.asarray(library.features)
        self._log_normalizer = np.concatenate(
            [logsumexp(beta * part @ features.T, axis=1) for part in parts]
        )

    def mean(self, features: np.ndarray) -> np.ndarray:
        """Return the posterior mean (d,) after independent demonstrations of features (K, d)."""
        log_probability = (
            self._beta * self._theta @ features.sum(axis=0) - len(features) * self._log_normalizer
        )
        probability = np.exp(log_probability - log_probability.max())
        return np.asarray(probability @ self._theta / probability.sum())


def _grid(domain: ThetaDomain) -> np.ndarray:
    """Return points (G, 2) with equal prior probability."""
    if domain.size == 2 and domain.kind == UNIT_NONNEGATIVE:
        angle = (np.arange(ARC_POINTS) + 0.5) / ARC_POINTS * (np.pi / 2)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    if domain.size == 2 and domain.kind == BOX:
        cube = (np.arange(SIDE_POINTS) + 0.5) / SIDE_POINTS
        return domain.from_unit_cube(np.stack(np.meshgrid(cube, cube), axis=-1).reshape(-1, 2))
    raise InvalidInputError(
        f'the exact posterior is for two features and θ on a quarter circle or in a box, not for '
        f'{domain.size} features and a {domain.kind} domain'
    )
