"""The recorder's node fed with samples of a synthetic arm, over real DDS, in simulated time."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, Vector3Stamped
from nav_msgs.msg import Path
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import MultiDOFJointTrajectory

from helpers.ros import DEADLINE_SEC, PrivateRos
from reward_learning_ros.interface import (
    ContactReport,
    PassCorrections,
    Plan,
    PlaybackState,
    PlaybackStatus,
    RecorderStatus,
    contact_from_message,
    corrections_from_message,
    diagnostic_report_from_message,
    recorder_status_from_message,
)
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import (
    plan_to_message,
    playback_status_to_message,
    pose_message,
    time_message,
)
from reward_learning_ros.nodes.correction_recorder import CorrectionRecorderNode
from reward_learning_ros.nodes.running import events_executor
from reward_learning_ros.sensing.contact import ContactDetector
from reward_learning_ros.sensing.ordering import StreamOrderer
from reward_learning_ros.sensing.samples import NANOSECONDS, STREAM_WIDTHS, Arrivals, Stream
from reward_learning_ros.sensing.synthetic import Push, Recording, record

# Slower than an arm's, so that the tests are short; nothing depends on the rate.
RATE_HZ = 200
STEP_NS = 20_000_000
JOINTS = tuple(f'fr3_joint{number}' for number in range(1, 8))
START_NS = 1_000 * NANOSECONDS
WAYPOINTS = np.array([[0.35, 0.0, 0.5], [0.45, -0.1, 0.4], [0.55, 0.0, 0.3], [0.6, 0.1, 0.25]])
LEG_SEC = 10.0
# Long enough before a recording that waiting for each other does not reach into it.
_EARLIEST_NS = START_NS - 600 * NANOSECONDS


def make_plan(stamp_ns: int = 7) -> Plan:
    return Plan(
        stamp_ns=stamp_ns,
        frame_id='fr3_link0',
        positions=WAYPOINTS,
        orientations=np.tile([1.0, 0.0, 0.0, 0.0], (len(WAYPOINTS), 1)),
        times_sec=np.linspace(0.0, LEG_SEC, len(WAYPOINTS)),
    )


def make_recording(duration_sec: float, *pushes: Push, seed: int = 1) -> Recording:
    return record(
        waypoints_m=WAYPOINTS,
        leg_sec=LEG_SEC,
        duration_sec=duration_sec,
        pushes=pushes,
        rng=np.random.default_rng(seed),
        rate_hz=RATE_HZ,
        start_ns=START_NS,
    )


def samples_of(made: Recording) -> Arrivals:
    """The samples that the recorder needs, as they would arrive."""
    arrivals = made.arrivals()
    return arrivals[np.isin(arrivals.stream, (Stream.TORQUE, Stream.JOINTS, Stream.POSE))]


@lru_cache(maxsize=1)
def learned() -> np.ndarray:
    """What a detector knows after an unpushed playback."""
    detector = ContactDetector()
    detector.learning = True
    orderer = StreamOrderer()
    detector.process(orderer.release_arrivals(samples_of(make_recording(20.0, seed=9))))
    return detector.snapshot()


class RecorderBench:
    """The node on its own executor, and an arm, a playback and a listener around it."""

    def __init__(self, make_ros: Callable[..., PrivateRos], *arguments: str) -> None:
        self.ros = make_ros('--ros-args', '-p', 'use_sim_time:=true', *arguments)
        self.node = CorrectionRecorderNode(context=self.ros.context)
        self.executor = events_executor(self.ros.context)
        self.executor.add_node(self.node)
        self.outside = make_ros()
        self.arm = self.outside.create_node('arm')
        self.corrections: list[PassCorrections] = []
        self.contacts: list[ContactReport] = []
        self.shifts_m: list[np.ndarray] = []
        self.statuses: list[RecorderStatus] = []
        self.diagnostics: dict[str, str] = {}
        self.time_ns = 0
        self.sent = 0
        publish = self.arm.create_publisher
        self._clock = publish(Clock, '/clock', 10)
        self._plans = publish(Path, names.PLAN_TOPIC, names.LATCHED_QOS)
        self._statuses = publish(DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, names.LATCHED_QOS)
        self.publishers: dict[Stream, Any] = {}
        subscribe = self.arm.create_subscription
        subscribe(
            MultiDOFJointTrajectory,
            names.CORRECTIONS_TOPIC,
            lambda message: self.corrections.append(corrections_from_message(message)),
            names.CORRECTIONS_QOS,
        )
        subscribe(
            DiagnosticStatus,
            names.CONTACTS_TOPIC,
            lambda message: self.contacts.append(contact_from_message(message)),
            names.CORRECTIONS_QOS,
        )
        subscribe(
            DiagnosticStatus,
            names.RECORDER_STATUS_TOPIC,
            lambda message: self.statuses.append(recorder_status_from_message(message)),
            names.LATCHED_QOS,
        )
        subscribe(
            Vector3Stamped,
            names.DEFORMATION_TOPIC,
            lambda m: self.shifts_m.append(np.array([m.vector.x, m.vector.y, m.vector.z])),
            names.DEFORMATION_QOS,
        )
        subscribe(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, self._on_diagnostics, names.DIAGNOSTICS_QOS
        )

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        (diagnostic,) = diagnostic_report_from_message(message).diagnostics
        self.diagnostics = {**diagnostic.values, 'message': diagnostic.message}

    def add_convenience_topics(self) -> None:
        """Publish what franka_robot_state_broadcaster does, and wait until it is heard."""
        for stream, message_type, topic in (
            (Stream.TORQUE, JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC),
            (Stream.JOINTS, JointState, names.MEASURED_JOINT_STATES_TOPIC),
            (Stream.POSE, PoseStamped, names.CURRENT_POSE_TOPIC),
        ):
            self.publishers[stream] = self.arm.create_publisher(
                message_type, topic, names.ROBOT_STATE_QOS
            )
        self.advance_until(
            lambda: all(p.get_subscription_count() for p in self.publishers.values())
        )

    def choose_convenience_topics(self) -> None:
        """Publish them and speak until the node listens; what comes before is not counted."""
        self.add_convenience_topics()

        def is_chosen() -> bool:
            self.send(Stream.TORQUE, self.time_ns, np.zeros(7))
            return self.node.sources.current is not None

        self.advance_until(is_chosen)
        quiet_ns = self.time_ns + NANOSECONDS // 2
        self.advance_until(lambda: self.time_ns > quiet_ns)
        self.sent = self.received()

    def remove_publishers(self) -> None:
        for publisher in self.publishers.values():
            self.arm.destroy_publisher(publisher)
        self.publishers = {}

    def spin(self, count: int = 4) -> None:
        for _ in range(count):
            self.executor.spin_once(timeout_sec=0.0)
        self.outside.executor.spin_once(timeout_sec=0.0)

    def wait_until(
        self, condition: Callable[[], object], timeout_sec: float = DEADLINE_SEC
    ) -> None:
        deadline = time.monotonic() + timeout_sec
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f'not true: {condition}; {self.diagnostics}')
            self.executor.spin_once(timeout_sec=0.002)
            self.outside.executor.spin_once(timeout_sec=0.0)

    def set_time(self, time_ns: int) -> None:
        """Let the clock tell a time, and the node hear it."""
        self.time_ns = time_ns
        told = [-1.0]

        def is_heard() -> bool:
            # Once more now and then: before they have met, nobody hears anything.
            if time.monotonic() > told[0] + 0.1:
                told[0] = time.monotonic()
                self._clock.publish(Clock(clock=time_message(time_ns)))
            return self.node.get_clock().now().nanoseconds == time_ns

        self.wait_until(is_heard)

    def advance_until(self, condition: Callable[[], object]) -> None:
        """Let time pass until something has come about."""
        deadline = time.monotonic() + DEADLINE_SEC
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f'not true: {condition}; {self.diagnostics}')
            self.set_time(max(self.time_ns + STEP_NS, _EARLIEST_NS))
            self.spin()

    def send_plan(self, plan: Plan) -> None:
        self._plans.publish(plan_to_message(plan))

    def tell(self, plan: Plan, plan_time_sec: float) -> None:
        """Let the playback say that it plays a plan, and the node hear it."""
        status = PlaybackStatus(
            state=PlaybackState.PLAYING,
            plan_stamp_ns=plan.stamp_ns,
            plan_time_sec=plan_time_sec,
            progress=min(plan_time_sec / plan.duration_sec, 1.0),
        )
        self._statuses.publish(playback_status_to_message(status))
        timeline = self.node.feed.timeline
        self.wait_until(lambda: timeline.newest_ns == self.time_ns)

    def send(self, stream: Stream, time_ns: int, values: np.ndarray) -> None:
        """Publish one sample."""
        numbers = values[: STREAM_WIDTHS[stream]].tolist()
        if stream is Stream.POSE:
            message = PoseStamped(pose=pose_message(numbers[:3], numbers[3:]))
        elif stream is Stream.TORQUE:
            message = JointState(name=JOINTS, effort=numbers)
        else:
            message = JointState(name=JOINTS, position=numbers[:7], velocity=numbers[7:])
        message.header.stamp = time_message(time_ns)
        self.publishers[stream].publish(message)
        self.sent += 1

    def play(
        self,
        made: Recording,
        arrivals: Arrivals | None = None,
        *,
        plans: tuple[tuple[float, Plan], ...] = (),
    ) -> None:
        """Send the samples of a recording, with its clock and what the playback says.

        Args:
            made: tells where in the plan the playback is.
            arrivals: samples in the order of their arrival, by default that of the recording.
            plans: from which second on which plan is played.
        """
        arrivals = samples_of(made) if arrivals is None else arrivals
        end_ns = int(made.time_ns[-1])
        arrival_ns = np.maximum.accumulate(arrivals.time_ns)
        sent = 0
        for now_ns in range(START_NS, end_ns + STEP_NS, STEP_NS):
            self.set_time(now_ns)
            elapsed_sec = (now_ns - START_NS) / NANOSECONDS
            if plans and now_ns % (2 * STEP_NS) == 0:
                plan = [plan for start_sec, plan in plans if start_sec <= elapsed_sec][-1]
                at = np.interp(now_ns, made.time_ns, made.plan_time_sec)
                self.tell(plan, float(at))
            until = int(np.searchsorted(arrival_ns, now_ns, side='right'))
            for i in range(sent, until):
                self.send(Stream(arrivals.stream[i]), int(arrivals.time_ns[i]), arrivals.values[i])
            self.spin(until - sent + 4)
            sent = until
        self.settle()

    def settle(self) -> None:
        """Wait until the node has heard and handled everything."""
        self.advance_until(lambda: self.received() >= self.sent)
        end_ns = self.time_ns + NANOSECONDS // 2
        self.advance_until(lambda: self.time_ns > end_ns)
        self.wait_until(lambda: len(self.contacts) == self.made())
        self.wait_until(lambda: self.statuses and self.statuses[-1].is_heard(self.told))

    @property
    def told(self) -> PassCorrections | None:
        """The last corrections that were published."""
        return self.corrections[-1] if self.corrections else None

    def received(self) -> int:
        return sum(counts.received for counts in self.node.orderer.counts.values())

    def made(self) -> int:
        """How many contacts the node has told of."""
        return self.node.recorder.counts.pushes + self.node.teleoperation.counts.corrections

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
