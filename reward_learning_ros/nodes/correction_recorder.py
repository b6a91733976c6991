"""The correction recorder as a ROS 2 node: samples of the arm in, corrections out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import TwistStamped, Vector3Stamped
from nav_msgs.msg import Path
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Joy
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    ContactReport,
    Deformation,
    Diagnostic,
    DiagnosticReport,
    Level,
    PlaybackState,
    RecorderStatus,
    plan_from_message,
    playback_status_from_message,
)
from reward_learning_ros.interface.records import stamp_ns_of
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.arm_sources import ArmSource, ArmSources, make_sources
from reward_learning_ros.nodes.conversions import (
    contact_to_message,
    corrections_to_message,
    deformation_to_message,
    diagnostic_report_to_message,
    recorder_status_to_message,
)
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import Heartbeat, events_executor, run
from reward_learning_ros.parameters.shared import JOY, KINESTHETIC
from reward_learning_ros.sensing.contact import ContactDetector
from reward_learning_ros.sensing.deltas import CorrectionRecorder
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import NANOSECONDS
from reward_learning_ros.sensing.teleoperation import (
    JoyRecord,
    TeleoperationRecorder,
    TwistRecord,
)
from reward_learning_ros.sensing.timeline import PlaybackFeed, PlaybackTimeline
from reward_learning_ros.session.recorder_parameters import (
    CorrectionRecorderParameters,
)

_DIAGNOSTICS_PERIOD_SEC = 1.0
# A shift is best effort: the last one is repeated so often.
_REPETITIONS = 10
# After another plan came, no shift of the old one is told before the playback has changed over.
_CHANGE_OVER_NS = 200_000_000
# Samples stamped farther than this from our clock belong to another one.
_CLOCK_TOLERANCE_SEC = 0.25
_UNPUSHED = (PlaybackState.APPROACHING, PlaybackState.HOMING, PlaybackState.PLAYING)
# After a fault a pass may go on; in these it is over.
_GIVEN_UP = (PlaybackState.IDLE, PlaybackState.APPROACHING, PlaybackState.HOMING)

_DEVICE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=50, reliability=ReliabilityPolicy.BEST_EFFORT
)
# A stamp farther than this from our own clock is of another clock.
_MAX_DELAY_NS = 500_000_000


class CorrectionRecorderNode(Node):
    """Finds the person's corrections of the plan that is played, and lets the plan give way."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('correction_recorder', context=context)
        config = self._config = declare(self, CorrectionRecorderParameters)
        description = franka_arm(prefix=config.prefix, hand=config.hand)
        kinematics = Kinematics(description=description)
        self._base_frame = description.base_frame
        timeline = PlaybackTimeline()
        self.feed = PlaybackFeed(timeline)
        self.orderer = StreamOrderer(config)
        self.recorder = CorrectionRecorder(
            contact=config,
            displacement=config,
            passes=config,
            live=config,
            jacobian=kinematics.jacobian,
            timeline=timeline,
            tool_frame=description.tool_frame,
        )
        self.passes = self.recorder.passes
        self.teleoperation = TeleoperationRecorder(
            timeline, config, self.passes, max_shift_m=config.max_shift_m
        )
        self._is_told_to_learn = False
        # What was learned of the bias of torques that are external ones (True) or not (False).
        self._learned = dict.fromkeys((True, False), ContactDetector(config).snapshot())
        self._last_shift_m = np.zeros(3)
        self._repetitions = 0
        self._no_shift_until_ns = 0
        self._offset_sec = 0.0
        # Of the last corrections that were published, and of which plan.
        self._told = ('', 0)
        self._published: RecorderStatus | None = None
        self._corrections_publisher = self.create_publisher(
            MultiDOFJointTrajectory, names.CORRECTIONS_TOPIC, names.CORRECTIONS_QOS
        )
        self._contacts_publisher = self.create_publisher(
            DiagnosticStatus, names.CONTACTS_TOPIC, names.CORRECTIONS_QOS
        )
        self._status_publisher = self.create_publisher(
            DiagnosticStatus, names.RECORDER_STATUS_TOPIC, names.LATCHED_QOS
        )
        self._deformation_publisher = self.create_publisher(
            Vector3Stamped, names.DEFORMATION_TOPIC, names.DEFORMATION_QOS
        )
        self._diagnostics_publisher = self.create_publisher(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, names.DIAGNOSTICS_QOS
        )
        self._warm_up(kinematics)
        self._heartbeat = Heartbeat(self)
        self.create_subscription(Path, names.PLAN_TOPIC, self._on_plan, names.LATCHED_QOS)
        self.create_subscription(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_status, names.LATCHED_QOS
        )
        self.create_service(Trigger, names.RECORDER_ZERO_SERVICE, self._on_zero)
        self.create_service(SetBool, names.RECORDER_LEARN_SERVICE, self._on_learn)
        self.sources = ArmSources(
            self,
            make_sources(kinematics) if config.correction_source == KINESTHETIC else (),
            add=self.orderer.add,
            timeout_sec=config.source_timeout_sec,
            on_change=self._on_source,
        )
        heard = 'the arm'
        if config.correction_source != KINESTHETIC:
            device = TeleoperationDevice(
                self,
                config.correction_source,
                self.teleoperation,
                base_frame=self._base_frame,
                on_contacts=self._publish_contacts,
            )
            heard = device.topic
        clock = (
            self.get_clock()
            if self.get_parameter('use_sim_time').value
            else Clock(clock_type=ClockType.STEADY_TIME)
        )
        self.create_timer(1.0 / config.update_rate_hz, self._on_tick, clock=clock)
        self.create_timer(_DIAGNOSTICS_PERIOD_SEC, self._publish_diagnostics, clock=clock)
        self.get_logger().info(
            f'correction recorder is up: {config.correction_source} corrections by {heard}, '
            f'{config.displacement_source} displacement'
        )

    def destroy_node(self) -> None:
        """Stop listening to the arm, then end the node."""
        self.sources.close()
        super().destroy_node()

    @property
    def _shift_m(self) -> np.ndarray:
        if self._config.correction_source == KINESTHETIC:
            return self.recorder.live.shift_m
        return self.teleoperation.shift_m

    @property
    def _is_open(self) -> bool:
        return self.recorder.detector.in_contact or self.teleoperation.in_correction

    def _warm_up(self, kinematics: Kinematics) -> None:
        """Load or compile what would otherwise make the first samples wait for seconds."""
        self.recorder.process(StreamOrderer(self._config).release())
        kinematics.jacobian(kinematics.description.home_rad)
        kinematics.tool_poses(kinematics.description.home_rad)

    def _now_ns(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _on_plan(self, message: Path) -> None:
        try:
            plan = plan_from_message(message, frame_id=self._base_frame)
        except RewardLearningError as error:
            self.get_logger().error(f'plan refused: {error}')
            return
        self.feed.add_plan(plan)
        if plan.stamp_ns != self.feed.plan_stamp_ns:
            self._no_shift_until_ns = self._now_ns() + _CHANGE_OVER_NS

    def _on_status(self, message: DiagnosticStatus) -> None:
        try:
            status = playback_status_from_message(message)
        except RewardLearningError as error:
            self.get_logger().error(f'playback status refused: {error}')
            return
        if self.feed.add_status(status, self._now_ns()):
            self.recorder.live.reset()
            self.teleoperation.reset()
            self._no_shift_until_ns = 0
        if status.state in _GIVEN_UP:
            self.passes.end()
        if self.feed.lacks_plan:
            self.get_logger().warning(
                'the plan that is played was not received: it cannot be corrected',
                throttle_duration_sec=5.0,
            )

    def _on_source(self, before: ArmSource | None, source: ArmSource) -> None:
        self.get_logger().info(f'samples of the arm now come from {source.name}')
        if before is None or before.is_external == source.is_external:
            return
        # Another sensor errs otherwise: an open contact ends, and each has a bias of its own.
        self._end_open_contact()
        detector = self.recorder.detector
        self._learned[before.is_external] = detector.snapshot()
        detector.restore(self._learned[source.is_external])

    def _on_zero(self, request: Any, response: Any) -> Any:
        if self.sources.silent_sec > self._config.source_timeout_sec:
            response.success, response.message = False, 'no torques are coming in'
            return response
        self.recorder.detector.zero()
        response.success = True
        response.message = 'the torques of the next half second are taken as bias'
        return response

    def _on_learn(self, request: Any, response: Any) -> Any:
        self._is_told_to_learn = request.data
        response.success = True
        response.message = 'all torques are bias' if request.data else 'contacts are looked for'
        return response

    def _on_tick(self) -> None:
        self.sources.update()
        self.recorder.detector.learning = self._is_told_to_learn or (
            0 < self.feed.playbacks <= self._config.unpushed_playbacks
            and self.feed.state in _UNPUSHED
        )
        block = self.orderer.release()
        if len(block):
            self._offset_sec = (self._now_ns() - int(block.time_ns[-1])) / NANOSECONDS
        self._publish_contacts(self.recorder.process(block))
        if (
            self.recorder.detector.in_contact
            and self.sources.silent_sec > self._config.max_bridged_gap_sec
        ):
            self._end_open_contact()
        if self._config.correction_source != KINESTHETIC:
            self._publish_contacts(self.teleoperation.advance(self._now_ns()))
        self._publish_corrections()
        self._publish_status()
        self._publish_deformation()

    def _end_open_contact(self) -> None:
        """End a contact of which nothing more will be heard."""
        contacts = self.recorder.process(self.orderer.flush())
        self._publish_contacts(contacts + self.recorder.close())

    def _publish_contacts(self, contacts: list[ContactReport]) -> None:
        for contact in contacts:
            self._contacts_publisher.publish(contact_to_message(contact))
            self.get_logger().info(
                f'contact at {contact.onset_plan_sec:.2f} s of the plan: '
                f'{100 * np.linalg.norm(contact.displacement_m):.1f} cm in '
                f'{contact.duration_sec:.2f} s, {contact.peak_force_n:.0f} N, '
                f'confidence {contact.confidence:.2f}'
            )

    def _publish_corrections(self) -> None:
        for corrections in self.passes.take():
            told = (corrections.digest, corrections.plan_stamp_ns)
            if told != self._told:
                self._corrections_publisher.publish(corrections_to_message(corrections))
                self._told = told

    def _publish_status(self) -> None:
        plan = self.passes.plan
        stamp_ns = 0 if plan is None else plan.stamp_ns
        digest, told_ns = self._told
        status = RecorderStatus(
            in_contact=self._is_open,
            plan_stamp_ns=stamp_ns,
            digest=digest if told_ns == stamp_ns else '',
            is_complete=self.passes.is_complete,
        )
        if status != self._published:
            self._status_publisher.publish(recorder_status_to_message(status))
            self._published = status

    def _publish_deformation(self) -> None:
        shift_m, now_ns = self._shift_m, self._now_ns()
        if self._is_open or (shift_m != self._last_shift_m).any():
            self._repetitions = _REPETITIONS
        if not self._repetitions or now_ns < self._no_shift_until_ns:
            return
        self._repetitions -= 1
        self._last_shift_m = shift_m
        deformation = Deformation(stamp_ns=now_ns, frame_id=self._base_frame, shift=shift_m)
        self._deformation_publisher.publish(deformation_to_message(deformation))

    def _publish_diagnostics(self) -> None:
        level, message = self._condition()
        detector, current = self.recorder.detector, self.sources.current
        values = {
            'correction_source': self._config.correction_source,
            'samples_from': 'none' if current is None else current.name,
            'in_contact': self._is_open,
            'learning': detector.learning,
            'clock_offset_sec': f'{self._offset_sec:.3f}',
            'noise_nm': f'{detector.noise_nm.max():.3f}',
            'bias_uncertainty_nm': f'{detector.bias_uncertainty_nm:.3f}',
            'saturated_samples': detector.saturated_samples,
            'zero_wrench_samples': detector.zero_wrench_samples,
            **asdict(self.recorder.counts),
        }
        for stream, counts in self.orderer.counts.items():
            if counts.received:
                for name, count in asdict(counts).items():
                    values[f'{stream.name.lower()}.{name}'] = count
        if self._config.correction_source != KINESTHETIC:
            for name, count in asdict(self.teleoperation.counts).items():
                values[f'device.{name}'] = count
        diagnostic = Diagnostic(
            name='correction_recorder', level=level, message=message, values=values
        )
        report = DiagnosticReport(stamp_ns=self._now_ns(), diagnostics=(diagnostic,))
        self._diagnostics_publisher.publish(diagnostic_report_to_message(report))

    def _condition(self) -> tuple[Level, str]:
        """Return how it is doing, in a level and in words."""
        if self._config.correction_source != KINESTHETIC:
            received = self.teleoperation.counts.received
            return (Level.OK, 'listening') if received else (Level.WARN, 'no device was heard')
        if self.sources.silent_sec > 1.0:
            return Level.ERROR, 'no torques are coming in: no correction can be felt'
        if abs(self._offset_sec) > _CLOCK_TOLERANCE_SEC:
            return Level.WARN, f"the arm's clock is {self._offset_sec:.2f} s behind ours"
        if self.feed.lacks_plan:
            return Level.WARN, 'the plan that is played was not received'
        return Level.OK, 'in contact' if self._is_open else 'listening'


class TeleoperationDevice:
    """Listens to one device and passes on what the person does with it."""

    def __init__(
        self,
        node: Node,
        kind: str,
        recorder: TeleoperationRecorder,
        *,
        base_frame: str,
        on_contacts: Callable[[list[ContactReport]], None],
    ) -> None:
        """Begin to listen.

        Args:
            node: subscribes.
            kind: `joy` or `twist`.
            recorder: takes the messages.
            base_frame: the only frame that velocities may be in, besides none.
            on_contacts: is told of the contacts that ended.
        """
        self._node = node
        self._recorder = recorder
        self._base_frame = base_frame
        self._on_contacts = on_contacts
        message_type, self.topic, callback = (
            (Joy, names.JOY_TOPIC, self._on_joy)
            if kind == JOY
            else (TwistStamped, names.TWIST_TOPIC, self._on_twist)
        )
        node.create_subscription(message_type, self.topic, callback, _DEVICE_QOS)

    def _on_joy(self, message: Joy) -> None:
        record = JoyRecord(
            time_ns=self._time_ns(message), axes=message.axes, buttons=message.buttons
        )
        self._on_contacts(self._recorder.add_joy(record))

    def _on_twist(self, message: TwistStamped) -> None:
        frame = message.header.frame_id
        linear: tuple[float, ...] = ()
        if frame in ('', self._base_frame):
            velocity = message.twist.linear
            linear = (velocity.x, velocity.y, velocity.z)
        else:
            self._node.get_logger().warning(
                f'velocities in frame {frame!r} are not followed; allowed: {self._base_frame!r}',
                throttle_duration_sec=5.0,
            )
        record = TwistRecord(time_ns=self._time_ns(message), linear_m_s=linear)
        self._on_contacts(self._recorder.add_twist(record))

    def _time_ns(self, message: Any) -> int:
        """Return the stamp, or the time of arrival if it has none or one of another clock."""
        now_ns = self._node.get_clock().now().nanoseconds
        stamp_ns = stamp_ns_of(message.header.stamp)
        return stamp_ns if abs(now_ns - stamp_ns) <= _MAX_DELAY_NS else now_ns


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the correction recorder."""
    return run(
        lambda context: CorrectionRecorderNode(context=context),
        arguments,
        make_executor=events_executor,
    )


if __name__ == '__main__':
    raise SystemExit(main())
