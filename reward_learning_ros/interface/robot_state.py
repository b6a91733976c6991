"""What the arm tells about itself: joints, tool pose, external wrench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.interface.records import (
    FloatArray,
    Record,
    check_frame,
    reading,
    stamp_ns_of,
)

JOINT_TYPE = 'sensor_msgs/JointState'
POSE_TYPE = 'geometry_msgs/PoseStamped'
WRENCH_TYPE = 'geometry_msgs/WrenchStamped'


@dataclass(frozen=True, kw_only=True, eq=False)
class JointReading(Record):
    """Positions, velocities and efforts of the joints, each None if not told."""

    stamp_ns: int
    joint_names: tuple[str, ...]
    """(j,)"""
    positions: FloatArray | None = None
    """(j,) in radians."""
    velocities: FloatArray | None = None
    """(j,) in radians per second."""
    efforts: FloatArray | None = None
    """(j,) in newton metres."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        joints = len(self._set_names('joint_names'))
        for name in ('positions', 'velocities', 'efforts'):
            if getattr(self, name) is not None:
                self._set_array(name, (joints,))


@dataclass(frozen=True, kw_only=True, eq=False)
class PoseReading(Record):
    """A pose of the tool in a frame."""

    stamp_ns: int
    frame_id: str
    position: FloatArray
    """(3,) in metres."""
    orientation: FloatArray
    """(4,) unit quaternion x y z w."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        self._check_text('frame_id')
        self._set_array('position', (3,))
        self._set_quaternions('orientation', (4,))


@dataclass(frozen=True, kw_only=True, eq=False)
class WrenchReading(Record):
    """A force and a torque in a frame, with the sign that the message has."""

    stamp_ns: int
    frame_id: str
    force: FloatArray
    """(3,) in newtons."""
    torque: FloatArray
    """(3,) in newton metres."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        self._check_text('frame_id')
        self._set_array('force', (3,))
        self._set_array('torque', (3,))


def joint_reading_from_message(message: Any) -> JointReading:
    """Read the joints from a sensor_msgs/JointState.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    places = {
        'stamp_ns': 'header.stamp',
        'joint_names': 'name',
        'positions': 'position',
        'velocities': 'velocity',
        'efforts': 'effort',
    }
    with reading(JOINT_TYPE, places):
        return JointReading(
            stamp_ns=stamp_ns_of(message.header.stamp),
            joint_names=tuple(message.name),
            # An empty array means not told, by the definition of the message.
            positions=message.position if len(message.position) else None,
            velocities=message.velocity if len(message.velocity) else None,
            efforts=message.effort if len(message.effort) else None,
        )


def pose_reading_from_message(message: Any, *, frame_id: str | None = None) -> PoseReading:
    """Read a pose from a geometry_msgs/PoseStamped.

    Raises:
        MessageError: A field of the message cannot be used, or it is not in `frame_id`.
    """
    check_frame(POSE_TYPE, message.header.frame_id, frame_id, 'header.frame_id')
    position, orientation = message.pose.position, message.pose.orientation
    places = {
        'stamp_ns': 'header.stamp',
        'frame_id': 'header.frame_id',
        'position': 'pose.position',
        'orientation': 'pose.orientation',
    }
    with reading(POSE_TYPE, places):
        return PoseReading(
            stamp_ns=stamp_ns_of(message.header.stamp),
            frame_id=message.header.frame_id,
            position=np.array([position.x, position.y, position.z]),
            orientation=np.array([orientation.x, orientation.y, orientation.z, orientation.w]),
        )


def wrench_reading_from_message(message: Any, *, frame_id: str | None = None) -> WrenchReading:
    """Read a wrench from a geometry_msgs/WrenchStamped.

    Raises:
        MessageError: A field of the message cannot be used, or it is not in `frame_id`.
    """
    check_frame(WRENCH_TYPE, message.header.frame_id, frame_id, 'header.frame_id')
    force, torque = message.wrench.force, message.wrench.torque
    places = {
        'stamp_ns': 'header.stamp',
        'frame_id': 'header.frame_id',
        'force': 'wrench.force',
        'torque': 'wrench.torque',
    }
    with reading(WRENCH_TYPE, places):
        return WrenchReading(
            stamp_ns=stamp_ns_of(message.header.stamp),
            frame_id=message.header.frame_id,
            force=np.array([force.x, force.y, force.z]),
            torque=np.array([torque.x, torque.y, torque.z]),
        )
