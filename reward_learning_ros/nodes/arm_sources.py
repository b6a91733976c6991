"""The ways to learn what an arm feels, best first, and how their messages are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from reward_learning_ros.arm.chain import Gravity
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.franka_robot_state import robot_state_type
from reward_learning_ros.nodes.polled_subscription import PolledSubscription
from reward_learning_ros.sensing.decoding import (
    FrankaStateDecoder,
    JointStateDecoder,
    PoseStampedDecoder,
    WrenchStampedDecoder,
)
from reward_learning_ros.sensing.samples import JOINT_COUNT, DecodingError, Stream

# One message: its stamp, and what it says of each stream.
Samples = tuple[int, tuple[tuple[Stream, Sequence[float]], ...]]


@dataclass(frozen=True, kw_only=True)
class Channel:
    """One topic of a source.

    Attributes:
        topic: relative name.
        message_type: class of the messages.
        stream: the stream that a message which cannot be read is counted for.
        read: what a serialized message says.
    """

    topic: str
    message_type: Any
    stream: Stream
    read: Callable[[bytes], Samples]


@dataclass(kw_only=True, eq=False)
class ArmSource:
    """One way to learn what the arm feels.

    Attributes:
        name: for the log.
        channels: its topics: first the torques, then what else is needed, then witnesses.
        needed: how many of the channels are needed.
        is_external: whether its torques are external ones, estimated by the arm itself; the
            measured torques of plain joint states err otherwise, so a bias is learned for each.
        heard_sec: when torques came last, by a clock that never jumps.
        subscriptions: of each channel, while it is listened to.
    """

    name: str
    channels: tuple[Channel, ...]
    needed: int
    is_external: bool = True
    heard_sec: float = -np.inf
    subscriptions: list[PolledSubscription] = field(default_factory=list)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics without which the source is not there."""
        return tuple(channel.topic for channel in self.channels[: self.needed])


def make_sources(kinematics: Kinematics) -> list[ArmSource]:
    """Return the sources of an arm, best first; without franka_msgs there is one less."""
    joint_names = kinematics.description.joint_names
    sources = [
        ArmSource(
            name='the topics of franka_robot_state_broadcaster',
            channels=(
                Channel(
                    topic=names.EXTERNAL_JOINT_TORQUES_TOPIC,
                    message_type=JointState,
                    stream=Stream.TORQUE,
                    read=_torque_reader(joint_names),
                ),
                Channel(
                    topic=names.MEASURED_JOINT_STATES_TOPIC,
                    message_type=JointState,
                    stream=Stream.JOINTS,
                    read=_joint_reader(joint_names),
                ),
                Channel(
                    topic=names.CURRENT_POSE_TOPIC,
                    message_type=PoseStamped,
                    stream=Stream.POSE,
                    read=_pose_reader(),
                ),
                Channel(
                    topic=names.WRENCH_IN_BASE_TOPIC,
                    message_type=WrenchStamped,
                    stream=Stream.WRENCH,
                    read=_wrench_reader(),
                ),
            ),
            needed=3,
        ),
        ArmSource(
            name=f'{names.JOINT_STATES_TOPIC}, whose torques are not external ones: only strong '
            'pushes will be found',
            channels=(
                Channel(
                    topic=names.JOINT_STATES_TOPIC,
                    message_type=JointState,
                    stream=Stream.TORQUE,
                    read=_plain_reader(joint_names, kinematics),
                ),
            ),
            needed=1,
            is_external=False,
        ),
    ]
    franka_robot_state = robot_state_type()
    if franka_robot_state is not None:
        channel = Channel(
            topic=names.ROBOT_STATE_TOPIC,
            message_type=franka_robot_state,
            stream=Stream.TORQUE,
            read=_franka_reader(),
        )
        sources.insert(0, ArmSource(name='FrankaRobotState', channels=(channel,), needed=1))
    return sources


def _torque_reader(joint_names: Sequence[str]) -> Callable[[bytes], Samples]:
    decode = JointStateDecoder(joint_names).decode

    def read(data: bytes) -> Samples:
        record = decode(data)
        return record.time_ns, ((Stream.TORQUE, record.effort),)

    return read


def _joint_reader(joint_names: Sequence[str]) -> Callable[[bytes], Samples]:
    decode = JointStateDecoder(joint_names).decode

    def read(data: bytes) -> Samples:
        record = decode(data)
        return record.time_ns, ((Stream.JOINTS, record.position + record.velocity),)

    return read


def _pose_reader() -> Callable[[bytes], Samples]:
    decode = PoseStampedDecoder().decode

    def read(data: bytes) -> Samples:
        record = decode(data)
        return record.time_ns, ((Stream.POSE, record.pose),)

    return read


def _wrench_reader() -> Callable[[bytes], Samples]:
    decode = WrenchStampedDecoder().decode

    def read(data: bytes) -> Samples:
        record = decode(data)
        return record.time_ns, ((Stream.WRENCH, record.wrench),)

    return read


def _franka_reader() -> Callable[[bytes], Samples]:
    decode = FrankaStateDecoder().decode

    def read(data: bytes) -> Samples:
        record = decode(data)
        return record.time_ns, (
            (Stream.TORQUE, record.external_torque),
            (Stream.JOINTS, record.joint_position + record.joint_velocity),
            (Stream.POSE, record.pose),
            (Stream.WRENCH, record.wrench),
        )

    return read


def _plain_reader(
    joint_names: Sequence[str], kinematics: Kinematics
) -> Callable[[bytes], Samples]:
    """Read positions and measured torques; the tool's pose and the weight are computed."""
    decode = JointStateDecoder(joint_names).decode
    gravity = Gravity(kinematics.description)

    def read(data: bytes) -> Samples:
        record = decode(data)
        position = np.array(record.position)
        if len(position) != JOINT_COUNT or not np.isfinite(position).all():
            raise DecodingError(f'joint states with positions {record.position}')
        place, rotation = kinematics.tool_poses(position)
        pose = (*place.tolist(), *Rotation.from_matrix(rotation).as_quat().tolist())
        samples: tuple[tuple[Stream, Sequence[float]], ...] = (
            (Stream.JOINTS, record.position + (record.velocity or (0.0,) * JOINT_COUNT)),
            (Stream.POSE, pose),
        )
        if len(record.effort) == JOINT_COUNT:
            torque = tuple((np.array(record.effort) - gravity.torque_nm(position)).tolist())
            samples = ((Stream.TORQUE, torque), *samples)
        return record.time_ns, samples

    return read
