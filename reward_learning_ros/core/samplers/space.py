"""A space of corrections and the working memory of a walk in it, as the kernels see them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import copy_matrix


class Space(NamedTuple):
    """The corrections that could have been made, as arrays for the kernels."""

    plan: np.ndarray  # (n, m) the plan before the first correction
    profiles: np.ndarray  # (K, n) how far each correction moves each waypoint, per unit of delta
    discounts: np.ndarray  # (K,) weight of each trajectory's features; 0 means not evaluated
    efforts: np.ndarray  # (K,) weight of the squared length of each delta
    delta_low: np.ndarray  # (K, m)
    delta_high: np.ndarray  # (K, m)
    workspace_low: np.ndarray  # (m,)
    workspace_high: np.ndarray  # (m,)
    driven: np.ndarray  # (K, 2) first and one past the last waypoint driven on each trajectory
    atom: np.ndarray  # (1,) whether the person could also do nothing at each waypoint


class Scratch(NamedTuple):
    """Working memory of one chain: the current state and the proposed one.

    Trajectories and features are kept twice, and a row's slot tells which of the two is current:
    so accepting a proposal turns slots over and copies nothing. Row 0 is the plan, row i the
    trajectory after correction i.
    """

    deltas: np.ndarray  # (K, m)
    proposed_deltas: np.ndarray  # (K, m)
    moves: np.ndarray  # (2, K, n m) what each correction adds to its trajectory
    move_slots: np.ndarray  # (K,)
    trajectories: np.ndarray  # (2, K + 1, n, m)
    flat: np.ndarray  # (2, K + 1, n m) the same memory
    features: np.ndarray  # (2, K + 1, d)
    slots: np.ndarray  # (K + 1,)
    statistics: np.ndarray  # (d + 1,), or (d + 2,) where silence is an atom
    proposed_statistics: np.ndarray  # likewise


def _array(dimensions: int, dtype: Any = types.float64) -> Any:
    return types.Array(dtype, dimensions, 'C')


SPACE_TYPE = types.NamedTuple(
    [
        *[_array(k) for k in (2, 2, 1, 1, 2, 2, 1, 1)],
        _array(2, types.int64),
        _array(1, types.int64),
    ],
    Space,
)
_SLOTS = _array(1, types.int64)
SCRATCH_TYPE = types.NamedTuple(
    [
        _array(2),
        _array(2),
        _array(3),
        _SLOTS,
        _array(4),
        _array(3),
        _array(3),
        _SLOTS,
        _array(1),
        _array(1),
    ],
    Scratch,
)
VECTOR, MATRIX = _array(1), _array(2)


def statistics_size(space: Space, size: int) -> int:
    """Return how many statistics corrections of a space have, with `size` features."""
    return size + 1 + int(space.atom[0])


@numba.njit(SCRATCH_TYPE(SPACE_TYPE, types.int64), cache=True, nogil=True)
def make_scratch(space: Space, size: int) -> Scratch:
    """Allocate the working memory for a space with `size` features."""
    rows, waypoints = space.profiles.shape
    dimensions = space.plan.shape[1]
    trajectories = np.zeros((2, rows + 1, waypoints, dimensions))
    copy_matrix(trajectories[0, 0], space.plan)
    copy_matrix(trajectories[1, 0], space.plan)
    return Scratch(
        np.zeros((rows, dimensions)),
        np.zeros((rows, dimensions)),
        np.zeros((2, rows, waypoints * dimensions)),
        np.zeros(rows, dtype=np.int64),
        trajectories,
        trajectories.reshape(2, rows + 1, waypoints * dimensions),
        np.zeros((2, rows + 1, size)),
        np.zeros(rows + 1, dtype=np.int64),
        np.zeros(size + 1 + space.atom[0]),
        np.zeros(size + 1 + space.atom[0]),
    )
