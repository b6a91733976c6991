"""The last few results of something slow, for whoever needs the same again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_T = TypeVar('_T')


class Recent(Generic[_T]):
    """Keeps results by what they depend on, and forgets those that were not asked for lately.

    Two threads that ask for the same at the same time may both make it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._results: dict[Hashable, _T] = {}

    def get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return the result of a key, made now if it is not there."""
        result = self._results.pop(key, None)
        if result is None:
            result = make()
        self._results[key] = result
        while len(self._results) > self._size:
            self._results.pop(next(iter(self._results)), None)
        return result
