"""Reads the needed numbers out of many serialized messages of one type at once."""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing.message_layout import Layout, Schema, find_layout
from reward_learning_ros.sensing.samples import DecodingError

STAMP = ('header.stamp.sec', 'header.stamp.nanosec')
_LITTLE_ENDIAN = b'\x00\x01'
_LETTERS = {'B': 'u1', 'i': 'i4', 'I': 'u4', 'd': 'f8'}


@dataclass(frozen=True, kw_only=True, eq=False)
class DecodedRows:
    """What messages of one layout say.

    Attributes:
        rows: (k,) which of the messages they are.
        time_ns: (k,) the stamps of their headers.
        values: for each wanted field (k, n) its numbers.
        strings: the strings, in the order of the message, that the layout fixes.
    """

    rows: NDArray[np.int64]
    time_ns: NDArray[np.int64]
    values: dict[str, NDArray[np.float64]]
    strings: tuple[str, ...]


class BulkDecoder:
    """Decodes messages of one type; each layout that it meets is worked out once.

    Attributes:
        malformed: why messages could not be read, by their row, of the last call.
    """

    def __init__(self, schema: Schema, wanted: Sequence[str]) -> None:
        """Build a decoder.

        Args:
            schema: the message's fields in order; the first are those of a header.
            wanted: names of the fields to read, in the order of the message.
        """
        self._schema = schema
        self._wanted = frozenset((*STAMP, *wanted))
        self._plans: list[_ReadingPlan] = []
        self.malformed: dict[int, str] = {}

    def decode(
        self, buffer: bytes, start: NDArray[np.int64], end: NDArray[np.int64]
    ) -> Iterator[DecodedRows]:
        """Yield what the messages say that begin and end at given places of a buffer."""
        self.malformed = {}
        numbers = np.frombuffer(buffer, dtype=np.uint8)
        left = np.arange(len(start), dtype=np.int64)
        for plan in list(self._plans):
            left = yield from self._read(plan, numbers, start, end, left)
        while len(left):
            row = int(left[0])
            try:
                layout = find_layout(buffer[start[row] : end[row]], self._schema, self._wanted)
            except DecodingError as error:
                self.malformed[row] = str(error)
                left = left[1:]
                continue
            plan = _ReadingPlan(layout)
            # Messages of changing lengths would make a long list; the newest are enough.
            self._plans = [plan, *self._plans[:7]]
            left = yield from self._read(plan, numbers, start, end, left)

    def _read(
        self,
        plan: _ReadingPlan,
        numbers: NDArray[np.uint8],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> Generator[DecodedRows, None, NDArray[np.int64]]:
        """Yield the rows of one layout; return the others."""
        if not len(rows):
            return rows
        content = np.empty((len(rows), len(plan.payload)), dtype=np.uint8)
        first, last = start[rows], end[rows]
        fits = last - first >= plan.size
        _gather(numbers, first, plan.places, plan.expected, plan.payload, content, fits)
        if fits.any():
            yield plan.decoded(rows[fits], content[fits])
        return rows[~fits]


class _ReadingPlan:
    """Which bytes of a message to compare and which to read."""

    def __init__(self, layout: Layout) -> None:
        order = '<' if layout.byte_order == _LITTLE_ENDIAN else '>'
        fixed = [(0, layout.byte_order)]
        fixed += [
            (offset, value if isinstance(value, bytes) else struct.pack(f'{order}{code}', value))
            for offset, code, value in layout.lengths
        ]
        self.places = np.concatenate([offset + np.arange(len(data)) for offset, data in fixed])
        self.expected = np.frombuffer(b''.join(data for _, data in fixed), dtype=np.uint8)
        self._fields = []
        payload = []
        position = 0
        for name, offset, code, count in layout.wanted:
            size = struct.calcsize(f'{order}{count}{code}')
            payload.append(offset + np.arange(size))
            self._fields.append((name, slice(position, position + size), order + _LETTERS[code]))
            position += size
        self.payload = np.concatenate(payload)
        self._strings = tuple(text[:-1].decode() for text in layout.fixed_strings())
        self.size = layout.size

    def decoded(self, rows: NDArray[np.int64], content: NDArray[np.uint8]) -> DecodedRows:
        columns = {
            name: np.ascontiguousarray(content[:, part]).view(code)
            for name, part, code in self._fields
        }
        seconds, nanoseconds = (columns.pop(name).astype(np.int64)[:, 0] for name in STAMP)
        return DecodedRows(
            rows=rows,
            time_ns=seconds * 1_000_000_000 + nanoseconds,
            values={name: column.astype(np.float64) for name, column in columns.items()},
            strings=self._strings,
        )


@numba.njit(cache=True)
def _gather(
    numbers: np.ndarray,
    start: np.ndarray,
    places: np.ndarray,
    expected: np.ndarray,
    payload: np.ndarray,
    content: np.ndarray,
    fits: np.ndarray,
) -> None:
    """Copy the wanted bytes of each message that fits, unless it is not laid out as expected."""
    for row in range(len(start)):
        if not fits[row]:
            continue
        first = start[row]
        for i in range(len(places)):
            if numbers[first + places[i]] != expected[i]:
                fits[row] = False
                break
        if fits[row]:
            for i in range(len(payload)):
                content[row, i] = numbers[first + payload[i]]
