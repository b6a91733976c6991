"""The conductor over real services: consents, and a playback that does not answer."""

from __future__ import annotations

import time

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from reward_learning_ros.interface import (
    Diagnostic,
    DiagnosticReport,
    InferenceState,
    InferenceStatus,
    Level,
    PlaybackState,
    PlaybackStatus,
    RecorderStatus,
    SessionEnd,
    SessionState,
)
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import (
    diagnostic_report_to_message,
    inference_status_to_message,
    playback_status_to_message,
    recorder_status_to_message,
)
from reward_learning_ros.nodes.session_conductor import SessionConductorNode
from reward_learning_ros.playback.requests import MAX_REQUEST_AGE_SEC
from reward_learning_ros.session.session_transitions import Action


class SlowPlayback(Node):
    """Playback as far as a conductor sees it; it answers a request when it is told to."""

    def __init__(self, context):
        super().__init__('trajectory_playback', context=context)
        self.answers: list[Future] = []
        self._publisher = self.create_publisher(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, names.LATCHED_QOS
        )
        self.stops = 0
        group = ReentrantCallbackGroup()
        self.create_service(
            Trigger, names.PLAYBACK_START_SERVICE, self._on_start, callback_group=group
        )
        self.create_service(
            Trigger, names.PLAYBACK_STOP_SERVICE, self._on_stop, callback_group=group
        )
        self.tell('idle')

    def tell(self, state, plan_stamp_ns=1, **values):
        status = PlaybackStatus(state=PlaybackState(state), plan_stamp_ns=plan_stamp_ns, **values)
        self._publisher.publish(playback_status_to_message(status))

    async def _on_start(self, request, response):
        answer = Future()
        self.answers.append(answer)
        response.success = await answer
        return response

    def _on_stop(self, request, response):
        self.stops += 1
        response.success = True
        return response


@pytest.fixture
def session(ros):
    """A conductor that is ready for a consent, its playback, and two operators."""
    playback = ros.add(SlowPlayback(ros.context))
    conductor = ros.add(SessionConductorNode(context=ros.context))
    operators = [
        ros.create_node(f'operator{number}').create_client(Trigger, names.SESSION_BEGIN_SERVICE)
        for number in range(2)
    ]
    ros.wait_until(lambda: all(operator.service_is_ready() for operator in operators))
    ros.wait_until(lambda: conductor.machine.state is SessionState.READY)
    ros.wait_until(lambda: conductor.count_services(names.PLAYBACK_START_SERVICE))
    return playback, conductor, operators


def let_look(ros, conductor):
    """Let the conductor look again: for it, the time that a test takes to make a node is a sleep.

    What is asked during a sleep is refused.
    """
    looked_sec = conductor._request_ages._awake_sec
    ros.wait_until(lambda: conductor._request_ages._awake_sec > looked_sec)


def test_of_two_operators_at_once_one_moves_the_arm(ros, session):
    playback, conductor, operators = session
    calls = [operator.call_async(Trigger.Request()) for operator in operators]
    ros.wait_until(lambda: all(call.done() for call in calls))
    assert sorted(call.result().success for call in calls) == [False, True]
    ros.wait_until(lambda: playback.answers)
    playback.answers[0].set_result(True)
    playback.tell('playing')
    ros.wait_until(lambda: conductor.machine.state is SessionState.PLAYING)
    assert len(playback.answers) == 1


def test_a_playback_that_never_answers_blocks_nobody_and_is_stopped_if_it_does_at_last(
    ros, session
):
    playback, conductor, operators = session
    assert ros.call(operators[0], Trigger.Request()).success
    ros.wait_until(lambda: playback.answers)
    assert conductor.machine.state is SessionState.STARTING
    ros.wait_until(lambda: conductor.machine.state is SessionState.READY)
    assert 'did not answer in time' in conductor.machine.status.reason
    # The next consent is asked for, and the late grant of the first one is taken back.
    assert ros.call(operators[1], Trigger.Request()).success
    ros.wait_until(lambda: len(playback.answers) == 2)
    playback.answers[0].set_result(True)
    ros.wait_until(lambda: playback.stops)


def test_a_recording_that_fails_is_said_at_once_and_nothing_begins(ros, session):
    playback, conductor, operators = session
    recorder = ros.create_node('session_recorder')
    publisher = recorder.create_publisher(
        DiagnosticArray, names.DIAGNOSTICS_TOPIC, names.DIAGNOSTICS_QOS
    )
    ros.wait_until(publisher.get_subscription_count)

    def tell(level, message):
        diagnostic = Diagnostic(name='session_recorder', level=level, message=message)
        report = DiagnosticReport(stamp_ns=1, diagnostics=(diagnostic,))
        publisher.publish(diagnostic_report_to_message(report))

    tell(Level.ERROR, 'messages are lost: no room')
    ros.wait_until(lambda: 'no room' in conductor.machine.status.reason)
    assert conductor.machine.state is SessionState.WAITING
    answer = ros.call(operators[0], Trigger.Request())
    assert not answer.success
    assert 'no room' in answer.message
    assert playback.answers == []
    tell(Level.WARN, 'recording, but 3 messages could not be written')
    ros.wait_until(lambda: conductor.machine.state is SessionState.READY)


def test_another_operator_takes_a_consent_back(ros, session):
    playback, conductor, operators = session
    hand_over = ros.create_node('third').create_client(Trigger, names.SESSION_HAND_OVER_SERVICE)
    let_look(ros, conductor)
    assert ros.call(operators[0], Trigger.Request()).success
    ros.wait_until(lambda: playback.answers)
    assert ros.call(hand_over, Trigger.Request()).success
    assert conductor.machine.state is not SessionState.STARTING
    playback.answers[0].set_result(True)
    ros.wait_until(lambda: playback.stops)


def test_another_operator_stops_a_motion_that_is_granted_and_not_seen_yet(ros, session):
    playback, conductor, operators = session
    hand_over = ros.create_node('third').create_client(Trigger, names.SESSION_HAND_OVER_SERVICE)
    let_look(ros, conductor)
    assert ros.call(operators[0], Trigger.Request()).success
    ros.wait_until(lambda: playback.answers)
    playback.answers[0].set_result(True)
    ros.wait_until(lambda: conductor.machine.state is SessionState.DEPARTING)
    assert ros.call(hand_over, Trigger.Request()).success
    ros.wait_until(lambda: playback.stops)
    assert conductor.machine.state is SessionState.HOLDING


def test_playback_that_dies_with_a_request_under_way_blocks_nobody(ros, session):
    playback, conductor, operators = session
    assert ros.call(operators[0], Trigger.Request()).success
    ros.wait_until(lambda: playback.answers)
    ros.remove(playback)
    ros.wait_until(lambda: conductor.machine.state is SessionState.READY)
    assert 'did not answer in time' in conductor.machine.status.reason
    another = ros.add(SlowPlayback(ros.context))
    ros.wait_until(lambda: conductor.count_services(names.PLAYBACK_START_SERVICE))
    ros.wait_until(lambda: conductor._playback_clients[Action.START].service_is_ready())
    assert another.answers == []
    let_look(ros, conductor)
    assert ros.call(operators[1], Trigger.Request()).success
    ros.wait_until(lambda: another.answers)


def test_while_playback_moves_the_arm_unwatched_it_is_stopped_and_nothing_is_recovered(make_ros):
    ros = make_ros('--ros-args', '-p', 'watched_nodes:=[nobody]')
    playback = ros.add(SlowPlayback(ros.context))
    conductor = ros.add(SessionConductorNode(context=ros.context))
    recover = ros.create_node('operator').create_client(Trigger, names.SESSION_RECOVER_SERVICE)
    playback.tell('playing')
    ros.wait_until(lambda: conductor.machine.is_arm_moving)
    response = ros.call(recover, Trigger.Request())
    assert not response.success
    assert 'playback moves the arm' in response.message
    ros.wait_until(lambda: playback.stops)


def test_a_stop_shorter_than_a_look_takes_the_consent_to_further_passes_away(make_ros):
    ros = make_ros('--ros-args', '-p', 'consent:=first_pass')
    playback = ros.add(SlowPlayback(ros.context))
    conductor = ros.add(SessionConductorNode(context=ros.context))
    begin = ros.create_node('operator').create_client(Trigger, names.SESSION_BEGIN_SERVICE)
    ros.wait_until(lambda: conductor.machine.state is SessionState.READY)
    assert ros.call(begin, Trigger.Request()).success
    ros.wait_until(lambda: playback.answers)
    playback.answers[0].set_result(True)
    playback.tell('playing')
    ros.wait_until(lambda: conductor.machine.state is SessionState.PLAYING)
    assert conductor.machine.is_covered
    playback.tell('finished', not_ready='the user stop is pressed')
    ros.wait_until(lambda: conductor._playback.not_ready)
    assert not conductor.machine.is_covered


def test_a_consent_that_waited_while_the_conductor_slept_is_refused(ros, session):
    playback, _, operators = session
    call = operators[0].call_async(Trigger.Request())
    # Nobody spins: for them it is a sleep.
    time.sleep(MAX_REQUEST_AGE_SEC + 0.2)
    ros.wait_until(call.done)
    assert not call.result().success
    assert 's ago' in call.result().message
    assert playback.answers == []
    assert ros.call(operators[0], Trigger.Request()).success
    ros.wait_until(lambda: playback.answers)


class Loop:
    """A conductor that consents by itself, and all that it hears of the others."""

    def __init__(self, make_ros):
        self.ros = make_ros(
            *('--ros-args', '-p', 'consent:=none', '-p', 'quiet_pass_accepts:=true')
        )
        self.playback = self.ros.add(SlowPlayback(self.ros.context))
        others = self.ros.create_node('others')
        self._inference, self._recorder = (
            others.create_publisher(DiagnosticStatus, topic, names.LATCHED_QOS)
            for topic in (names.INFERENCE_STATUS_TOPIC, names.RECORDER_STATUS_TOPIC)
        )
        self.infer(1)
        self.conductor = self.ros.add(SessionConductorNode(context=self.ros.context))

    def infer(self, plan_stamp_ns, **values):
        status = InferenceStatus(
            state=InferenceState.WAITING, plan_stamp_ns=plan_stamp_ns, **values
        )
        self._inference.publish(inference_status_to_message(status))

    def record(self, **values):
        self._recorder.publish(recorder_status_to_message(RecorderStatus(**values)))

    @property
    def status(self):
        return self.conductor.machine.status

    def wait(self, condition):
        self.ros.wait_until(condition)

    def play(self, plan_stamp_ns):
        """Let the session begin a pass."""
        count = len(self.playback.answers)
        self.wait(lambda: len(self.playback.answers) > count)
        self.playback.answers[-1].set_result(True)
        self.playback.tell('playing', plan_stamp_ns)
        self.wait(lambda: self.status.state is SessionState.PLAYING)

    def look(self):
        """Let the conductor look at the others a few times."""
        looks = []
        timer = self.conductor.create_timer(0.1, lambda: looks.append(None))
        self.wait(lambda: len(looks) >= 5)
        self.conductor.destroy_timer(timer)


def test_the_next_pass_waits_for_another_plan_that_playback_has_taken(make_ros):
    loop = Loop(make_ros)
    loop.play(1)
    loop.infer(1, corrections_ns=(1,), considered_ns=(1,), pushes=2)
    loop.wait(lambda: loop.status.corrections == 2)
    loop.playback.tell('finished', 1)
    loop.wait(lambda: loop.status.state is SessionState.INFERRING)
    # Settled, but of the plan that was played.
    loop.look()
    assert loop.status.state is SessionState.INFERRING
    # Another plan, which playback does not have yet.
    loop.infer(2, corrections_ns=(1,), considered_ns=(1,), pushes=2)
    loop.look()
    assert loop.status.state is SessionState.INFERRING
    assert len(loop.playback.answers) == 1
    loop.playback.tell('finished', 2)
    loop.play(2)
    assert (loop.status.passes, loop.status.corrections) == (2, 2)
    # Nobody pushes this time.
    loop.infer(2, corrections_ns=(1, 2), considered_ns=(1,), pushes=2)
    loop.playback.tell('finished', 2)
    loop.infer(3, corrections_ns=(1, 2), considered_ns=(1, 2), pushes=2)
    loop.playback.tell('finished', 3)
    loop.wait(lambda: loop.status.end is SessionEnd.ACCEPTED)


def test_a_touch_that_moved_nothing_accepts_nothing(make_ros):
    loop = Loop(make_ros)
    loop.play(1)
    loop.record(in_contact=True)
    loop.look()
    loop.playback.tell('finished', 1)
    loop.infer(2)
    loop.playback.tell('finished', 2)
    loop.look()
    # No plan is accepted, and no pass begins, while somebody pushes.
    assert loop.status.state is SessionState.INFERRING
    loop.record(plan_stamp_ns=1, is_complete=True)
    loop.play(2)
    assert loop.status.end is None


def test_a_plan_whose_pass_ended_before_the_conductor_was_there_is_not_played_again(make_ros):
    loop = Loop(make_ros)
    loop.record(plan_stamp_ns=1, is_complete=True)
    loop.wait(lambda: loop.conductor._recorder.is_complete)
    asked = len(loop.playback.answers)
    loop.look()
    assert len(loop.playback.answers) == asked
    assert loop.status.state is not SessionState.READY
