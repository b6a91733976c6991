"""Where the fields of a plain-CDR message lie, found once and checked cheaply ever after."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from reward_learning_ros.sensing.samples import (
    DecodingError,
    EncapsulationError,
    TruncatedMessageError,
)

# Alignment counts from the first byte after the encapsulation header.
ENCAPSULATION_BYTES = 4
_BYTE_ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}
_SIZES = {'B': 1, 'i': 4, 'I': 4, 'd': 8}

STRING = 'string'
STRINGS = 'string[]'
DOUBLES = 'double[]'


class Field(NamedTuple):
    """One field of a flattened message.

    Attributes:
        name: dotted path from the message, such as `header.stamp.sec`.
        kind: a struct code (`B`, `i`, `I`, `d`), or `string`, `string[]`, `double[]`.
        size: how many values of a struct code, 1 unless it is a fixed array.
    """

    name: str
    kind: str
    size: int = 1


Schema = tuple[Field, ...]


def nested(prefix: str, schema: Schema) -> Schema:
    """Returns the fields of a message inside another one, named from outside."""
    return tuple(field._replace(name=f'{prefix}.{field.name}') for field in schema)


class Layout:
    """The offsets of the wanted fields in messages whose variable lengths are all equal.

    Every offset follows from the length words before it, so a message in which the words at the
    known offsets hold the known lengths has this layout. The terminators of its strings and its
    size are compared too, so that it is read only if `find_layout` would not refuse it.
    """

    __slots__ = (
        '_check',
        '_expected',
        '_payload',
        'byte_order',
        'lengths',
        'size',
        'slices',
        'wanted',
    )

    def __init__(
        self,
        byte_order: str,
        lengths: Sequence[tuple[int, str, int | bytes]],
        wanted: Sequence[tuple[str, int, str, int]],
        size: int,
    ) -> None:
        """Compiles the two readers.

        Args:
            byte_order: `<` or `>`.
            lengths: (offset, struct code, value) of everything that determines the layout.
            wanted: (name, offset, struct code, count) of every value to read, in message order.
            size: how many bytes a message has at least.
        """
        self.size = size
        self.byte_order = bytes.fromhex('0001' if byte_order == '<' else '0000')
        self.lengths = tuple(lengths)
        self.wanted = tuple(wanted)
        self._check = _reader(byte_order, [(offset, code) for offset, code, _ in lengths])
        self._expected = tuple(value for _, _, value in lengths)
        self._payload = _reader(
            byte_order, [(offset, f'{count}{code}') for _, offset, code, count in wanted]
        )
        self.slices: dict[str, slice] = {}
        start = 0
        for name, _, _, count in wanted:
            self.slices[name] = slice(start, start + count)
            start += count

    def fixed_strings(self) -> tuple[bytes, ...]:
        """Returns the content, with terminators, of the strings that this layout fixes."""
        return tuple(value for value in self._expected if isinstance(value, bytes))

    def read(self, data: bytes) -> tuple[Any, ...] | None:
        """Returns the wanted values one after the other, or None if `data` is laid out otherwise.

        A message that is too short for this layout is laid out otherwise too.
        """
        if (
            len(data) < self.size
            or data[:2] != self.byte_order
            or self._check.unpack_from(data) != self._expected
        ):
            return None
        return self._payload.unpack_from(data)


def find_layout(data: bytes, schema: Schema, wanted: frozenset[str]) -> Layout:
    """Walks through one message, checking every length against the bytes that are there.

    Args:
        data: the serialized message with its encapsulation header.
        schema: the message's fields in order.
        wanted: names of the fields to read; a `string[]` field also fixes its content.

    Raises:
        EncapsulationError: the header is not that of plain CDR, version 1.
        TruncatedMessageError: a field would lie beyond the end.
        DecodingError: a string does not end with its terminator, or a fixed one is no UTF-8.
    """
    if len(data) < ENCAPSULATION_BYTES:
        raise TruncatedMessageError(f'{len(data)} bytes hold no encapsulation header')
    byte_order = _BYTE_ORDERS.get(bytes(data[:2]))
    if byte_order is None:
        raise EncapsulationError(
            f'encapsulation {bytes(data[:2]).hex()} is not plain CDR version 1 (0000 or 0001)'
        )
    walker = _Walker(data, byte_order)
    lengths: list[tuple[int, str, int | bytes]] = []
    values: list[tuple[str, int, str, int]] = []
    for field in schema:
        if field.kind == STRING:
            walker.string(field, lengths, fixed=field.name in wanted)
        elif field.kind == STRINGS:
            count = walker.length(field, lengths)
            # Every string takes a length word, so a hostile count ends here, not in a long loop.
            walker.require(field, 4 * count)
            for _ in range(count):
                walker.string(field, lengths, fixed=field.name in wanted)
        else:
            code = 'd' if field.kind == DOUBLES else field.kind
            count = walker.length(field, lengths) if field.kind == DOUBLES else field.size
            offset = walker.values(field, code, count)
            if field.name in wanted:
                values.append((field.name, offset, code, count))
    return Layout(byte_order, lengths, values, walker.position)


class _Walker:
    """A position in a message that never leaves it."""

    def __init__(self, data: bytes, byte_order: str) -> None:
        self._data = data
        self._word = struct.Struct(f'{byte_order}I')
        self.position = ENCAPSULATION_BYTES

    def require(self, field: Field, size: int) -> None:
        if self.position + size > len(self._data):
            raise TruncatedMessageError(
                f'{field.name} needs {size} bytes at {self.position}, '
                f'the message ends at {len(self._data)}'
            )

    def _align(self, size: int) -> None:
        self.position += -(self.position - ENCAPSULATION_BYTES) % size

    def length(self, field: Field, lengths: list[tuple[int, str, int | bytes]]) -> int:
        """Reads a length word and remembers it as part of the layout."""
        self._align(4)
        self.require(field, 4)
        (value,) = self._word.unpack_from(self._data, self.position)
        lengths.append((self.position, 'I', value))
        self.position += 4
        return int(value)

    def string(
        self, field: Field, lengths: list[tuple[int, str, int | bytes]], fixed: bool
    ) -> None:
        """Passes over a string; a fixed one must have the same content in this layout."""
        size = self.length(field, lengths)
        self.require(field, size)
        content = bytes(self._data[self.position : self.position + size])
        # An empty string is a lone terminator; some middlewares write a length of zero.
        if size and content[-1:] != b'\x00':
            raise DecodingError(f'{field.name} is a string without a terminator')
        if fixed:
            try:
                content.decode()
            except UnicodeDecodeError as error:
                raise DecodingError(f'{field.name} is not UTF-8: {error}') from error
            lengths.append((self.position, f'{size}s', content))
        elif size:
            lengths.append((self.position + size - 1, 'B', 0))
        self.position += size

    def values(self, field: Field, code: str, count: int) -> int:
        """Passes over numbers and returns where they start; none of them take no padding."""
        if count:
            self._align(_SIZES[code])
            self.require(field, _SIZES[code] * count)
        offset = self.position
        self.position += _SIZES[code] * count
        return offset


def _reader(byte_order: str, fields: Sequence[tuple[int, str]]) -> struct.Struct:
    """Compiles a reader of (offset, format) fields that skips all bytes between them."""
    codes = [byte_order]
    position = 0
    for offset, code in fields:
        codes.append(f'{offset - position}x{code}')
        position = offset + struct.calcsize(f'{byte_order}{code}')
    return struct.Struct(''.join(codes))
