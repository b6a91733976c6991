"""Run a session. Until sessions exist: two nodes send each other a plan and a correction."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.nodes.smoke_parameters import CALLER, ECHO, SmokeParameters
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import from_arguments, to_mapping

NAME = 'session'
HELP = 'a session; for now a smoke run of two nodes over DDS'

# What Python, rclpy and the discovery may take on a busy machine, beyond the caller's own time.
_START_SEC = 30.0
_STOP_SEC = 10.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the smoke run."""
    add_parameters(parser, SmokeParameters, exclude=('role',))


def run(options: argparse.Namespace) -> int:
    """Start two processes, wait for what was sent to come back, and return the exit code.

    Raises:
        RewardLearningError: There is no ROS 2, or a process does not end.
    """
    config = from_arguments(SmokeParameters, options)
    if importlib.util.find_spec('rclpy') is None:
        raise RewardLearningError(
            'no ROS 2 in this Python; `reward_learning doctor` tells what to do'
        )
    print('There is no session yet. This is a smoke run: two processes, real DDS.')
    print(f'A plan of {config.waypoints} waypoints and a correction go over and come back.')
    sys.stdout.flush()
    started = time.monotonic()
    # A namespace of its own: another smoke run in the same domain must not answer.
    namespace = f'/smoke_{os.getpid()}_{secrets.token_hex(4)}'
    with _node(ECHO, config, namespace), _node(CALLER, config, namespace) as caller:
        try:
            exit_code = caller.wait(timeout=config.timeout_sec + _START_SEC)
        except subprocess.TimeoutExpired:
            raise RewardLearningError('the calling node does not end') from None
    if exit_code == 0:
        print(f'Both came back equal, after {time.monotonic() - started:.1f} s.')
    else:
        print('The smoke run failed; `reward_learning doctor` may tell why.', file=sys.stderr)
    return exit_code


@contextlib.contextmanager
def _node(role: str, config: SmokeParameters, namespace: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a smoke node in a process of its own until the block ends."""
    arguments = ['--ros-args', '-r', f'__ns:={namespace}', '-r', f'__node:=smoke_{role}']
    for name, value in {**to_mapping(config), 'role': role}.items():
        arguments += ['-p', f'{name}:={value}']
    with _signals_held() as held:
        process = subprocess.Popen(
            [sys.executable, '-m', 'reward_learning_ros.nodes.smoke', *arguments],
            # A laboratory network must not see it, unless asked to.
            env={'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', **os.environ},
            # Ctrl-C is for this process alone, which then ends the others.
            start_new_session=True,
        )
    try:
        for number in held:
            signal.raise_signal(number)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=_STOP_SEC)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _signals_held() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM instead of being interrupted by them.

    Interrupted between the start of a process and the name that it is given, nobody could end it.
    """
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: held.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield held
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
