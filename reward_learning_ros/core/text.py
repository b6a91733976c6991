"""YAML text, and numbers in sentences."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError

# The C library calls itself for each level, and overflows its stack long before it gives up.
MAX_DEPTH = 100
# An alias (`*name`) counts as all that it stands for: a few lines can stand for gigabytes.
MAX_NODES = 1_000_000
# YAML 1.1 wants a point and a signed exponent: 1.0e308 would be text.
_NUMBER = re.compile(r'[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+')


class YamlError(InvalidInputError):
    """A text is no YAML, or none that a person would write; the message says why."""


def read_yaml(path: Path, *, exponents: bool = True) -> Any:
    """Return the content of a YAML file.

    Args:
        path: Of the file.
        exponents: Whether 1e5 is a number.

    Raises:
        YamlError: It cannot be read; the message does not name the file.
    """
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise YamlError(f'cannot be read: {error}') from error
    return load_yaml(text, exponents=exponents)


def load_yaml(text: str, *, exponents: bool = True) -> Any:
    """Return the content of a YAML text.

    Args:
        text: The text.
        exponents: Whether 1e5 is a number.

    Raises:
        YamlError: It cannot be read.
    """
    import yaml

    loader = _loader(exponents)
    try:
        _check(yaml.parse(text, Loader=loader))
        return yaml.load(text, Loader=loader)
    # A date or a number that is none is a ValueError.
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(f'cannot be read: {" ".join(str(error).split())}') from error


def _check(events: Any) -> None:
    """Refuse a text that is too deep, or too large once its aliases are replaced."""
    import yaml

    # Of each collection that is open: its anchor, and how many nodes it has so far.
    stack: list[tuple[str | None, int]] = [(None, 0)]
    sizes: dict[str, int] = {}
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append((event.anchor, 1))
            if len(stack) > MAX_DEPTH:
                raise YamlError(f'cannot be read: it is nested more than {MAX_DEPTH} times')
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = stack.pop()
        elif isinstance(event, yaml.ScalarEvent):
            anchor, size = event.anchor, 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise YamlError(f'cannot be read: *{event.anchor} stands before its end')
            anchor, size = None, sizes[event.anchor]
        else:
            continue
        if anchor is not None:
            sizes[anchor] = size
        outer, count = stack[-1]
        stack[-1] = (outer, count + size)
        if count + size > MAX_NODES:
            raise YamlError(f'cannot be read: it has more than {MAX_NODES} parts')


@functools.cache
def _loader(exponents: bool) -> Any:
    import yaml

    class Loader(getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):  # type: ignore[misc]
        """Reads numbers with exponents as numbers."""

    if exponents:
        # Each class has a table of its own.
        Loader.add_implicit_resolver(
            'tag:yaml.org,2002:float',
            re.compile(f'^(?:{_NUMBER.pattern})$'),
            list('-+0123456789.'),
        )
    return Loader


def counted(count: int, noun: str, plural: str = '') -> str:
    """Return a number with its noun: `1 correction`, `2 corrections`."""
    return f'{count} {noun if count == 1 else plural or f"{noun}s"}'


def without_numbers(text: str) -> str:
    """Return a sentence without its numbers: what changes in them alone is no news."""
    return re.sub(r'[0-9.]+', '', text)
