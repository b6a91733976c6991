"""ROS domains that nobody else on this machine has, in this run or another."""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

# Above 101 the ports of a domain reach into those that Linux gives to anyone. 0 is everybody's.
DOMAINS = range(1, 102)
# Where participants of a domain listen: all of them for each other, and the first for itself
# (DDSI-RTPS 2.5, 9.6.2.3).
_PORT, _PORTS_OF_DOMAIN, _FIRST_PARTICIPANT = 7400, 250, 10


@contextlib.contextmanager
def claimed_domain(timeout_sec: float = 60.0) -> Iterator[int]:
    """Hold a domain id until the block, or the process, ends.

    Each id has a lock file; the kernel drops the lock with the process, so a crash leaves
    nothing behind that would block anyone. A domain in which somebody listens, with a lock or
    without, is left to them.

    Raises:
        TimeoutError: All ids were taken all the time.
    """
    # One folder per user: /tmp is shared, and another user's files cannot be opened.
    folder = Path(tempfile.gettempdir()) / f'reward_learning_ros_domains_{os.getuid()}'
    folder.mkdir(mode=0o700, exist_ok=True)
    deadline = time.monotonic() + timeout_sec
    while True:
        # Shuffled, so that a domain rests before it is used again. The entropy is the system's:
        # two runs with the same seed must not choose alike.
        for domain_id in random.SystemRandom().sample(DOMAINS, len(DOMAINS)):
            descriptor = os.open(folder / str(domain_id), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            if _is_inhabited(domain_id):
                os.close(descriptor)
                continue
            try:
                yield domain_id
            finally:
                os.close(descriptor)
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f'no free ROS domain in {folder} for {timeout_sec} s')
        time.sleep(0.05)


def _is_inhabited(domain_id: int) -> bool:
    """Tell whether the ports are taken on which participants of a domain find each other."""
    first = _PORT + _PORTS_OF_DOMAIN * domain_id
    for port in (first, first + _FIRST_PARTICIPANT):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('', port))
            except OSError:
                return True
    return False
