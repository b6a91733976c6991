"""The simulated arm in a process of its own."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping

DEADLINE_SEC = 180.0


@contextlib.contextmanager
def running_arm(environment: Mapping[str, str], **parameters: object) -> Iterator[None]:
    """Run the arm from when it is up, compiled and all, until the block ends."""
    arguments = [part for name in parameters for part in ('-p', f'{name}:={parameters[name]}')]
    command = [sys.executable, '-m', 'reward_learning_ros.nodes.simulated_arm']
    arm = subprocess.Popen(
        [*command, '--ros-args', *arguments], env=environment, stderr=subprocess.PIPE, text=True
    )
    assert arm.stderr is not None
    try:
        assert any('is up' in line for line in arm.stderr), 'the arm ended before it was up'
        # Its log must be read, or it would wait for that one day.
        threading.Thread(target=arm.stderr.read, daemon=True).start()
        yield
    finally:
        arm.send_signal(signal.SIGINT)
        arm.wait(DEADLINE_SEC)
