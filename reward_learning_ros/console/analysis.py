"""Which studies there are, and their analysis, as `reward_learning study analyse` makes it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.study.ledger import PROTOCOL_FILE

_FOLDER = 'analysis'
_REPORT = 'report.html'
# It fits models and draws figures; more than some minutes it never takes.
_TIMEOUT_SEC = 600.0


def studies(sessions: Path) -> list[str]:
    """Return the names of the studies in a folder."""
    return sorted(file.parent.name for file in sessions.glob(f'*/{PROTOCOL_FILE}'))


def analyse(sessions: Path, study: str) -> None:
    """Write tables, tests, figures and the report of a study.

    Raises:
        RewardLearningError: It cannot be done; says why.
    """
    words = ['-m', 'reward_learning_ros.cli', 'study', '--sessions', str(sessions)]
    try:
        done = subprocess.run(
            [sys.executable, *words, 'analyse', study],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SEC,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RewardLearningError(f'the analysis did not end: {error}') from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise RewardLearningError(said[-1] if said else f'it ended with code {done.returncode}')


def report_of(sessions: Path, study: str) -> Path:
    """Return where the report of a study is, whether there is one yet or not.

    Raises:
        InvalidInputError: There is no such study.
    """
    # By what is there, never by the path that somebody made up.
    if study not in studies(sessions):
        raise InvalidInputError(f'there is no study {study!r} in {sessions}')
    return sessions / study / _FOLDER / _REPORT
