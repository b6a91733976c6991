"""The compiled inner sampler: random corrections under the human model, for given θ and β.

A *space* is the set of corrections that a person could have made: K corrections of a plan, each
the outer product of a fixed profile over the waypoints and a free vector, the *delta*, in a box.
Trajectory i is the plan after corrections 1 … i. All of the model that depends on the corrections
enters through their *statistics* T, features summed over trajectories (discounted) and, last, the
negative effort; all that depends on the person through the *weights* η = (β θ, β):

    log P(D | θ, β) = η · T(D) − log Z(η)                                   (equations P2, A4)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import FEATURES_TYPE, GENERATOR_TYPE, Features, unowned

# How often each kind of move is tried. Local moves explore a mode; shifts move some waypoints
# without dragging the rest of the tail along, by what one correction gives and another takes back;
# stretches move several corrections alike, which brings a waypoint further than one of them may;
# redraws forget one correction.
LOCAL, SHIFT, STRETCH, REDRAW = 0, 1, 2, 3
KINDS = 4
LOCAL_SHARE = 0.40
SHIFT_SHARE = 0.15
STRETCH_SHARE = 0.25
REDRAW_SHARE = 1.0 - LOCAL_SHARE - SHIFT_SHARE - STRETCH_SHARE
# Attempts at a random delta that keeps the driven waypoints in the workspace.
DRAW_ATTEMPTS = 200


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
    statistics: np.ndarray  # (d + 1,)
    proposed_statistics: np.ndarray  # (d + 1,)


def _array(dimensions: int, dtype: Any = types.float64) -> Any:
    return types.Array(dtype, dimensions, 'C')


SPACE_TYPE = types.NamedTuple(
    [*[_array(k) for k in (2, 2, 1, 1, 2, 2, 1, 1)], _array(2, types.int64)], Space
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
VECTOR = _array(1)


@numba.njit(SCRATCH_TYPE(SPACE_TYPE, types.int64), cache=True, nogil=True)
def make_scratch(space: Space, size: int) -> Scratch:
    """Allocate the working memory for a space with `size` features."""
    rows, waypoints = space.profiles.shape
    dimensions = space.plan.shape[1]
    trajectories = np.zeros((2, rows + 1, waypoints, dimensions))
    trajectories[:, 0] = space.plan
    return Scratch(
        np.zeros((rows, dimensions)),
        np.zeros((rows, dimensions)),
        np.zeros((2, rows, waypoints * dimensions)),
        np.zeros(rows, dtype=np.int64),
        trajectories,
        trajectories.reshape(2, rows + 1, waypoints * dimensions),
        np.zeros((2, rows + 1, size)),
        np.zeros(rows + 1, dtype=np.int64),
        np.zeros(size + 1),
        np.zeros(size + 1),
    )


# The two parts of a step are compiled into their callers: called, they would pass a hundred words.
@numba.njit(inline='always')
def propose(features: Features, space: Space, scratch: Scratch, first: int, last: int) -> bool:
    """Evaluate the proposed deltas, changed in rows first to last; return whether they may be."""
    rows, waypoints = space.profiles.shape
    dimensions = space.plan.shape[1]
    size = scratch.statistics.shape[0] - 1
    statistics = scratch.proposed_statistics
    for feature in range(size + 1):
        statistics[feature] = scratch.statistics[feature]
    for row in range(first, last + 1):
        slot = 1 - scratch.move_slots[row]
        for axis in range(dimensions):
            delta = scratch.proposed_deltas[row, axis]
            for waypoint in range(waypoints):
                scratch.moves[slot, row, waypoint * dimensions + axis] = (
                    space.profiles[row, waypoint] * delta
                )
    before = scratch.slots[first]
    inside = True
    bounded = False
    for axis in range(dimensions):
        bounded |= space.workspace_low[axis] != -np.inf or space.workspace_high[axis] != np.inf
    trajectories = unowned(scratch.trajectories)
    values = unowned(scratch.features)
    for row in range(first, rows):
        after = 1 - scratch.slots[row + 1]
        move = scratch.move_slots[row] if row > last else 1 - scratch.move_slots[row]
        for index in range(waypoints * dimensions):
            scratch.flat[after, row + 1, index] = (
                scratch.flat[before, row, index] + scratch.moves[move, row, index]
            )
        if bounded:
            for waypoint in range(space.driven[row, 0], space.driven[row, 1]):
                for axis in range(dimensions):
                    value = scratch.trajectories[after, row + 1, waypoint, axis]
                    if value < space.workspace_low[axis] or value > space.workspace_high[axis]:
                        inside = False
        if not inside:
            break
        discount = space.discounts[row]
        if discount != 0.0:
            features(trajectories[after, row + 1], values[after, row + 1])
            for feature in range(size):
                statistics[feature] += discount * (
                    scratch.features[after, row + 1, feature]
                    - scratch.features[1 - after, row + 1, feature]
                )
        effort = space.efforts[row]
        if effort != 0.0 and row <= last:
            change = 0.0
            for axis in range(dimensions):
                old = scratch.deltas[row, axis]
                new = scratch.proposed_deltas[row, axis]
                change += new * new - old * old
            statistics[size] -= effort * change
        before = after
    # What has no finite reward is no trajectory: it could not be weighed against others.
    for feature in range(size + 1):
        if not np.isfinite(statistics[feature]):
            inside = False
    return inside


@numba.njit(inline='always')
def accept(scratch: Scratch, first: int, last: int) -> None:
    """Make the proposed state, changed in rows first to last, the current one."""
    rows, dimensions = scratch.deltas.shape
    for row in range(first, last + 1):
        scratch.move_slots[row] = 1 - scratch.move_slots[row]
        for axis in range(dimensions):
            scratch.deltas[row, axis] = scratch.proposed_deltas[row, axis]
    for row in range(first + 1, rows + 1):
        scratch.slots[row] = 1 - scratch.slots[row]
    for feature in range(scratch.statistics.shape[0]):
        scratch.statistics[feature] = scratch.proposed_statistics[feature]


@numba.njit(
    types.boolean(FEATURES_TYPE, SPACE_TYPE, SCRATCH_TYPE, _array(2)),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def load(features: Features, space: Space, scratch: Scratch, deltas: np.ndarray) -> bool:
    """Make `deltas` (K, m) the current state; return whether it is in the space."""
    scratch.deltas[:] = 0.0
    scratch.features[:] = 0.0
    scratch.statistics[:] = 0.0
    scratch.proposed_deltas[:] = deltas
    last = deltas.shape[0] - 1
    inside = propose(features, space, scratch, 0, last)
    accept(scratch, 0, last)
    return inside


@numba.njit(
    types.boolean(FEATURES_TYPE, SPACE_TYPE, _array(2), VECTOR, types.boolean, GENERATOR_TYPE),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def draw(
    features: Features,
    space: Space,
    deltas: np.ndarray,
    values: np.ndarray,
    rewarded: bool,
    rng: np.random.Generator,
) -> bool:
    """Fill `deltas` with random corrections, one after the other inside the workspace.

    Where the workspace does not bind they are uniform in the space. Where it binds they are only
    a start for moves at η = 0, because earlier corrections do not know of later ones. Returns
    whether a correction was found for every row.

    Args:
        features: Of one trajectory.
        space: The space.
        deltas: (K, m) to be filled.
        values: (d,) room for features.
        rewarded: Whether each correction must lead to a trajectory that has a reward.
        rng: Of all random numbers.
    """
    rows, waypoints = space.profiles.shape
    dimensions = space.plan.shape[1]
    trajectory = space.plan.copy()
    moved = np.empty_like(trajectory)
    complete = True
    for row in range(rows):
        found = False
        for _ in range(DRAW_ATTEMPTS):
            for axis in range(dimensions):
                low = space.delta_low[row, axis]
                deltas[row, axis] = low + (space.delta_high[row, axis] - low) * rng.random()
                for waypoint in range(waypoints):
                    moved[waypoint, axis] = trajectory[waypoint, axis] + (
                        space.profiles[row, waypoint] * deltas[row, axis]
                    )
            found = True
            for waypoint in range(space.driven[row, 0], space.driven[row, 1]):
                for axis in range(dimensions):
                    value = moved[waypoint, axis]
                    if value < space.workspace_low[axis] or value > space.workspace_high[axis]:
                        found = False
            if found and rewarded and space.discounts[row] != 0.0:
                features(moved, values)
                for feature in range(values.shape[0]):
                    found = found and np.isfinite(values[feature])
            if found:
                break
        complete = complete and found
        trajectory[:] = moved
    return complete


@numba.njit(types.float64(types.float64, types.float64, types.float64), cache=True, nogil=True)
def reflect(value: float, low: float, high: float) -> float:
    """Fold a value at the bounds until it lies between them."""
    if low <= value <= high:
        return value
    width = high - low
    if width <= 0.0:
        return low
    folded = (value - low) % (2.0 * width)
    if folded > width:
        folded = 2.0 * width - folded
    return low + folded


@numba.njit(
    types.int64(
        FEATURES_TYPE,
        SPACE_TYPE,
        SCRATCH_TYPE,
        VECTOR,
        types.int64,
        types.float64,
        GENERATOR_TYPE,
        types.Array(types.int64, 2, 'C'),
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def advance(
    features: Features,
    space: Space,
    scratch: Scratch,
    eta: np.ndarray,
    steps: int,
    scale: float,
    rng: np.random.Generator,
    counts: np.ndarray,
) -> int:
    """Run Metropolis–Hastings steps on the current state (Algorithm 3).

    Args:
        eta: (d + 1,) the weights η of the statistics.
        steps: How many steps.
        scale: Standard deviation of a local move, as a share of the box of deltas.
        counts: (4, 2) tried and accepted moves of each kind, added to.

    Returns:
        How many moves were accepted.
    """
    rows, dimensions = scratch.deltas.shape
    size = eta.shape[0]
    total = 0
    for _ in range(steps):
        choice = rng.random()
        pair = int(rng.random() * rows * rows)
        row = pair // rows
        other = pair - row * rows
        first = min(row, other)
        last = max(row, other)
        inside = True
        if choice < LOCAL_SHARE or (rows == 1 and choice < 1.0 - REDRAW_SHARE):
            kind = LOCAL
            first = last = row
            for axis in range(dimensions):
                low = space.delta_low[row, axis]
                high = space.delta_high[row, axis]
                step = scale * (high - low) * rng.standard_normal()
                scratch.proposed_deltas[row, axis] = reflect(
                    scratch.deltas[row, axis] + step, low, high
                )
        elif choice < LOCAL_SHARE + SHIFT_SHARE:
            kind = SHIFT
            for axis in range(dimensions):
                width = space.delta_high[first, axis] - space.delta_low[first, axis]
                step = scale * width * rng.standard_normal()
                scratch.proposed_deltas[first, axis] += step
                scratch.proposed_deltas[last, axis] -= step
        elif choice < LOCAL_SHARE + SHIFT_SHARE + STRETCH_SHARE:
            kind = STRETCH
            share = scale / np.sqrt(last - first + 1.0)
            for axis in range(dimensions):
                width = space.delta_high[first, axis] - space.delta_low[first, axis]
                step = share * width * rng.standard_normal()
                for index in range(first, last + 1):
                    scratch.proposed_deltas[index, axis] += step
        else:
            kind = REDRAW
            first = last = row
            for axis in range(dimensions):
                low = space.delta_low[row, axis]
                scratch.proposed_deltas[row, axis] = (
                    low + (space.delta_high[row, axis] - low) * rng.random()
                )
        if kind in (SHIFT, STRETCH):
            # Reflecting one of several corrections would make the move irreversible, so here a
            # bound rejects.
            for index in range(first, last + 1):
                for axis in range(dimensions):
                    value = scratch.proposed_deltas[index, axis]
                    if not space.delta_low[index, axis] <= value <= space.delta_high[index, axis]:
                        inside = False
        counts[kind, 0] += 1
        accepted = False
        if inside and propose(features, space, scratch, first, last):
            change = 0.0
            for index in range(size):
                change += eta[index] * (
                    scratch.proposed_statistics[index] - scratch.statistics[index]
                )
            # A comparison with NaN is false, so a NaN is a rejection.
            accepted = change >= 0.0 or np.log(rng.random()) < change
        if accepted:
            accept(scratch, first, last)
            counts[kind, 1] += 1
            total += 1
        else:
            for index in range(first, last + 1):
                for axis in range(dimensions):
                    scratch.proposed_deltas[index, axis] = scratch.deltas[index, axis]
    return total
