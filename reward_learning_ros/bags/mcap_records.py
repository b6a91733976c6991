"""The records of an MCAP file, one after the other, as far as the file is whole."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, TypeVar

import lz4.frame
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Chunk, McapRecord
from mcap.writer import MCAP0_MAGIC

from reward_learning_ros.bags.errors import BagError

# opcode, length of what follows.
_HEAD = struct.Struct('<BQ')
# A chunk is rarely more than a few megabytes; a length beyond this is damage, not a record.
_LONGEST_RECORD = 2**32
_T = TypeVar('_T', bound=McapRecord)


class RawRecord(NamedTuple):
    """A record as it is in the file."""

    offset: int
    """Of its first byte."""
    opcode: int
    content: bytes

    @property
    def end(self) -> int:
        """Offset of the first byte behind it."""
        return self.offset + _HEAD.size + len(self.content)


class RecordScan:
    """Goes through the data section of a file.

    Attributes:
        damage: after the last record, why it is the last one; empty if the file is whole.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Begin at the start of a stream.

        Raises:
            BagError: It is no MCAP file.
        """
        self._stream = stream
        self.damage = ''
        if stream.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
            raise BagError('not an MCAP file: it does not begin as one')

    def __iter__(self) -> Iterator[RawRecord]:
        offset = len(MCAP0_MAGIC)
        while True:
            head = self._stream.read(_HEAD.size)
            if len(head) < _HEAD.size:
                self.damage = f'ends without an index at byte {offset + len(head)}'
                return
            opcode, length = _HEAD.unpack(head)
            if opcode == 0 or length > _LONGEST_RECORD:
                self.damage = f'has no record at byte {offset}'
                return
            content = self._stream.read(length)
            if len(content) < length:
                self.damage = f'is cut off within the record at byte {offset}'
                return
            if opcode in (Opcode.DATA_END, Opcode.FOOTER):
                return
            record = RawRecord(offset, opcode, content)
            yield record
            offset = record.end


def parse(kind: type[_T], content: bytes) -> _T:
    """Return a record from its content.

    Raises:
        BagError: The content is not that of such a record.
    """
    try:
        record: _T = kind.read(ReadDataStream(io.BytesIO(content)))  # type: ignore[attr-defined]
    except (McapError, struct.error, ValueError) as error:
        raise BagError(f'{kind.__name__} record cannot be read: {error}') from error
    return record


def chunk_content(content: bytes) -> bytes:
    """Return what is in a chunk, given the content of its record.

    Raises:
        BagError: It is damaged or compressed in an unknown way.
    """
    chunk = parse(Chunk, content)
    data = _decompressed(chunk)
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
    return _decompressed(parse(Chunk, content))


def _decompressed(chunk: Chunk) -> bytes:
    """Return the data of a chunk; of one that was cut off, what comes before the cut."""
    try:
        if chunk.compression == 'zstd':
            return zstandard.ZstdDecompressor().decompressobj().decompress(chunk.data)
        if chunk.compression == 'lz4':
            return bytes(lz4.frame.LZ4FrameDecompressor().decompress(chunk.data))
    except (zstandard.ZstdError, RuntimeError) as error:
        raise BagError(f'chunk cannot be decompressed: {error}') from error
    if chunk.compression:
        raise BagError(f'chunk is compressed with {chunk.compression!r}; known: lz4, zstd')
    return chunk.data


def records_in(data: bytes) -> Iterator[RawRecord]:
    """Yield the records inside a chunk.

    Raises:
        BagError: A record is cut off.
    """
    position, size = 0, len(data)
    while position < size:
        if position + _HEAD.size > size:
            raise BagError('chunk ends within a record')
        opcode, length = _HEAD.unpack_from(data, position)
        start = position + _HEAD.size
        if start + length > size:
            raise BagError('chunk ends within a record')
        yield RawRecord(position, opcode, data[start : start + length])
        position = start + length
