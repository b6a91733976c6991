"""All that reads what others wrote."""

from __future__ import annotations

from benchmarks.fuzz import files, messages, recordings
from benchmarks.fuzz.campaign import Target


def targets() -> tuple[Target, ...]:
    """Return what is to be tried."""
    return (*messages.TARGETS, *recordings.targets(), *files.targets())
