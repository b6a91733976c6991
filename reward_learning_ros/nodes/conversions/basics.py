"""The small messages that the others are made of."""

from __future__ import annotations

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Vector3
from std_msgs.msg import Header

from reward_learning_ros.interface.records import FloatArray


def time_message(stamp_ns: int) -> Time:
    """Return a time in nanoseconds as a message."""
    seconds, nanoseconds = divmod(stamp_ns, 10**9)
    return Time(sec=seconds, nanosec=nanoseconds)


def time_message_of_seconds(seconds: float) -> Time:
    """Return a time in seconds as a message."""
    return time_message(round(seconds * 1e9))


def duration_message(seconds: float) -> Duration:
    """Return a duration in seconds as a message."""
    whole, nanoseconds = divmod(round(seconds * 1e9), 10**9)
    return Duration(sec=whole, nanosec=nanoseconds)


def header_message(stamp_ns: int, frame_id: str) -> Header:
    """Return a header."""
    return Header(stamp=time_message(stamp_ns), frame_id=frame_id)


def point_message(xyz: FloatArray) -> Point:
    """Return a position (3,) as a message."""
    return Point(x=float(xyz[0]), y=float(xyz[1]), z=float(xyz[2]))


def vector_message(xyz: FloatArray) -> Vector3:
    """Return a vector (3,) as a message."""
    return Vector3(x=float(xyz[0]), y=float(xyz[1]), z=float(xyz[2]))


def quaternion_message(xyzw: FloatArray) -> Quaternion:
    """Return a quaternion (4,) x y z w as a message."""
    return Quaternion(x=float(xyzw[0]), y=float(xyzw[1]), z=float(xyzw[2]), w=float(xyzw[3]))


def pose_message(position: FloatArray, orientation: FloatArray) -> Pose:
    """Return a pose of a position (3,) and a quaternion (4,) as a message."""
    return Pose(position=point_message(position), orientation=quaternion_message(orientation))


def transform_message(translation: FloatArray, rotation: FloatArray) -> Transform:
    """Return a transform of a translation (3,) and a quaternion (4,) as a message."""
    return Transform(
        translation=vector_message(translation), rotation=quaternion_message(rotation)
    )
