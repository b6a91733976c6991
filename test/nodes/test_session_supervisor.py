"""Processes of a session: started, started again, and none left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from reward_learning_ros.arm.franka import FrankaReleaseError
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.processes import command_of, environment
from reward_learning_ros.session.session_description import NodeDescription, SessionDescription
from reward_learning_ros.session.supervisor import NodeDiedError, Supervisor

DEADLINE_SEC = 60.0


@pytest.fixture
def folder(tmp_path, domain_id, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain_id))
    return SessionFolder(path=tmp_path)


def conductor(name='session_conductor', **parameters):
    return NodeDescription(executable='session_conductor', name=name, parameters=parameters)


def test_nodes_speak_over_loopback_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.delenv('FASTDDS_BUILTIN_TRANSPORTS')
    assert environment()['FASTDDS_BUILTIN_TRANSPORTS'] == 'UDPv4'
    monkeypatch.setenv('FASTDDS_BUILTIN_TRANSPORTS', 'DEFAULT')
    assert environment()['FASTDDS_BUILTIN_TRANSPORTS'] == 'DEFAULT'


def supervise(folder, *nodes):
    reports = []
    return Supervisor(SessionDescription(nodes=nodes), folder, reports.append), reports


def wait_until(condition):
    deadline = time.monotonic() + DEADLINE_SEC
    while not condition():
        assert time.monotonic() < deadline, 'in vain'
        time.sleep(0.02)


def is_up(folder, name):
    log = folder.logs / f'{name}.log'
    return log.is_file() and 'the conductor is up' in log.read_text()


def runs(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            # Where nobody waits for it, an ended process stays as a zombie.
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_a_killed_node_is_reported_and_started_again_and_the_others_stay(folder):
    supervisor, reports = supervise(folder, conductor('one'), conductor('other'))
    with supervisor:
        wait_until(lambda: is_up(folder, 'one') and is_up(folder, 'other'))
        before = {name: process.pid for name, process in supervisor.processes.items()}
        os.kill(before['one'], signal.SIGKILL)
        wait_until(lambda: supervisor.poll() or reports)
        assert supervisor.processes['other'].pid == before['other']
        assert supervisor.processes['one'].pid != before['one']
        assert 'one was killed by SIGKILL' in reports[0]
        assert 'the conductor is up' in reports[0]
    assert not any(process.is_running for process in supervisor.processes.values())
    assert supervisor.processes['other'].exit_code == 0


def test_a_refused_parameter_is_not_tried_again(folder):
    supervisor, _ = supervise(folder, conductor(max_passes=0))
    with pytest.raises(NodeDiedError, match=r'max_passes = 0'), supervisor:
        wait_until(supervisor.poll)
    assert supervisor.processes['session_conductor'].starts == 1


def test_parameters_arrive_as_they_are(folder):
    # Refused only if text stays text and lists stay lists.
    odd = conductor(watched_nodes=['1', 'true', 'a b'], bag='12', quiet_pass_accepts=True)
    command = command_of(odd)
    assert 'watched_nodes:=["1", "true", "a b"]' in command
    supervisor, _ = supervise(folder, odd)
    with supervisor:
        wait_until(lambda: is_up(folder, 'session_conductor'))
        wait_until(
            lambda: (
                'waiting for 1, true, a b' in (folder.logs / 'session_conductor.log').read_text()
            )
        )


def test_nodes_do_not_outlive_a_killed_supervisor(folder):
    code = (
        'import sys, time\n'
        'from pathlib import Path\n'
        'from reward_learning_ros.session.session_description import *\n'
        'from reward_learning_ros.session.folder import SessionFolder\n'
        'from reward_learning_ros.session.supervisor import Supervisor\n'
        'node = NodeDescription(executable="session_conductor", name="session_conductor")\n'
        'with Supervisor(SessionDescription(nodes=(node,)),\n'
        '                SessionFolder(path=Path(sys.argv[1])), print) as supervisor:\n'
        '    print(supervisor.processes["session_conductor"].pid, flush=True)\n'
        '    time.sleep(600)\n'
    )
    parent = subprocess.Popen(
        [sys.executable, '-c', code, str(folder.path)], stdout=subprocess.PIPE, text=True
    )
    child = int(parent.stdout.readline())
    wait_until(lambda: is_up(folder, 'session_conductor'))
    parent.kill()
    parent.communicate()
    wait_until(lambda: not runs(child))


# Interrupted, it tells which of the others still run, and ends.
BRINGUP = """
import os, signal, sys

folder = sys.argv[0].rpartition('/bin/')[0]

def end(number, frame):
    with open(folder + '/pids') as file:
        pids = dict(line.split() for line in file)
    with open(folder + '/running', 'w') as file:
        file.write(' '.join(name for name, pid in pids.items() if os.path.exists('/proc/' + pid)))
    sys.exit(0)

signal.signal(signal.SIGINT, end)
print('up', flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def set_release(tmp_path, monkeypatch):
    """A bringup that is a program of ours; return what sets the version of franka_ros2."""
    program = tmp_path / 'bin' / 'ros2'
    program.parent.mkdir()
    program.write_text(f'#!{sys.executable}\n{BRINGUP}')
    program.chmod(0o755)
    monkeypatch.setenv('PATH', str(program.parent), prepend=os.pathsep)
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'franka_bringup').touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path), prepend=os.pathsep)

    def set_version(version):
        package = tmp_path / 'share' / 'franka_bringup' / 'package.xml'
        package.parent.mkdir(exist_ok=True)
        package.write_text(f'<package><version>{version}</version></package>')

    set_version('3.4.0')
    return set_version


def supervise_arm(folder, *nodes):
    reports = []
    description = SessionDescription(nodes=nodes, bringup={'robot_ip': '10.0.0.2'})
    return Supervisor(description, folder, reports.append), reports


def is_arm_up(folder):
    log = folder.logs / 'franka_bringup.log'
    return log.is_file() and 'up' in log.read_text()


def test_the_bringup_of_a_real_arm_is_not_started_again(folder, set_release):
    supervisor, reports = supervise_arm(folder, conductor('one'))
    with supervisor:
        wait_until(lambda: is_arm_up(folder))
        os.kill(supervisor.processes['franka_bringup'].pid, signal.SIGKILL)
        with pytest.raises(NodeDiedError, match='franka_bringup was killed by SIGKILL'):
            wait_until(supervisor.poll)
    assert supervisor.processes['franka_bringup'].starts == 1
    assert reports == []


def test_playback_ends_before_the_controllers_and_these_before_the_rest(folder, set_release):
    names = ('trajectory_playback', 'one', 'session_recorder')
    supervisor, _ = supervise_arm(folder, *map(conductor, names))
    with supervisor:
        wait_until(lambda: is_arm_up(folder) and all(is_up(folder, name) for name in names))
        pids = [f'{name} {supervisor.processes[name].pid}' for name in names]
        (folder.path / 'pids').write_text('\n'.join(pids))
        before_sec = time.monotonic()
    # Playback sends motions that end at rest: so long the controllers must follow the last one.
    assert time.monotonic() - before_sec > TrajectoryPlaybackParameters().hold_within_sec
    assert (folder.path / 'running').read_text().split() == ['one', 'session_recorder']
    assert all(process.exit_code == 0 for process in supervisor.processes.values())


def test_without_franka_ros2_no_arm_is_brought_up(folder, set_release, monkeypatch):
    for prefixes in ('', '/nowhere'):
        monkeypatch.setenv('AMENT_PREFIX_PATH', prefixes)
        with pytest.raises(FrankaReleaseError, match='franka_bringup is not installed'):
            supervise_arm(folder)


def test_a_franka_ros2_that_is_too_old_brings_no_arm_up(folder, set_release):
    set_release('3.1.1')
    with pytest.raises(FrankaReleaseError, match=r'v3\.1\.1'):
        supervise_arm(folder)
