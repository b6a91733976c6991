"""One node of a session as a process: its command line, its log, its end."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.session.node_parameters import CONSOLE

if TYPE_CHECKING:
    from reward_learning_ros.session.session_description import NodeDescription

PACKAGE = 'reward_learning_ros'

# How much of a log is read for its tail.
_TAIL_BYTES = 4096
_LAST_LINES = 3
_PR_SET_PDEATHSIG = 1
_DOMAIN = 'ROS_DOMAIN_ID'
_MIDDLEWARE = 'RMW_IMPLEMENTATION'
# Ports are 16 bits, and each domain has 250 from 7400 on (DDSI-RTPS 2.5, 9.6.2.3).
_LAST_DOMAIN = 232
# Loaded here: between fork and exec nothing may be imported.
_LIBC = ctypes.CDLL(None) if sys.platform == 'linux' else None


def command_of(node: NodeDescription) -> list[str]:
    """Return the command line that starts a node, as `ros2 launch` would.

    Raises:
        RewardLearningError: The executable is of a package that is not installed.
    """
    if node.package == PACKAGE:
        # By module: this needs no installed executable, and takes this very Python.
        module = CONSOLE if node.executable == CONSOLE else f'nodes.{node.executable}'
        command = [sys.executable, '-m', f'{PACKAGE}.{module}']
    else:
        ros2 = shutil.which('ros2')
        if ros2 is None:
            raise RewardLearningError(
                f'{node.executable} is started by `ros2 run`, and ros2 is not on the PATH'
            )
        command = [ros2, 'run', node.package, node.executable]
    command += [*node.arguments, '--ros-args', '-r', f'__node:={node.name}']
    if node.namespace:
        command += ['-r', f'__ns:=/{node.namespace.strip("/")}']
    for name, value in node.parameters.items():
        # JSON is YAML, which is what ROS reads: text stays text, and 1.0 a number with a point.
        command += ['-p', f'{name}:={json.dumps(value)}']
    for old, new in node.remappings:
        command += ['-r', f'{old}:={new}']
    return command


class NodeProcess:
    """A process in a group of its own, with what it starts itself, and its log in a file.

    Attributes:
        name: of the node.
        starts: how often it was started.
    """

    def __init__(self, name: str, command: list[str], log: Path) -> None:
        self.name = name
        self.starts = 0
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._started_sec = 0.0

    def start(self) -> None:
        """Start the process, or start it again."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open('ab') as log:
            self._process = _popen(self._command, log)
        self.starts += 1
        self._started_sec = time.monotonic()

    @property
    def pid(self) -> int | None:
        """Its id, None before the start."""
        return None if self._process is None else self._process.pid

    @property
    def age_sec(self) -> float:
        """Time since its last start."""
        return time.monotonic() - self._started_sec

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs or before it does."""
        return None if self._process is None else self._process.poll()

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def log_tail(self) -> str:
        """Return the last lines of its log."""
        try:
            with self._log.open('rb') as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
                text = file.read().decode('utf-8', errors='replace')
        except OSError:
            return ''
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return '\n'.join(lines[-_LAST_LINES:])

    def interrupt(self) -> None:
        """Ask it to end, as Ctrl-C does; a node then takes care of what it started."""
        if self._process is not None and self.is_running:
            self._process.send_signal(signal.SIGINT)

    def wait(self, timeout_sec: float) -> bool:
        """Wait for its end; return whether it came."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout=max(timeout_sec, 0.0))
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it and all that it started, at once; also what a process left that died."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _popen(command: list[str], log: BinaryIO) -> subprocess.Popen[bytes]:
    parent = os.getpid()

    def prepare() -> None:
        # Whatever becomes of this process, its nodes do not outlive it.
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)
        # A shell that runs a command in the background lets it ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    options: dict[str, Any] = {
        'stdin': subprocess.DEVNULL,
        'stdout': log,
        'stderr': subprocess.STDOUT,
        # Ctrl-C is for the supervisor alone, which then ends the others in their order.
        'start_new_session': True,
        'env': environment(),
    }
    return subprocess.Popen(command, preexec_fn=prepare, **options)


def check_ros() -> int:
    """Check what the environment says of ROS, and return its domain.

    Raises:
        InvalidInputError: There is no such domain.
        RewardLearningError: There is no ROS 2, or none with this middleware.
    """
    if importlib.util.find_spec('rclpy') is None:
        raise RewardLearningError(
            'no ROS 2 in this Python; `reward_learning doctor` tells what to do'
        )
    text = os.environ.get(_DOMAIN, '') or '0'
    if not is_domain(text):
        raise InvalidInputError(f'{_DOMAIN} is {text!r}; it must be from 0 to {_LAST_DOMAIN}')
    if middleware := os.environ.get(_MIDDLEWARE, ''):
        # Where it is not installed, ROS ends the process that asks for it.
        done = subprocess.run(
            [sys.executable, '-c', 'from rclpy.context import Context; Context().init([])'],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise RewardLearningError(
                f'{_MIDDLEWARE} is {middleware!r}, and ROS cannot start with it: install it, or '
                'unset the variable to use the default'
            )
    return int(text)


def is_domain(text: str) -> bool:
    """Tell whether a text is the number of a ROS domain, which has ports of its own."""
    return text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= _LAST_DOMAIN


def environment() -> dict[str, str]:
    """Return the environment of nodes; what the user's own says comes first.

    A laboratory network does not see them, unless asked to.
    """
    defaults = {
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        # Not by shared memory, whose locks outlive a process that was killed: what came back then
        # was not heard by the others, now and then (eProsima/Fast-DDS #5053, #5469).
        'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4',
        # A log is read while it is written.
        'PYTHONUNBUFFERED': '1',
        'RCUTILS_LOGGING_BUFFERED_STREAM': '0',
    }
    return {**defaults, **os.environ}
