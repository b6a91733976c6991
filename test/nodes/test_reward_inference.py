"""The inference's node over real DDS: passes in, θ and plans out."""

from __future__ import annotations

import dataclasses
import os
import signal
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Vector3Stamped
from nav_msgs.msg import Path
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from reward_learning_ros import core
from reward_learning_ros.interface import (
    Deformation,
    InferenceEvent,
    InferenceState,
    InferenceStatus,
    LiveTheta,
    PassCorrections,
    PlaybackState,
    PlaybackStatus,
    RecorderStatus,
    data_digest,
    diagnostic_report_from_message,
    inference_status_from_message,
    plan_from_message,
    theta_from_message,
    theta_samples_from_message,
)
from reward_learning_ros.learning import Learner, LearningParameters, ToolPaths, learn
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import (
    corrections_to_message,
    deformation_to_message,
    inference_status_to_message,
    plan_to_message,
    playback_status_to_message,
    recorder_status_to_message,
)
from reward_learning_ros.nodes.reward_inference import RewardInferenceNode
from reward_learning_ros.recording.bag_writer import BagWriter
from reward_learning_ros.recording.message_types import describe_topic

# Quick, and trusted whatever the corrections were: what is looked at here is not the sampling.
LEARNING = {
    'seed': 3,
    'target_ess': 100.0,
    'target_r_hat': 1.05,
    'max_draws': 3000,
    'min_relevance': 0.0,
    'silence': 'left_out',
}
PARAMETERS = LearningParameters(task='press', **LEARNING)
DEADLINE_SEC = 120.0
# Of what nodes say, each word counts here: who listens may be slower than who speaks.
DEEP_QOS = QoSProfile(depth=1000)
LISTENING_QOS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
CORRECTION_TYPE = 'trajectory_msgs/msg/MultiDOFJointTrajectory'
STATUS_TYPE = 'diagnostic_msgs/msg/DiagnosticStatus'


class Session:
    """The node, and one who corrects and listens."""

    def __init__(self, make_ros, **parameters):
        arguments = ['--ros-args']
        for name, value in {**LEARNING, **parameters}.items():
            arguments += ['-p', f'{name}:={value}']
        self.ros = make_ros(*arguments)
        self.person = self.ros.create_node('person')
        self.plans, self.thetas, self.samples, self.statuses = [], [], [], []
        # As they came, with the time of arrival.
        self.lives = []
        self.markers, self.reports = [], []
        for message_type, topic, keep, read in (
            (Path, names.PLAN_TOPIC, self.plans, plan_from_message),
            (Float64MultiArray, names.THETA_TOPIC, self, theta_from_message),
            (
                Float64MultiArray,
                names.THETA_SAMPLES_TOPIC,
                self.samples,
                theta_samples_from_message,
            ),
            (
                DiagnosticStatus,
                names.INFERENCE_STATUS_TOPIC,
                self.statuses,
                inference_status_from_message,
            ),
            (MarkerArray, names.MARKERS_TOPIC, self.markers, lambda message: message),
            (
                DiagnosticArray,
                names.DIAGNOSTICS_TOPIC,
                self.reports,
                diagnostic_report_from_message,
            ),
        ):
            self.person.create_subscription(
                message_type,
                topic,
                lambda message, keep=keep, read=read: keep.append(read(message)),
                LISTENING_QOS if names.TOPICS[topic].qos == names.LATCHED else DEEP_QOS,
            )
        self._corrections = self.person.create_publisher(
            MultiDOFJointTrajectory, names.CORRECTIONS_TOPIC, names.CORRECTIONS_QOS
        )
        self._shift = self.person.create_publisher(
            Vector3Stamped, names.DEFORMATION_TOPIC, names.DEFORMATION_QOS
        )
        self._playback, self._recorder = (
            self.person.create_publisher(DiagnosticStatus, topic, names.LATCHED_QOS)
            for topic in (names.PLAYBACK_STATUS_TOPIC, names.RECORDER_STATUS_TOPIC)
        )
        self.node = None

    def append(self, theta):
        """Keep θ among those of its kind."""
        if isinstance(theta, LiveTheta):
            self.lives.append((time.monotonic(), theta.theta))
        else:
            self.thetas.append(theta)

    def hold_away(self, shift_m, condition):
        """Hold the arm away from its plan until a condition is true; told again and again."""
        deformation = Deformation(stamp_ns=1, frame_id=self.plans[-1].frame_id, shift=shift_m)

        def is_true():
            self._shift.publish(deformation_to_message(deformation))
            return condition()

        self.wait(is_true)

    def start(self):
        self.node = self.ros.add(RewardInferenceNode(context=self.ros.context))
        self.wait(self._is_ready)
        return self

    def _is_ready(self):
        state = self.statuses[-1].state if self.statuses else None
        return self.plans and state is InferenceState.WAITING

    def wait(self, condition):
        self.ros.wait_until(condition, DEADLINE_SEC)

    def play(self, plan, state='playing'):
        status = PlaybackStatus(state=PlaybackState(state), plan_stamp_ns=plan.stamp_ns)
        self._playback.publish(playback_status_to_message(status))
        # Of what is latched only the last is kept: one that follows at once would replace it.
        self.wait(lambda: self.node.manager._playback == status)

    def tell(self, plan, deltas):
        """Tell what was done to the first waypoints of a pass; return it."""
        told = corrections_of(plan, deltas)
        self._corrections.publish(corrections_to_message(told))
        return told

    def contact(self, plan):
        """Say that somebody pushes."""
        status = RecorderStatus(plan_stamp_ns=plan.stamp_ns, in_contact=True)
        self._recorder.publish(recorder_status_to_message(status))
        self.wait(lambda: self.node.manager._recorder == status)

    def complete(self, told):
        """Say that the pass is over."""
        status = RecorderStatus(
            plan_stamp_ns=told.plan_stamp_ns, digest=told.digest, is_complete=True
        )
        self._recorder.publish(recorder_status_to_message(status))

    def whole_pass(self, deltas):
        """Let a pass of the last plan be played; return what was done to it."""
        plan, count = self.plans[-1], len(self.plans)
        self.play(plan)
        told = self.tell(plan, deltas)
        # Status and corrections are on two topics: either may be heard first.
        self.complete(told)
        self.play(plan, 'finished')
        self.wait(lambda: len(self.plans) > count)
        self.settle()
        return told

    def settle(self):
        """Wait until the node has made of all it heard what it could."""
        self.wait(
            lambda: (
                self.statuses[-1].is_settled
                and self.statuses[-1].plan_stamp_ns == self.plans[-1].stamp_ns
            )
        )
        return self.statuses[-1]

    def call(self, service):
        client = self.person.create_client(Trigger, service)
        return self.ros.call(client, Trigger.Request(), DEADLINE_SEC)


@pytest.fixture
def make_session(make_ros):
    return lambda **parameters: Session(make_ros, **parameters)


def corrections_of(plan, deltas):
    return PassCorrections(
        plan_stamp_ns=plan.stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='fr3_hand_tcp',
        times_sec=plan.times_sec[: len(deltas)],
        delta_positions=deltas,
        delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(deltas), 1)),
    )


def pushed(waypoint, delta, count=8):
    """Return deltas of the first waypoints with a push at one of them."""
    deltas = np.zeros((count, 3))
    deltas[waypoint] = delta
    return deltas


def learned(plans, passes, parameters=PARAMETERS):
    """Learn offline from what was on the wire."""
    learner = Learner(tool_paths_of(parameters))
    for plan in plans:
        learner.add_plan(plan)
    for each in passes:
        learner.add_corrections(each)
    return learn(parameters, learner.sequences())


def test_it_learns_shows_undoes_resets_and_survives_its_worker(make_session):
    session = make_session().start()
    task = core.load_task('press')
    initial = session.plans[0]
    np.testing.assert_array_equal(initial.positions, task.plan)

    # In the middle of a pass: θ, but the same plan.
    session.play(initial)
    session.tell(initial, pushed(1, (0.0, 0.08, -0.05), count=2))
    session.wait(lambda: session.thetas)
    assert len(session.plans) == 1

    # At its end: another plan, and the same to the last digit as offline.
    first = session.whole_pass(pushed(1, (0.0, 0.08, -0.05)))
    status = session.statuses[-1]
    assert status.event is InferenceEvent.LEARNED
    assert status.learned_from_ns == (first.plan_stamp_ns,)
    assert status.learned_data == data_digest([first])
    assert status.pushes == 1
    assert not status.reasons
    assert float(status.quality['max_r_hat']) < 1.1
    plan = session.plans[-1]
    assert plan.stamp_ns > initial.stamp_ns
    result = learned(session.plans, [first])
    session.wait(lambda: session.thetas[-1] == result.theta)
    session.wait(lambda: session.samples and session.samples[-1] == result.samples)
    np.testing.assert_array_equal(plan.positions, result.plan.positions)

    # What is told last of a pass replaces what was told before.
    session.play(plan)
    for count in (3, 4, 5):
        session.tell(plan, pushed(2, (0.05, 0.0, 0.0), count=count))
    second = session.whole_pass(pushed(2, (0.05, 0.0, 0.0)))
    result = learned(session.plans, [first, second])
    session.wait(lambda: session.thetas[-1] == result.theta)
    assert session.statuses[-1].heard == 2

    # Undo: the last pass is no longer active, and what it corrected is shown.
    shown = session.plans[-1]
    assert session.call(names.INFERENCE_UNDO_SERVICE).message == '1 passes are left'
    session.wait(lambda: session.plans[-1].stamp_ns > shown.stamp_ns)
    assert session.settle().learned_from_ns == (first.plan_stamp_ns,)
    assert any(s.event is InferenceEvent.UNDONE for s in session.statuses)
    np.testing.assert_array_equal(session.plans[-1].positions, plan.positions)

    # Reset: the initial plan again.
    assert session.call(names.INFERENCE_RESET_SERVICE).success
    session.wait(lambda: session.statuses[-1].event is InferenceEvent.RESET)
    assert session.settle().corrections_ns == ()
    np.testing.assert_array_equal(session.plans[-1].positions, task.plan)
    assert not session.call(names.INFERENCE_UNDO_SERVICE).success

    # The process that learns is killed: another one takes over.
    os.kill(session.node.manager.worker.process_id, signal.SIGKILL)
    last = session.whole_pass(pushed(3, (0.05, 0.0, 0.0)))
    status = session.settle()
    assert status.learned_from_ns == (last.plan_stamp_ns,)
    assert status.fault == ''
    assert any('died' in status.fault for status in session.statuses)

    # What is drawn and reported.
    spaces = {marker.ns for message in session.markers for marker in message.markers}
    assert {'plan', 'corrections', 'scene/goal'} <= spaces
    session.wait(lambda: session.reports)
    values = session.reports[-1].diagnostics[0].values
    assert {'quality.max_r_hat', 'quality.min_ess_bulk', 'quality.inner_acceptance'} <= set(values)
    assert {'quality.stuck_auxiliaries', 'quality.relevance', 'state'} <= set(values)


def test_belief_is_live_while_somebody_pushes_and_what_is_kept_is_the_same(make_session):
    session = make_session(silence='zero').start()
    session.wait(lambda: session.statuses[-1].tables_ready == 7)
    assert session.statuses[-1].tables_wanted == 7
    plan = session.plans[0]
    session.play(plan)

    # Felt, before anything is told: the belief follows the hand.
    session.contact(plan)
    for shift_m in ([0.0, -0.02, 0.0], [0.0, -0.05, -0.02]):
        count = len(session.lives)
        session.hold_away(shift_m, lambda count=count: len(session.lives) > count)
    assert session.lives[-1][1] != session.lives[0][1]
    assert not session.thetas

    # Told, waypoint by waypoint.
    for count in (3, 4, 5):
        known = len(session.lives)
        session.tell(plan, pushed(2, (0.0, -0.05, -0.02), count=count))
        session.wait(lambda known=known: len(session.lives) > known)

    # At the end of the pass: what is kept is that of the method, as without a live belief.
    told = session.whole_pass(pushed(2, (0.0, -0.05, -0.02)))
    parameters = dataclasses.replace(PARAMETERS, silence='zero')
    kept = learned(session.plans, [told], parameters).theta
    session.wait(lambda: session.thetas[-1] == kept)
    status = session.statuses[-1]
    assert all(kept != live for _, live in session.lives)
    assert 0.0 < float(status.quality['live_distance']) < 0.1
    assert float(status.quality['live_points']) > 50.0
    times_sec = np.array([time_sec for time_sec, _ in session.lives])
    assert len(times_sec) <= 2 + 20.0 * (times_sec[-1] - times_sec[0])


def test_without_a_live_belief_no_process_makes_tables(make_session):
    session = make_session(silence='zero', live_belief=False, method='ignore').start()
    session.whole_pass(pushed(2, (0.0, -0.05, -0.02)))
    assert session.node.manager.live is None
    assert session.thetas
    assert not session.lives
    status = session.statuses[-1]
    assert (status.tables_ready, status.tables_wanted, status.tables_fault) == (0, 0, '')
    assert 'live_distance' not in status.quality


def test_where_no_tables_can_be_made_the_status_says_why(make_session):
    session = make_session(silence='left_out', method='ignore').start()
    session.whole_pass(pushed(2, (0.0, -0.05, -0.02)))
    assert not session.lives
    assert 'left_out' in session.statuses[-1].tables_fault
    assert session.statuses[-1].fault == ''


def test_corrections_that_cannot_be_used_end_nothing(make_session):
    session = make_session(method='ignore').start()
    plan = session.plans[0]
    elsewhere = plan_with(plan, times_sec=plan.times_sec + 0.5 * np.arange(8))
    session.play(plan)
    session.complete(session.tell(elsewhere, pushed(1, (0.0, 0.05, 0.0))))
    session.play(plan, 'finished')
    session.wait(lambda: len(session.plans) == 2)
    status = session.settle()
    assert (status.corrections_ns, status.heard) == ((), 1)
    np.testing.assert_array_equal(session.plans[1].positions, plan.positions)


def plan_with(plan, **changes):
    return dataclasses.replace(plan, **changes)


def test_started_again_it_goes_on_from_the_recording(make_session, tmp_path):
    paths = ToolPaths(task=core.load_task('press'))
    plans = [
        paths.plan_of(np.add(paths.task.plan, [0.01 * i, 0, 0]), 10 + 20 * i) for i in range(3)
    ]
    made = make_session(bag=tmp_path / 'bag')
    kept = [made.tell(plans[0], pushed(1, (0.0, 0.05, 0.0), count)) for count in (2, 8)]
    undone = made.tell(plans[1], pushed(1, (0.0, 0.05, 0.0)))
    stamps = (kept[-1].plan_stamp_ns,)
    status = InferenceStatus(
        state=InferenceState.WAITING,
        corrections_ns=stamps,
        considered_ns=stamps,
        data=data_digest(kept[-1:]),
        considered_data=data_digest(kept[-1:]),
        heard=2,
        plan_stamp_ns=plans[-1].stamp_ns,
    )
    records = [
        *((names.PLAN_TOPIC, 'nav_msgs/msg/Path', plan_to_message(plan)) for plan in plans),
        *(
            (names.CORRECTIONS_TOPIC, CORRECTION_TYPE, corrections_to_message(told))
            for told in (*kept, undone)
        ),
        (names.INFERENCE_STATUS_TOPIC, STATUS_TYPE, inference_status_to_message(status)),
    ]
    writer = BagWriter(
        tmp_path / 'bag',
        [describe_topic(f'/{topic}', kind) for topic, kind in {r[:2]: None for r in records}],
    )
    for time_ns, (topic, _, message) in enumerate(records, start=1):
        writer.write(f'/{topic}', time_ns, serialize_message(message))
    writer.close()

    made.node = made.ros.add(RewardInferenceNode(context=made.ros.context))
    made.wait(lambda: made.plans and made.statuses)
    assert made.plans[-1] == plans[-1]
    # All are heard once more, as the recorder keeps them; one pass stays undone.
    made.wait(lambda: made.statuses[-1].state is InferenceState.INFERRING)
    assert made.statuses[-1].corrections_ns == stamps
    assert made.statuses[-1].heard == 2
    made.wait(lambda: made.statuses[-1].learned_data == status.data)
