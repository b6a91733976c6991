"""The commands that need ROS, as processes: codes, output, and nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from reward_learning_ros.cli.main import main
from reward_learning_ros.nodes import names
from reward_learning_ros.session.folder import session_lock

COMMAND = [sys.executable, '-c', 'from reward_learning_ros.cli.main import main; exit(main())']


@pytest.fixture
def environment(domain_id):
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}


def run(environment, *arguments):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=180, env=environment
    )


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['--max-passes', '0'], 'max_passes = 0'),
        (['--participant', '../p1'], "participant = '../p1'"),
        (['--task', 'imagined'], 'imagined'),
        (['--resume', '.'], 'holds no session'),
        (['--resume', '.', '--task', 'press'], 'not allowed with it: --task'),
    ],
)
def test_a_bad_option_is_refused_before_anything_starts(tmp_path, arguments, words, capsys):
    folder = [] if '--resume' in arguments else ['--sessions', str(tmp_path)]
    code = main(['session', *arguments, *folder])
    said = capsys.readouterr()
    assert (code, said.out) == (2, '')
    assert words in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ('variable', 'value', 'code'),
    [
        ('ROS_DOMAIN_ID', 'abc', 2),
        ('ROS_DOMAIN_ID', '-1', 2),
        ('ROS_DOMAIN_ID', '233', 2),
        ('RMW_IMPLEMENTATION', 'rmw_imagined_cpp', 1),
    ],
)
def test_an_environment_that_ros_cannot_start_in_is_refused_in_one_line(
    tmp_path, monkeypatch, capsys, variable, value, code
):
    monkeypatch.setenv(variable, value)
    for command in (['session', '--sessions', str(tmp_path)], ['recover']):
        assert main(command) == code
        said = capsys.readouterr().err
        assert f"{variable} is '{value}'" in said
        assert said.count('\n') == 1
    # Nothing was begun: the trial's number is still free.
    assert list(tmp_path.iterdir()) == []


def test_a_session_beside_another_one_is_refused(environment, tmp_path):
    with session_lock(int(environment['ROS_DOMAIN_ID']), '', 'pilot/p01'):
        done = run(environment, 'session', '--sessions', str(tmp_path))
    assert done.returncode == 1
    assert 'a session runs already in ROS domain' in done.stderr
    assert 'pilot/p01' in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_says_that_the_ros_of_the_tests_works(environment):
    done = run(environment, 'doctor', '--json', '--seconds', '0.1')
    report = json.loads(done.stdout)
    found = {finding['name']: finding for finding in report['findings']}
    assert (done.returncode == 0) == report['ready']
    assert found['middleware']['state'] == 'ok'
    assert found['message packages']['state'] == 'ok'
    assert found['ROS domain']['found'] == environment['ROS_DOMAIN_ID']
    assert report['ready'] == all(item['state'] != 'missing' for item in report['findings'])


def test_the_doctor_says_no_to_a_middleware_that_is_not_there(environment):
    environment = {**environment, 'RMW_IMPLEMENTATION': 'rmw_imagined_cpp'}
    done = run(environment, 'doctor', '--json', '--seconds', '0.1')
    assert done.returncode == 1
    found = {item['name']: item for item in json.loads(done.stdout)['findings']}
    assert found['middleware']['state'] == 'missing'
    assert 'RMW_IMPLEMENTATION' in found['middleware']['advice']


def test_the_doctor_finds_an_arm(make_ros, environment):
    ros = make_ros()
    arm = ros.create_node('arm', namespace='/fr3')
    # The type of robot_state may not be installed: this arm does not tell its mode.
    told = [topic for topic in names.REQUIRED_ARM_TOPICS if topic != names.ROBOT_STATE_TOPIC]
    for topic in told:
        kind = PoseStamped if topic == names.CURRENT_POSE_TOPIC else JointState
        publisher = arm.create_publisher(kind, topic, names.ROBOT_STATE_QOS)
        arm.create_timer(0.01, lambda p=publisher, k=kind: p.publish(k()))
    doctor = subprocess.Popen(
        [*COMMAND, 'doctor', '--json', '--arm', 'franka', '--namespace', 'fr3', '--seconds', '5'],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    ros.wait_until(lambda: doctor.poll() is not None, timeout_sec=180.0)
    report = json.loads(doctor.communicate()[0])
    states = {item['name']: item['state'] for item in report['findings']}
    assert states[f'/fr3/{names.ROBOT_STATE_TOPIC}'] == 'missing'
    for topic in report['topics']:
        if topic['topic'].removeprefix('/fr3/') in told:
            assert topic['required']
            assert states[topic['topic']] == 'ok'
            assert topic['rate_hz'] > 0
            assert topic['reliability'] == ['best_effort']
    assert (doctor.returncode == 0) == report['ready'] == ('missing' not in states.values())
