"""The node behind the page: hears topics into one snapshot, calls services, pulls the arm."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Path
from rcl_interfaces.msg import Log
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from reward_learning_ros.arm.chain import LinkFrames
from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.console.facts import FactsOfSession
from reward_learning_ros.console.heard import drawing_of, event_of
from reward_learning_ros.console.history import History, find_history
from reward_learning_ros.console.meaning import find_prior
from reward_learning_ros.console.pull import Pull, PullForce
from reward_learning_ros.console.situation import Act
from reward_learning_ros.console.snapshot import LogEvent, SessionFacts, Snapshot
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    Level,
    OperatorMark,
    ThetaSummary,
    diagnostic_from_message,
    diagnostic_report_from_message,
    inference_status_from_message,
    participant_status_from_message,
    plan_from_message,
    playback_status_from_message,
    recorder_status_from_message,
    session_status_from_message,
    theta_from_message,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import mark_to_message
from reward_learning_ros.nodes.polling import PolledSubscription
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.session.node_parameters import CONSOLE, ConsoleParameters

# The arm tells a thousand times a second where it is; of that the newest value is looked at.
_NEWEST_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1, reliability=ReliabilityPolicy.BEST_EFFORT
)
_PULL_PERIOD_SEC = 0.02
_LOOK_AROUND_SEC = 1.0
_ANSWER_SEC = 5.0
# A recovery waits ten seconds for each of its steps.
_RECOVERY_SEC = 40.0


class ConsoleNode(Node):
    """The ROS side of the console: subscribes to a session, calls its services, pulls the arm.

    Its callbacks run in one thread, those of the pages in another: they share the snapshot, which
    is replaced as a whole, and the pull, which has a lock.

    Attributes:
        config: of the console.
        snapshot: all that was heard so far.
        changes: how often it was replaced, but for where the arm is and what force it feels.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(CONSOLE, context=context)
        self.config = declare(self, ConsoleParameters)
        self.snapshot = Snapshot()
        self.changes = 0
        self._steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._lock = threading.Lock()
        self._pull = Pull()
        self._is_pulling = False
        self._pull_force: PullForce | None = None
        self._frames = LinkFrames(franka_arm())
        self._frames_of = ('fr3', True)
        self._subscribe()
        self._joints = PolledSubscription(
            self, JointState, names.MEASURED_JOINT_STATES_TOPIC, _NEWEST_QOS
        )
        self._wrench = PolledSubscription(
            self, WrenchStamped, names.WRENCH_IN_BASE_TOPIC, _NEWEST_QOS
        )
        self._push_publisher = self.create_publisher(
            WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
        )
        self._marks_publisher = self.create_publisher(
            DiagnosticStatus, names.MARKS_TOPIC, names.CORRECTIONS_QOS
        )
        # Not `_clients`, which is rclpy's own.
        self._trigger_clients = {act: self.create_client(Trigger, act.value) for act in Act}
        self._facts = FactsOfSession(self, self._on_facts)
        # Found in threads of their own; only callbacks of this node change the snapshot.
        self._found_prior: SimpleQueue[ThetaSummary] = SimpleQueue()
        self._found_history: SimpleQueue[History] = SimpleQueue()
        self.create_timer(
            1.0 / self.config.update_rate, self._look_at_arm, clock=self._steady_clock
        )
        self.create_timer(_PULL_PERIOD_SEC, self._pull_arm, clock=self._steady_clock)
        self.create_timer(_LOOK_AROUND_SEC, self._look_around, clock=self._steady_clock)

    @property
    def frames(self) -> LinkFrames:
        """Where the links of the arm are."""
        key = (self.snapshot.facts.prefix, self.snapshot.facts.hand)
        if key != self._frames_of:
            self._frames = LinkFrames(franka_arm(prefix=key[0], hand=key[1]))
            self._frames_of = key
        return self._frames

    def ask(self, act: Act) -> Future[tuple[bool, str]]:
        """Ask for something; the future tells whether it was granted, and what was said."""
        answer: Future[tuple[bool, str]] = Future()
        client = self._trigger_clients[act]
        if not client.service_is_ready():
            answer.set_result((False, f'nobody offers {act.value}'))
            return answer

        def on_done(future: Any) -> None:
            response = future.result()
            if not answer.done():
                answer.set_result((bool(response.success), str(response.message)))

        client.call_async(Trigger.Request()).add_done_callback(on_done)
        return answer

    def answer_sec(self, act: Act) -> float:
        """Return how long an answer may take."""
        return _RECOVERY_SEC if act is Act.RECOVER else _ANSWER_SEC

    def grab(self, owner: str, link: str, hand_in_link: Any) -> None:
        """Take hold of the simulated arm.

        Raises:
            RewardLearningError: It cannot be pulled; says why.
        """
        self.frames.moving_joints(link)
        if obstacle := self.pull_obstacle():
            raise RewardLearningError(obstacle)
        with self._lock:
            self._pull.grab(owner, link, hand_in_link, time.monotonic())
            self._is_pulling = True

    def drag(self, owner: str, target: Any) -> None:
        """Pull it to a point (3,) in the base frame.

        Raises:
            InvalidInputError: It is no point near the arm.
        """
        with self._lock:
            self._pull.drag(owner, target, time.monotonic())

    def release(self, owner: str) -> None:
        """Let it go."""
        with self._lock:
            self._pull.release(owner)

    def mark(self, key: str, note: str, ago_sec: float) -> None:
        """Mark a moment for the recording, by the clock of this machine.

        Raises:
            RewardLearningError: Nobody records it, or key or note cannot be used.
        """
        if not self._marks_publisher.get_subscription_count():
            raise RewardLearningError('nobody records marks: no session runs')
        now_ns = time.time_ns()
        mark = OperatorMark(
            stamp_ns=now_ns - round(max(ago_sec, 0.0) * 1e9),
            machine_ns=now_ns,
            key=key,
            note=note,
        )
        self._marks_publisher.publish(mark_to_message(mark))

    def pull_obstacle(self) -> str:
        """Return why the arm cannot be pulled, empty if it can."""
        snapshot = self.snapshot
        if snapshot.joints_rad is None:
            return 'no arm is heard'
        if not snapshot.is_arm_simulated:
            return 'this arm is real: push it by hand'
        if snapshot.participant is not None:
            return 'a simulated participant pushes this arm'
        return ''

    @property
    def pull_force(self) -> PullForce | None:
        """What the mouse does to the arm now; None if it does nothing."""
        return self._pull_force

    def _subscribe(self) -> None:
        heard = self._keep
        heard(DiagnosticStatus, names.SESSION_STATUS_TOPIC, 'session', session_status_from_message)
        heard(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, 'playback', playback_status_from_message
        )
        heard(
            DiagnosticStatus, names.RECORDER_STATUS_TOPIC, 'recorder', recorder_status_from_message
        )
        heard(
            DiagnosticStatus,
            names.PARTICIPANT_STATUS_TOPIC,
            'participant',
            participant_status_from_message,
        )
        heard(Path, names.PARTICIPANT_IDEAL_TOPIC, 'ideal', plan_from_message)
        heard(MarkerArray, names.MARKERS_TOPIC, 'drawing', drawing_of)
        heard(DiagnosticStatus, arm_names.ARM_STATUS_TOPIC, 'arm', diagnostic_from_message)
        self._hear(
            Float64MultiArray,
            names.THETA_TOPIC,
            names.LATCHED_QOS,
            lambda message: self.snapshot.with_theta(theta_from_message(message)),
        )
        self._hear(
            Path,
            names.PLAN_TOPIC,
            names.LATCHED_QOS,
            lambda message: self.snapshot.with_plan(plan_from_message(message)),
        )
        self._hear(
            DiagnosticStatus,
            names.INFERENCE_STATUS_TOPIC,
            names.LATCHED_QOS,
            lambda message: self.snapshot.with_inference(inference_status_from_message(message)),
        )
        self._hear(
            Log,
            names.LOG_TOPIC,
            names.LOG_QOS,
            lambda message: (
                None if (event := event_of(message)) is None else self.snapshot.with_event(event)
            ),
        )
        self._hear(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, names.DIAGNOSTICS_QOS, self._on_diagnostics
        )
        self._hear(String, names.HEARTBEAT_TOPIC, names.DIAGNOSTICS_QOS, self._on_beat)

    def _keep(
        self, message_type: type, topic: str, attribute: str, read: Callable[[Any], Any]
    ) -> None:
        def changed(message: Any) -> Snapshot:
            return replace(self.snapshot, **{attribute: read(message)})

        self._hear(message_type, topic, names.LATCHED_QOS, changed)

    def _hear(
        self,
        message_type: type,
        topic: str,
        qos: QoSProfile,
        changed: Callable[[Any], Snapshot | None],
    ) -> None:
        def on_message(message: Any) -> None:
            try:
                snapshot = changed(message)
            except RewardLearningError as error:
                self.get_logger().warning(f'{topic}: {error}', throttle_duration_sec=10.0)
                return
            if snapshot is not None:
                self.snapshot = snapshot
                self.changes += 1

        self.create_subscription(message_type, topic, on_message, qos)

    def _on_diagnostics(self, message: DiagnosticArray) -> Snapshot:
        snapshot = self.snapshot
        for diagnostic in diagnostic_report_from_message(message).diagnostics:
            snapshot = snapshot.with_diagnostic(diagnostic)
        return snapshot

    def _on_beat(self, message: String) -> Snapshot:
        name, _, start = message.data.partition(' ')
        snapshot = self.snapshot
        before = snapshot.starts.get(name)
        if before != start:
            self._facts.forget()
        if before not in (None, start):
            event = LogEvent(
                time_sec=time.time(), level=Level.WARN, node=name, text='was started again'
            )
            snapshot = snapshot.with_event(event)
        return snapshot.with_beat(name, start, time.monotonic())

    def _on_facts(self, facts: SessionFacts) -> None:
        before = self.snapshot.facts
        self.snapshot = self.snapshot.with_facts(facts)
        self.changes += 1
        if facts.task and (facts.task != before.task or self.snapshot.prior is None):
            find_prior(facts.task, self._found_prior.put)
        if facts.bag and facts.bag != before.bag:
            # It may have gone on for long before this console was started.
            find_history(facts.bag, self.get_namespace(), self._found_history.put)

    def _take_found(self) -> None:
        while not self._found_prior.empty():
            self.snapshot = replace(self.snapshot, prior=self._found_prior.get())
            self.changes += 1
        while not self._found_history.empty():
            found = self._found_history.get()
            self.snapshot = self.snapshot.with_history(found.bag, found.learned, found.plans)
            self.changes += 1

    def _look_around(self) -> None:
        self._facts.ask()
        self._take_found()
        # Ours is not counted: it publishes there.
        is_simulated = self.count_subscribers(arm_names.PERSON_WRENCH_TOPIC) > 0
        if is_simulated != self.snapshot.is_arm_simulated:
            self.snapshot = replace(self.snapshot, is_arm_simulated=is_simulated)
            self.changes += 1

    def _look_at_arm(self) -> None:
        changes: dict[str, Any] = {}
        if (joints := self._taken_joints()) is not None:
            changes['joints_rad'] = joints
            changes['arm_heard_sec'] = time.monotonic()
        if (data := self._wrench.take()) and self.snapshot.joints_rad is not None:
            force = deserialize_message(data[-1][0], WrenchStamped).wrench.force
            changes['force_n'] = (force.x, force.y, force.z)
        if changes:
            self.snapshot = replace(self.snapshot, **changes)

    def _taken_joints(self) -> tuple[float, ...] | None:
        data = self._joints.take()
        if not data:
            return None
        message = deserialize_message(data[-1][0], JointState)
        by_name = dict(zip(message.name, message.position, strict=False))
        prefix = self.snapshot.facts.prefix
        wanted = [f'{prefix}_joint{number}' for number in range(1, 8)]
        if not all(name in by_name for name in wanted):
            return None
        return tuple(float(by_name[name]) for name in wanted)

    def _pull_arm(self) -> None:
        if not self._is_pulling:
            return
        now_sec = time.monotonic()
        if (joints := self._taken_joints()) is not None:
            self.snapshot = replace(self.snapshot, joints_rad=joints, arm_heard_sec=now_sec)
        assert self.snapshot.joints_rad is not None
        with self._lock:
            if self._pull.is_over(now_sec):
                self._pull.release(self._pull.owner)
                self._is_pulling = False
                self._pull_force = None
                self._publish_push('', np.zeros(3), np.zeros(3))
                return
            link = self._pull.link
            pose = self.frames.poses(self.snapshot.joints_rad)[link]
            pulled = self._pull_force = self._pull.force(pose, now_sec)
        rotation = pose[:3, :3]
        self._publish_push(link, rotation.T @ pulled.force_n, rotation.T @ pulled.torque_nm)

    def _publish_push(self, link: str, force: Any, torque: Any) -> None:
        message = WrenchStamped()
        message.header.frame_id = link or self.frames.names[0]
        for part, vector in ((message.wrench.force, force), (message.wrench.torque, torque)):
            part.x, part.y, part.z = (float(value) for value in vector)
        self._push_publisher.publish(message)
