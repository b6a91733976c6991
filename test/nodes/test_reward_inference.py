"""The inference's node over real DDS: corrections in, θ and plans out."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Path
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from reward_learning_ros import core
from reward_learning_ros.bags.recording import BagWriter
from reward_learning_ros.bags.topics import describe_topic
from reward_learning_ros.interface import (
    Correction,
    InferenceEvent,
    InferenceState,
    InferenceStatus,
)
from reward_learning_ros.learning import Learner, LearningParameters, ToolPaths, learn
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import (
    correction_to_message,
    diagnostic_report_from_message,
    inference_status_from_message,
    inference_status_to_message,
    plan_from_message,
    plan_to_message,
    theta_samples_from_message,
    theta_summary_from_message,
)
from reward_learning_ros.nodes.reward_inference import RewardInferenceNode

# Quick, and trusted whatever the corrections were: what is looked at here is not the sampling.
LEARNING = {'seed': 3, 'target_ess': 100.0, 'max_draws': 3000, 'min_relevance': 0.0}
PARAMETERS = LearningParameters(task='press', **LEARNING)
DEADLINE_SEC = 120.0
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
        self.markers, self.reports = [], []
        for message_type, topic, keep, read in (
            (Path, names.PLAN_TOPIC, self.plans, plan_from_message),
            (Float64MultiArray, names.THETA_TOPIC, self.thetas, theta_summary_from_message),
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
                names.TOPIC_QOS[topic],
            )
        self._corrections = self.person.create_publisher(
            MultiDOFJointTrajectory, names.CORRECTIONS_TOPIC, names.CORRECTIONS_QOS
        )
        self.node = None
        self.sent = 0

    def start(self):
        self.node = self.ros.add(RewardInferenceNode(context=self.ros.context))
        self.wait(self._is_ready)
        return self

    def _is_ready(self):
        state = self.statuses[-1].state if self.statuses else None
        return self.plans and state is InferenceState.WAITING

    def wait(self, condition):
        self.ros.wait_until(condition, DEADLINE_SEC)

    def correct(self, plan, delta, onset):
        """Send a correction of a plan, from a waypoint on; return it."""
        self.sent += 1
        moved = np.arange(len(plan.positions)) >= onset
        correction = Correction(
            stamp_ns=plan.stamp_ns + self.sent,
            frame_id=plan.frame_id,
            tool_frame='fr3_hand_tcp',
            plan_stamp_ns=plan.stamp_ns,
            delta_positions=moved[:, None] * np.asarray(delta, dtype=float),
            delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(moved), 1)),
            times_sec=plan.times_sec,
            onset_waypoint=onset,
            onset_time_sec=float(plan.times_sec[onset]),
            duration_sec=1.0,
            peak_force=10.0,
            confidence=1.0,
        )
        self._corrections.publish(correction_to_message(correction))
        return correction

    def settle(self, corrections):
        """Wait until the node has made of so many corrections what it could."""
        self.wait(
            lambda: (
                len(self.statuses[-1].corrections_ns) == corrections
                and self.statuses[-1].is_settled
            )
        )
        return self.statuses[-1]

    def call(self, service):
        client = self.person.create_client(Trigger, service)
        return self.ros.call(client, Trigger.Request(), DEADLINE_SEC)


@pytest.fixture
def make_session(make_ros):
    return lambda **parameters: Session(make_ros, **parameters)


def learned(plans, corrections):
    """Learn offline from what was on the wire."""
    learner = Learner(ToolPaths(task=core.load_task('press')))
    for plan in plans:
        learner.add_plan(plan)
    for correction in corrections:
        learner.add_correction(correction)
    return learn(PARAMETERS, learner.sequences())


def test_it_learns_shows_undoes_resets_and_survives_its_worker(make_session):
    session = make_session().start()
    task = core.load_task('press')
    initial = session.plans[0]
    np.testing.assert_array_equal(initial.positions, task.plan)

    # A correction: θ and another plan.
    first = session.correct(initial, (0.0, 0.08, -0.05), 2)
    status = session.settle(1)
    assert status.event is InferenceEvent.LEARNED
    assert status.learned_from_ns == (first.stamp_ns,)
    assert not status.reasons
    assert float(status.quality['max_r_hat']) < 1.1
    session.wait(lambda: len(session.plans) == 2 and session.thetas)
    plan = session.plans[-1]
    assert status.plan_stamp_ns == plan.stamp_ns > initial.stamp_ns

    # The same to the last digit as offline.
    lesson = learned(session.plans, [first])
    assert session.thetas[-1] == lesson.theta
    assert session.samples[-1] == lesson.samples
    np.testing.assert_array_equal(plan.positions, lesson.plan.positions)

    # Several at once, also of the plan that is learned: only the newest state counts.
    others = [session.correct(plan, (0.05, 0.0, 0.0), onset) for onset in (2, 4, 6)]
    status = session.settle(4)
    lesson = learned(session.plans, [first, *others])
    session.wait(lambda: session.thetas[-1] == lesson.theta)
    finished = [s for s in session.statuses if s.event is InferenceEvent.LEARNED]
    assert len({s.considered_ns for s in finished}) < 4 + 1

    # Undo: the last one no longer counts, and what it corrected is shown meanwhile.
    shown = session.plans[-1]
    assert session.call(names.INFERENCE_UNDO_SERVICE).message == '3 corrections are left'
    status = session.settle(3)
    assert status.learned_from_ns == (first.stamp_ns, *(c.stamp_ns for c in others[:2]))
    assert any(s.event is InferenceEvent.UNDONE for s in session.statuses)
    assert session.plans[-1].stamp_ns > shown.stamp_ns
    assert session.thetas[-1] == learned(session.plans, [first, *others[:2]]).theta

    # Reset: the initial plan again.
    assert session.call(names.INFERENCE_RESET_SERVICE).success
    status = session.settle(0)
    assert status.event is InferenceEvent.RESET
    session.wait(lambda: session.plans[-1].stamp_ns == status.plan_stamp_ns)
    np.testing.assert_array_equal(session.plans[-1].positions, task.plan)
    assert not session.call(names.INFERENCE_UNDO_SERVICE).success

    # The process that learns is killed: another one takes over.
    os.kill(session.node.inferring.worker.process_id, signal.SIGKILL)
    last = session.correct(session.plans[-1], (0.05, 0.0, 0.0), 3)
    status = session.settle(1)
    assert status.learned_from_ns == (last.stamp_ns,)
    assert status.fault == ''
    assert any('died' in status.fault for status in session.statuses)

    # What is drawn and reported.
    spaces = {marker.ns for message in session.markers for marker in message.markers}
    assert {'plan', 'corrections', 'scene/goal'} <= spaces
    session.wait(lambda: session.reports)
    values = session.reports[-1].diagnostics[0].values
    assert {'quality.max_r_hat', 'quality.min_ess_bulk', 'quality.inner_acceptance'} <= set(values)
    assert {'quality.stuck_auxiliaries', 'quality.relevance', 'state'} <= set(values)


def test_started_again_it_goes_on_from_the_recording(make_session, tmp_path):
    paths = ToolPaths(task=core.load_task('press'))
    plans = [paths.initial_plan(10), paths.plan_of(np.add(paths.task.plan, [0.02, 0, 0]), 50)]
    made = make_session(bag=tmp_path / 'bag')
    kept, undone = (made.correct(plans[0], (0.0, 0.05, 0.0), onset) for onset in (2, 4))
    status = InferenceStatus(
        state=InferenceState.WAITING,
        corrections_ns=(kept.stamp_ns,),
        considered_ns=(kept.stamp_ns,),
        heard=2,
        plan_stamp_ns=50,
    )
    records = [
        (names.PLAN_TOPIC, 'nav_msgs/msg/Path', plan_to_message(plans[0])),
        (names.CORRECTIONS_TOPIC, CORRECTION_TYPE, correction_to_message(kept)),
        (names.CORRECTIONS_TOPIC, CORRECTION_TYPE, correction_to_message(undone)),
        (names.PLAN_TOPIC, 'nav_msgs/msg/Path', plan_to_message(plans[1])),
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
    assert made.plans[-1] == plans[1]
    # Both corrections are heard once more, as the recorder keeps them; one stays undone.
    made.wait(lambda: made.statuses[-1].state is InferenceState.INFERRING)
    assert made.statuses[-1].corrections_ns == (kept.stamp_ns,)
    assert made.statuses[-1].heard == 2
