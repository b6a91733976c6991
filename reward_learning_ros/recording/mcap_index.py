"""What an MCAP file knows about itself: the index of a chunk, and all that stands at its end."""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    ChunkIndex,
    DataEnd,
    Footer,
    McapRecord,
    Metadata,
    MetadataIndex,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC

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
