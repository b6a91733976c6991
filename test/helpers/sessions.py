"""A session of `reward_learning session` as its operator sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from helpers.ros import PrivateRos
from reward_learning_ros.interface import (
    PlaybackState,
    SessionState,
    playback_status_from_message,
    session_status_from_message,
)
from reward_learning_ros.nodes import names

COMMAND = [sys.executable, '-m', 'reward_learning_ros.cli', 'session']
# Generous: a machine may be busy, and the first run compiles.
DEADLINE_SEC = 500.0
_MARK = 'REWARD_LEARNING_TEST_SESSION'


class OperatedSession:
    """A session in a domain of its own, its processes, and an operator who watches it."""

    def __init__(self, domain_id: int, folder: Path) -> None:
        self.folder = folder
        self._mark = f'{domain_id}_{os.getpid()}'
        self._environment = {
            **os.environ,
            'ROS_DOMAIN_ID': str(domain_id),
            _MARK: self._mark,
        }
        self.process: subprocess.Popen[str] | None = None
        self.lines: list[str] = []
        self.ros = PrivateRos(domain_id)
        self.operator = self.ros.create_node('operator')
        self.playback = None
        self.session = None
        self.desired = None
        for message_type, topic, attribute, read, qos in (
            (
                DiagnosticStatus,
                names.PLAYBACK_STATUS_TOPIC,
                'playback',
                playback_status_from_message,
                names.LATCHED_QOS,
            ),
            (
                DiagnosticStatus,
                names.SESSION_STATUS_TOPIC,
                'session',
                session_status_from_message,
                names.LATCHED_QOS,
            ),
            (
                JointState,
                names.DESIRED_JOINT_STATES_TOPIC,
                'desired',
                lambda message: message,
                names.ROBOT_STATE_QOS,
            ),
        ):
            self.operator.create_subscription(
                message_type,
                topic,
                lambda message, attribute=attribute, read=read: setattr(
                    self, attribute, read(message)
                ),
                qos,
            )

    def start(self, *options: str) -> None:
        """Start the command; its lines are collected."""
        self.process = subprocess.Popen(
            [*COMMAND, *options],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A test run in the background of a shell inherits that SIGINT is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        threading.Thread(target=self._collect, args=(self.process,), daemon=True).start()

    def _collect(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(line.rstrip())

    def wait_until(self, condition) -> None:
        """Wait for something to become true, as long as the session runs."""
        try:
            self.ros.wait_until(lambda: condition() or not self.runs, DEADLINE_SEC)
        except TimeoutError:
            raise TimeoutError(
                '\n'.join([*self.lines[-20:], str(self.session), str(self.playback)])
            ) from None
        assert condition(), '\n'.join(self.lines[-20:])

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def wait(self) -> int:
        """Wait for the end of the command, and return its exit code."""
        assert self.process is not None
        self.ros.wait_until(lambda: not self.runs, DEADLINE_SEC)
        return self.process.returncode

    def call(self, service: str):
        client = self.operator.create_client(Trigger, service)
        return self.ros.call(client, Trigger.Request(), DEADLINE_SEC)

    @property
    def is_playing(self) -> bool:
        """Whether playback plays, and the session says so too: each is heard by itself."""
        return (
            self.playback is not None
            and self.playback.state is PlaybackState.PLAYING
            and self.session is not None
            and self.session.state is SessionState.PLAYING
        )

    @property
    def is_moving(self) -> bool:
        return self.desired is not None and bool(np.any(self.desired.velocity))

    def processes(self) -> dict[int, str]:
        """Return the command line of each process that carries this session's mark."""
        found = {}
        for entry in os.listdir('/proc'):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                with open(f'/proc/{entry}/environ', 'rb') as file:
                    is_ours = f'{_MARK}={self._mark}'.encode() in file.read().split(b'\0')
                with open(f'/proc/{entry}/cmdline', 'rb') as file:
                    words = file.read().decode().split('\0')
            except OSError:
                continue
            if is_ours and words != ['']:
                found[int(entry)] = ' '.join(words)
        return found

    def await_no_processes(self) -> None:
        """Wait until nothing of the session is left; the last ones end with their parent."""
        try:
            self.ros.wait_until(lambda: not self.processes())
        except TimeoutError:
            raise TimeoutError(f'left: {self.processes()}') from None

    def pid_of(self, node: str) -> int | None:
        """Return the id of a node's process; None while there is none."""
        module = f'reward_learning_ros.nodes.{node} '
        found = [pid for pid, command in self.processes().items() if module in command]
        return found[0] if found else None

    def close(self) -> None:
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if self.process is not None:
            self.process.wait()
        self.ros.close()
