"""Moves of the inner sampler where a person could also have done nothing at a waypoint."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import GENERATOR_TYPE
from reward_learning_ros.core.samplers.space import SCRATCH_TYPE, SPACE_TYPE, Scratch, Space

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
# What a redraw does where a person may be silent: end or begin a push, the same with another push
# making up for it, exchange two deltas; else forget one.
TOGGLE_SHARE, TRADE_SHARE, EXCHANGE_SHARE = 0.35, 0.35, 0.1


@numba.njit(inline='always')
def pushes(deltas: np.ndarray, row: int) -> float:
    """Return 1 if a row of deltas (K, m) is a push, 0 if it is silence."""
    for axis in range(deltas.shape[1]):
        if deltas[row, axis] != 0.0:
            return 1.0
    return 0.0


@numba.njit(inline='always')
def is_possible(deltas: np.ndarray, choice: float, row: int, other: int) -> bool:
    """Tell whether a move that keeps silence has pushes to move."""
    if choice < LOCAL_SHARE or (deltas.shape[0] == 1 and choice < 1.0 - REDRAW_SHARE):
        return pushes(deltas, row) != 0.0
    if choice < LOCAL_SHARE + SHIFT_SHARE:
        return pushes(deltas, row) != 0.0 and pushes(deltas, other) != 0.0
    return True


@numba.njit(
    types.boolean(SPACE_TYPE, SCRATCH_TYPE, types.int64, types.int64, GENERATOR_TYPE),
    cache=True,
    nogil=True,
)
def propose_silence(
    space: Space, scratch: Scratch, row: int, other: int, rng: np.random.Generator
) -> bool:
    """Propose that a push ends or begins, or that two rows exchange their deltas.

    Each is its own reverse, and a push that begins is drawn from what silence stands against: so
    the densities of the proposals cancel.

    Returns:
        Whether something was proposed; else one delta is to be forgotten.
    """
    dimensions = scratch.deltas.shape[1]
    choice = rng.random()
    pushed = pushes(scratch.deltas, row) != 0.0
    if choice < TOGGLE_SHARE + TRADE_SHARE:
        traded = choice >= TOGGLE_SHARE and other != row and pushes(scratch.deltas, other) != 0.0
        for axis in range(dimensions):
            before = scratch.deltas[row, axis]
            after = 0.0
            if not pushed:
                low = space.delta_low[row, axis]
                after = low + (space.delta_high[row, axis] - low) * rng.random()
            scratch.proposed_deltas[row, axis] = after
            if traded:
                scratch.proposed_deltas[other, axis] += before - after
        return True
    if choice < TOGGLE_SHARE + TRADE_SHARE + EXCHANGE_SHARE:
        for axis in range(dimensions):
            scratch.proposed_deltas[row, axis] = scratch.deltas[other, axis]
            scratch.proposed_deltas[other, axis] = scratch.deltas[row, axis]
        return True
    # What is silent has no delta to forget, and stays as it is.
    return not pushed
