"""What the arm tells about itself as JointState, PoseStamped and WrenchStamped."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped, Wrench, WrenchStamped
from sensor_msgs.msg import JointState

from reward_learning_ros.interface import JointReading, PoseReading, WrenchReading
from reward_learning_ros.interface.records import FloatArray
from reward_learning_ros.nodes.conversions.basics import (
    header_message,
    pose_message,
    vector_message,
)


def joint_reading_to_message(reading: JointReading) -> JointState:
    """Return the joints as a message; what is not told is an empty array."""
    return JointState(
        header=header_message(reading.stamp_ns, ''),
        name=list(reading.joint_names),
        position=_list(reading.positions),
        velocity=_list(reading.velocities),
        effort=_list(reading.efforts),
    )


def pose_reading_to_message(reading: PoseReading) -> PoseStamped:
    """Return a pose as a message."""
    return PoseStamped(
        header=header_message(reading.stamp_ns, reading.frame_id),
        pose=pose_message(reading.position, reading.orientation),
    )


def wrench_reading_to_message(reading: WrenchReading) -> WrenchStamped:
    """Return a wrench as a message."""
    return WrenchStamped(
        header=header_message(reading.stamp_ns, reading.frame_id),
        wrench=Wrench(force=vector_message(reading.force), torque=vector_message(reading.torque)),
    )


def _list(values: FloatArray | None) -> list[float]:
    return [] if values is None else values.tolist()
