"""The ways to learn what an arm feels, best first, and how their messages are read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from reward_learning_ros.arm.chain import Gravity
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.franka_robot_state import robot_state_type
from reward_learning_ros.nodes.polling import SAMPLES_QOS, PolledSubscription
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
    """One topic of a source of samples, and how its messages are read.

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
    """One source of the arm's torques, joints and poses: a group of topics.

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


# How often it is looked who publishes what.
_GRAPH_PERIOD_SEC = 0.5
# Silent for longer than this, worse sources are listened to as well.
_SILENT_SEC = 0.5


class ArmSources:
    """Listens to the best source that speaks, and changes when a better one comes or it goes.

    Attributes:
        current: the source in use, None before any has spoken.
    """

    def __init__(
        self,
        node: Node,
        sources: Sequence[ArmSource],
        *,
        add: Callable[[Stream, int, Sequence[float]], None],
        timeout_sec: float,
        on_change: Callable[[ArmSource | None, ArmSource], None],
    ) -> None:
        """Begin to listen.

        Args:
            node: subscribes.
            sources: best first.
            add: takes each sample: stream, stamp, values; () for one that cannot be read.
            timeout_sec: how long a source may be silent before a worse one takes its place.
            on_change: is told of the source before and the new one.
        """
        self.current: ArmSource | None = None
        self._node = node
        self._sources = sources
        self._add = add
        self._timeout_sec = timeout_sec
        self._on_change = on_change
        self._clock = node.get_clock()
        self._last_ns = 0
        self._next_graph_sec = -np.inf

    @property
    def silent_sec(self) -> float:
        """How long the current source has been silent; infinite without one."""
        return np.inf if self.current is None else time.monotonic() - self.current.heard_sec

    def update(self) -> None:
        """Take the samples that came, and look who speaks; to be called many times a second."""
        for source in self._sources:
            for channel, subscription in zip(source.channels, source.subscriptions, strict=False):
                self._take(source, channel, subscription)
        self._last_ns = self._clock.now().nanoseconds
        self._choose()
        now_sec = time.monotonic()
        if now_sec >= self._next_graph_sec:
            self._next_graph_sec = now_sec + _GRAPH_PERIOD_SEC
            self._listen()

    def close(self) -> None:
        """Stop listening."""
        for source in self._sources:
            self._leave(source)

    def _take(self, source: ArmSource, channel: Channel, subscription: PolledSubscription) -> None:
        messages = subscription.take()
        if messages and channel is source.channels[0]:
            source.heard_sec = time.monotonic()
        if source is not self.current:
            return
        for place, (data, arrival_ns) in enumerate(messages):
            try:
                time_ns, samples = channel.read(data)
            except DecodingError as error:
                self._add(channel.stream, 0, ())
                self._node.get_logger().warning(
                    f'{channel.topic}: {error}', throttle_duration_sec=5.0
                )
                continue
            if not time_ns:
                time_ns = self._arrival_ns(arrival_ns, (place + 1) / len(messages))
            for stream, values in samples:
                self._add(stream, time_ns, values)

    def _arrival_ns(self, arrival_ns: int, share: float) -> int:
        """Return when a message came; in simulated time, as if evenly between two looks."""
        if arrival_ns and not self._clock.ros_time_is_active:
            return arrival_ns
        now_ns = self._clock.now().nanoseconds
        return int(self._last_ns + share * (now_ns - self._last_ns))

    def _choose(self) -> None:
        """Change to a better source that speaks, or from a silent one to a worse one."""
        now_sec = time.monotonic()
        speaking = [s for s in self._sources if now_sec - s.heard_sec <= _SILENT_SEC]
        if not speaking or speaking[0] is self.current:
            return
        best, current = speaking[0], self.current
        is_better = current is None or self._sources.index(best) < self._sources.index(current)
        if is_better or self.silent_sec > self._timeout_sec:
            self.current = best
            self._on_change(current, best)
            self._next_graph_sec = now_sec

    def _listen(self) -> None:
        """Subscribe to the current source, to better ones that appear, to worse ones in need."""
        is_heard = self.silent_sec <= _SILENT_SEC
        may_be_better = True
        for source in self._sources:
            is_current = source is self.current
            is_wanted = is_current or (
                (may_be_better or not is_heard)
                and all(self._node.count_publishers(topic) for topic in source.topics)
            )
            if is_current:
                may_be_better = False
            if is_wanted and not source.subscriptions:
                source.subscriptions = [
                    PolledSubscription(
                        self._node, channel.message_type, channel.topic, SAMPLES_QOS
                    )
                    for channel in source.channels
                ]
            elif not is_wanted:
                self._leave(source)

    def _leave(self, source: ArmSource) -> None:
        for subscription in source.subscriptions:
            subscription.destroy()
        source.subscriptions = []
