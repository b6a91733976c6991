"""Reads markers and lines of the log into plain data."""

from __future__ import annotations

import math
from typing import Any

from reward_learning_ros.console.snapshot import Drawing, DrawnObject, LogEvent, Vector
from reward_learning_ros.interface import Level

# Of visualization_msgs/Marker.
_ARROW, _CUBE, _SPHERE, _CYLINDER = 0, 1, 2, 3
_SHAPES = {_CUBE: 'box', _SPHERE: 'sphere', _CYLINDER: 'cylinder'}
_SCENE = 'scene/'
_CORRECTIONS = 'corrections'
# Beyond this a page would only stutter.
_MAX_DRAWN = 500
# Of rcl_interfaces/Log.
_INFO, _WARN, _ERROR = 20, 30, 40
_MAX_TEXT = 500


def drawing_of(message: Any) -> Drawing:
    """Read scene and corrections from a visualization_msgs/MarkerArray, but nothing odd."""
    objects, arrows = [], []
    for marker in message.markers[:_MAX_DRAWN]:
        if marker.ns.startswith(_SCENE) and marker.type in _SHAPES:
            position, turn = marker.pose.position, marker.pose.orientation
            drawn = DrawnObject(
                shape=_SHAPES[marker.type],
                position_m=(position.x, position.y, position.z),
                quaternion=(turn.x, turn.y, turn.z, turn.w),
                size_m=(marker.scale.x, marker.scale.y, marker.scale.z),
                color=(marker.color.r, marker.color.g, marker.color.b, marker.color.a),
            )
            if _is_finite(*drawn.position_m, *drawn.quaternion, *drawn.size_m, *drawn.color):
                objects.append(drawn)
        elif marker.ns == _CORRECTIONS and marker.type == _ARROW and len(marker.points) == 2:
            start, end = (_vector(point) for point in marker.points)
            if _is_finite(*start, *end):
                arrows.append((start, end))
    return Drawing(objects=tuple(objects), arrows=tuple(arrows))


def event_of(message: Any) -> LogEvent | None:
    """Read a line of the log from a rcl_interfaces/Log; None of one that only developers read."""
    if message.level < _INFO:
        return None
    level = Level.OK
    if message.level >= _ERROR:
        level = Level.ERROR
    elif message.level >= _WARN:
        level = Level.WARN
    return LogEvent(
        time_sec=message.stamp.sec + message.stamp.nanosec / 1e9,
        level=level,
        node=message.name,
        text=message.msg[:_MAX_TEXT],
    )


def _vector(point: Any) -> Vector:
    return (point.x, point.y, point.z)


def _is_finite(*numbers: float) -> bool:
    return all(map(math.isfinite, numbers))
