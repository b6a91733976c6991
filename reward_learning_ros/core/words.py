"""Numbers of things, as people say them."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = '') -> str:
    """Return a number with its noun: `1 correction`, `2 corrections`."""
    return f'{count} {noun if count == 1 else plural or f"{noun}s"}'
