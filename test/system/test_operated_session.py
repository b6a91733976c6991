"""A session of a person who has only this package's own commands: begin, push, undo, accept."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.domains import claimed_domain
from helpers.sessions import DEADLINE_SEC, OperatedSession

from reward_learning_ros.interface import SessionState
from reward_learning_ros.recording.session_records import read_session

COMMAND = [sys.executable, '-m', 'reward_learning_ros.cli']


class CommandedSession(OperatedSession):
    """A session whose operator only types commands."""

    def __init__(self, domain_id, folder):
        super().__init__(domain_id, folder)
        self._commands_environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}

    def command(self, *words):
        """Run a command to its end; return its code and what it printed."""
        process = subprocess.Popen(
            [*COMMAND, *words],
            env=self._commands_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.ros.wait_until(lambda: process.poll() is not None, DEADLINE_SEC)
        return process.returncode, process.communicate()[0]


@pytest.fixture
def session(tmp_path):
    with claimed_domain() as domain_id:
        session = CommandedSession(domain_id, tmp_path)
        yield session
        session.close()


@pytest.mark.timeout(460)
def test_a_person_needs_no_other_tool(session):
    options = ('--participant-model', 'human', '--realtime', '--consent', 'every_pass')
    session.start(*options, '--task', 'reach', '--seed', '1')
    session.wait_until(
        lambda: session.session is not None and session.session.state is SessionState.READY
    )
    assert any('reward_learning push --force' in line for line in session.lines)
    code, said = session.command('call', 'continue')
    assert (code, said.splitlines()[0][:17]) == (3, 'continue: refused')

    code, said = session.command('call', 'begin')
    assert code == 0, said
    session.wait_until(lambda: session.is_playing)
    code, said = session.command('push', '--force', '0', '18', '0', '--seconds', '1.5')
    assert code == 0, said
    session.wait_until(lambda: session.session.corrections > 0)
    session.wait_until(lambda: session.session.state is SessionState.READY)
    code, said = session.command('call', 'accept')
    assert code == 0, said
    assert session.wait() == 0, '\n'.join(session.lines)
    records = read_session(session.folder / 'sessions' / 'demo' / 'p01' / '001')
    assert sum(record.pushes for record in records.corrections) > 0
