"""The session recorder as a ROS 2 node: all that re-inference needs goes into a rosbag2."""

from __future__ import annotations

import dataclasses
import importlib
import os
import shutil
import time
from collections import deque
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile

from reward_learning_ros.core.text import counted
from reward_learning_ros.interface import Diagnostic, DiagnosticReport, Level
from reward_learning_ros.interface.topics import (
    ARM_TOPICS,
    FOREIGN_TOPICS,
    NEWEST,
    TOPICS,
    QualityOfService,
)
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import diagnostic_report_to_message
from reward_learning_ros.nodes.polling import PolledSubscription
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import Heartbeat, events_executor, run
from reward_learning_ros.recording.bag_writer import BagWriter
from reward_learning_ros.recording.message_types import describe_topic
from reward_learning_ros.recording.problems import BagWriteError, UnknownTypeError
from reward_learning_ros.session.folder import ros_distribution
from reward_learning_ros.session.node_parameters import (
    RECORDER,
    SessionRecorderParameters,
)

# How often it is looked what came: to be woken up by each message costs ten times as much.
_LOOK_SEC = 0.05
# Deep: while a second is written to a slow disk, the next one waits in the middleware.
_DEPTH = 5000
_DIAGNOSTICS_PERIOD_SEC = 1.0
# Less room than for some minutes is worth a word before it is gone.
_LITTLE_ROOM_BYTES = 500 * 2**20
# Less than for a few passes at 1 kHz: none is begun that could not be recorded to its end.
_MIN_ROOM_BYTES = 40 * 2**20
# On a disk that is nearly full small writes succeed between those that fail.
_ERROR_LASTS_SEC = 2.0
# Of messages before simulated time begins; a session without any clock must not fill the memory.
_MAX_EARLY = 20_000


class SessionRecorderNode(Node):
    """Records the topics of a session into a bag, as serialized messages."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(RECORDER, context=context)
        config = declare(self, SessionRecorderParameters)
        self._is_simulated_time = bool(self.get_parameter('use_sim_time').value)
        self._error = ''
        self._error_until_sec = -float('inf')
        self._not_recorded: list[str] = []
        # What came before simulated time began: it has no time yet.
        self._early: deque[tuple[str, bytes]] = deque(maxlen=_MAX_EARLY)
        self._subscriptions_by_topic: dict[str, PolledSubscription] = {}
        # The last look, on the wall clock and on that of ROS.
        self._last_look_ns = (time.time_ns(), 0)
        self.writer = BagWriter(
            Path(config.bag),
            compression=config.compression,
            ros_distribution=ros_distribution() or 'unknown',
            flush_period_sec=config.flush_period_sec,
        )
        for topic, type_name in {
            **recorded_types(with_arm=config.records_arm),
            # One of them is used. It is heard by best effort: who listens must never hold up who
            # commands.
            names.command_topic(config.controller): 'trajectory_msgs/msg/JointTrajectory',
            **config.further_types,
        }.items():
            self._record(topic, type_name)
        self._diagnostics_publisher = self.create_publisher(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, names.DIAGNOSTICS_QOS
        )
        self._heartbeat = Heartbeat(self)
        # On a steady clock: also while simulated time stands still, nothing may be lost.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_LOOK_SEC, self.look, clock=steady)
        self.create_timer(config.flush_period_sec, self.flush, clock=steady)
        self.create_timer(_DIAGNOSTICS_PERIOD_SEC, self._publish_diagnostics, clock=steady)
        self.get_logger().info(
            f'recording {len(self.writer.written)} topics into {self.writer.path}'
        )

    def _record(self, topic: str, type_name: str) -> None:
        try:
            message_type = _message_type(type_name)
            qos = qos_of(topic)
            description = describe_topic(
                self.resolve_topic_name(topic),
                type_name,
                qos,
                ros_prefixes=_ros_prefixes(),
            )
        except UnknownTypeError:
            self._not_recorded.append(topic)
            if topic != names.ROBOT_STATE_TOPIC:
                self.get_logger().warning(f'{topic} is not recorded: no {type_name} is installed')
            return
        self.writer.add_topic(description)
        self._subscriptions_by_topic[description.name] = PolledSubscription(
            self, message_type, topic, listening_qos(qos)
        )

    def look(self) -> None:
        """Write what came since the last look, in the order in which it came."""
        last_wall_ns, last_ros_ns = self._last_look_ns
        wall_ns = time.time_ns()
        ros_ns = self._now_ns() if self._is_simulated_time else wall_ns
        self._last_look_ns = (wall_ns, ros_ns)
        came = [
            (arrival_ns or wall_ns, topic, data)
            for topic, subscription in self._subscriptions_by_topic.items()
            for data, arrival_ns in subscription.take()
        ]
        came.sort(key=itemgetter(0))
        if not ros_ns:
            self._early.extend((topic, data) for _, topic, data in came)
            return
        rate = 1.0
        if self._is_simulated_time:
            # Simulated time is taken to have passed evenly since then.
            rate = (ros_ns - (last_ros_ns or ros_ns)) / max(wall_ns - last_wall_ns, 1)
        try:
            self._write_early(ros_ns)
            for arrival_ns, topic, data in came:
                ago_ns = min(max(wall_ns - arrival_ns, 0), max(wall_ns - last_wall_ns, 0))
                self.writer.write(topic, ros_ns - round(rate * ago_ns), data)
        except BagWriteError as error:
            self._report(error)

    def _write_early(self, time_ns: int) -> None:
        """Write what came before time began; with the time 0, a player would wait for hours."""
        while self._early:
            topic, data = self._early.popleft()
            self.writer.write(topic, time_ns, data)

    def _now_ns(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def flush(self) -> None:
        """Make the bag whole; what cannot be written is reported, and the session goes on."""
        try:
            self.writer.flush()
        except BagWriteError as error:
            self._report(error)
        else:
            if time.monotonic() > self._error_until_sec:
                self._error = ''

    def _report(self, error: BagWriteError) -> None:
        is_new = not self._error
        self._error = str(error)
        self._error_until_sec = time.monotonic() + _ERROR_LASTS_SEC
        self.get_logger().error(f'messages are lost: {error}', throttle_duration_sec=10.0)
        if is_new:
            # At once: the session must not take what follows for recorded.
            self._publish_diagnostics()

    def _publish_diagnostics(self) -> None:
        level, message = self._condition()
        writer = self.writer
        values: dict[str, Any] = {
            'bag': writer.path,
            'written': sum(writer.written.values()),
            'dropped': sum(writer.dropped.values()),
            'not_recorded': ' '.join(self._not_recorded),
            **{f'written.{topic}': count for topic, count in writer.written.items()},
            **{f'dropped.{topic}': count for topic, count in writer.dropped.items() if count},
        }
        diagnostic = Diagnostic(name=RECORDER, level=level, message=message, values=values)
        report = DiagnosticReport(stamp_ns=self._now_ns(), diagnostics=(diagnostic,))
        self._diagnostics_publisher.publish(diagnostic_report_to_message(report))

    def _condition(self) -> tuple[Level, str]:
        """Return how it is doing, in a level and in words."""
        if self._error:
            return Level.ERROR, f'messages are lost: {self._error}; make room there'
        try:
            room = shutil.disk_usage(self.writer.path).free
        except OSError as error:
            return Level.ERROR, f'{self.writer.path} cannot be looked at: {error.strerror}'
        left = f'the disk has only {room // 2**20} MiB left'
        if room < _MIN_ROOM_BYTES:
            return Level.ERROR, f'{left} for {self.writer.path}; make room there'
        if dropped := sum(self.writer.dropped.values()):
            return Level.WARN, f'recording, but {counted(dropped, "message")} could not be written'
        if room < _LITTLE_ROOM_BYTES:
            return Level.WARN, f'recording, but {left}'
        return Level.OK, 'recording'

    def destroy_node(self) -> None:
        """End the recording, then the node."""
        try:
            self.look()
            self._write_early(0)
            self.writer.close()
        except BagWriteError as error:
            self._report(error)
        super().destroy_node()


def _message_type(type_name: str) -> Any:
    package, name = type_name.split('/msg/')
    try:
        return getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError):
        raise UnknownTypeError(type_name) from None


def _ros_prefixes() -> tuple[Path, ...]:
    paths = os.environ.get('AMENT_PREFIX_PATH', '')
    return tuple(Path(path) for path in paths.split(os.pathsep) if path)


def recorded_types(*, with_arm: bool) -> dict[str, str]:
    """Return the types of the topics that are recorded of any session, and of its arm."""
    return {
        each.name: each.type_name
        for each in TOPICS.values()
        if each.is_recorded and (with_arm or each.name not in ARM_TOPICS)
    }


def qos_of(topic: str) -> QualityOfService:
    """Return how a topic is heard; commands by best effort, like all that is not ours."""
    return TOPICS[topic].qos if topic in TOPICS and topic not in FOREIGN_TOPICS else NEWEST


def listening_qos(qos: QualityOfService) -> QoSProfile:
    """Return how to listen to a topic so that no message is missed."""
    is_all = qos.history == 'keep_all'
    return names.qos_profile(qos if is_all else dataclasses.replace(qos, depth=_DEPTH))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the session recorder."""
    return run(
        lambda context: SessionRecorderNode(context=context),
        arguments,
        make_executor=events_executor,
    )


if __name__ == '__main__':
    raise SystemExit(main())
