"""The simulated participant as a ROS 2 node: watches the arm and pushes it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from nav_msgs.msg import Path
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from trajectory_msgs.msg import MultiDOFJointTrajectory

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    ParticipantStatus,
    PassCorrections,
    WrenchReading,
    plan_from_message,
    playback_status_from_message,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import (
    corrections_to_message,
    participant_status_to_message,
    plan_to_message,
    wrench_reading_to_message,
)
from reward_learning_ros.nodes.polling import PolledSubscription
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import Heartbeat, events_executor, run
from reward_learning_ros.participant.decisions import Participant
from reward_learning_ros.participant.participation import (
    ParticipantSimulation,
    SimulatedParticipantParameters,
)
from reward_learning_ros.sensing.decoding import PoseStampedDecoder
from reward_learning_ros.sensing.samples import DecodingError


class SimulatedParticipantNode(Node):
    """Pushes the simulated arm as a person with a θ* of their own would."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('simulated_participant', context=context)
        config = declare(self, SimulatedParticipantParameters)
        description = franka_arm(prefix=config.prefix, hand=config.hand)
        self._base_frame, self._tool_frame = description.base_frame, description.tool_frame
        # One thought at a time, beside the callbacks: the hand must go on feeling.
        self._thinking = ThreadPoolExecutor(max_workers=1)
        self.participation = ParticipantSimulation(
            Participant(config, description), config, config.seed, self._thinking
        )
        self._ideal = self._thinking.submit(lambda: self.participation.participant.ideal)
        self._has_told_ideal = False
        self._pose: bytes | None = None
        self._decode = PoseStampedDecoder().decode
        self._published: ParticipantStatus | None = None
        self._heartbeat = Heartbeat(self)
        self._wrench_publisher = self.create_publisher(
            WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
        )
        self._status_publisher = self.create_publisher(
            DiagnosticStatus, names.PARTICIPANT_STATUS_TOPIC, names.LATCHED_QOS
        )
        self._ideal_publisher = self.create_publisher(
            Path, names.PARTICIPANT_IDEAL_TOPIC, names.LATCHED_QOS
        )
        self._meant_publisher = self.create_publisher(
            MultiDOFJointTrajectory, names.PARTICIPANT_CORRECTIONS_TOPIC, names.CORRECTIONS_QOS
        )
        self._meant = ''
        self.create_subscription(Path, names.PLAN_TOPIC, self._on_plan, names.LATCHED_QOS)
        self.create_subscription(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_playback, names.LATCHED_QOS
        )
        # Of a thousand poses a second the latest is looked at when the hand feels it.
        self._poses = PolledSubscription(
            self, PoseStamped, names.CURRENT_POSE_TOPIC, names.ROBOT_STATE_QOS
        )
        clock = (
            self.get_clock()
            if self.get_parameter('use_sim_time').value
            else Clock(clock_type=ClockType.STEADY_TIME)
        )
        self.create_timer(1.0 / config.rate_hz, self._on_tick, clock=clock)
        self._publish_status()
        weights = ', '.join(f'{weight:.2f}' for weight in self.participation.participant.theta)
        self.get_logger().info(f'participant is up: {config.kind}, wants ({weights})')

    def destroy_node(self) -> None:
        """Stop thinking, too."""
        self._thinking.shutdown(wait=False, cancel_futures=True)
        super().destroy_node()

    def _now_ns(self) -> int:
        return int(self.get_clock().now().nanoseconds)

    def _on_plan(self, message: Path) -> None:
        try:
            self.participation.see_plan(plan_from_message(message, frame_id=self._base_frame))
        except RewardLearningError as error:
            self.get_logger().error(f'plan refused: {error}')

    def _on_playback(self, message: DiagnosticStatus) -> None:
        try:
            status = playback_status_from_message(message)
        except RewardLearningError as error:
            self.get_logger().error(f'playback status refused: {error}')
            return
        self.participation.see_playback(status, self._now_ns())

    def _on_tick(self) -> None:
        now_ns = self._now_ns()
        seen_ns, position = self._tool_position()
        force = self.participation.act(now_ns, position, seen_ns)
        if force is not None:
            reading = WrenchReading(
                stamp_ns=now_ns, frame_id=self._base_frame, force=force, torque=np.zeros(3)
            )
            self._wrench_publisher.publish(wrench_reading_to_message(reading))
        self._publish_status()
        self._publish_meant()
        if not self._has_told_ideal and self._ideal.done():
            self._has_told_ideal = True
            ideal = self.participation.participant.paths.plan_of(self._ideal.result(), now_ns)
            self._ideal_publisher.publish(plan_to_message(ideal))

    def _tool_position(self) -> tuple[int | None, np.ndarray | None]:
        """Return when the tool was seen last, and where (3,)."""
        for data, _ in self._poses.take():
            self._pose = data
        if self._pose is None:
            return None, None
        try:
            record = self._decode(self._pose)
        except DecodingError as error:
            self.get_logger().warning(f'pose refused: {error}', throttle_duration_sec=5.0)
            return None, None
        # By its own stamp: where the plan is now is no measure of where the tool was then.
        return record.time_ns, np.array(record.pose[:3])

    def _publish_meant(self) -> None:
        """Tell what they mean to do to the pass, to be compared with what was recorded."""
        meant = self.participation.meant
        if meant is None:
            return
        corrections = PassCorrections(
            plan_stamp_ns=meant.plan_stamp_ns,
            frame_id=self._base_frame,
            tool_frame=self._tool_frame,
            times_sec=meant.times_sec,
            delta_positions=meant.deltas_m,
            delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(meant.times_sec), 1)),
        )
        if corrections.digest != self._meant:
            self._meant = corrections.digest
            self._meant_publisher.publish(corrections_to_message(corrections))

    def _publish_status(self) -> None:
        status = self.participation.status
        if status == self._published:
            return
        if self._published is not None:
            self.get_logger().info(f'{status.state.value} (push {status.pushes})')
        self._status_publisher.publish(participant_status_to_message(status))
        self._published = status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the simulated participant."""
    return run(
        lambda context: SimulatedParticipantNode(context=context),
        arguments,
        make_executor=events_executor,
    )


if __name__ == '__main__':
    raise SystemExit(main())
