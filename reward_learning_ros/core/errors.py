"""The errors that this package raises on purpose, all under one base class."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

# An environment that `make` made has this file.
STAMP = 'reward_learning_ros.stamp'


class RewardLearningError(Exception):
    """Base of every error that this package raises on purpose."""


class InvalidInputError(RewardLearningError, ValueError):
    """A value cannot be used; the message says which, why, and what is allowed."""


class UnknownNameError(InvalidInputError):
    """A name is not one of those that exist; the message lists them."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        super().__init__(f'unknown {kind} {name!r}; known: {", ".join(self.known) or "none"}')


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this package into this Python."""
    if (Path(sys.prefix) / STAMP).exists():
        return f'make environment WITH={"session" if extra == "sim" else extra}'
    return f"pip install 'reward_learning_ros[{extra}]'"


class MissingExtraError(RewardLearningError, ImportError):
    """An optional part is not installed; the message says which and how to get it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f'{purpose} needs the Python package {package!r}, which is not installed: '
            f'`{install_command(extra)}`'
        )


class CancelledError(RewardLearningError):
    """The caller stopped a computation before it had a result."""


class NotCoveredError(RewardLearningError):
    """A pool of corrections does not cover the θ that it is asked about."""
