"""A node's process ends as it should: cleanly when told to, in one line when misconfigured."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

# A node that says when it spins, under the shell that every node has.
PROGRAM = """
import sys
from rclpy.node import Node
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.nodes.running import NodeFinished, executor_named, run
from reward_learning_ros.session.node_parameters import (
    SessionConductorParameters,
)
from reward_learning_ros.nodes.ros_parameters import declare

executor, behaviour = sys.argv[1:3]

class Example(Node):
    def __init__(self, context):
        super().__init__('example', context=context)
        declare(self, SessionConductorParameters)
        self.create_timer(0.01, self.tick)

    def tick(self):
        print('spinning', flush=True)
        if behaviour == 'finish':
            raise NodeFinished(7)
        if behaviour == 'fail':
            raise RewardLearningError('the arm is gone')
        if behaviour == 'bug':
            raise ZeroDivisionError('a bug')
        if behaviour == 'shut down':
            self.context.try_shutdown()

    def destroy_node(self):
        print('destroyed', flush=True)
        super().destroy_node()

sys.exit(run(Example, sys.argv, make_executor=executor_named(executor)))
"""
_OF_DDS = re.compile(r'RTPS_|\[(RTPS|DDS|SHM)')
EXECUTORS = ['single_threaded', 'multi_threaded', 'events']


@pytest.fixture
def start(domain_id):
    started = []

    def start_program(executor, behaviour, *ros_arguments):
        process = subprocess.Popen(
            [sys.executable, '-c', PROGRAM, executor, behaviour, '--ros-args', *ros_arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain_id)},
        )
        started.append(process)
        return process

    yield start_program
    for process in started:
        process.kill()
        process.communicate()


def end(process):
    output, errors = process.communicate(timeout=90)
    # Fast DDS may have something to say about shared memory that others left behind.
    ours = [line for line in errors.splitlines(keepends=True) if not _OF_DDS.search(line)]
    return process.returncode, output, ''.join(ours)


@pytest.mark.parametrize('executor', EXECUTORS)
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(start, executor, number):
    process = start(executor, 'spin')
    assert process.stdout.readline() == 'spinning\n'
    process.send_signal(number)
    code, output, errors = end(process)
    assert (code, errors) == (0, '')
    assert output.endswith('destroyed\n')


@pytest.mark.parametrize('executor', EXECUTORS)
def test_a_shutdown_of_the_context_ends_it_cleanly(start, executor):
    code, output, errors = end(start(executor, 'shut down'))
    assert (code, errors) == (0, '')
    assert output.endswith('destroyed\n')


@pytest.mark.parametrize('executor', EXECUTORS)
def test_a_node_can_finish_with_a_code(start, executor):
    code, output, errors = end(start(executor, 'finish'))
    assert code == 7
    assert output.endswith('destroyed\n')
    assert 'Traceback' not in errors


@pytest.mark.parametrize('executor', EXECUTORS)
@pytest.mark.parametrize(
    ('behaviour', 'words'),
    [('fail', '-c: error: the arm is gone\n'), ('bug', 'ZeroDivisionError: a bug\n')],
)
def test_an_error_in_a_callback_ends_it_with_code_1(start, executor, behaviour, words):
    code, output, errors = end(start(executor, behaviour))
    assert code == 1
    assert output.endswith('destroyed\n')
    assert words in errors
    # Only a bug, which nobody raised on purpose, has a traceback.
    assert ('Traceback' in errors) == (behaviour == 'bug')


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['-p', 'max_passes:=0'], 'max_passes = 0: must be a whole number, 1 to 1000'),
        (['-p', 'max_pases:=3'], 'did you mean max_passes?'),
        (['-p', 'max_passes'], "Couldn't parse"),
        (['--params-file', 'absent.yaml'], 'absent.yaml'),
    ],
)
def test_a_bad_configuration_is_one_line_and_code_2(start, arguments, words):
    code, output, errors = end(start('single_threaded', 'spin', *arguments))
    assert (code, output) == (2, '')
    ours = [line for line in errors.splitlines() if line.startswith('-c: error: ')]
    assert len(ours) == 1
    assert words in ours[0]
    assert 'Traceback' not in errors


def test_an_unknown_executor_is_refused_with_those_that_exist(start):
    code, _, errors = end(start('quick', 'spin'))
    assert code == 1
    assert "unknown executor 'quick'; known: events, multi_threaded, single_threaded" in errors
