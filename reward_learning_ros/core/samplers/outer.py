"""What every sampler of θ and β shares: where they may be and how new ones are proposed.

A position is (θ, log β), with log α after it where effort has a scale of its own, and the cost of
bothering κ last where silence is an atom.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import GENERATOR_TYPE, copy_vector
from reward_learning_ros.core.samplers.kernels import reflect

# Kinds of domain of θ.
BOX, SPHERE, POSITIVE_SPHERE = 0, 1, 2
# How often θ alone or all but θ is proposed when both are unknown; else everything at once.
THETA_ONLY, BETA_ONLY = 0.3, 0.3
# How often a proposal in a box is free of learned correlations; those reflect at the bounds.
UNCORRELATED = 0.5


class Outer(NamedTuple):
    """Position, domain and proposal of the outer chain, over θ and β."""

    position: np.ndarray  # (P,) θ, log β and what else is unknown of the person
    kind: np.ndarray  # (1,) of the domain of θ
    low: np.ndarray  # (P,) bounds of θ (in a box) and of the rest; equal ones fix log β, …
    high: np.ndarray  # (P,)
    scale: np.ndarray  # (P − d + 1,) of steps in θ, in log β, …
    factor: np.ndarray  # (d, d) Cholesky factor of the learned shape of steps in a box


OUTER_TYPE = types.NamedTuple(
    [
        types.Array(types.float64, 1, 'C'),
        types.Array(types.int64, 1, 'C'),
        *[types.Array(types.float64, 1, 'C')] * 3,
        types.Array(types.float64, 2, 'C'),
    ],
    Outer,
)
_VECTOR = types.Array(types.float64, 1, 'C')


@numba.njit(types.void(_VECTOR, types.int64, _VECTOR), cache=True, nogil=True)
def natural_parameters(position: np.ndarray, size: int, eta: np.ndarray) -> None:
    """Fill η = (β θ, α) or (β θ, α, κ) from a position; α = β unless it has a place there."""
    beta = np.exp(position[size])
    for index in range(size):
        eta[index] = beta * position[index]
    eta[size] = np.exp(position[size + 1]) if position.shape[0] > eta.shape[0] else beta
    if eta.shape[0] > size + 1:
        eta[size + 1] = position[position.shape[0] - 1]


@numba.njit(types.void(_VECTOR, types.int64, types.int64, _VECTOR), cache=True, nogil=True)
def record_position(position: np.ndarray, size: int, weights: int, draw: np.ndarray) -> None:
    """Fill a draw (P,) with θ, β, … of a position, `weights` the length of η."""
    scales = size + 1 + position.shape[0] - weights
    for index in range(position.shape[0]):
        is_scale = size <= index < scales
        draw[index] = np.exp(position[index]) if is_scale else position[index]


@numba.njit(types.boolean(OUTER_TYPE, _VECTOR, GENERATOR_TYPE), cache=True, nogil=True)
def propose_outer(outer: Outer, proposed: np.ndarray, rng: np.random.Generator) -> bool:
    """Propose a new position, symmetrically; return whether it is in the domain."""
    last = outer.factor.shape[0]
    copy_vector(proposed, outer.position)
    rest_is_free = False
    for index in range(last, proposed.shape[0]):
        rest_is_free |= outer.high[index] > outer.low[index]
    choice = rng.random()
    if rest_is_free and choice >= THETA_ONLY:
        for index in range(last, proposed.shape[0]):
            if outer.high[index] > outer.low[index]:
                proposed[index] = reflect(
                    outer.position[index] + outer.scale[1 + index - last] * rng.standard_normal(),
                    outer.low[index],
                    outer.high[index],
                )
        if choice < THETA_ONLY + BETA_ONLY:
            return True
    if outer.kind[0] == BOX:
        if rng.random() < UNCORRELATED:
            for index in range(last):
                spread = 0.0
                for other in range(index + 1):
                    spread += outer.factor[index, other] ** 2
                proposed[index] = reflect(
                    outer.position[index]
                    + outer.scale[0] * np.sqrt(spread) * rng.standard_normal(),
                    outer.low[index],
                    outer.high[index],
                )
            return True
        # Reflection is not symmetric for correlated steps, so here a bound rejects.
        noise = np.empty(last)
        for index in range(last):
            noise[index] = rng.standard_normal()
            for other in range(index + 1):
                proposed[index] += outer.scale[0] * outer.factor[index, other] * noise[other]
            if not outer.low[index] <= proposed[index] <= outer.high[index]:
                return False
        return True
    # An isotropic step and a projection are symmetric on the sphere, and so is folding it into
    # the positive part.
    length = 0.0
    for index in range(last):
        proposed[index] += outer.scale[0] * rng.standard_normal()
        if outer.kind[0] == POSITIVE_SPHERE:
            proposed[index] = abs(proposed[index])
        length += proposed[index] ** 2
    length = np.sqrt(length)
    for index in range(last):
        proposed[index] /= length
    return length > 0.0
