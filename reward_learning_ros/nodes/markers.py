"""Plan, ideal, corrections and scene as visualization_msgs/MarkerArray, for RViz and Foxglove."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from reward_learning_ros.core.scenery import SceneObject
from reward_learning_ros.interface import (
    Correction,
    PassCorrections,
    Plan,
)
from reward_learning_ros.interface.records import FloatArray, RecordError
from reward_learning_ros.nodes.conversions import (
    header_message,
    point_message,
    pose_message,
    vector_message,
)

PLAN_COLOR = (0.12, 0.47, 0.71, 1.0)
IDEAL_COLOR = (0.17, 0.63, 0.17, 1.0)
CORRECTION_COLOR = (0.84, 0.15, 0.16, 1.0)
# Wide enough to be seen from two metres, narrow enough to tell waypoints a centimetre apart.
LINE_WIDTH = 0.006
WAYPOINT_SIZE = 0.012
# Shifts below a millimetre would be arrows of no length, which RViz draws as nothing or warns of.
MIN_ARROW_LENGTH = 0.001
# Times are on nanoseconds, but not all of them are floating-point numbers.
_SAME_TIME_SEC = 1e-6

# By the role of an object.
_ROLE_COLORS = {
    'goal': (0.2, 0.7, 0.3, 0.5),
    'obstacle': (0.8, 0.2, 0.2, 0.6),
    'object': (0.6, 0.6, 0.6, 0.9),
    'person': (0.9, 0.7, 0.5, 0.7),
}
_SHAPES = {
    'box': Marker.CUBE,
    'sphere': Marker.SPHERE,
    'cylinder': Marker.CYLINDER,
}


def marker_array(markers: Iterable[Marker]) -> MarkerArray:
    """Return markers that replace all those shown before on the topic."""
    return MarkerArray(markers=[clearing_marker(), *markers])


def clearing_marker() -> Marker:
    """Return the marker that removes all others of the topic."""
    return Marker(action=Marker.DELETEALL)


def plan_markers(plan: Plan) -> list[Marker]:
    """Return a plan as RViz markers: a line and its waypoints."""
    return _path_markers(plan, plan.positions, 'plan', PLAN_COLOR)


def ideal_markers(plan: Plan) -> list[Marker]:
    """Return the trajectory that a participant has in mind as a line and its waypoints."""
    return _path_markers(plan, plan.positions, 'ideal', IDEAL_COLOR)


def correction_markers(
    plan: Plan, corrections: Sequence[PassCorrections | Correction]
) -> list[Marker]:
    """Return for each pass of a plan an arrow from each waypoint to where it was moved.

    Of older recordings, for each contact.

    Raises:
        RecordError: Corrections have other waypoints, or another frame, than the plan.
    """
    markers: list[Marker] = []
    for each in corrections:
        if each.frame_id != plan.frame_id:
            raise RecordError(
                type(each).__name__, 'frame_id', each.frame_id, f'must be {plan.frame_id!r}'
            )
        for start, shift in zip(plan.positions, _shifts(plan, each), strict=True):
            if np.linalg.norm(shift) < MIN_ARROW_LENGTH:
                continue
            marker = _marker(plan, 'corrections', len(markers), Marker.ARROW, CORRECTION_COLOR)
            marker.points = [point_message(start), point_message(start + shift)]
            # For an arrow of two points: shaft diameter, head diameter.
            marker.scale.x, marker.scale.y = LINE_WIDTH, 2 * LINE_WIDTH
            markers.append(marker)
    return markers


def _shifts(plan: Plan, corrections: PassCorrections | Correction) -> FloatArray:
    """Return how far (n, 3) corrections moved each waypoint of a plan altogether."""
    if isinstance(corrections, PassCorrections):
        # Each delta moves its waypoint and all later ones.
        is_moved = plan.times_sec[:, None] >= corrections.times_sec - _SAME_TIME_SEC
        return np.asarray(is_moved.astype(float) @ corrections.delta_positions)
    if corrections.delta_positions.shape != plan.positions.shape:
        raise RecordError(
            'Correction',
            'delta_positions',
            f'{len(corrections.delta_positions)} waypoints',
            f'must have {len(plan.positions)}, as the plan',
        )
    return corrections.delta_positions


def scene_markers(frame_id: str, objects: Sequence[SceneObject]) -> list[Marker]:
    """Return the objects of a scene as solid shapes, each under its name."""
    markers = []
    for index, each in enumerate(objects):
        marker = Marker(
            header=header_message(0, frame_id),
            ns=f'scene/{each.name}',
            id=index,
            type=_SHAPES[each.shape],
            action=Marker.ADD,
            pose=pose_message(each.position, each.orientation),
            scale=vector_message(each.size),
            color=_color(_ROLE_COLORS[each.role]),
        )
        markers.append(marker)
    return markers


def _path_markers(
    plan: Plan, positions: FloatArray, namespace: str, color: Sequence[float]
) -> list[Marker]:
    points = [point_message(position) for position in positions]
    markers = []
    # A line of one point is refused by RViz.
    if len(points) > 1:
        line = _marker(plan, namespace, 0, Marker.LINE_STRIP, color)
        line.points = points
        line.scale.x = LINE_WIDTH
        markers.append(line)
    waypoints = _marker(plan, namespace, 1, Marker.SPHERE_LIST, color)
    waypoints.points = points
    waypoints.scale.x = waypoints.scale.y = waypoints.scale.z = WAYPOINT_SIZE
    markers.append(waypoints)
    return markers


def _marker(
    plan: Plan, namespace: str, identity: int, kind: int, color: Sequence[float]
) -> Marker:
    # A stamp of zero means the newest transform: the plan's own is older than TF remembers.
    marker = Marker(
        header=header_message(0, plan.frame_id),
        ns=namespace,
        id=identity,
        type=kind,
        action=Marker.ADD,
        color=_color(color),
    )
    marker.pose.orientation.w = 1.0
    return marker


def _color(rgba: Sequence[float]) -> ColorRGBA:
    return ColorRGBA(r=rgba[0], g=rgba[1], b=rgba[2], a=rgba[3])
