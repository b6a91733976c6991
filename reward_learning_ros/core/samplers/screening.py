"""Screens: small tables of log Z that tell which proposals are worth auxiliaries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.core.samplers.ensemble import Ensemble
from reward_learning_ros.core.samplers.exchange import AUXILIARIES_TYPE, Auxiliaries
from reward_learning_ros.core.samplers.normalizer import TABLE_TYPE, Table, log_normalizer
from reward_learning_ros.core.samplers.points import systematic

# Members that a screen consists of.
SCREEN_MEMBERS = 256


@numba.njit(
    types.float64(
        types.Array(types.float64, 1, 'C'),
        types.float64,
        AUXILIARIES_TYPE,
        types.ListType(TABLE_TYPE),
    ),
    cache=True,
    nogil=True,
)
def log_screened(
    eta: np.ndarray, log_density: float, auxiliaries: Auxiliaries, screens: Any
) -> float:
    """Return the log density of the posterior that tables of log Z give, up to a constant.

    Args:
        eta: (S,) weights η.
        log_density: Of the prior.
        auxiliaries: What the data are, and in which space each block lives.
        screens: A table for each space.
    """
    total = log_density
    for space in range(len(screens)):
        copies = 0.0
        for block in range(auxiliaries.space.shape[0]):
            if auxiliaries.space[block] == space:
                copies += auxiliaries.copies[block]
                for index in range(eta.shape[0]):
                    total += eta[index] * auxiliaries.data[block, index]
        if copies > 0.0:
            total -= copies * log_normalizer(screens[space], eta, False)
    return total


def first_screen(ensemble: Ensemble) -> Table:
    """Return a table for as long as nobody knows where the chains will be."""
    members = ensemble.members
    return Table(members.statistics[:SCREEN_MEMBERS].copy(), -members.log_mixture[:SCREEN_MEMBERS])


def screen_at(ensemble: Ensemble, etas: np.ndarray, seed: np.random.SeedSequence) -> Table:
    """Return a small table of log Z that is good at weights η (J, S): members that count there."""
    members = ensemble.members
    exponents = members.statistics @ etas.T - members.log_mixture[:, None]
    weights = np.exp(exponents - exponents.max(axis=0))
    shares = (weights / weights.sum(axis=0)).mean(axis=1)
    chosen = systematic(shares / shares.sum(), SCREEN_MEMBERS, np.random.default_rng(seed))
    return Table(
        np.ascontiguousarray(members.statistics[chosen]),
        -members.log_mixture[chosen] - np.log(shares[chosen]),
    )
