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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import lz4.frame
import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC

from reward_learning_ros.parameters.shared import NO_COMPRESSION

# opcode, length, channel, bytes of the entries.
_MESSAGE_INDEX = struct.Struct('<BQHI')
_METADATA_NAME = 'rosbag2'

# Of each channel of a chunk: time and place of each message, one after the other.
MessagePlaces = Mapping[int, 'array[int]']


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What is in a file.

    Attributes:
        schemas: the records of all types.
        schema_count: how many they are.
        channels: the records of all topics.
        counts: how many messages of each channel are in the file.
        start_ns: of the earliest message, None without any.
        end_ns: of the latest message.
        chunks: how many chunks are in the file.
        chunk_index: a record for each chunk.
    """

    schemas: bytes = b''
    schema_count: int = 0
    channels: bytes = b''
    counts: Mapping[int, int] = field(default_factory=dict)
    start_ns: int | None = None
    end_ns: int | None = None
    chunks: int = 0
    chunk_index: bytes = b''

    def with_chunk(self, places: MessagePlaces, entry: ChunkIndex) -> Contents:
        """Return what is in the file after one more chunk."""
        counts = dict(self.counts)
        for channel, entries in places.items():
            counts[channel] += len(entries) // 2
        start_ns, end_ns = entry.message_start_time, entry.message_end_time
        return Contents(
            schemas=self.schemas,
            schema_count=self.schema_count,
            channels=self.channels,
            counts=counts,
            start_ns=start_ns if self.start_ns is None else min(self.start_ns, start_ns),
            end_ns=end_ns if self.end_ns is None else max(self.end_ns, end_ns),
            chunks=self.chunks + 1,
            chunk_index=self.chunk_index + record_bytes(entry),
        )


def record_bytes(record: McapRecord) -> bytes:
    """Return a record as it stands in a file."""
    builder = RecordBuilder()
    record.write(builder)
    return bytes(builder.end())


def time_span(places: MessagePlaces) -> tuple[int, int]:
    """Return the times of the earliest and the latest message of a chunk."""
    times = [entries[0::2] for entries in places.values()]
    return min(map(min, times)), max(map(max, times))


def message_indexes(places: MessagePlaces, offset: int) -> tuple[bytes, dict[int, int]]:
    """Return the indexes of a chunk's messages that stand at `offset`, and where each begins."""
    parts = []
    offsets = {}
    for channel, entries in places.items():
        offsets[channel] = offset
        numbers = np.asarray(entries).astype('<u8').tobytes()
        # The library would write one number at a time.
        parts.append(
            _MESSAGE_INDEX.pack(Opcode.MESSAGE_INDEX, 6 + len(numbers), channel, len(numbers))
        )
        parts.append(numbers)
        offset += _MESSAGE_INDEX.size + len(numbers)
    return b''.join(parts), offsets


def tail(contents: Contents, offset: int, bag_metadata: str) -> bytes:
    """Return all that follows the data: rosbag2's metadata, the file's index, the footer.

    Args:
        contents: of the file.
        offset: where the tail will stand.
        bag_metadata: what rosbag2's metadata.yaml says.
    """
    metadata = record_bytes(
        Metadata(name=_METADATA_NAME, metadata={'serialized_metadata': bag_metadata})
    )
    data_end = metadata + record_bytes(DataEnd(data_section_crc=0))
    metadata_index = MetadataIndex(offset=offset, length=len(metadata), name=_METADATA_NAME)
    statistics = Statistics(
        attachment_count=0,
        channel_count=len(contents.counts),
        channel_message_counts=dict(contents.counts),
        chunk_count=contents.chunks,
        message_count=sum(contents.counts.values()),
        message_end_time=contents.end_ns or 0,
        message_start_time=contents.start_ns or 0,
        metadata_count=1,
        schema_count=contents.schema_count,
    )
    groups = {
        Opcode.SCHEMA: contents.schemas,
        Opcode.CHANNEL: contents.channels,
        Opcode.CHUNK_INDEX: contents.chunk_index,
        Opcode.METADATA_INDEX: record_bytes(metadata_index),
        Opcode.STATISTICS: record_bytes(statistics),
    }
    summary_start = position = offset + len(data_end)
    offsets = RecordBuilder()
    for opcode, group in groups.items():
        if group:
            SummaryOffset(
                group_opcode=opcode, group_start=position, group_length=len(group)
            ).write(offsets)
            position += len(group)
    summary = b''.join(groups.values()) + bytes(offsets.end())
    # The checksum covers the footer up to the checksum itself.
    footer = record_bytes(
        Footer(summary_start=summary_start, summary_offset_start=position, summary_crc=0)
    )[:-4]
    checksum = struct.pack('<I', zlib.crc32(summary + footer))
    return data_end + summary + footer + checksum + MCAP0_MAGIC


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
