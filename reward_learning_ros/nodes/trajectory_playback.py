"""Playback as a ROS 2 node: plans and services in, set-points and status out."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Vector3Stamped
from nav_msgs.msg import Path
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.playback import Now, Playback, PlaybackRefusedError
from reward_learning_ros.arm.preflight import (
    Check,
    check_command_topic,
    check_start,
    check_stiffness,
    check_stream,
    check_thresholds,
)
from reward_learning_ros.arm.robot_mode import RobotMode
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    Diagnostic,
    DiagnosticReport,
    Level,
    PlaybackState,
    PlaybackStatus,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.backends import make_backend
from reward_learning_ros.nodes.conversions import (
    deformation_from_message,
    diagnostic_from_message,
    diagnostic_report_to_message,
    plan_from_message,
    playback_status_to_message,
)
from reward_learning_ros.nodes.franka_robot_state import robot_state_type
from reward_learning_ros.nodes.heartbeat import Heartbeat, HeartbeatWatch
from reward_learning_ros.nodes.parameters import declare
from reward_learning_ros.nodes.polled_subscription import SAMPLES_QOS, PolledSubscription
from reward_learning_ros.nodes.running import events_executor, run
from reward_learning_ros.nodes.trajectory_playback_parameters import TrajectoryPlaybackParameters
from reward_learning_ros.sensing.decoding import FrankaStateDecoder, JointStateDecoder
from reward_learning_ros.sensing.errors import DecodingError

_GRAPH_PERIOD_SEC = 0.1
_DIAGNOSTICS_PERIOD_SEC = 1.0
# Over so many looks at the arm the rate of its messages is taken.
_RATE_LOOKS = 25
# On the way into a pause the arm still moves.
_MOVING = (PlaybackState.HOMING, PlaybackState.PLAYING, PlaybackState.PAUSED)


class TrajectoryPlaybackNode(Node):
    """Plays the current plan on the arm."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('trajectory_playback', context=context)
        config = self._config = declare(self, TrajectoryPlaybackParameters)
        self._is_simulated_time = bool(self.get_parameter('use_sim_time').value)
        self.playback = Playback(config, self._now)
        kinematics = self.playback.planner.kinematics
        self._base_frame = kinematics.description.base_frame
        self._backend = make_backend(config.backend, self, config.controller, kinematics)
        self._status_period_sec = 1.0 / config.status_rate_hz
        self._published: PlaybackStatus | None = None
        self._next_status_sec = 0.0
        self._next_graph_sec = 0.0
        self._next_diagnostics_sec = 0.0
        self._logged_warning = ''
        joint_names = kinematics.description.joint_names
        self._joints = _LatestMessage(
            self,
            JointState,
            names.MEASURED_JOINT_STATES_TOPIC,
            JointStateDecoder(joint_names).decode,
        )
        self._torque = _LatestMessage(
            self,
            JointState,
            names.EXTERNAL_JOINT_TORQUES_TOPIC,
            JointStateDecoder(joint_names).decode,
        )
        self._robot_state: _LatestMessage | None = None
        franka_robot_state = robot_state_type()
        if franka_robot_state is not None:
            self._robot_state = _LatestMessage(
                self, franka_robot_state, names.ROBOT_STATE_TOPIC, FrankaStateDecoder().decode
            )
        self._status_publisher = self.create_publisher(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, names.LATCHED_QOS
        )
        self._diagnostics_publisher = self.create_publisher(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, names.DIAGNOSTICS_QOS
        )
        self._watch = HeartbeatWatch(self, config.watched_nodes, config.watch_timeout_sec)
        self._heartbeat = Heartbeat(self)
        self._listen()
        self._serve()
        # A timer on the clock of ROS would stand still while that clock is set back.
        clock = (
            self.get_clock()
            if self._is_simulated_time
            else Clock(clock_type=ClockType.STEADY_TIME)
        )
        self.create_timer(1.0 / config.command_rate_hz, self._on_tick, clock=clock)
        self._publish_status(self.playback.status())
        self.get_logger().info(
            f'playback is up: {self._backend.description}; without playback the arm holds within '
            f'{config.hold_within_sec:.1f} s'
        )

    def _listen(self) -> None:
        self.create_subscription(Path, names.PLAN_TOPIC, self._on_plan, names.LATCHED_QOS)
        self.create_subscription(
            Vector3Stamped, names.DEFORMATION_TOPIC, self._on_deformation, names.DEFORMATION_QOS
        )
        self.create_subscription(
            DiagnosticStatus, arm_names.ARM_STATUS_TOPIC, self._on_arm_status, names.LATCHED_QOS
        )

    def _serve(self) -> None:
        for service, action in (
            (names.PLAYBACK_START_SERVICE, self._start),
            (names.PLAYBACK_PAUSE_SERVICE, self.playback.pause),
            (names.PLAYBACK_RESUME_SERVICE, self.playback.resume),
            (names.PLAYBACK_STOP_SERVICE, self.playback.stop),
            (names.PLAYBACK_HOME_SERVICE, self.playback.home),
        ):
            self.create_service(
                Trigger,
                service,
                lambda request, response, action=action: self._on_service(action, response),
            )

    def _now(self) -> Now:
        ros_ns = self.get_clock().now().nanoseconds
        steady_sec = ros_ns / 1e9 if self._is_simulated_time else time.monotonic()
        return Now(ros_ns=ros_ns, steady_sec=steady_sec)

    def _on_plan(self, message: Path) -> None:
        try:
            plan = plan_from_message(message, frame_id=self._base_frame)
        except RewardLearningError as error:
            self.playback.refuse_input(f'plan refused: {error}')
            self.get_logger().error(f'plan refused: {error}')
            return
        try:
            self.playback.set_plan(plan)
        except RewardLearningError as error:
            self.get_logger().error(f'plan refused: {error}')

    def _on_deformation(self, message: Vector3Stamped) -> None:
        try:
            self.playback.set_deformation(
                deformation_from_message(message, frame_id=self._base_frame)
            )
        except RewardLearningError as error:
            self.playback.refuse_input(f'deformation refused: {error}')

    def _on_arm_status(self, message: DiagnosticStatus) -> None:
        diagnostic = diagnostic_from_message(message)
        text = diagnostic.values.get(arm_names.ROBOT_MODE_KEY, '')
        if text.isdecimal():
            self.playback.view.mode = RobotMode.of(int(text))
            self.playback.view.mode_reason = diagnostic.message

    def _on_service(self, action: Callable[[], None], response: Any) -> Any:
        self._look_at_arm()
        self._look_at_graph()
        try:
            action()
        except RewardLearningError as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, self.playback.state.value
        self._publish_if_due()
        return response

    def _start(self) -> None:
        """Start, unless preflight finds something that forbids it."""
        for check in self._preflight():
            if check.blocks:
                raise PlaybackRefusedError(f'{check.name}: {check.found}; {check.advice}')
        self.playback.start()

    def _preflight(self) -> list[Check]:
        view, config, now_sec = self.playback.view, self._config, self._now().steady_sec
        checks = [
            check_stream(
                name,
                age_sec=None if stream.values is None else now_sec - stream.arrival_sec,
                rate_hz=latest.rate_hz(),
                config=config,
            )
            for name, stream, latest in (
                ('robot state', view.joints, self._joints),
                ('external torque', view.torque, self._torque),
            )
        ]
        checks.append(
            check_command_topic(
                publishers=view.command_publishers,
                subscribers=view.command_subscribers,
                # Reliable and volatile is what JTC and CRISP ask for; one that wants its
                # commands kept for latecomers would hear none of ours.
                are_compatible=all(
                    info.qos_profile.durability != DurabilityPolicy.TRANSIENT_LOCAL
                    for info in self.get_subscriptions_info_by_topic(self._backend.topic)
                ),
            )
        )
        checks.append(check_thresholds(config, np.array(config.stop_torque_nm)))
        kinematics, positions = self.playback.planner.kinematics, view.positions_rad
        if positions is not None and np.isfinite(positions).all():
            checks.append(check_stiffness(config, kinematics, positions))
            start_m = self.playback.plan_start_m
            if start_m is not None:
                checks.append(check_start(config, kinematics.tool_poses(positions)[0], start_m))
        return checks

    def _on_tick(self) -> None:
        self._look_at_arm()
        now_sec = self._now().steady_sec
        if now_sec >= self._next_graph_sec or now_sec < self._next_graph_sec - 1.0:
            self._look_at_graph()
            self._next_graph_sec = now_sec + _GRAPH_PERIOD_SEC
        command = self.playback.tick()
        if command is not None:
            self._backend.send(command)
        self._publish_if_due()

    def _look_at_arm(self) -> None:
        view, now_sec = self.playback.view, self._now().steady_sec
        for latest, stream, fields in (
            (self._joints, view.joints, ('position', 'velocity')),
            (self._torque, view.torque, ('effort',)),
        ):
            record = latest.take(now_sec, self._report)
            if record is None:
                continue
            values = [value for field in fields for value in getattr(record, field)]
            if len(values) != len(fields) * JOINT_COUNT:
                self._report(f'a state message with {len(values)} values')
                continue
            stream.take(values, record.time_ns, latest.arrival_sec)
        if self._robot_state is not None:
            state = self._robot_state.take(now_sec, self._report)
            if state is not None:
                view.mode = RobotMode.of(state.robot_mode)

    def _look_at_graph(self) -> None:
        view = self.playback.view
        view.missing_nodes = self._watch.missing
        view.command_publishers = self.count_publishers(self._backend.topic)
        view.command_subscribers = self.count_subscribers(self._backend.topic)

    def _report(self, reason: str) -> None:
        self.playback.warning = f'robot state refused: {reason}'

    def _publish_if_due(self) -> None:
        status = self.playback.status()
        now_sec = self._now().steady_sec
        is_changed = self._published is None or (
            status.state is not self._published.state
            or status.plan_stamp_ns != self._published.plan_stamp_ns
            or status.fault != self._published.fault
        )
        is_late = status.state in _MOVING and not (
            self._next_status_sec - self._status_period_sec <= now_sec < self._next_status_sec
        )
        if is_changed or is_late:
            self._publish_status(status)
            self._next_status_sec = now_sec + self._status_period_sec
        if is_changed and status.fault:
            self.get_logger().error(f'the arm holds: {status.fault}')
        elif is_changed:
            self.get_logger().info(f'{status.state.value}')
        if self.playback.warning and self.playback.warning != self._logged_warning:
            self._logged_warning = self.playback.warning
            self.get_logger().warning(self.playback.warning)
        if not (
            self._next_diagnostics_sec - _DIAGNOSTICS_PERIOD_SEC
            <= now_sec
            < self._next_diagnostics_sec
        ):
            self._publish_diagnostics(status)
            self._next_diagnostics_sec = now_sec + _DIAGNOSTICS_PERIOD_SEC

    def _publish_status(self, status: PlaybackStatus) -> None:
        self._status_publisher.publish(playback_status_to_message(status))
        self._published = status

    def _publish_diagnostics(self, status: PlaybackStatus) -> None:
        view = self.playback.view
        level = Level.OK
        if self.playback.warning:
            level = Level.WARN
        if status.fault:
            level = Level.ERROR
        diagnostic = Diagnostic(
            name='trajectory_playback',
            level=level,
            message=status.fault or self.playback.warning or status.state.value,
            values={
                'state': status.state.value,
                'command_topic': self._backend.topic,
                'command_publishers': str(view.command_publishers),
                'command_subscribers': str(view.command_subscribers),
                'robot_mode': 'unknown' if view.mode is None else view.mode.words,
            },
        )
        report = DiagnosticReport(
            stamp_ns=self.get_clock().now().nanoseconds, diagnostics=(diagnostic,)
        )
        self._diagnostics_publisher.publish(diagnostic_report_to_message(report))


class _LatestMessage:
    """The latest message of a topic that brings a thousand a second; only this one is decoded.

    Attributes:
        arrival_sec: when messages were there last.
    """

    def __init__(
        self, node: Node, message_type: Any, topic: str, decode: Callable[[bytes], Any]
    ) -> None:
        self._subscription = PolledSubscription(node, message_type, topic, SAMPLES_QOS)
        self._decode = decode
        # When messages were there, and how many.
        self._looks: deque[tuple[float, int]] = deque(maxlen=_RATE_LOOKS)
        self.arrival_sec = 0.0

    def rate_hz(self) -> float:
        """Return how often messages came lately."""
        if len(self._looks) < 2 or self._looks[-1][0] <= self._looks[0][0]:
            return 0.0
        count = sum(count for _, count in self._looks) - self._looks[0][1]
        return count / (self._looks[-1][0] - self._looks[0][0])

    def take(self, now_sec: float, report: Callable[[str], None]) -> Any:
        """Return what the latest message says, None if none came since the last call."""
        messages = self._subscription.take()
        if not messages:
            return None
        self.arrival_sec = now_sec
        self._looks.append((now_sec, len(messages)))
        try:
            return self._decode(messages[-1][0])
        except DecodingError as error:
            report(str(error))
            return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run playback."""
    return run(
        lambda context: TrajectoryPlaybackNode(context=context),
        arguments,
        make_executor=events_executor,
    )


if __name__ == '__main__':
    raise SystemExit(main())
