"""Reading the fields of a task file one by one, so that each error says file, field and reason."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError

_REQUIRED = object()


class TaskFileError(InvalidInputError):
    """A task file is refused; the message says file, field and reason.

    Attributes:
        path: The file.
        field: What is wrong in it, such as `space.delta_low[2]`; empty for the file as a whole.
        reason: Why.
    """

    def __init__(self, path: Path, field: str, reason: str) -> None:
        self.path = path
        self.field = field
        self.reason = reason
        super().__init__(f'{path}: {field}: {reason}' if field else f'{path}: {reason}')


class Fields:
    """A mapping of a task file, whose fields are taken out with checks."""

    def __init__(self, path: Path, value: Any, prefix: str = '') -> None:
        self._path = path
        self._prefix = prefix
        if not isinstance(value, Mapping):
            raise TaskFileError(path, prefix, f'must be a mapping of fields, not {value!r}')
        self._left: dict[Any, Any] = dict(value)
        self._known: list[str] = []

    def error(self, name: str, reason: str) -> TaskFileError:
        """Return the error about a field of this mapping."""
        return TaskFileError(self._path, self._name(name), reason)

    def take(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return a field's value as it is."""
        self._known.append(name)
        if name in self._left:
            return self._left.pop(name)
        if default is _REQUIRED:
            close = difflib.get_close_matches(name, [str(key) for key in self._left], n=1)
            hint = f'; did you mean it by {close[0]!r}?' if close else ''
            raise self.error(name, f'is missing{hint}')
        return default

    def has(self, name: str) -> bool:
        """Tell whether a field is there and not yet taken."""
        return name in self._left

    def is_mapping(self, name: str) -> bool:
        """Tell whether a field holds fields."""
        return isinstance(self._left.get(name), Mapping)

    def names(self) -> list[str]:
        """Return the names of the fields that are not yet taken."""
        return [str(key) for key in self._left]

    def mapping(self, name: str) -> Fields:
        """Return a field that holds fields."""
        return Fields(self._path, self.take(name), self._name(name))

    def listed(self, name: str) -> list[Fields]:
        """Return a field that holds a list of mappings, at least one."""
        value = self.take(name)
        if not isinstance(value, list) or not value:
            raise self.error(name, f'must be a list of at least one mapping, not {value!r}')
        return [
            Fields(self._path, entry, f'{self._name(name)}[{index}]')
            for index, entry in enumerate(value)
        ]

    def text(self, name: str, default: Any = _REQUIRED) -> str:
        """Return a word or a sentence."""
        value = self.take(name, default)
        if not isinstance(value, str) or (not value.strip() and default is _REQUIRED):
            raise self.error(name, f'must be text, not {value!r}')
        return value.strip()

    def choice(self, name: str, allowed: Iterable[str], default: Any = _REQUIRED) -> str:
        """Return one of some words."""
        words = list(allowed)
        value = self.text(name, default)
        if value not in words:
            close = difflib.get_close_matches(value, words, n=2)
            hint = f'did you mean {" or ".join(close)}? ' if close else ''
            raise self.error(name, f'{value!r} is unknown; {hint}Known: {", ".join(words)}')
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.take(name, default)
        if not isinstance(value, bool):
            raise self.error(name, f'must be true or false, not {value!r}')
        return value

    def number(self, name: str, default: Any = _REQUIRED, *, above: float = -math.inf) -> float:
        """Return a finite number above a bound."""
        return self._as_number(name, self.take(name, default), above)

    def whole(self, name: str, default: Any = _REQUIRED, *, at_least: int = 0) -> int:
        """Return a whole number."""
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            raise self.error(name, f'must be a whole number of at least {at_least}, not {value!r}')
        return value

    def numbers(
        self,
        name: str,
        count: int,
        default: Any = _REQUIRED,
        *,
        blank: float | None = None,
    ) -> list[float]:
        """Return a list of finite numbers.

        Args:
            name: Of the field.
            count: How many.
            default: If the field is not there.
            blank: What an empty entry (`null`) stands for; None if there may be none.
        """
        value = self.take(name, default)
        if value is default and default is not _REQUIRED:
            return list(value)
        return self._as_numbers(name, value, count, blank)

    def points(self, name: str, width: int) -> list[list[float]]:
        """Return a list of at least one list of finite numbers."""
        value = self.take(name)
        if not isinstance(value, list) or not value:
            raise self.error(name, f'must be a list of lists of {width} numbers, not {value!r}')
        return [
            self._as_numbers(f'{name}[{index}]', entry, width, None)
            for index, entry in enumerate(value)
        ]

    def finish(self) -> None:
        """Refuse what nobody asked for: a misspelt field would silently do nothing."""
        for key in self._left:
            close = difflib.get_close_matches(str(key), self._known, n=1)
            hint = f'did you mean {close[0]!r}? ' if close else ''
            raise self.error(
                str(key), f'is no field here; {hint}Known: {", ".join(dict.fromkeys(self._known))}'
            )

    def _as_numbers(self, name: str, value: Any, count: int, blank: float | None) -> list[float]:
        if not isinstance(value, list) or len(value) != count:
            raise self.error(name, f'must be a list of {count} numbers, not {value!r}')
        return [
            blank
            if entry is None and blank is not None
            else self._as_number(f'{name}[{index}]', entry, -math.inf)
            for index, entry in enumerate(value)
        ]

    def _as_number(self, name: str, value: Any, above: float) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(name, f'must be a number, not {value!r}')
        if not math.isfinite(value):
            raise self.error(name, f'is {value}; it must be finite')
        if not value > above:
            raise self.error(name, f'is {value}; it must be above {above:g}')
        return float(value)

    def _name(self, name: str) -> str:
        return f'{self._prefix}.{name}' if self._prefix else name
