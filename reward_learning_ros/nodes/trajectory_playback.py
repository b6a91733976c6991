"""Playback as a ROS 2 node: plans and services in, set-points and status out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from nav_msgs.msg import Path
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from reward_learning_ros.arm.description import JOINT_COUNT, RobotMode
from reward_learning_ros.arm.franka import STATE_BROADCASTER
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    Diagnostic,
    DiagnosticReport,
    Level,
    PlaybackState,
    PlaybackStatus,
    deformation_from_message,
    diagnostic_from_message,
    plan_from_message,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.arm_backends import make_backend
from reward_learning_ros.nodes.controller_watch import ControllerWatch, command_listeners
from reward_learning_ros.nodes.conversions import (
    diagnostic_report_to_message,
    playback_status_to_message,
)
from reward_learning_ros.nodes.franka_robot_state import robot_state_type
from reward_learning_ros.nodes.polling import LatestMessage, PolledService
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import (
    Heartbeat,
    HeartbeatWatch,
    events_executor,
    raise_priority,
    run,
)
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.playback.drive import PlaybackRefusedError
from reward_learning_ros.playback.motion import Now
from reward_learning_ros.playback.pilot import MOVING
from reward_learning_ros.playback.preflight import (
    START_POSE,
    Check,
    check_command_topic,
    check_controllers,
    check_start,
    check_stiffness,
    check_stream,
    check_thresholds,
)
from reward_learning_ros.playback.requests import RequestAges
from reward_learning_ros.playback.state_machine import STARTABLE, Playback
from reward_learning_ros.sensing.decoding import (
    FrankaStateDecoder,
    JointStateDecoder,
    PoseStampedDecoder,
)

_GRAPH_PERIOD_SEC = 0.1
_DIAGNOSTICS_PERIOD_SEC = 1.0
# On the way into a pause the arm still moves.
_TOLD_OFTEN = (*MOVING, PlaybackState.PAUSED)


class TrajectoryPlaybackNode(Node):
    """Plays the current plan on the arm, by consent and within the safety checks."""

    def __init__(
        self, *, context: Context | None = None, planning_executor: Executor | None = None
    ) -> None:
        """Declare parameters, and begin to listen and to serve.

        Args:
            context: of ROS.
            planning_executor: where motions are planned; by default in the thread that spins.
        """
        super().__init__('trajectory_playback', context=context)
        config = self._config = declare(self, TrajectoryPlaybackParameters)
        self._is_simulated_time = bool(self.get_parameter('use_sim_time').value)
        self.playback = Playback(config, self._now, planning_executor)
        kinematics = self.playback.planner.kinematics
        self._base_frame = kinematics.description.base_frame
        self._backend = make_backend(config.backend, self, config.controller, kinematics)
        # A real arm tells its mode, and has a controller manager.
        self._controllers = ControllerWatch(self) if config.requires_mode else None
        self._required_controllers = (STATE_BROADCASTER, *self._backend.controllers)
        self._status_period_sec = 1.0 / config.status_rate_hz
        self._published: PlaybackStatus | None = None
        self._not_ready, self._is_too_far = '', False
        # Of which state and which plan that was said.
        self._readiness_of: tuple[PlaybackState, int] | None = None
        self._request_ages = RequestAges(max_gap_sec=config.horizon_sec, clock=time.monotonic)
        self._next_status_sec = 0.0
        self._next_graph_sec = 0.0
        self._next_diagnostics_sec = 0.0
        self._logged_warning = ''
        joint_names = kinematics.description.joint_names
        self._joints = LatestMessage(
            self,
            JointState,
            names.MEASURED_JOINT_STATES_TOPIC,
            JointStateDecoder(joint_names).decode,
        )
        self._torque = LatestMessage(
            self,
            JointState,
            names.EXTERNAL_JOINT_TORQUES_TOPIC,
            JointStateDecoder(joint_names).decode,
        )
        # Where it comes a thousand times a second, all but the latest are left to the middleware.
        self._pose = LatestMessage(
            self,
            PoseStamped,
            names.CURRENT_POSE_TOPIC,
            PoseStampedDecoder().decode,
            names.ROBOT_STATE_QOS,
        )
        self._robot_state: LatestMessage | None = None
        franka_robot_state = robot_state_type()
        if franka_robot_state is not None:
            self._robot_state = LatestMessage(
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
        period_sec = 1.0 / config.command_rate_hz
        # A timer on the clock of ROS would stand still while that clock is set back.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        clock = self.get_clock() if self._is_simulated_time else steady
        self.create_timer(period_sec, self._on_tick, clock=clock)
        # Requests are answered also while a simulated clock stands still.
        self.create_timer(period_sec, self._on_requests, clock=steady)
        self._publish_status(self._status())
        self.get_logger().info(
            f'playback is up: {self._backend.description}; without playback the arm holds within '
            f'{config.hold_within_sec:.1f} s'
        )

    def raise_priority(self) -> None:
        """Ask for real-time scheduling of the process, if it is configured."""
        if self._config.realtime_priority == 0:
            return
        refusal = raise_priority(self._config.realtime_priority)
        if refusal is not None:
            self.get_logger().info(f'no real-time priority: {refusal}')

    def _listen(self) -> None:
        self.create_subscription(Path, names.PLAN_TOPIC, self._on_plan, names.LATCHED_QOS)
        self.create_subscription(
            Vector3Stamped, names.DEFORMATION_TOPIC, self._on_deformation, names.DEFORMATION_QOS
        )
        self.create_subscription(
            DiagnosticStatus, arm_names.ARM_STATUS_TOPIC, self._on_arm_status, names.LATCHED_QOS
        )

    def _serve(self) -> None:
        # What ends a motion goes first: what begins one, and was sent before it, is then refused.
        self._polled_services = tuple(
            (PolledService(self, Trigger, service), action, moves)
            for service, action, moves in (
                (names.PLAYBACK_STOP_SERVICE, self.playback.stop, False),
                (names.PLAYBACK_PAUSE_SERVICE, self.playback.pause, False),
                (names.PLAYBACK_START_SERVICE, self._start, True),
                (names.PLAYBACK_RESUME_SERVICE, self._resume, True),
                (names.PLAYBACK_HOME_SERVICE, self._home, True),
            )
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
        if self._config.requires_mode:
            # A real arm tells it in its robot state; whoever says this is none.
            return
        diagnostic = diagnostic_from_message(message)
        text = diagnostic.values.get(arm_names.ROBOT_MODE_KEY, '')
        if text.isdecimal():
            self.playback.view.mode = RobotMode.of(int(text))
            self.playback.view.mode_reason = diagnostic.message
            self.playback.view.mode_arrival_sec = self._now().steady_sec

    def _on_requests(self) -> None:
        self._request_ages.stay_awake()
        for service, action, moves in self._polled_services:
            for request in service.take():
                request.respond(self._response(action, moves, request.age_sec))

    def _response(
        self, action: Callable[[], None], moves: bool, age_sec: float | None
    ) -> Trigger.Response:
        """Do what is asked for, unless it moves the arm and was asked too long ago."""
        self._look_at_arm()
        self._look_at_graph()
        refusal = self._request_ages.refusal(age_sec) if moves else None
        try:
            if refusal is not None:
                reasons = filter(None, (self._not_ready, refusal))
                raise PlaybackRefusedError('; '.join(reasons))
            action()
        except RewardLearningError as error:
            response = Trigger.Response(success=False, message=str(error))
        else:
            response = Trigger.Response(success=True, message=self.playback.state.value)
            if not moves:
                self._request_ages.withdraw()
        self._publish_if_due()
        return response

    def _start(self) -> None:
        """Start, unless preflight finds something that forbids it."""
        if self._not_ready:
            raise PlaybackRefusedError(self._not_ready)
        self.playback.start()

    def _resume(self) -> None:
        """Go on, unless preflight finds something that forbids it, from wherever the arm is."""
        self._require_preflight_on_the_way()
        self.playback.resume()

    def _home(self) -> None:
        """Go home, unless preflight finds something that forbids it, from wherever the arm is."""
        self._require_preflight_on_the_way()
        self.playback.home()

    def _require_preflight_on_the_way(self) -> None:
        check = self._blocking_check(on_the_way=True)
        if check is not None:
            raise PlaybackRefusedError(_words(check))

    def _look_at_readiness(self) -> None:
        """Find out why the next motion would be refused, if it would."""
        reason, check = self.playback.not_ready() or self._request_ages.refuses_all(), None
        if reason is None:
            check = self._blocking_check(on_the_way=self.playback.state not in STARTABLE)
            reason = None if check is None else _words(check)
        self._not_ready = reason or ''
        self._is_too_far = check is not None and check.name == START_POSE

    def _blocking_check(self, *, on_the_way: bool) -> Check | None:
        """Return what forbids a motion, if anything does.

        Args:
            on_the_way: whether it goes on or home, from wherever the arm is.
        """
        checks = self._preflight(on_the_way=on_the_way)
        return next((each for each in checks if each.blocks), None)

    def _preflight(self, *, on_the_way: bool) -> list[Check]:
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
                    for info in command_listeners(self, self._backend.topic)
                ),
            )
        )
        if self._controllers is not None:
            checks += check_controllers(
                self._controllers.states,
                self._required_controllers,
                namespace=self.get_namespace(),
                reason=self._controllers.reason,
            )
        checks.append(check_thresholds(config, np.array(config.stop_torque_nm)))
        kinematics, positions = self.playback.planner.kinematics, view.positions_rad
        if positions is not None and np.isfinite(positions).all():
            # Where a push led the arm, it may be stiffer than where a plan is played.
            home_rad = np.array(kinematics.description.home_rad)
            checks.append(
                check_stiffness(config, kinematics, home_rad if on_the_way else positions)
            )
            start_m = self.playback.plan_start_m
            if start_m is not None and not on_the_way:
                checks.append(check_start(config, kinematics.tool_poses(positions)[0], start_m))
        return checks

    def _on_tick(self) -> None:
        self._look_at_arm()
        now_sec = self._now().steady_sec
        if now_sec >= self._next_graph_sec or now_sec < self._next_graph_sec - 1.0:
            self._look_at_graph()
            self._next_graph_sec = now_sec + _GRAPH_PERIOD_SEC
        command = self.playback.tick()
        if not self.playback.is_clear:
            self._request_ages.withdraw()
        if command is not None:
            self._backend.send(command)
        self._publish_if_due()

    def _look_at_arm(self) -> None:
        view, now_sec = self.playback.view, self._now().steady_sec
        for latest, stream, fields in (
            (self._joints, view.joints, ('position', 'velocity')),
            (self._torque, view.torque, ('effort',)),
            (self._pose, view.pose, ('pose',)),
        ):
            record = latest.take(now_sec, self._report)
            if record is None:
                continue
            values = [value for field in fields for value in getattr(record, field)]
            # A pose is a position and a quaternion: as many values as there are joints.
            if len(values) != len(fields) * JOINT_COUNT:
                self._report(f'a state message with {len(values)} values')
                continue
            stream.take(values, record.time_ns, latest.arrival_sec)
        if self._robot_state is not None:
            state = self._robot_state.take(now_sec, self._report)
            if state is not None:
                view.mode = RobotMode.of(state.robot_mode)
                view.mode_arrival_sec = now_sec

    def _look_at_graph(self) -> None:
        view = self.playback.view
        view.missing_nodes = self._watch.missing
        if self._controllers is not None:
            view.inactive_controllers = self._controllers.inactive(self._required_controllers)
        view.command_publishers = self.count_publishers(self._backend.topic)
        view.command_subscribers = len(command_listeners(self, self._backend.topic))
        self._look_at_readiness()

    def _report(self, reason: str) -> None:
        self.playback.warn(f'robot state refused: {reason}')

    def _publish_if_due(self) -> None:
        status = self._status()
        now_sec = self._now().steady_sec
        is_changed = self._published is None or (
            status.state is not self._published.state
            or status.plan_stamp_ns != self._published.plan_stamp_ns
            or status.fault != self._published.fault
        )
        is_news = is_changed or (
            self._published is not None and status.not_ready != self._published.not_ready
        )
        is_late = status.state in _TOLD_OFTEN and not (
            self._next_status_sec - self._status_period_sec <= now_sec < self._next_status_sec
        )
        if is_news or is_late:
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

    def _status(self) -> PlaybackStatus:
        status = self.playback.status()
        if self._readiness_of != (status.state, status.plan_stamp_ns):
            self._look_at_readiness()
            self._readiness_of = (status.state, status.plan_stamp_ns)
        return dataclasses.replace(status, not_ready=self._not_ready, is_too_far=self._is_too_far)

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
                'robot_mode': 'unknown' if view.mode is None else view.mode.text,
            },
        )
        report = DiagnosticReport(
            stamp_ns=self.get_clock().now().nanoseconds, diagnostics=(diagnostic,)
        )
        self._diagnostics_publisher.publish(diagnostic_report_to_message(report))


def _words(check: Check) -> str:
    return f'{check.name}: {check.found}; {check.advice}'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run playback."""
    # Kernels let go of the interpreter's lock: planning in a thread does not hold commands up. The
    # thread has the same priority: one that waits for a processor would keep the lock meanwhile.
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix='planning') as planning:

        def build(context: Context) -> TrajectoryPlaybackNode:
            node = TrajectoryPlaybackNode(context=context, planning_executor=planning)
            node.raise_priority()
            return node

        return run(build, arguments, make_executor=events_executor)


if __name__ == '__main__':
    raise SystemExit(main())
