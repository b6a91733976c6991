"""Starts sessions, as the command line does; what was started does not need the console."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.session.processes import environment
from reward_learning_ros.session.session_parameters import SessionParameters, session_words

# How much of what a session said last is told when it could not begin.
_TAIL_BYTES = 2000


class SessionLauncher:
    """The session that this console started last, if it did."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._log: Path | None = None

    @property
    def is_running(self) -> bool:
        """Whether the session that was started here goes on."""
        return self._process is not None and self._process.poll() is None

    def start(self, config: SessionParameters) -> None:
        """Start a session.

        Raises:
            RewardLearningError: One that was started here goes on.
        """
        if self.is_running:
            raise RewardLearningError('a session that was started here goes on: finish it first')
        descriptor, name = tempfile.mkstemp(prefix='reward_learning_session_', suffix='.log')
        self._log = Path(name)
        with os.fdopen(descriptor, 'wb') as log:
            self._process = subprocess.Popen(
                session_words(config),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(),
                # It goes on when the console ends, and Ctrl-C in its terminal is not for it.
                start_new_session=True,
            )

    def failure(self) -> str:
        """Return what the session said last if it ended with an error; empty if it did not."""
        if self._process is None or self._log is None or not self._process.poll():
            return ''
        text = self._log.read_bytes()[-_TAIL_BYTES:].decode(errors='replace')
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else f'it ended with code {self._process.returncode}'
