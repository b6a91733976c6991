"""The table of numbers that a task file's features become.

Each feature is a row: what to measure, scale, offset, a point, a radius, and what else the
primitive needs.
"""

from __future__ import annotations

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
