"""The conductor over real services: consents, and a playback that does not answer."""

from __future__ import annotations

import time

import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from reward_learning_ros.arm.playback.requests import MAX_REQUEST_AGE_SEC
from reward_learning_ros.interface import PlaybackState, PlaybackStatus, SessionState
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import playback_status_to_message
from reward_learning_ros.nodes.session_conductor import SessionConductorNode


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

    def tell(self, state):
        status = PlaybackStatus(state=PlaybackState(state), plan_stamp_ns=1)
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


def test_another_operator_takes_a_consent_back(ros, session):
    playback, conductor, operators = session
    hand_over = ros.create_node('third').create_client(Trigger, names.SESSION_HAND_OVER_SERVICE)
    assert ros.call(operators[0], Trigger.Request()).success
    ros.wait_until(lambda: playback.answers)
    assert ros.call(hand_over, Trigger.Request()).success
    assert conductor.machine.state is not SessionState.STARTING
    playback.answers[0].set_result(True)
    ros.wait_until(lambda: playback.stops)


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
