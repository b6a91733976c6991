"""Make MCAP files whole again that a killed process or a full disk left without an index."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.records import Channel, Schema
from mcap.writer import MCAP0_MAGIC

from reward_learning_ros.bags.errors import BagError
from reward_learning_ros.bags.growing_mcap import GrowingMcap
from reward_learning_ros.bags.mcap_records import (
    RawRecord,
    RecordScan,
    chunk_content,
    parse,
    records_in,
)
from reward_learning_ros.bags.metadata import FileInformation, TopicInformation

QOS_KEY = 'offered_qos_profiles'
TYPE_HASH_KEY = 'topic_type_hash'
# The footer's record: opcode, length, start of the summary, of its offsets, checksum.
_FOOTER = struct.Struct('<BQQQI')
_MESSAGE_HEAD = struct.Struct('<HIQQ')


def is_whole(path: Path) -> bool:
    """Return whether a file ends with an index whose checksum is right."""
    end = _FOOTER.size + len(MCAP0_MAGIC)
    with path.open('rb') as stream:
        size = stream.seek(0, os.SEEK_END)
        if size < end + len(MCAP0_MAGIC):
            return False
        stream.seek(size - end)
        footer = stream.read(_FOOTER.size)
        opcode, _, summary_start, _, checksum = _FOOTER.unpack(footer)
        if stream.read() != MCAP0_MAGIC or opcode != Opcode.FOOTER or summary_start > size - end:
            return False
        stream.seek(summary_start)
        summary = stream.read(size - end - summary_start)
    return not checksum or zlib.crc32(footer[:-4], zlib.crc32(summary)) == checksum


def finish_file(path: Path) -> str:
    """Make a file whole; the damaged one stays beside it, with `.damaged` at the end of its name.

    Returns:
        What was wrong with it, empty if nothing was.

    Raises:
        BagError: It is no MCAP file.
        OSError: It cannot be read, or the repaired one not written.
    """
    if is_whole(path):
        return ''
    repaired = path.with_name(f'{path.name}.repaired')
    repaired.unlink(missing_ok=True)
    new = GrowingMcap(repaired)
    try:
        damage = _copy_whole_chunks(path, new)
        new.flush('')
    finally:
        new.close()
    path.rename(_free_name(path))
    repaired.rename(path)
    return damage


def _free_name(path: Path) -> Path:
    """Return a name for a damaged file that no file has yet."""
    name = path.with_name(f'{path.name}.damaged')
    number = 1
    while name.exists():
        name = path.with_name(f'{path.name}.{number}.damaged')
        number += 1
    return name


def _copy_whole_chunks(path: Path, new: GrowingMcap) -> str:
    """Copy all that can be read, and return why the rest cannot."""
    copy = _Copy(new)
    with path.open('rb') as stream:
        scan = RecordScan(stream)
        for record in scan:
            try:
                if record.opcode == Opcode.CHUNK:
                    for inner in records_in(chunk_content(record.content)):
                        copy.take(inner)
                    new.flush('')
                else:
                    copy.take(record)
            except BagError as error:
                return str(error)
    return scan.damage or 'its index is damaged'


class _Copy:
    """Takes the records of one file over into another."""

    def __init__(self, new: GrowingMcap) -> None:
        self._new = new
        self._schemas: dict[int, Schema] = {}
        self._channels: dict[int, int] = {}

    def take(self, record: RawRecord) -> None:
        if record.opcode == Opcode.SCHEMA:
            schema = parse(Schema, record.content)
            self._schemas[schema.id] = schema
        elif record.opcode == Opcode.CHANNEL:
            channel = parse(Channel, record.content)
            known = self._schemas.get(channel.schema_id)
            if known is not None and channel.id not in self._channels:
                self._channels[channel.id] = self._new.add_channel(
                    channel.topic, known.name, known.data.decode(), channel.metadata
                )
        elif record.opcode == Opcode.MESSAGE:
            number, _, time_ns, _ = _MESSAGE_HEAD.unpack_from(record.content)
            if number in self._channels:
                data = record.content[_MESSAGE_HEAD.size :]
                self._new.write(self._channels[number], time_ns, data)


def information_of(path: Path) -> FileInformation:
    """Return what a whole file says about itself.

    Raises:
        BagError: It is not whole.
    """
    with path.open('rb') as stream:
        try:
            summary = SeekingReader(stream).get_summary()
        except McapError as error:
            raise BagError(f'{path}: {error}') from error
    if summary is None or summary.statistics is None:
        raise BagError(f'{path}: has no index')
    statistics = summary.statistics
    topics = []
    counts = {}
    for channel in summary.channels.values():
        schema = summary.schemas.get(channel.schema_id)
        counts[channel.topic] = statistics.channel_message_counts.get(channel.id, 0)
        topics.append(
            TopicInformation(
                name=channel.topic,
                type_name=schema.name if schema else '',
                qos=channel.metadata.get(QOS_KEY, ''),
                type_hash=channel.metadata.get(TYPE_HASH_KEY, ''),
            )
        )
    is_empty = statistics.message_count == 0
    return FileInformation(
        name=path.name,
        topics=tuple(topics),
        counts=counts,
        start_ns=None if is_empty else statistics.message_start_time,
        end_ns=None if is_empty else statistics.message_end_time,
    )
