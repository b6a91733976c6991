"""The records of an MCAP file, its compressed chunks, and its index, as far as it is whole."""

from __future__ import annotations

import io
import itertools
import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, TypeVar

import lz4.frame
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, McapRecord, Schema, Statistics
from mcap.writer import MCAP0_MAGIC

from reward_learning_ros.recording.problems import BagError

# A chunk or a message is rarely more than a few megabytes. What claims more is damaged, or made to
# fill the memory: a thousandth of it can be enough in the file.
MAX_BYTES = 2**28


def decompressed(compression: str, data: bytes, size: int) -> bytes:
    """Return what was compressed; of something that was cut off, what comes before the cut.

    Args:
        compression: `zstd`, `lz4`, or empty for none.
        data: As it is in the file.
        size: How many bytes it is said to become.

    Raises:
        BagError: It is damaged, compressed in an unknown way, or becomes more than it says or than
            is allowed.
    """
    if compression not in ('', 'lz4', 'zstd'):
        raise BagError(f'chunk is compressed with {compression!r}; known: lz4, zstd')
    if not compression:
        return data
    if size > MAX_BYTES:
        raise BagError(f'chunk would have {size} bytes, at most {MAX_BYTES} are allowed')
    try:
        # One byte more than it should have shows whether it has more.
        if compression == 'zstd':
            content = zstandard.ZstdDecompressor().stream_reader(data).read(size + 1)
        else:
            content = lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
    except (zstandard.ZstdError, RuntimeError) as error:
        raise BagError(f'chunk cannot be decompressed: {error}') from error
    if len(content) > size:
        raise BagError(f'chunk has more than the {size} bytes that it says')
    return bytes(content)


def decompressed_message(data: bytes) -> bytes:
    """Return a message that was compressed with zstd by itself.

    Raises:
        BagError: It cannot be decompressed, or becomes more than is allowed.
    """
    try:
        size = zstandard.frame_content_size(data)
        if size > MAX_BYTES:
            raise BagError(f'a compressed message has more than {MAX_BYTES} bytes')
        # What was compressed as a stream does not say how large it is.
        limit = MAX_BYTES if size < 0 else size
        content = zstandard.ZstdDecompressor().stream_reader(data).read(limit + 1)
    except zstandard.ZstdError as error:
        raise BagError(f'a compressed message is damaged: {error}') from error
    if len(content) > limit:
        raise BagError(f'a compressed message has more than {limit} bytes')
    if not content or len(content) < size:
        raise BagError('a compressed message is damaged: it is cut off')
    return bytes(content)


# opcode, length of what follows.
HEAD = struct.Struct('<BQ')
# The footer's record: opcode, length, start of the summary, of its offsets, checksum.
_FOOTER = struct.Struct('<BQQQI')
# As much of a record as holds the time of a message, or the times of a chunk.
_BEGINNING_BYTES = 22
# All opcodes that MCAP defines, and from where on anybody may use others.
_OPCODES = range(Opcode.HEADER, Opcode.DATA_END + 1)
_FIRST_PRIVATE = 0x80
# How a chunk begins whose length is below 4 GiB.
_CHUNK_START = re.compile(rb'(?=\x06.{4}\x00{4})', re.DOTALL)
_SEARCH_BYTES = 2**20
# A file that is made to look like the start of a chunk everywhere is not searched for ever.
_MAX_CANDIDATES = 10_000
_T = TypeVar('_T', bound=McapRecord)


class RecordHead(NamedTuple):
    """Where a record is in a file, and what it is."""

    offset: int
    """Of its first byte."""
    opcode: int
    end: int
    """Offset of the first byte behind it, or of the end of the file if it is cut off."""
    beginning: bytes
    """The first bytes of its content."""


class RawRecord(NamedTuple):
    """A record as it is in a chunk."""

    opcode: int
    content: bytes


class RecordScan:
    """Goes through the data section of a file, and over what is damaged to the next chunk.

    Attributes:
        damages: what is wrong, each with its place; grows while it goes.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Begin at the start of a stream.

        Raises:
            BagError: It is no MCAP file.
        """
        self._stream = stream
        self._size = os.fstat(stream.fileno()).st_size
        self.damages: list[str] = []
        stream.seek(0)
        if stream.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
            head = self._head_at(len(MCAP0_MAGIC))
            if head is None or head.opcode != Opcode.HEADER or head.end > self._size:
                raise BagError('is not an MCAP file, it does not begin as one')
            self.damages.append('is damaged at byte 0, where it should say that it is MCAP')

    def __iter__(self) -> Iterator[RecordHead]:
        """Yield all records up to the index; only a chunk may be cut off."""
        before = offset = len(MCAP0_MAGIC)
        while True:
            head = self._head_at(offset)
            if head is None:
                self.damages.append(f'ends without an index, at byte {self._size}')
                return
            if head.opcode in (Opcode.DATA_END, Opcode.FOOTER):
                return
            if (head.opcode in _OPCODES or head.opcode >= _FIRST_PRIVATE) and (
                head.end <= self._size
            ):
                yield head
                before, offset = offset, head.end
                continue
            # The length of the record before may be what is wrong.
            following = self._next_chunk(before + 1)
            if head.opcode == Opcode.CHUNK and following != offset:
                # Its own fields say how much of what is left belongs to it.
                yield head._replace(end=following or self._size)
            if following is None:
                self.damages.append(
                    f'is damaged at byte {offset}'
                    if self._has_end or head.opcode not in _OPCODES
                    else f'is cut off at byte {self._size}, within a record'
                )
                return
            self.damages.append(f'is damaged between byte {before} and {following}')
            before = offset = following

    @property
    def _has_end(self) -> bool:
        """Whether the file ends as one does that was not cut off."""
        self._stream.seek(max(0, self._size - len(MCAP0_MAGIC)))
        return self._stream.read() == MCAP0_MAGIC

    def content(self, head: RecordHead) -> bytes:
        """Return what is in a record, as far as it is there."""
        self._stream.seek(head.offset + HEAD.size)
        return self._stream.read(head.end - head.offset - HEAD.size)

    def _head_at(self, offset: int) -> RecordHead | None:
        self._stream.seek(offset)
        start = self._stream.read(HEAD.size + _BEGINNING_BYTES)
        if len(start) < HEAD.size:
            return None
        opcode, length = HEAD.unpack_from(start)
        return RecordHead(offset, opcode, offset + HEAD.size + length, start[HEAD.size :])

    def _next_chunk(self, offset: int) -> int | None:
        """Return where a chunk begins that is followed by another record, or None."""
        for candidate in itertools.islice(self._candidates(offset), _MAX_CANDIDATES):
            head = self._head_at(candidate)
            if head is None or head.end > self._size:
                continue
            after = self._head_at(head.end)
            if after is not None and after.opcode in _OPCODES and after.end <= self._size:
                return candidate
        return None

    def _candidates(self, offset: int) -> Iterator[int]:
        while offset < self._size:
            self._stream.seek(offset)
            block = self._stream.read(_SEARCH_BYTES + HEAD.size)
            for found in _CHUNK_START.finditer(block):
                if found.start() < _SEARCH_BYTES:
                    yield offset + found.start()
            offset += _SEARCH_BYTES


def parse(kind: type[_T], content: bytes) -> _T:
    """Return a record from its content.

    Raises:
        BagError: The content is not that of such a record.
    """
    try:
        record: _T = kind.read(ReadDataStream(io.BytesIO(content)))  # type: ignore[attr-defined]
    # A length of more than 63 bits is an overflow.
    except (McapError, struct.error, ValueError, OverflowError) as error:
        reason = str(error) or type(error).__name__
        raise BagError(f'{kind.__name__} record cannot be read: {reason}') from error
    return record


def chunk_content(content: bytes) -> bytes:
    """Return what is in a chunk, given the content of its record.

    Raises:
        BagError: It is damaged or compressed in an unknown way.
    """
    chunk = parse(Chunk, content)
    data = decompressed(chunk.compression, chunk.data, chunk.uncompressed_size)
    if len(data) != chunk.uncompressed_size:
        raise BagError(f'chunk has {len(data)} bytes, expected {chunk.uncompressed_size}')
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise BagError('chunk is damaged: its checksum is wrong')
    return data


def cut_chunk_content(content: bytes) -> bytes:
    """Return as much as is left of what is in a chunk that was cut off.

    Raises:
        BagError: Nothing is left, or it is compressed in an unknown way.
    """
    chunk = parse(Chunk, content)
    return decompressed(chunk.compression, chunk.data, chunk.uncompressed_size)


def records_in(data: bytes) -> Iterator[RawRecord]:
    """Yield the records inside a chunk.

    Raises:
        BagError: A record is cut off.
    """
    position, size = 0, len(data)
    while position < size:
        if position + HEAD.size > size:
            raise BagError('chunk ends within a record')
        opcode, length = HEAD.unpack_from(data, position)
        start = position + HEAD.size
        if start + length > size:
            raise BagError('chunk ends within a record')
        yield RawRecord(opcode, data[start : start + length])
        position = start + length


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the index of a file says.

    Attributes:
        channels: by number.
        schemas: by number.
        statistics: None if the writer kept none.
    """

    channels: dict[int, Channel]
    schemas: dict[int, Schema]
    statistics: Statistics | None


def read_summary(stream: BinaryIO) -> Summary | None:
    """Return the index of a file; None if there is none, or not a whole one."""
    end = _FOOTER.size + len(MCAP0_MAGIC)
    size = stream.seek(0, os.SEEK_END)
    if size < end + len(MCAP0_MAGIC):
        return None
    stream.seek(size - end)
    footer = stream.read(_FOOTER.size)
    opcode, _, start, _, checksum = _FOOTER.unpack(footer)
    is_there = 0 < start <= size - end
    if stream.read() != MCAP0_MAGIC or opcode != Opcode.FOOTER or not is_there:
        return None
    stream.seek(start)
    content = stream.read(size - end - start)
    if checksum and zlib.crc32(footer[:-4], zlib.crc32(content)) != checksum:
        return None
    channels: dict[int, Channel] = {}
    schemas: dict[int, Schema] = {}
    statistics = None
    try:
        for record in records_in(content):
            if record.opcode == Opcode.CHANNEL:
                channel = parse(Channel, record.content)
                channels[channel.id] = channel
            elif record.opcode == Opcode.SCHEMA:
                schema = parse(Schema, record.content)
                schemas[schema.id] = schema
            elif record.opcode == Opcode.STATISTICS:
                statistics = parse(Statistics, record.content)
    except BagError:
        return None
    return Summary(channels=channels, schemas=schemas, statistics=statistics)
