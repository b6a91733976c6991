"""The exchange of Double Metropolis–Hastings: what auxiliaries do to an outer step, and counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from reward_learning_ros.core.kernel_cache import numba

# Rows of the counters that a chain adds to.
OUTER_TRIED, OUTER_ACCEPTED, AUXILIARIES, STUCK, JUMPS, EFFECTIVE_MEMBERS, NOT_FINITE = range(7)
COUNTERS = 7

_VECTOR = types.Array(types.float64, 1, 'C')


class Auxiliaries(NamedTuple):
    """Statistics of one chain's auxiliary corrections, one for each block of data."""

    space: np.ndarray  # (B,) which space each lives in
    copies: np.ndarray  # (B,) how many trajectories it stands for: 1, or K in the paper's form
    data: np.ndarray  # (B, S) statistics of the data
    statistics: np.ndarray  # (B, S) of the auxiliaries carried on


AUXILIARIES_TYPE = types.NamedTuple(
    [
        types.Array(types.int64, 1, 'C'),
        types.Array(types.float64, 1, 'C'),
        types.Array(types.float64, 2, 'C'),
        types.Array(types.float64, 2, 'C'),
    ],
    Auxiliaries,
)


@numba.njit(
    types.float64(_VECTOR, _VECTOR, _VECTOR, types.float64, _VECTOR), cache=True, nogil=True
)
def log_exchange(
    eta: np.ndarray,
    eta_proposed: np.ndarray,
    data: np.ndarray,
    copies: float,
    auxiliary: np.ndarray,
) -> float:
    """Return what a block adds to the log ratio of an outer step (Algorithm 2, line 5).

    All normalizers cancel.

    Args:
        eta: (d + 1,) weights η now.
        eta_proposed: (d + 1,) weights that are proposed.
        data: (d + 1,) statistics of the data.
        copies: How many trajectories the auxiliary stands for.
        auxiliary: (d + 1,) statistics of the auxiliary, drawn at the proposed weights.
    """
    total = 0.0
    for index in range(eta.shape[0]):
        total += (eta_proposed[index] - eta[index]) * (data[index] - copies * auxiliary[index])
    return total


@numba.njit(types.float64(_VECTOR), cache=True, nogil=True)
def effective_number(weights: np.ndarray) -> float:
    """Return the effective number of weighted members, (Σw)² / Σw²."""
    total, squares = 0.0, 0.0
    for index in range(weights.shape[0]):
        total += weights[index]
        squares += weights[index] ** 2
    return total * total / squares


def auxiliary_diagnostics(counters: np.ndarray, inner: np.ndarray) -> dict[str, float]:
    """Return diagnostics of the auxiliaries: acceptance, jumps, stuck ones.

    Args:
        counters: (COUNTERS,) of all chains.
        inner: (2,) inner steps tried and accepted.
    """
    auxiliaries = max(1.0, counters[AUXILIARIES])
    return {
        'inner_acceptance': float(inner[1] / max(1, inner[0])),
        'inner_steps': float(inner[0]),
        'stuck_auxiliaries': float(counters[STUCK] / auxiliaries),
        'ensemble_jumps': float(counters[JUMPS] / auxiliaries),
        'effective_members': float(counters[EFFECTIVE_MEMBERS] / auxiliaries),
        'not_finite': float(counters[NOT_FINITE]),
    }
