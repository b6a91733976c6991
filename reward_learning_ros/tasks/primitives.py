"""Features that a task file composes, measured by one compiled kernel over a small table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64, njit, types

from reward_learning_ros.core.compiled import Features
from reward_learning_ros.core.grid import TABLE_TYPE, bind_table, table_kernel
from reward_learning_ros.core.motor_noise import reached_probability

(
    DISTANCE_TO_POINT,
    DISTANCE_TO_OBSTACLE,
    PATH_LENGTH,
    HEIGHT,
    SPEED,
    UPRIGHT,
    REACHED,
) = range(7)
KINDS = {
    'distance_to_point': DISTANCE_TO_POINT,
    'distance_to_obstacle': DISTANCE_TO_OBSTACLE,
    'path_length': PATH_LENGTH,
    'height': HEIGHT,
    'speed': SPEED,
    'upright': UPRIGHT,
    'reached': REACHED,
}
# Where a distance to a point is taken.
LAST, NEAREST, MEAN = range(3)

# Columns of a row.
KIND, SCALE, OFFSET, POINT, RADIUS, EXTRA, AXIS = 0, 1, 2, 3, 6, 7, 8
WIDTH = 9
# Before the rows: which axes of a waypoint are x, y and z; −1 where there is none.
HEAD = 3


def compose(
    position_axes: tuple[int, int, int], rows: Any, motor_noise_m: float = 0.0
) -> Features:
    """Return features from rows (d, WIDTH), softened by the motor noise of a hand."""
    softened = np.array(rows, dtype=np.float64)
    # Of all primitives only this one switches.
    softened[softened[:, KIND] == REACHED, EXTRA] = motor_noise_m
    table = np.concatenate([np.array(position_axes, dtype=np.float64), np.ravel(softened)])
    return bind_table(measure, table)


@njit(
    float64(TABLE_TYPE, types.Array(float64, 2, 'C'), int64, int64, float64),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def _squared_distance(
    table: np.ndarray, trajectory: np.ndarray, row: int, waypoint: int, along: float
) -> float:
    """Return the squared distance of a row's point to where the way is after a waypoint.

    Args:
        table: All rows.
        trajectory: (n, m) the way.
        row: Where the row begins.
        waypoint: Where the way has come.
        along: How far on towards the next one, 0 to 1.
    """
    total = 0.0
    for index in range(3):
        wanted = table[row + POINT + index]
        axis = int(table[index])
        if axis >= 0 and not np.isnan(wanted):
            here = trajectory[waypoint, axis]
            if along > 0.0:
                here += along * (trajectory[waypoint + 1, axis] - here)
            total += (here - wanted) ** 2
    return total


@njit(
    float64(TABLE_TYPE, types.Array(float64, 2, 'C'), int64, int64),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def _nearest_on_segment(
    table: np.ndarray, trajectory: np.ndarray, row: int, waypoint: int
) -> float:
    """Return the smallest squared distance of a row's point to the way up to the next waypoint."""
    projected, length = 0.0, 0.0
    for index in range(3):
        wanted = table[row + POINT + index]
        axis = int(table[index])
        if axis >= 0 and not np.isnan(wanted):
            step = trajectory[waypoint + 1, axis] - trajectory[waypoint, axis]
            projected += step * (wanted - trajectory[waypoint, axis])
            length += step * step
    along = min(max(projected / length, 0.0), 1.0) if length > 0.0 else 0.0
    return float(_squared_distance(table, trajectory, row, waypoint, along))


@njit(
    float64(TABLE_TYPE, types.Array(float64, 2, 'C'), int64),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def _step_length(table: np.ndarray, trajectory: np.ndarray, waypoint: int) -> float:
    """Return how far it is from the waypoint before."""
    total = 0.0
    for index in range(3):
        axis = int(table[index])
        if axis >= 0:
            total += (trajectory[waypoint, axis] - trajectory[waypoint - 1, axis]) ** 2
    return float(np.sqrt(total))


@table_kernel
def measure(table: np.ndarray, trajectory: np.ndarray, out: np.ndarray) -> None:
    """Measure the feature of each row; the first waypoint counts only as where the way begins."""
    last = trajectory.shape[0] - 1
    first = min(1, last)
    for feature in range(out.shape[0]):
        row = HEAD + feature * WIDTH
        kind = int(table[row + KIND])
        radius, extra = table[row + RADIUS], table[row + EXTRA]
        axis = int(table[row + AXIS])
        value = 0.0
        if kind == DISTANCE_TO_POINT:
            if extra == LAST:
                value = np.sqrt(_squared_distance(table, trajectory, row, last, 0.0))
            elif extra == NEAREST:
                value = np.inf
                for i in range(first, last + 1):
                    value = min(value, _squared_distance(table, trajectory, row, i, 0.0))
                value = np.sqrt(value)
            else:
                for i in range(first, last + 1):
                    value += np.sqrt(_squared_distance(table, trajectory, row, i, 0.0))
                value /= last + 1 - first
        elif kind == DISTANCE_TO_OBSTACLE:
            value = _squared_distance(table, trajectory, row, last, 0.0)
            for i in range(last):
                value = min(value, _nearest_on_segment(table, trajectory, row, i))
            value = np.sqrt(value) - radius
        elif kind == PATH_LENGTH:
            for i in range(1, last + 1):
                length = _step_length(table, trajectory, i)
                value += length * length if extra > 0.0 else length
        elif kind == HEIGHT:
            for i in range(first, last + 1):
                value += trajectory[i, axis] - extra
            value /= last + 1 - first
        elif kind == SPEED:
            # `extra` is the time from one waypoint to the next.
            for i in range(1, last + 1):
                value = max(value, _step_length(table, trajectory, i) / extra)
        elif kind == UPRIGHT:
            for i in range(first, last + 1):
                value -= abs(trajectory[i, axis] - extra)
            value /= last + 1 - first
        elif kind == REACHED:
            # `extra` is the motor noise.
            axes = 0
            for index in range(3):
                axes += 0 if np.isnan(table[row + POINT + index]) else 1
            missed = 1.0
            for i in range(first, last + 1):
                squared = _squared_distance(table, trajectory, row, i, 0.0)
                if extra > 0.0:
                    missed *= 1.0 - reached_probability(squared, radius, extra, axes)
                elif squared < radius * radius:
                    missed = 0.0
            value = 1.0 - missed
        out[feature] = table[row + OFFSET] + table[row + SCALE] * value
