"""The inference as a ROS 2 node: corrections in, θ and the next plan out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Vector3Stamped
from nav_msgs.msg import Path as PathMessage
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    DiagnosticReport,
    InferenceStatus,
    MessageError,
    PassCorrections,
    Plan,
    corrections_from_message,
    deformation_from_message,
    inference_status_from_message,
    plan_from_message,
    playback_status_from_message,
    recorder_status_from_message,
)
from reward_learning_ros.interface.theta import inference_diagnostic_of
from reward_learning_ros.learning import Corrections, InferenceResult, stamp_of
from reward_learning_ros.learning.learning_parameters import (
    RewardInferenceParameters,
)
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import (
    diagnostic_report_to_message,
    inference_status_to_message,
    live_theta_to_message,
    plan_to_message,
    theta_samples_to_message,
    theta_summary_to_message,
)
from reward_learning_ros.nodes.markers import (
    correction_markers,
    ideal_markers,
    marker_array,
    plan_markers,
    scene_markers,
)
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import Heartbeat, events_executor, run
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.session.inference_manager import (
    InferenceManager,
    SessionHistory,
    Update,
)

# How often it is looked whether something was learned; a small part of what learning takes.
_PERIOD_SEC = 0.02
_DIAGNOSTICS_PERIOD_SEC = 1.0


class RewardInferenceNode(Node):
    """Infers θ from corrections, and publishes it with the next plan."""

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('reward_inference', context=context)
        config = declare(self, RewardInferenceParameters)
        self.manager = InferenceManager(config, lambda: int(self.get_clock().now().nanoseconds))
        task = self.manager.paths.task
        self._base_frame = self.manager.paths.description.base_frame
        self._scene = task.scene
        self._ideal: Plan | None = None
        self._published: InferenceStatus | None = None
        self._heartbeat = Heartbeat(self)
        self._plan_publisher = self.create_publisher(
            PathMessage, names.PLAN_TOPIC, names.LATCHED_QOS
        )
        self._theta_publisher = self.create_publisher(
            Float64MultiArray, names.THETA_TOPIC, names.LATCHED_QOS
        )
        self._samples_publisher = self.create_publisher(
            Float64MultiArray, names.THETA_SAMPLES_TOPIC, names.LATCHED_QOS
        )
        self._markers_publisher = self.create_publisher(
            MarkerArray, names.MARKERS_TOPIC, names.LATCHED_QOS
        )
        self._status_publisher = self.create_publisher(
            DiagnosticStatus, names.INFERENCE_STATUS_TOPIC, names.LATCHED_QOS
        )
        self._diagnostics_publisher = self.create_publisher(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, names.DIAGNOSTICS_QOS
        )
        # Before anything is heard: corrections that were undone are known by then.
        self._resume(config.bag)
        self._listen()
        for service, act in (
            (names.INFERENCE_UNDO_SERVICE, self.manager.undo),
            (names.INFERENCE_RESET_SERVICE, self.manager.reset),
        ):
            self.create_service(
                Trigger,
                service,
                lambda request, response, act=act: self._on_service(act, response),
            )
        self.manager.worker.start()
        # By the wall: learning takes its time whatever the clock of ROS does.
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_PERIOD_SEC, self._on_tick, clock=clock)
        self.create_timer(_DIAGNOSTICS_PERIOD_SEC, self._publish_diagnostics, clock=clock)
        self._publish_status()
        self.get_logger().info(
            f'inference is up: task {task.name}, {config.method}, {config.dependence}, '
            f'silence {config.silence}, replans {config.replan}, seed {config.seed}'
        )

    def destroy_node(self) -> None:
        """End the processes that learn, too."""
        self.manager.worker.stop()
        if self.manager.live is not None:
            self.manager.live.stop()
        super().destroy_node()

    def _listen(self) -> None:
        self.create_subscription(
            MultiDOFJointTrajectory,
            names.CORRECTIONS_TOPIC,
            self._on_corrections,
            names.CORRECTIONS_QOS,
        )
        self.create_subscription(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_playback, names.LATCHED_QOS
        )
        self.create_subscription(
            DiagnosticStatus, names.RECORDER_STATUS_TOPIC, self._on_recorder, names.LATCHED_QOS
        )
        self.create_subscription(
            PathMessage,
            names.RECORDED_PLAN_TOPIC,
            self._on_recorded_plan,
            names.CORRECTIONS_QOS,
        )
        self.create_subscription(
            PathMessage, names.PARTICIPANT_IDEAL_TOPIC, self._on_ideal, names.LATCHED_QOS
        )

        if self.manager.live is not None:
            self.create_subscription(
                Vector3Stamped,
                names.DEFORMATION_TOPIC,
                self._on_deformation,
                names.DEFORMATION_QOS,
            )

    def _on_recorded_plan(self, message: PathMessage) -> None:
        try:
            self.manager.on_recorded_plan(plan_from_message(message, frame_id=self._base_frame))
        except RewardLearningError as error:
            self.get_logger().warning(f'recorded plan ignored: {error}')

    def _resume(self, bag: str) -> None:
        """Go on where the recording of this session ends, if there is one already."""
        if not bag or not Path(bag).exists():
            return
        try:
            history = read_history(Path(bag), self.resolve_topic_name)
            self.manager.resume(history)
        except RewardLearningError as error:
            self.get_logger().error(f'nothing is taken from the recording: {error}')
            return
        if history.plans:
            self.get_logger().info(
                f'goes on from the recording: {len(history.plans)} plans, '
                f'{len(history.corrections)} passes'
            )
            self._publish(Update(plan=self.manager.plan))

    def _on_corrections(self, message: MultiDOFJointTrajectory) -> None:
        try:
            self.manager.on_corrections(
                corrections_from_message(message, frame_id=self._base_frame)
            )
        except RewardLearningError as error:
            self.get_logger().warning(f'corrections ignored: {error}')
            return
        # Before the inference is looked after, which takes its time.
        self._publish_live()
        self._on_tick()
        self._publish_markers()

    def _on_deformation(self, message: Vector3Stamped) -> None:
        try:
            deformation = deformation_from_message(message, frame_id=self._base_frame)
        except RewardLearningError as error:
            self.get_logger().warning(f'deformation ignored: {error}', throttle_duration_sec=5.0)
            return
        self.manager.on_shift(deformation.shift)
        self._publish_live()

    def _on_playback(self, message: DiagnosticStatus) -> None:
        try:
            self.manager.on_playback(playback_status_from_message(message))
        except RewardLearningError as error:
            self.get_logger().error(f'playback status refused: {error}')
            return
        self._on_tick()

    def _on_recorder(self, message: DiagnosticStatus) -> None:
        try:
            self.manager.on_recorder(recorder_status_from_message(message))
        except RewardLearningError as error:
            self.get_logger().error(f'recorder status refused: {error}')
            return
        self._on_tick()

    def _on_ideal(self, message: PathMessage) -> None:
        try:
            self._ideal = plan_from_message(message, frame_id=self._base_frame)
        except RewardLearningError as error:
            self.get_logger().error(f'ideal refused: {error}')
            return
        self._publish_markers()

    def _on_service(self, act: Any, response: Any) -> Any:
        try:
            update = act()
        except RewardLearningError as error:
            response.success, response.message = False, str(error)
            return response
        self._publish(update)
        self._publish_status()
        response.success = True
        response.message = f'{len(self.manager.learner.active)} passes are left'
        return response

    def _on_tick(self) -> None:
        if self.manager.live is not None and self.manager.worker.is_ready:
            # Not before: nothing moves until the process that learns is ready.
            self.manager.live.start()
        update = self.manager.advance()
        if update is not None:
            self._publish(update)
        self._publish_live()
        self._publish_status()

    def _publish(self, update: Update) -> None:
        if update.result is not None:
            self._publish_result(update.result)
        if update.plan is not None:
            self._plan_publisher.publish(plan_to_message(update.plan))
        self._publish_markers()

    def _publish_live(self) -> None:
        theta = self.manager.live_theta()
        if theta is not None:
            self._theta_publisher.publish(live_theta_to_message(theta))

    def _publish_result(self, result: InferenceResult) -> None:
        self._theta_publisher.publish(theta_summary_to_message(result.theta))
        self._samples_publisher.publish(theta_samples_to_message(result.samples))
        weights = ', '.join(
            f'{name} {mean:.2f}'
            for name, mean in zip(result.theta.features, result.theta.mean, strict=True)
        )
        self.get_logger().info(f'learned from {result.pushes} pushes: {weights}')
        for reason in result.reasons:
            self.get_logger().warning(f'the trajectory stays as it was: {reason}')
        for warning in result.posterior.warnings:
            if warning not in result.reasons:
                self.get_logger().warning(warning)

    def _publish_status(self) -> None:
        status = self.manager.status
        if status == self._published:
            return
        if status.fault and (self._published is None or status.fault != self._published.fault):
            self.get_logger().error(status.fault)
        self._status_publisher.publish(inference_status_to_message(status))
        self._published = status

    def _publish_diagnostics(self) -> None:
        report = DiagnosticReport(
            stamp_ns=int(self.get_clock().now().nanoseconds),
            diagnostics=(inference_diagnostic_of(self.manager.status),),
        )
        self._diagnostics_publisher.publish(diagnostic_report_to_message(report))

    def _publish_markers(self) -> None:
        plan = self.manager.plan
        if plan is None:
            return
        markers = scene_markers(self._base_frame, self._scene)
        markers += plan_markers(plan)
        markers += correction_markers(plan, self.manager.shown_corrections)
        if self._ideal is not None:
            markers += ideal_markers(self._ideal)
        self._markers_publisher.publish(marker_array(markers))


def read_history(bag: Path, resolve: Any) -> SessionHistory:
    """Return what an inference before this one had heard and shown, from the session's recording.

    Args:
        bag: The recording.
        resolve: Gives the full name of a topic.

    Raises:
        BagError: Nothing of it can be read.
    """
    plan_topic, corrections_topic, status_topic = (
        resolve(topic)
        for topic in (names.PLAN_TOPIC, names.CORRECTIONS_TOPIC, names.INFERENCE_STATUS_TOPIC)
    )
    plans: dict[int, Plan] = {}
    corrections: dict[int, Corrections] = {}
    status: InferenceStatus | None = None
    with BagReader(bag) as reader:
        topics = [
            topic
            for topic in (plan_topic, corrections_topic, status_topic)
            if topic in reader.topics
        ]
        for message in reader.messages(topics):
            try:
                content = message.decoded()
                if message.topic.name == plan_topic:
                    plan = plan_from_message(content)
                    plans[plan.stamp_ns] = plan
                elif message.topic.name == corrections_topic:
                    told = corrections_from_message(content)
                    if isinstance(told, PassCorrections):
                        corrections[stamp_of(told)] = told
                    else:
                        corrections.setdefault(stamp_of(told), told)
                else:
                    status = inference_status_from_message(content)
            except (BagError, MessageError):
                # Cut off by what ended the session before, or refused by the one before too.
                continue
    return SessionHistory(
        plans=tuple(plans.values()), corrections=tuple(corrections.values()), status=status
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the inference."""
    return run(
        lambda context: RewardInferenceNode(context=context),
        arguments,
        # In simulated time the clock alone is hundreds of messages a second.
        make_executor=events_executor,
    )


if __name__ == '__main__':
    raise SystemExit(main())
