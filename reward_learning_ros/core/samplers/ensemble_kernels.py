"""The compiled parts of an ensemble: drawing it, moving its members, choosing among them."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import (
    FEATURES_TYPE,
    GENERATOR_TYPE,
    Features,
    copy_matrix,
    copy_vector,
)
from reward_learning_ros.core.samplers import kernels
from reward_learning_ros.core.samplers.kernels import (
    SPACE_TYPE,
    Scratch,
    Space,
    advance,
    draw_corrections,
    load,
)

# Attempts at corrections of which only the whole is looked at, before each one is.
_QUICK_ATTEMPTS = 16

_COUNTS = types.Array(types.int64, 2, 'C')
_ARRAY1, _ARRAY2, _ARRAY3 = (types.Array(types.float64, k, 'C') for k in (1, 2, 3))


class Members(NamedTuple):
    """An ensemble as the kernels read it: a shuffled sample of the mixture q."""

    deltas: np.ndarray  # (N, K, m)
    statistics: np.ndarray  # (N, d + 1)
    log_mixture: np.ndarray  # (N,) log q of each, up to a constant
    anchors: np.ndarray  # (A, d + 1)
    log_shares: np.ndarray  # (A,) log n_k − log Z(η_k)
    scales: np.ndarray  # (A,) of local moves


MEMBERS_TYPE = types.NamedTuple(
    [types.Array(types.float64, k, 'C') for k in (3, 2, 1, 2, 1, 1)], Members
)


@numba.njit(
    types.boolean(
        FEATURES_TYPE,
        SPACE_TYPE,
        kernels.SCRATCH_TYPE,
        types.float64,
        _ARRAY3,
        _ARRAY2,
        GENERATOR_TYPE,
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def fill_aimless(
    features: Features,
    space: Space,
    scratch: Scratch,
    bother: float,
    deltas: np.ndarray,
    statistics: np.ndarray,
    rng: np.random.Generator,
) -> bool:
    """Fill `deltas` (N, K, m) with corrections of a person without wishes and their statistics.

    Args:
        features: Of one trajectory.
        space: The space.
        scratch: Working memory.
        bother: What a push costs, where the person could also do nothing at each waypoint.
        deltas: (N, K, m) to be filled.
        statistics: (N, S) to be filled.
        rng: Of all random numbers.
    """
    silence = 1.0 / (1.0 + np.exp(-bother))
    rows = space.profiles.shape[0]
    bounded = False
    for axis in range(space.plan.shape[1]):
        if np.isfinite(space.workspace_low[axis]) or np.isfinite(space.workspace_high[axis]):
            bounded = True
    origin = np.zeros(statistics.shape[1])
    if space.atom[0] != 0:
        origin[statistics.shape[1] - 1] = bother
    values = np.zeros(scratch.features.shape[2])
    counts = np.zeros((kernels.KINDS, 2), dtype=np.int64)
    for index in range(deltas.shape[0]):
        inside = False
        steps = 4 * rows if bounded else 0
        for attempt in range(_QUICK_ATTEMPTS + kernels.DRAW_ATTEMPTS):
            # Where little of the space is admissible: look after each correction, walk farther.
            rewarded = attempt >= _QUICK_ATTEMPTS
            if rewarded:
                steps = 16 * rows
            inside = draw_corrections(
                features, space, deltas[index], values, rewarded, silence, rng
            )
            inside = inside and load(features, space, scratch, deltas[index])
            if inside:
                break
        if not inside:
            # So little that only a walk from the plan itself is left.
            steps = 256 * rows
            deltas[index] = 0.0
            inside = load(features, space, scratch, deltas[index])
        if not inside:
            return False
        if steps:
            advance(features, space, scratch, origin, steps, 0.3, rng, counts)
            copy_matrix(deltas[index], scratch.deltas)
        copy_vector(statistics[index], scratch.statistics)
    return True


@numba.njit(
    types.boolean(
        FEATURES_TYPE, SPACE_TYPE, kernels.SCRATCH_TYPE, _ARRAY3, _ARRAY2, GENERATOR_TYPE
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def fill_uniform(
    features: Features,
    space: Space,
    scratch: Scratch,
    deltas: np.ndarray,
    statistics: np.ndarray,
    rng: np.random.Generator,
) -> bool:
    """Fill `deltas` (N, K, m) with uniform corrections and their statistics (N, S)."""
    return bool(fill_aimless(features, space, scratch, 0.0, deltas, statistics, rng))


@numba.njit(
    types.void(
        FEATURES_TYPE,
        SPACE_TYPE,
        kernels.SCRATCH_TYPE,
        _ARRAY1,
        _ARRAY3,
        _ARRAY2,
        types.int64,
        types.float64,
        GENERATOR_TYPE,
        _COUNTS,
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def move_members(
    features: Features,
    space: Space,
    scratch: Scratch,
    eta: np.ndarray,
    deltas: np.ndarray,
    statistics: np.ndarray,
    steps: int,
    scale: float,
    rng: np.random.Generator,
    counts: np.ndarray,
) -> None:
    """Move each member (M, K, m) of one anchor by some steps at its weights."""
    for member in range(deltas.shape[0]):
        load(features, space, scratch, deltas[member])
        advance(features, space, scratch, eta, steps, scale, rng, counts)
        copy_matrix(deltas[member], scratch.deltas)
        copy_vector(statistics[member], scratch.statistics)


@numba.njit(types.int64(_ARRAY1, MEMBERS_TYPE), cache=True, nogil=True)
def nearest_anchor(eta: np.ndarray, members: Members) -> int:
    """Return the anchor nearest to η, relative to its length: where moves are alike."""
    count, size = members.anchors.shape
    best = 0
    smallest = np.inf
    for anchor in range(count):
        distance = 0.0
        length = 1e-6
        for index in range(size):
            distance += (eta[index] - members.anchors[anchor, index]) ** 2
            length += members.anchors[anchor, index] ** 2
        if distance / length < smallest:
            smallest = distance / length
            best = anchor
    return best


@numba.njit(
    types.int64(_ARRAY1, MEMBERS_TYPE, _ARRAY1, _ARRAY1, GENERATOR_TYPE), cache=True, nogil=True
)
def choose_member(
    eta: np.ndarray,
    members: Members,
    current: np.ndarray,
    weights: np.ndarray,
    rng: np.random.Generator,
) -> int:
    """Choose among some members and the current state by importance for η.

    One step of iterated sampling-importance-resampling: members are proposals from q, and the
    current state competes with them, so P(D | η) stays invariant for any number of members.

    Args:
        current: (d + 1,) statistics of the current state.
        weights: (M + 1,) working memory, M the number of members to look at; holds the
            unnormalised weights afterwards.

    Returns:
        The index of the chosen member, or −1 for the current state.
    """
    count, size = members.statistics.shape
    looked_at = weights.shape[0] - 1
    first = int(rng.random() * count)
    anchors = members.anchors.shape[0]
    exponents = np.empty(anchors)
    highest = -np.inf
    for anchor in range(anchors):
        exponents[anchor] = members.log_shares[anchor]
        for index in range(size):
            exponents[anchor] += members.anchors[anchor, index] * current[index]
        highest = max(highest, exponents[anchor])
    total = 0.0
    for anchor in range(anchors):
        total += np.exp(exponents[anchor] - highest)
    largest = -highest - np.log(total)
    for index in range(size):
        largest += eta[index] * current[index]
    weights[looked_at] = largest
    for candidate in range(looked_at):
        member = (first + candidate) % count
        exponent = -members.log_mixture[member]
        for index in range(size):
            exponent += eta[index] * members.statistics[member, index]
        weights[candidate] = exponent
        largest = max(largest, exponent)
    total = 0.0
    for candidate in range(looked_at + 1):
        weights[candidate] = np.exp(weights[candidate] - largest)
        total += weights[candidate]
    mark = rng.random() * total
    for candidate in range(looked_at):
        mark -= weights[candidate]
        if mark < 0.0:
            return (first + candidate) % count
    return -1
