"""One session for each machine and ROS domain: the second is refused, and told of the first."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import sys
import threading
from collections.abc import Iterator

from reward_learning_ros.core.errors import RewardLearningError

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
        words: which session holds it.
    """

    def __init__(self, held: socket.socket, words: str) -> None:
        self.words = words
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
                    asking.sendall(f'{self.words} (process {os.getpid()})'.encode())


@contextlib.contextmanager
def session_lock(domain: int, namespace: str, words: str) -> Iterator[SessionLock]:
    """Let no other session run in a domain and namespace of this machine.

    Args:
        domain: ROS domain.
        namespace: Of the session's nodes; sessions in different ones run side by side.
        words: Which session holds it, for the other one's refusal.

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
        lock = SessionLock(held, words)
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
