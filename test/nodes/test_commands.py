"""The commands that need ROS, as processes: codes, output, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from reward_learning_ros.nodes import names

COMMAND = [sys.executable, '-c', 'from reward_learning_ros.cli.main import main; exit(main())']


@pytest.fixture
def environment(domain_id):
    return {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}


def run(environment, *arguments):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=120, env=environment
    )


def processes_with(text):
    """Return the ids of the processes whose environment contains a text."""
    found = []
    for entry in os.listdir('/proc'):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f'/proc/{entry}/environ', 'rb') as file:
                    if text.encode() in file.read():
                        found.append(int(entry))
            except OSError:
                continue
    return found


@pytest.fixture
def marked(environment, domain_id):
    """Return a mark that every process of the test carries, and the environment with it."""
    mark = f'REWARD_LEARNING_TEST_MARK={domain_id}_{os.getpid()}'
    name, value = mark.split('=')
    return mark, {**environment, name: value}


def test_the_smoke_run_succeeds_and_leaves_nothing_behind(marked):
    mark, environment = marked
    done = run(environment, 'session', '--waypoints', '7')
    assert done.returncode == 0, done.stderr
    assert 'There is no session yet' in done.stdout
    assert 'came back equal' in done.stdout
    assert processes_with(mark) == []


def test_two_smoke_runs_in_one_domain_do_not_disturb_each_other(environment):
    both = [
        subprocess.Popen(
            [*COMMAND, 'session', '--seed', str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        for seed in (1, 2)
    ]
    for process in both:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


@pytest.mark.parametrize(('number', 'code'), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_nodes_too(marked, number, code):
    mark, environment = marked
    process = subprocess.Popen(
        [*COMMAND, 'session', '--timeout-sec', '60'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A test run in the background of a shell inherits that SIGINT is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert 'There is no session yet' in process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == code
        assert processes_with(mark) == []
    finally:
        process.kill()
        process.communicate()


def test_a_bad_option_is_refused_before_anything_starts(environment):
    done = run(environment, 'session', '--waypoints', '0')
    assert (done.returncode, done.stdout) == (2, '')
    assert 'SmokeParameters.waypoints = 0' in done.stderr


def test_the_doctor_says_that_the_ros_of_the_tests_works(environment):
    done = run(environment, 'doctor', '--json', '--seconds', '0.1')
    report = json.loads(done.stdout)
    found = {finding['name']: finding for finding in report['findings']}
    assert (done.returncode == 0) == report['ready']
    assert found['middleware']['state'] == 'ok'
    assert found['message packages']['state'] == 'ok'
    assert found['ROS domain']['found'] == environment['ROS_DOMAIN_ID']
    assert report['ready'] == all(item['state'] != 'missing' for item in report['findings'])


def test_the_doctor_says_no_to_a_real_arm_that_is_not_there(environment):
    done = run(environment, 'doctor', '--arm', 'franka', '--seconds', '0.1', '--namespace', 'fr3')
    assert done.returncode == 1
    assert 'MISSING  /fr3/franka_robot_state_broadcaster/current_pose' in done.stdout
    assert 'cannot start' in done.stdout


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
    for topic in names.FRANKA_REQUIRED_TOPICS:
        kind = PoseStamped if topic == names.CURRENT_POSE_TOPIC else JointState
        publisher = arm.create_publisher(kind, topic, names.ROBOT_STATE_QOS)
        arm.create_timer(0.01, lambda p=publisher, k=kind: p.publish(k()))
    doctor = subprocess.Popen(
        [*COMMAND, 'doctor', '--json', '--arm', 'franka', '--namespace', 'fr3', '--seconds', '2'],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    ros.wait_until(lambda: doctor.poll() is not None, timeout_sec=90.0)
    report = json.loads(doctor.communicate()[0])
    states = {item['name']: item['state'] for item in report['findings']}
    for topic in report['topics']:
        if topic['required']:
            assert states[topic['topic']] == 'ok'
            assert topic['rate_hz'] > 0
            assert topic['reliability'] == ['best_effort']
    assert (doctor.returncode == 0) == report['ready'] == ('missing' not in states.values())
