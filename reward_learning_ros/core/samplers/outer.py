"""What every sampler of (θ, log β) shares: where θ may be and how a new one is proposed."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import GENERATOR_TYPE
from reward_learning_ros.core.samplers.kernels import reflect

# Kinds of domain of θ.
BOX, SPHERE, POSITIVE_SPHERE = 0, 1, 2
# How often θ alone or β alone is proposed when both are unknown; else both at once.
THETA_ONLY, BETA_ONLY = 0.3, 0.3
# How often a proposal in a box is free of learned correlations; those reflect at the bounds.
UNCORRELATED = 0.5


class Outer(NamedTuple):
    """Position, domain and proposal of one chain."""

    position: np.ndarray  # (d + 1,) θ and log β
    kind: np.ndarray  # (1,) of the domain of θ
    low: np.ndarray  # (d + 1,) bounds of θ (in a box) and of log β; equal ones fix log β
    high: np.ndarray  # (d + 1,)
    scale: np.ndarray  # (2,) of steps in θ and in log β
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


@numba.njit(types.void(_VECTOR, _VECTOR), cache=True, nogil=True)
def natural_parameters(position: np.ndarray, eta: np.ndarray) -> None:
    """Fill η = (β θ, β) from (θ, log β)."""
    last = position.shape[0] - 1
    beta = np.exp(position[last])
    for index in range(last):
        eta[index] = beta * position[index]
    eta[last] = beta


@numba.njit(types.boolean(OUTER_TYPE, _VECTOR, GENERATOR_TYPE), cache=True, nogil=True)
def propose_outer(outer: Outer, proposed: np.ndarray, rng: np.random.Generator) -> bool:
    """Propose a new (θ, log β), symmetrically; return whether it is in the domain."""
    last = proposed.shape[0] - 1
    proposed[:] = outer.position
    beta_is_free = outer.high[last] > outer.low[last]
    choice = rng.random()
    if beta_is_free and choice >= THETA_ONLY:
        proposed[last] = reflect(
            outer.position[last] + outer.scale[1] * rng.standard_normal(),
            outer.low[last],
            outer.high[last],
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
