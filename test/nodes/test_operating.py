"""`reward_learning call` and `push`: what they do, what they print, with which code they end."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.arm_ros import ARM_ARGUMENTS
from std_srvs.srv import Trigger

from reward_learning_ros.cli.call import REQUESTS
from reward_learning_ros.cli.main import main
from reward_learning_ros.interface import SessionState, SessionStatus
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import session_status_to_message
from reward_learning_ros.nodes.simulated_arm import SimulatedArmNode

COMMAND = [sys.executable, '-m', 'reward_learning_ros.cli']
# An import of ROS on a busy machine.
TIMEOUT_SEC = 120.0


class Operator:
    """Runs a command in a process of its own, while the nodes of a test are spun."""

    def __init__(self, make_ros, domain_id):
        self.ros = make_ros()
        self._environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}

    def run(self, *words, advance=lambda: None):
        process = subprocess.Popen(
            [*COMMAND, *words],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

        def has_ended():
            advance()
            return process.poll() is not None

        try:
            self.ros.wait_until(has_ended, TIMEOUT_SEC)
        finally:
            process.kill()
        output, errors = process.communicate()
        return process.returncode, output, errors


@pytest.fixture
def operator(make_ros, domain_id):
    return Operator(make_ros, domain_id)


class FakeSession:
    """The service of one request, and a session that answers it in a given way."""

    def __init__(self, ros, service, *, namespace='', answer=(True, ''), states=()):
        self.calls = 0
        self._answer = answer
        self._states = states
        node = ros.create_node('session_conductor', namespace=namespace)
        self._publisher = node.create_publisher(
            type(session_status_to_message(SessionStatus(state=SessionState.READY))),
            names.SESSION_STATUS_TOPIC,
            names.LATCHED_QOS,
        )
        self.say(SessionStatus(state=SessionState.READY))
        node.create_service(Trigger, service, self._on_call)

    def say(self, status):
        self._publisher.publish(session_status_to_message(status))

    def _on_call(self, request, response):
        self.calls += 1
        for status in self._states:
            self.say(status)
        response.success, response.message = self._answer
        return response


SERVICES = {
    'begin': names.SESSION_BEGIN_SERVICE,
    'undo': names.INFERENCE_UNDO_SERVICE,
    'hand-over': names.SESSION_HAND_OVER_SERVICE,
    'pause': names.PLAYBACK_PAUSE_SERVICE,
}


@pytest.mark.parametrize('request_name', ['undo', 'hand-over', 'pause'])
def test_a_request_calls_its_service_and_prints_the_answer(operator, request_name):
    session = FakeSession(operator.ros, SERVICES[request_name], answer=(True, 'as you say'))
    code, output, errors = operator.run('call', request_name)
    assert (code, session.calls) == (0, 1), errors
    assert output.startswith(f'{request_name}: as you say; session: ready, pass 0')


def test_a_refusal_says_why_and_has_a_code_of_its_own(operator):
    FakeSession(operator.ros, names.PLAYBACK_PAUSE_SERVICE, answer=(False, 'nothing plays'))
    code, output, _ = operator.run('call', 'pause')
    assert (code, output) == (3, 'pause: refused: nothing plays\n')


def test_a_consent_that_playback_refuses_afterwards_is_a_refusal(operator):
    states = (
        SessionStatus(state=SessionState.STARTING),
        SessionStatus(state=SessionState.WAITING, reason='too stiff to be corrected'),
    )
    FakeSession(operator.ros, names.SESSION_BEGIN_SERVICE, states=states)
    code, output, _ = operator.run('call', 'begin')
    assert code == 3
    assert output.startswith('begin: refused: waiting')
    assert 'too stiff to be corrected' in output


def test_a_consent_is_granted_once_the_arm_departs(operator):
    states = (
        SessionStatus(state=SessionState.STARTING),
        SessionStatus(state=SessionState.DEPARTING, passes=1),
    )
    FakeSession(operator.ros, names.SESSION_BEGIN_SERVICE, namespace='left', states=states)
    code, output, _ = operator.run('call', 'begin', '--namespace', 'left')
    assert (code, output) == (0, 'begin: departing, pass 1, 0 corrections\n')


def test_where_nobody_answers_it_says_where_it_looked(operator):
    words = ('call', 'accept', '--namespace', 'left', '--discovery-sec', '0.2')
    code, output, errors = operator.run(*words)
    assert (code, output) == (1, '')
    assert '/left/session/accept' in errors
    code, output, errors = operator.run('push', '--force', '1', '0', '0', '--discovery-sec', '0.2')
    assert (code, output) == (1, '')
    assert 'no simulated arm' in errors


def test_every_request_is_in_the_help(capsys):
    with pytest.raises(SystemExit):
        main(['call', '--help'])
    said = capsys.readouterr().out
    assert all(f'  {name} ' in said for name in REQUESTS)


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['--force', '1', '2'], 'must be 3 numbers'),
        (['--force', '0', '0', '0'], 'must not be zero'),
        (['--force', '61', '0', '0'], 'force'),
        (['--force', '1', '0', '0', '--seconds', '0'], 'seconds'),
        (['--force', '1', '0', '0', '--link', 'fr3_link4', '--frame', 'fr3_link5'], 'fr3_link4'),
    ],
)
def test_a_push_that_cannot_be_is_refused_before_ros_is_loaded(capsys, words, said):
    assert main(['push', *words]) == 2
    assert said in capsys.readouterr().err


class PushedArm:
    """The simulated arm, as fast as it is computed: a hundredth of a second is many cycles."""

    def __init__(self, make_ros):
        self._ros = make_ros(*ARM_ARGUMENTS)
        self.node = self._ros.add(SimulatedArmNode(context=self._ros.context))
        self.most_torque_nm = np.zeros(7)

    def advance(self):
        for _ in range(10):
            self.node.advance()
            felt = np.abs(self.node.arm.external_torque_nm)
            self.most_torque_nm = np.maximum(self.most_torque_nm, felt)
        self._ros.executor.spin_once(timeout_sec=0.0)


def test_a_push_is_felt_by_the_arm_and_ends(operator, make_ros):
    arm = PushedArm(make_ros)
    words = ('push', '--force', '0', '15', '0', '--seconds', '1')
    code, output, errors = operator.run(*words, advance=arm.advance)
    assert (code, output) == (0, 'push: the tool, 15.0 N for 1 s\n'), errors
    # Half a metre from the base: 15 N are some newton metres about the first joint.
    assert arm.most_torque_nm[0] > 4.0
    operator.ros.wait_until(
        lambda: arm.advance() or np.abs(arm.node.arm.external_torque_nm).max() < 1e-3
    )


def test_a_push_on_a_link_is_along_the_axes_of_the_base(operator, make_ros):
    arm = PushedArm(make_ros)
    words = ('push', '--force', '0', '15', '0', '--link', 'fr3_link4', '--seconds', '1')
    code, output, errors = operator.run(*words, advance=arm.advance)
    assert (code, output) == (0, 'push: fr3_link4, 15.0 N for 1 s\n'), errors
    # At home the elbow lies in the plane y = 0, so a force across it turns the first joint; what
    # is behind the link feels nothing.
    assert arm.most_torque_nm[0] > 0.5
    assert arm.most_torque_nm[4:].max() == 0.0


def test_a_push_that_the_arm_refuses_is_told_with_the_reason(operator, make_ros):
    arm = PushedArm(make_ros)
    words = ('push', '--force', '1', '0', '0', '--seconds', '0.5')
    code, output, _ = operator.run(*words, '--frame', 'world', advance=arm.advance)
    assert code == 3
    assert "'world'" in output
    assert 'fr3_link4' in output
    code, _, errors = operator.run(*words, '--link', 'fr3_link0', advance=arm.advance)
    assert code == 2
    assert 'fr3_link1' in errors
