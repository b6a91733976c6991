"""Records as serialized messages, without ROS: for bags that are made of other things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reward_learning_ros.interface import (
    Correction,
    Diagnostic,
    PassCorrections,
    Plan,
    PlaybackStatus,
    ThetaSummary,
)
from reward_learning_ros.interface.correction import joint_name_of
from reward_learning_ros.interface.plan import diagnostic_of
from reward_learning_ros.interface.theta import STATISTICS, label_of
from reward_learning_ros.recording.topic_definitions import standard_types

_NANOSECONDS = 1_000_000_000


def serialized_plan(plan: Plan) -> bytes:
    """Return a plan as nav_msgs/Path."""
    poses = [
        _new(
            'geometry_msgs/msg/PoseStamped',
            header=_header(round(time_sec * 1e9), plan.frame_id),
            pose=_new(
                'geometry_msgs/msg/Pose',
                position=_new('geometry_msgs/msg/Point', **_xyz(position)),
                orientation=_quaternion(orientation),
            ),
        )
        for position, orientation, time_sec in zip(
            plan.positions, plan.orientations, plan.times_sec, strict=True
        )
    ]
    return _bytes_of(
        _new('nav_msgs/msg/Path', header=_header(plan.stamp_ns, plan.frame_id), poses=poses)
    )


def serialized_pass_corrections(corrections: PassCorrections) -> bytes:
    """Return what a person did to a pass as trajectory_msgs/MultiDOFJointTrajectory."""
    return _serialized_deltas(corrections, corrections.plan_stamp_ns, corrections.tool_frame)


def serialized_correction(correction: Correction) -> bytes:
    """Return a correction, as older recordings have it, as the same type of message."""
    return _serialized_deltas(correction, correction.stamp_ns, joint_name_of(correction))


def serialized_corrections(record: PassCorrections | Correction) -> bytes:
    """Return corrections of either kind."""
    if isinstance(record, PassCorrections):
        return serialized_pass_corrections(record)
    return serialized_correction(record)


def _serialized_deltas(
    record: PassCorrections | Correction, stamp_ns: int, joint_name: str
) -> bytes:
    points = [
        _new(
            'trajectory_msgs/msg/MultiDOFJointTrajectoryPoint',
            transforms=[
                _new(
                    'geometry_msgs/msg/Transform',
                    translation=_new('geometry_msgs/msg/Vector3', **_xyz(delta)),
                    rotation=_quaternion(turn),
                )
            ],
            velocities=[],
            accelerations=[],
            time_from_start=_time('builtin_interfaces/msg/Duration', round(time_sec * 1e9)),
        )
        for delta, turn, time_sec in zip(
            record.delta_positions, record.delta_orientations, record.times_sec, strict=True
        )
    ]
    return _bytes_of(
        _new(
            'trajectory_msgs/msg/MultiDOFJointTrajectory',
            header=_header(stamp_ns, record.frame_id),
            joint_names=[joint_name],
            points=points,
        )
    )


def serialized_diagnostic(diagnostic: Diagnostic) -> bytes:
    """Return a diagnostic, or a status that is one, as diagnostic_msgs/DiagnosticStatus."""
    values = [
        _new('diagnostic_msgs/msg/KeyValue', key=key, value=value)
        for key, value in diagnostic.values.items()
    ]
    return _bytes_of(
        _new(
            'diagnostic_msgs/msg/DiagnosticStatus',
            level=int(diagnostic.level),
            name=diagnostic.name,
            message=diagnostic.message,
            hardware_id=diagnostic.hardware_id,
            values=values,
        )
    )


def serialized_theta(theta: ThetaSummary) -> bytes:
    """Return the statistics of θ as std_msgs/Float64MultiArray."""
    rows, columns = theta.table.shape
    layout = _new(
        'std_msgs/msg/MultiArrayLayout',
        dim=[
            _dimension(label_of('statistic', STATISTICS), rows, rows * columns),
            _dimension(label_of('feature', theta.features), columns, columns),
        ],
        data_offset=0,
    )
    return _bytes_of(
        _new('std_msgs/msg/Float64MultiArray', layout=layout, data=theta.table.ravel())
    )


def _dimension(label: str, size: int, stride: int) -> Any:
    return _new('std_msgs/msg/MultiArrayDimension', label=label, size=size, stride=stride)


def serialized_status(status: PlaybackStatus) -> bytes:
    """Return the playback's status as diagnostic_msgs/DiagnosticStatus."""
    return serialized_diagnostic(diagnostic_of(status))


def _new(type_name: str, **fields: Any) -> Any:
    return standard_types().types[type_name](**fields)


def _bytes_of(message: Any) -> bytes:
    return bytes(standard_types().serialize_cdr(message, message.__msgtype__))


def _time(type_name: str, time_ns: int) -> Any:
    return _new(type_name, sec=time_ns // _NANOSECONDS, nanosec=time_ns % _NANOSECONDS)


def _header(stamp_ns: int, frame_id: str) -> Any:
    stamp = _time('builtin_interfaces/msg/Time', stamp_ns)
    return _new('std_msgs/msg/Header', stamp=stamp, frame_id=frame_id)


def _xyz(vector: np.ndarray) -> dict[str, float]:
    return {axis: float(value) for axis, value in zip('xyz', vector, strict=True)}


def _quaternion(xyzw: Sequence[float] | np.ndarray) -> Any:
    parts = {axis: float(value) for axis, value in zip('xyzw', xyzw, strict=True)}
    return _new('geometry_msgs/msg/Quaternion', **parts)
