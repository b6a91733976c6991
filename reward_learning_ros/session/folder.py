"""The folder of a session: where its files are, each written as a whole or not at all."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import reward_learning_ros
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.core.text import YamlError, read_yaml
from reward_learning_ros.parameters import to_mapping
from reward_learning_ros.session.session_parameters import SessionParameters, session_from_mapping

_PREFIX = '\0reward_learning_ros/session/'
_ANSWER_TIMEOUT_SEC = 1.0
_MAX_ANSWER_BYTES = 1000


class SessionRunningError(RewardLearningError):
    """Another session runs in this ROS domain; says which."""


class SessionLock:
    """Held by a running session; says who it is to whoever wants to run another one.

    It is a socket in Linux' abstract namespace. That goes with the network: two containers which
    share a network, and so a ROS domain, share it too, and the kernel frees it with the process.

    Attributes:
        text: which session holds it.
    """

    def __init__(self, held: socket.socket, text: str) -> None:
        self.text = text
        self._held = held
        self._answering = threading.Thread(target=self._answer, daemon=True)
        self._answering.start()

    def release(self) -> None:
        """Answer nobody any more; returns when the address is free once the socket is closed."""
        with contextlib.suppress(OSError):
            self._held.shutdown(socket.SHUT_RDWR)
        # While it waits in `accept`, the kernel keeps the socket and its address, closed or not.
        self._answering.join()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                asking, _ = self._held.accept()
                with contextlib.suppress(OSError), asking:
                    asking.sendall(f'{self.text} (process {os.getpid()})'.encode())


@contextlib.contextmanager
def session_lock(domain: int, namespace: str, text: str) -> Iterator[SessionLock]:
    """Let no other session run in a domain and namespace of this machine.

    Args:
        domain: ROS domain.
        namespace: Of the session's nodes; sessions in different ones run side by side.
        text: Which session holds it, for the other one's refusal.

    Raises:
        SessionRunningError: Another one runs.
    """
    # Elsewhere than on Linux, a session looks for others by their topics only.
    address = _address(domain, namespace) if sys.platform == 'linux' else ''
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
        try:
            held.bind(address)
        except OSError as error:
            where = f'ROS domain {domain}' + (f', namespace {namespace}' if namespace else '')
            raise SessionRunningError(
                f'a session runs already in {where}: {_holder(address)}; end it, or take another '
                'ROS_DOMAIN_ID or --namespace'
            ) from error
        held.listen()
        lock = SessionLock(held, text)
        try:
            yield lock
        finally:
            lock.release()


def _address(domain: int, namespace: str) -> str:
    # An address is short, a namespace may be long.
    digest = hashlib.sha256(namespace.strip('/').encode()).hexdigest()[:32]
    return f'{_PREFIX}{domain}/{digest}'


def _holder(address: str) -> str:
    """Return what the session that holds an address says of itself."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.settimeout(_ANSWER_TIMEOUT_SEC)
            asking.connect(address)
            text = asking.recv(_MAX_ANSWER_BYTES).decode(errors='replace')
    except OSError:
        return 'one that does not say which'
    return ''.join(letter for letter in text if letter.isprintable())


SUPPORTED_DISTRIBUTIONS = ('humble', 'jazzy', 'kilted')


def ros_distribution(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the distribution, empty if nobody tells it."""
    return wheel_distribution() or environment.get('ROS_DISTRO', '')


def wheel_distribution() -> str:
    """Return the distribution whose wheels this Python has, empty if none."""
    for distribution in SUPPORTED_DISTRIBUTIONS:
        try:
            importlib.metadata.version(f'ros-{distribution}-rclpy')
        except importlib.metadata.PackageNotFoundError:
            continue
        return distribution
    return ''


FORMAT = 1
# What an inference depends on besides its seed.
_LIBRARIES = ('numpy', 'scipy', 'numba', 'llvmlite', 'mujoco', 'arviz', 'rosbags')
_LAST_TRIAL = 999
# More than posterior, summary and report take.
_MIN_ROOM_BYTES = 20 * 2**20


class FolderWriteError(RewardLearningError):
    """A file of a session cannot be written; says which, why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class SessionFolder:
    """`sessions/<study>/<participant>/<trial>/` and the files in it."""

    path: Path

    @property
    def bag(self) -> Path:
        """The recording, a rosbag2 folder."""
        return self.path / 'bag'

    @property
    def configuration(self) -> Path:
        """How the session was run: resolved parameters, versions, seed."""
        return self.path / 'session.yaml'

    @property
    def posterior(self) -> Path:
        """What was learned, as ArviZ reads it."""
        return self.path / 'posterior.nc'

    @property
    def summary(self) -> Path:
        """The outcome in numbers; there only once the session came to its end."""
        return self.path / 'summary.json'

    @property
    def report(self) -> Path:
        """The outcome as a page."""
        return self.path / 'report.html'

    @property
    def logs(self) -> Path:
        """What each node said."""
        return self.path / 'log'

    @property
    def is_complete(self) -> bool:
        """Whether the session came to its end."""
        return self.summary.is_file()

    def write_configuration(self, config: SessionParameters, nodes: Mapping[str, Any]) -> None:
        """Write `session.yaml`: all that is needed to do the same again.

        Args:
            config: The resolved configuration.
            nodes: For each node its executable, parameters and remappings.
        """
        import yaml

        content = {
            'format': FORMAT,
            'started': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
            'session': to_mapping(config),
            'nodes': dict(nodes),
            'versions': versions(),
        }
        write_whole(
            self.configuration, yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
        )

    def read_configuration(self) -> SessionParameters:
        """Return the configuration that the session was started with.

        Raises:
            InvalidInputError: There is none, or it cannot be read.
        """
        return session_from_mapping(self.read()['session'])

    def read(self) -> dict[str, Any]:
        """Return what `session.yaml` holds.

        Raises:
            InvalidInputError: There is none, or it cannot be read.
        """
        file = self.configuration
        if not file.is_file():
            raise InvalidInputError(f'{self.path} holds no session: there is no {file.name}')
        try:
            # It is written by a program, whose texts that look like 1e5 are texts.
            content = read_yaml(file, exponents=False)
        except YamlError as error:
            raise InvalidInputError(f'{file}: {error}') from error
        for section in ('session', 'nodes', 'versions'):
            if not isinstance(content, dict) or not isinstance(content.get(section), dict):
                raise InvalidInputError(f'{file} has no section {section!r}')
        if content.get('format') != FORMAT:
            raise InvalidInputError(
                f'{self.configuration} has format {content.get("format")!r}; allowed: {FORMAT}'
            )
        return dict(content)

    def check_writable(self) -> None:
        """Check that the outcome can be written, before anything is computed for it.

        Raises:
            FolderWriteError: The folder cannot be written, or its disk is full.
        """
        probe = self.path / f'.probe.{os.getpid()}'
        try:
            probe.touch()
            probe.unlink()
            room = shutil.disk_usage(self.path).free
        except OSError as error:
            raise self.write_error(self.path, error.strerror) from error
        if room < _MIN_ROOM_BYTES:
            raise self.write_error(self.path, f'its disk has only {room // 2**20} MiB left')

    def write_error(self, path: Path, reason: object) -> FolderWriteError:
        """Return the error of a file that cannot be written, with what is kept and what to do."""
        return FolderWriteError(
            f'cannot write {path}: {reason}. What was recorded is kept; make room, or let the '
            f'folder be written, then: reward_learning conclude {self.path}'
        )

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write `summary.json`; with it the session is complete."""
        # NaN is no JSON: what could not be computed must be null.
        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
        write_whole(self.summary, text + '\n')


def open_folder(
    config: SessionParameters, resume: str | Path | None = None
) -> tuple[SessionFolder, SessionParameters]:
    """Return the folder and the configuration of a session: a new one, or one to go on with.

    Args:
        config: Of a new session.
        resume: Folder of an interrupted session; its own configuration applies.

    Raises:
        InvalidInputError: The folder cannot be made, or holds no session that could go on.
    """
    if resume is None:
        return create_folder(config)
    folder = SessionFolder(path=Path(resume).absolute())
    config = folder.read_configuration()
    if folder.is_complete:
        raise InvalidInputError(f'{folder.path} has ended already')
    return folder, config


def create_folder(config: SessionParameters) -> tuple[SessionFolder, SessionParameters]:
    """Make the folder of a new session; return it and the configuration with its trial's number.

    Raises:
        InvalidInputError: The trial is already there, or the folder cannot be made.
    """
    parent = Path(config.sessions) / config.study / config.participant
    try:
        parent.mkdir(parents=True, exist_ok=True)
        trial = config.trial or _next_trial(parent)
        while True:
            path = parent / f'{trial:03d}'
            try:
                path.mkdir()
            except FileExistsError:
                if config.trial:
                    raise InvalidInputError(
                        f'{path} is already there; --resume goes on with an interrupted session'
                    ) from None
                # Another session took the number at the same moment.
                trial += 1
                continue
            break
    except OSError as error:
        raise InvalidInputError(f'cannot make a folder in {parent}: {error.strerror}') from error
    return SessionFolder(path=path.absolute()), replace(config, trial=trial)


def _next_trial(parent: Path) -> int:
    numbers = [int(entry.name) for entry in parent.iterdir() if entry.name.isdecimal()]
    trial = max(numbers, default=0) + 1
    if trial > _LAST_TRIAL:
        raise InvalidInputError(f'{parent} has {_LAST_TRIAL} trials already')
    return trial


def versions() -> dict[str, str]:
    """Return the versions of what the numbers of a session come from."""
    found = {
        'reward_learning_ros': reward_learning_ros.__version__,
        'python': platform.python_version(),
        'ros': ros_distribution() or 'unknown',
        'middleware': os.environ.get('RMW_IMPLEMENTATION', 'default'),
        'machine': platform.machine(),
    }
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def write_whole(path: Path, text: str) -> None:
    """Write a file so that, whatever happens, it is there as a whole or as it was before."""
    temporary = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        with temporary.open('w', encoding='utf-8') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
