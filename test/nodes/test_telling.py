"""Marks and answers that are typed while a session is recorded are found in its bag."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from helpers.study_fixtures import small_protocol

from reward_learning_ros.nodes.session_recorder import SessionRecorderNode
from reward_learning_ros.recording.session_records import read_study_records
from reward_learning_ros.study.answering import is_being_recorded
from reward_learning_ros.study.ledger import RUNNING, Ledger
from reward_learning_ros.study.tidy import session_path

COMMAND = [sys.executable, '-m', 'reward_learning_ros.cli']
# An import of ROS on a busy machine.
TIMEOUT_SEC = 180.0


class RecordedTrial:
    """A trial whose session is being recorded, and somebody who types."""

    def __init__(self, make_ros, domain_id, sessions, namespace=''):
        self.sessions = sessions
        self.ledger = Ledger.create(small_protocol(1), sessions / 'pilot')
        self.record = self.ledger.mark('p01', 1, RUNNING)
        self.folder = session_path(self.ledger, self.record)
        self.folder.mkdir(parents=True)
        arguments = ('--ros-args', '-p', f'bag:={self.folder / "bag"}')
        if namespace:
            arguments += ('-r', f'__ns:=/{namespace}')
        self.ros = make_ros(*arguments)
        self.node = self.ros.add(SessionRecorderNode(context=self.ros.context))
        self._environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}

    def type(self, *words):
        process = subprocess.Popen(
            [*COMMAND, *words],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            self.ros.wait_until(lambda: process.poll() is not None, TIMEOUT_SEC)
        finally:
            process.kill()
        return process.returncode, process.communicate()[0]

    def records(self):
        """Return what is in the bag once the recording has ended."""
        self.ros.remove(self.node)
        return read_study_records(self.folder)


def test_what_is_typed_during_a_session_is_in_its_bag(make_ros, domain_id, tmp_path):
    # In a namespace: what is said without one is found by the browser's tests.
    trial = RecordedTrial(make_ros, domain_id, tmp_path, 'left')
    where = ('--namespace', 'left')
    before_ns = time.time_ns()
    code, said = trial.type('mark', 'spilled', '--note', 'née <b>', '--ago', '3', *where)
    assert (code, said) == (0, 'marked: spilled, 3.0 s ago\n')
    assert is_being_recorded(trial.ledger, trial.record)
    answers = ('requirements=6', 'ease=5')
    code, said = trial.type(
        *('study', '--sessions', str(tmp_path), 'answer', 'pilot', 'p01', '1', 'umux_lite'),
        *(*answers, *where, '--json'),
    )
    assert code == 0, said
    assert json.loads(said)['scores']['usability'] == pytest.approx(75.0)
    records = trial.records()
    assert records.problems == ()
    (mark,) = records.marks
    assert (mark.key, mark.note, mark.ago_sec) == ('spilled', 'née <b>', 3.0)
    assert before_ns <= mark.machine_ns <= time.time_ns()
    # The recording's own time, three seconds before the message came.
    assert records.mark_times_ns[0] == pytest.approx(mark.stamp_ns, abs=60e9)
    (given,) = records.answers
    assert dict(given.answers) == {'requirements': '6', 'ease': '5'}
    assert [each.questionnaire for each in trial.ledger.answered()] == ['umux_lite']


def test_where_nobody_records_it_says_so_and_notes_nothing(make_ros, domain_id, tmp_path):
    trial = RecordedTrial(make_ros, domain_id, tmp_path)
    code, said = trial.type('mark', 'spilled', '--namespace', 'left', '--discovery-sec', '0.2')
    assert code == 1
    assert 'nobody records /left/session/marks' in said
    assert trial.records().marks == ()
