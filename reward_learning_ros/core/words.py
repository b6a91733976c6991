"""Numbers of things, as people say them."""

from __future__ import annotations

import re


def counted(count: int, noun: str, plural: str = '') -> str:
    """Return a number with its noun: `1 correction`, `2 corrections`."""
    return f'{count} {noun if count == 1 else plural or f"{noun}s"}'


def without_numbers(text: str) -> str:
    """Return a sentence without its numbers: what changes in them alone is no news."""
    return re.sub(r'[0-9.]+', '', text)
