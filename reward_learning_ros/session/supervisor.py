"""Starts the nodes of a session, starts those again that die, and leaves none behind."""

from __future__ import annotations

import contextlib
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.session.description import CONDUCTOR, RECORDER, SessionDescription
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.processes import NodeProcess, command_of

# Ctrl-C must end everything within 5 s, this process too; what is recorded is safe at any moment.
_HASTY_SEC = 2.0
_HASTY_RECORDER_SEC = 1.0
# At the end of a session nobody waits: each node may say its last words.
_PATIENT_SEC = 10.0
# A node that dies again and again has a reason that a restart does not mend.
_LARGEST_NUMBER_OF_STARTS = 4
# The exit code of a node whose configuration is refused.
_EXIT_USAGE = 2


class NodeDiedError(RewardLearningError):
    """A node died and cannot be started again; says its last words."""


def may_start_again(exit_code: int, starts: int) -> bool:
    """Tell whether a node that died is worth another start.

    Args:
        exit_code: With which it died.
        starts: How often it was started.
    """
    return exit_code != _EXIT_USAGE and starts < _LARGEST_NUMBER_OF_STARTS


class Supervisor:
    """The processes of a session, from the first to the last.

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
        commands = {node.name: command_of(node) for node in description.nodes}
        if description.bringup is not None:
            commands = {'franka_bringup': _bringup_command(description.bringup), **commands}
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
        self.stop(is_hasty=error is not None)

    def poll(self) -> bool:
        """Look after the nodes; return whether the session has ended.

        A node that died is reported and started again; the others stay as they are.

        Raises:
            NodeDiedError: A node dies again and again.
        """
        for process in self.processes.values():
            code = process.exit_code
            if code is None:
                continue
            if process.name == CONDUCTOR and code == 0:
                return True
            # What it had started must not work on beside the new one.
            process.kill()
            words = process.last_words()
            how = f'was killed by {_signal_name(-code)}' if code < 0 else f'ended with code {code}'
            if not may_start_again(code, process.starts):
                raise NodeDiedError(f'{process.name} {how}: {words}')
            self._report(f'{process.name} {how}; it is started again. Its last words: {words}')
            process.start()
        return False

    def stop(self, *, is_hasty: bool = True) -> None:
        """End all nodes, who records last; in haste, within three seconds."""
        with signals_held():
            recorder = [self.processes[RECORDER]] if RECORDER in self.processes else []
            others = [each for each in self.processes.values() if each not in recorder]
            _end(others, _HASTY_SEC if is_hasty else _PATIENT_SEC)
            _end(recorder, _HASTY_RECORDER_SEC if is_hasty else _PATIENT_SEC)


def _end(processes: Sequence[NodeProcess], timeout_sec: float) -> None:
    for process in processes:
        process.interrupt()
    deadline = time.monotonic() + timeout_sec
    for process in processes:
        process.wait(deadline - time.monotonic())
    for process in processes:
        # Also the groups of those that ended: nothing that they started stays.
        process.kill()


def _bringup_command(arguments: Mapping[str, str]) -> list[str]:
    ros2 = shutil.which('ros2')
    if ros2 is None:
        raise RewardLearningError(
            'the arm is brought up by `ros2 launch`, and ros2 is not on the PATH; bring it up '
            'elsewhere and leave robot_ip empty'
        )
    given = [f'{name}:={value}' for name, value in arguments.items()]
    return [ros2, 'launch', 'reward_learning_ros', 'franka.launch.py', *given]


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
