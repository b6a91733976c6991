"""Starts the nodes of a session, starts those again that die, and ends them in their order.

Playback ends first, and with it the arm comes to rest; then the controllers of a real arm, then
the other nodes, and who records last. The bringup of a real arm is never started again by itself.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from reward_learning_ros.arm.franka import FrankaReleaseError, check_release, release_in
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.parameters import from_mapping
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.node_parameters import CONSOLE
from reward_learning_ros.session.processes import NodeProcess, command_of
from reward_learning_ros.session.session_description import (
    BRINGUP,
    CONDUCTOR,
    PLAYBACK,
    RECORDER,
    SessionDescription,
)

_PACKAGE = 'franka_bringup'


def installed_release() -> tuple[int, int, int] | None:
    """Return the release of franka_ros2 that is installed here; None if there is none.

    Raises:
        FrankaReleaseError: Its version cannot be read.
    """
    # The folders of the workspaces that are sourced, the last one first.
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        description = Path(prefix) / 'share' / _PACKAGE / 'package.xml'
        if prefix and description.is_file():
            return release_in(description)
    return None


def require_release() -> None:
    """Refuse to bring an arm up with a franka_ros2 that is missing or too old.

    Raises:
        FrankaReleaseError: It is; says what is needed.
    """
    release = installed_release()
    if release is None:
        raise FrankaReleaseError(
            f'{_PACKAGE} is not installed: build franka_ros2, or source the workspace that has it'
        )
    check_release(release)


def bringup_command(arguments: Mapping[str, str]) -> list[str]:
    """Return the command that brings a real arm up.

    Raises:
        RewardLearningError: What it needs is not installed.
    """
    ros2 = shutil.which('ros2')
    if ros2 is None:
        raise RewardLearningError(
            'the arm is brought up by `ros2 launch`, and ros2 is not on the PATH; bring it up '
            'elsewhere and leave robot_ip empty'
        )
    require_release()
    given = [f'{name}:={value}' for name, value in arguments.items()]
    return [ros2, 'launch', 'reward_learning_ros', 'franka.launch.py', *given]


# Ctrl-C must end everything within 5 s, this process too; what is recorded is safe at any moment.
_INTERRUPTED_PLAYBACK_TIMEOUT_SEC = 1.0
_INTERRUPTED_TIMEOUT_SEC = 1.5
_INTERRUPTED_RECORDER_TIMEOUT_SEC = 1.0
# A real arm's bringup ends several processes of its own, and deactivates what they activated.
_BRINGUP_TIMEOUT_SEC = 8.0
# At the end of a session nobody waits: each node may finish its work.
_SHUTDOWN_TIMEOUT_SEC = 10.0
# A node that dies again and again has a reason that a restart does not mend.
_MAX_STARTS = 4
# The exit code of a node whose configuration is refused.
_EXIT_USAGE = 2


class NodeDiedError(RewardLearningError):
    """A node died and cannot be started again; says what its log ended with."""


def may_start_again(exit_code: int, starts: int, name: str = '') -> bool:
    """Tell whether a node that died is worth another start.

    Args:
        exit_code: With which it died.
        starts: How often it was started.
        name: Of the node. A real arm is brought up by a person who looks at it.
    """
    if name == BRINGUP:
        return False
    return exit_code != _EXIT_USAGE and starts < _MAX_STARTS


class Supervisor:
    """Starts the processes of a session, restarts nodes that die, and ends them all.

    Use it as a context: at its end no process is left.

    Args:
        description: The nodes.
        folder: Where their logs go.
        report: Told in words what happens to them.
    """

    def __init__(
        self,
        description: SessionDescription,
        folder: SessionFolder,
        report: Callable[[str], None],
    ) -> None:
        self._report = report
        self._settle_sec = _settle_sec(description)
        commands = {node.name: command_of(node) for node in description.nodes}
        if description.bringup is not None:
            commands = {BRINGUP: bringup_command(description.bringup), **commands}
        self.processes = {
            name: NodeProcess(name, command, folder.logs / f'{name}.log')
            for name, command in commands.items()
        }

    def __enter__(self) -> Supervisor:
        """Start all nodes."""
        with signals_held() as held:
            for process in self.processes.values():
                process.start()
        try:
            for number in held:
                signal.raise_signal(number)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop(is_interrupted=error is not None)

    def poll(self) -> bool:
        """Look after the nodes; return whether the session has ended.

        A node that died is reported and started again; the others stay as they are.

        Raises:
            NodeDiedError: A node dies again and again, or the bringup of a real arm has ended.
        """
        for process in self.processes.values():
            code = process.exit_code
            if code is None:
                continue
            if process.name == CONDUCTOR and code == 0:
                return True
            # What it had started must not work on beside the new one.
            process.kill()
            log_tail = process.log_tail()
            how = f'was killed by {_signal_name(-code)}' if code < 0 else f'ended with code {code}'
            if not may_start_again(code, process.starts, process.name):
                if process.name == CONSOLE:
                    # A session needs no page.
                    self._report(f'{process.name} {how} and is not restarted: {log_tail}')
                    del self.processes[process.name]
                    break
                raise NodeDiedError(f'{process.name} {how}: {log_tail}')
            self._report(f'{process.name} {how}; it is restarted. Its log ended with: {log_tail}')
            process.start()
        return False

    def stop(self, *, is_interrupted: bool = True) -> None:
        """End all nodes in their order.

        Args:
            is_interrupted: Whether somebody waits for it: then it takes at most four seconds, but
                for the bringup of a real arm.
        """
        with signals_held():
            ordered = (PLAYBACK, BRINGUP, RECORDER)
            others = [name for name in self.processes if name not in ordered]
            if is_interrupted:
                playback_sec = _INTERRUPTED_PLAYBACK_TIMEOUT_SEC
                others_sec = _INTERRUPTED_TIMEOUT_SEC
                recorder_sec = _INTERRUPTED_RECORDER_TIMEOUT_SEC
            else:
                playback_sec = others_sec = recorder_sec = _SHUTDOWN_TIMEOUT_SEC
            self._end([PLAYBACK], playback_sec)
            if BRINGUP in self.processes:
                # What playback sent last ends at rest; until then the controller must follow it.
                time.sleep(self._settle_sec)
                self._end([BRINGUP], _BRINGUP_TIMEOUT_SEC)
            self._end(others, others_sec)
            self._end([RECORDER], recorder_sec)

    def _end(self, names: Sequence[str], timeout_sec: float) -> None:
        processes = [self.processes[name] for name in names if name in self.processes]
        for process in processes:
            process.interrupt()
        deadline = time.monotonic() + timeout_sec
        for process in processes:
            process.wait(deadline - time.monotonic())
        for process in processes:
            # Also the groups of those that ended: nothing that they started stays.
            process.kill()


def _settle_sec(description: SessionDescription) -> float:
    """Return how long a real arm moves on after its playback has ended."""
    playback = [node.parameters for node in description.nodes if node.name == PLAYBACK]
    if description.bringup is None or not playback:
        return 0.0
    return from_mapping(TrajectoryPlaybackParameters, playback[0]).hold_within_sec


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'


@contextlib.contextmanager
def signals_held() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM instead of being interrupted by them.

    Interrupted between the start of a process and the note of it, nobody could end it; and a
    second Ctrl-C must not leave behind what the first one was about to end.
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
