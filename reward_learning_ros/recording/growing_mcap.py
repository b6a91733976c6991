"""An MCAP file that is whole after every flush.

Readers look for the index at the end of an MCAP file, and some refuse a file without it. So every
flush writes, in one go, the new chunk over the old index and a new index behind it. A process that
is killed leaves the file of its last flush; one that is killed in the very write leaves all chunks
but the last, and `finish_bag` makes them a whole file again. If the disk is full, the old index is
put back.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import struct
import zlib
from array import array
from pathlib import Path

import lz4.frame
import zstandard
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, ChunkIndex, Header, Schema
from mcap.writer import MCAP0_MAGIC

from reward_learning_ros.recording.mcap_index import (
    Contents,
    MessagePlaces,
    message_indexes,
    record_bytes,
    tail,
    time_span,
)

NO_COMPRESSION = 'none'
COMPRESSIONS = (NO_COMPRESSION, 'lz4', 'zstd')
# The fastest: what is recorded is mostly noise in the last digits, which no effort compresses.
_ZSTD_LEVEL = 1

# opcode, length, channel, sequence number, time of recording, time of publication.
_MESSAGE = struct.Struct('<BQHIQQ')
_MESSAGE_HEAD = struct.Struct('<HIQQ')
_LIBRARY = 'reward_learning_ros'


class GrowingMcap:
    """One file of a bag.

    Attributes:
        path: of the file.
        contents: what is in the file.
        pending_bytes: how much waits for the next flush.
    """

    def __init__(self, path: Path, compression: str = NO_COMPRESSION) -> None:
        """Create a file, which must not exist yet."""
        self.path = path
        self.contents = Contents()
        self.pending_bytes = 0
        self._compression = '' if compression == NO_COMPRESSION else compression
        self._schema_ids: dict[tuple[str, str], int] = {}
        self._new_records = b''
        self._tail = b''
        self._pending: list[bytes] = []
        self._places: dict[int, array[int]] = {}
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        start = MCAP0_MAGIC + record_bytes(Header(profile='ros2', library=_LIBRARY))
        try:
            _write_at(self._descriptor, start, 0)
            self._data_end = len(start)
            self.flush('')
        except OSError:
            # Half a header is no bag.
            self.close()
            path.unlink()
            raise

    @property
    def pending(self) -> dict[int, int]:
        """How many messages of each channel wait for the next flush."""
        return {channel: len(entries) // 2 for channel, entries in self._places.items()}

    def span_with_pending(self) -> tuple[int | None, int | None]:
        """Return the earliest and the latest time, of all that was written or taken."""
        times = [self.contents.start_ns, self.contents.end_ns]
        if self._places:
            times += time_span(self._places)
        known = [time for time in times if time is not None]
        return min(known, default=None), max(known, default=None)

    def add_channel(
        self, topic: str, type_name: str, definition: str, metadata: dict[str, str]
    ) -> int:
        """Add a topic and return its number."""
        contents = self.contents
        schemas = b''
        key = (type_name, definition)
        if key not in self._schema_ids:
            self._schema_ids[key] = len(self._schema_ids) + 1
            schemas = record_bytes(
                Schema(
                    id=self._schema_ids[key],
                    name=type_name,
                    encoding='ros2msg',
                    data=definition.encode(),
                )
            )
        number = len(contents.counts) + 1
        channel = record_bytes(
            Channel(
                id=number,
                topic=topic,
                message_encoding='cdr',
                metadata=metadata,
                schema_id=self._schema_ids[key],
            )
        )
        self._new_records += schemas + channel
        self.contents = dataclasses.replace(
            contents,
            schemas=contents.schemas + schemas,
            schema_count=len(self._schema_ids),
            channels=contents.channels + channel,
            counts={**contents.counts, number: 0},
        )
        return number

    def write(self, channel: int, time_ns: int, data: bytes) -> None:
        """Take a message; it is in the file after the next flush."""
        entries = self._places.get(channel)
        if entries is None:
            entries = self._places[channel] = array('Q')
        entries.append(time_ns)
        entries.append(self.pending_bytes)
        length = _MESSAGE_HEAD.size + len(data)
        # The library would take ten times as long, a thousand times a second for each topic.
        self._pending.append(_MESSAGE.pack(Opcode.MESSAGE, length, channel, 0, time_ns, time_ns))
        self._pending.append(data)
        self.pending_bytes += _MESSAGE.size + len(data)

    def flush(self, bag_metadata: str) -> None:
        """Write all that was taken since the last time, and a new index.

        Args:
            bag_metadata: what `metadata.yaml` says, once more in the file.

        Raises:
            OSError: It cannot be written; the file is as before, what was taken is dropped.
        """
        pending, places = self._pending, self._places
        self._pending, self._places, self.pending_bytes = [], {}, 0
        contents, body = self.contents, self._new_records
        if pending:
            chunk = _chunk(b''.join(pending), places, self._compression)
            offset = self._data_end + len(body)
            chunk_bytes = record_bytes(chunk)
            entry = _chunk_index(chunk, offset, len(chunk_bytes))
            indexes, entry.message_index_offsets = message_indexes(
                places, offset + len(chunk_bytes)
            )
            entry.message_index_length = len(indexes)
            contents = contents.with_chunk(places, entry)
            body = body + chunk_bytes + indexes
        end = self._data_end + len(body)
        new_tail = tail(contents, end, bag_metadata)
        try:
            _write_at(self._descriptor, body + new_tail, self._data_end)
            os.ftruncate(self._descriptor, end + len(new_tail))
        except OSError:
            # What is put back had its place on the disk before.
            with contextlib.suppress(OSError):
                _write_at(self._descriptor, self._tail, self._data_end)
                os.ftruncate(self._descriptor, self._data_end + len(self._tail))
            raise
        self.contents = contents
        self._data_end = end
        self._tail = new_tail
        self._new_records = b''

    def close(self) -> None:
        """Close the file; what was not flushed is lost."""
        os.close(self._descriptor)


def _chunk(content: bytes, places: MessagePlaces, compression: str) -> Chunk:
    if compression == 'zstd':
        stored = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(content)
    elif compression == 'lz4':
        stored = lz4.frame.compress(content)
    else:
        stored = content
    start_ns, end_ns = time_span(places)
    return Chunk(
        compression=compression,
        data=stored,
        message_start_time=start_ns,
        message_end_time=end_ns,
        uncompressed_crc=zlib.crc32(content),
        uncompressed_size=len(content),
    )


def _chunk_index(chunk: Chunk, offset: int, length: int) -> ChunkIndex:
    """Return the entry of a chunk at `offset`, still without its messages."""
    return ChunkIndex(
        chunk_length=length,
        chunk_start_offset=offset,
        compression=chunk.compression,
        compressed_size=len(chunk.data),
        message_end_time=chunk.message_end_time,
        message_index_length=0,
        message_index_offsets={},
        message_start_time=chunk.message_start_time,
        uncompressed_size=chunk.uncompressed_size,
    )


def _write_at(descriptor: int, data: bytes, offset: int) -> None:
    """Write all of it, or raise OSError."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written
