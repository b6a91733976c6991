"""The compiled inner sampler: random corrections under the human model, for given θ and β.

A *space* is the set of corrections that a person could have made: K corrections of a plan, each
the outer product of a fixed profile over the waypoints and a free vector, the *delta*, in a box.
Trajectory i is the plan after corrections 1 … i. All of the model that depends on the corrections
enters through their *statistics* T, features summed over trajectories (discounted) and, last, the
negative effort; all that depends on the person through the *weights* η = (β θ, β):

    log P(D | θ, β) = η · T(D) − log Z(η)                                   (equations P2, A4)

Where silence is an atom, the person could also do nothing at each waypoint: a delta is exactly
zero or anywhere in its box, with even odds at η = 0. Then T ends in the negative number of pushes
and η in the cost of bothering, η = (β θ, α, κ), α = β unless effort has a scale of its own.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import (
    FEATURES_TYPE,
    GENERATOR_TYPE,
    Features,
    copy_matrix,
    unowned,
)
from reward_learning_ros.core.samplers.silence import (
    KINDS,
    LOCAL,
    LOCAL_SHARE,
    REDRAW,
    REDRAW_SHARE,
    SHIFT,
    SHIFT_SHARE,
    STRETCH,
    STRETCH_SHARE,
    is_possible,
    propose_silence,
    pushes,
)
from reward_learning_ros.core.samplers.space import (
    MATRIX,
    SCRATCH_TYPE,
    SPACE_TYPE,
    VECTOR,
    Scratch,
    Space,
    make_scratch,
)

__all__ = [
    'KINDS',
    'LOCAL',
    'SCRATCH_TYPE',
    'SPACE_TYPE',
    'VECTOR',
    'Scratch',
    'Space',
    'advance',
    'draw_corrections',
    'load',
    'make_scratch',
    'reflect',
]

# Attempts at a random delta that keeps the driven waypoints in the workspace.
DRAW_ATTEMPTS = 200


# The two parts of a step are compiled into their callers: called, they would pass a hundred words.
@numba.njit(inline='always')
def propose(features: Features, space: Space, scratch: Scratch, first: int, last: int) -> bool:
    """Evaluate the proposed deltas, changed in rows first to last; return whether they may be."""
    rows, waypoints = space.profiles.shape
    dimensions = space.plan.shape[1]
    size = scratch.features.shape[2]
    statistics = scratch.proposed_statistics
    for feature in range(statistics.shape[0]):
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
        if space.atom[0] != 0 and row <= last:
            statistics[size + 1] -= pushes(scratch.proposed_deltas, row)
            statistics[size + 1] += pushes(scratch.deltas, row)
        before = after
    # What has no finite reward is no trajectory: it could not be weighed against others.
    for feature in range(statistics.shape[0]):
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
    types.boolean(FEATURES_TYPE, SPACE_TYPE, SCRATCH_TYPE, MATRIX),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def load(features: Features, space: Space, scratch: Scratch, deltas: np.ndarray) -> bool:
    """Make `deltas` (K, m) the current state; return whether it is in the space."""
    scratch.deltas[:] = 0.0
    scratch.features[:] = 0.0
    scratch.statistics[:] = 0.0
    copy_matrix(scratch.proposed_deltas, deltas)
    last = deltas.shape[0] - 1
    inside = propose(features, space, scratch, 0, last)
    accept(scratch, 0, last)
    return inside


@numba.njit(inline='always')
def _is_driven_inside(space: Space, trajectory: np.ndarray, row: int) -> bool:
    """Tell whether what is driven of a trajectory after a correction is in the workspace."""
    inside = True
    for waypoint in range(space.driven[row, 0], space.driven[row, 1]):
        for axis in range(trajectory.shape[1]):
            value = trajectory[waypoint, axis]
            if value < space.workspace_low[axis] or value > space.workspace_high[axis]:
                inside = False
    return inside


@numba.njit(
    types.boolean(
        FEATURES_TYPE, SPACE_TYPE, MATRIX, VECTOR, types.boolean, types.float64, GENERATOR_TYPE
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def draw_corrections(
    features: Features,
    space: Space,
    deltas: np.ndarray,
    values: np.ndarray,
    rewarded: bool,
    silence: float,
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
        silence: The probability of silence at a waypoint, where there may be any.
        rng: Of all random numbers.
    """
    rows, waypoints = space.profiles.shape
    dimensions = space.plan.shape[1]
    trajectory = space.plan.copy()
    moved = np.empty_like(trajectory)
    complete = True
    for row in range(rows):
        if space.atom[0] != 0 and rng.random() < silence:
            for axis in range(dimensions):
                deltas[row, axis] = 0.0
            # Silence ends nothing, but what is driven from here on must lie in the workspace.
            complete = complete and _is_driven_inside(space, trajectory, row)
            continue
        found = False
        for _ in range(DRAW_ATTEMPTS):
            for axis in range(dimensions):
                low = space.delta_low[row, axis]
                deltas[row, axis] = low + (space.delta_high[row, axis] - low) * rng.random()
                for waypoint in range(waypoints):
                    moved[waypoint, axis] = trajectory[waypoint, axis] + (
                        space.profiles[row, waypoint] * deltas[row, axis]
                    )
            found = _is_driven_inside(space, moved, row)
            if found and rewarded and space.discounts[row] != 0.0:
                features(moved, values)
                for feature in range(values.shape[0]):
                    found = found and np.isfinite(values[feature])
            if found:
                break
        complete = complete and found
        copy_matrix(trajectory, moved)
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
        if space.atom[0] != 0 and not is_possible(scratch.deltas, choice, row, other):
            continue
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
                    if space.atom[0] == 0 or pushes(scratch.deltas, index) != 0.0:
                        scratch.proposed_deltas[index, axis] += step
        elif space.atom[0] != 0 and propose_silence(space, scratch, row, other, rng):
            kind = REDRAW
        else:
            kind = REDRAW
            first = last = row
            for axis in range(dimensions):
                low = space.delta_low[row, axis]
                scratch.proposed_deltas[row, axis] = (
                    low + (space.delta_high[row, axis] - low) * rng.random()
                )
        if kind in (SHIFT, STRETCH) or space.atom[0] != 0:
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
