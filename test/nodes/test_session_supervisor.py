"""Processes of a session: started, started again, and none left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from reward_learning_ros.session.description import NodeDescription, SessionDescription
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.processes import command_of
from reward_learning_ros.session.supervisor import NodeDiedError, Supervisor

DEADLINE_SEC = 60.0


@pytest.fixture
def folder(tmp_path, domain_id, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(domain_id))
    return SessionFolder(path=tmp_path)


def conductor(name='session_conductor', **parameters):
    return NodeDescription(executable='session_conductor', name=name, parameters=parameters)


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
    odd = conductor(watched_nodes=['1', 'true', 'a b'], bag='12', recovers=True)
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
        'from reward_learning_ros.session.description import *\n'
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
