"""Make MCAP files whole again that a killed process or a full disk left without an index."""

from __future__ import annotations

import struct
from pathlib import Path

from mcap.opcode import Opcode
from mcap.records import Channel, Schema

from reward_learning_ros.recording.bag_errors import BagError
from reward_learning_ros.recording.growing_mcap import GrowingMcap
from reward_learning_ros.recording.mcap_records import (
    RawRecord,
    RecordScan,
    chunk_content,
    parse,
    read_summary,
    records_in,
)
from reward_learning_ros.recording.metadata import FileInformation, TopicInformation

QOS_KEY = 'offered_qos_profiles'
TYPE_HASH_KEY = 'topic_type_hash'
_MESSAGE_HEAD = struct.Struct('<HIQQ')


def is_whole(path: Path) -> bool:
    """Return whether a file ends with an index that can be read."""
    with path.open('rb') as stream:
        summary = read_summary(stream)
    return summary is not None and summary.statistics is not None


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
    with path.open('rb') as stream:
        try:
            scan = RecordScan(stream)
        except BagError as error:
            raise BagError(f'{path}: {error}') from error
        new = GrowingMcap(repaired)
        try:
            damages = _copy_whole_chunks(scan, new)
            new.flush('')
        finally:
            new.close()
    path.rename(_free_name(path))
    repaired.rename(path)
    more = f' (and {len(damages) - 1} more)' if len(damages) > 1 else ''
    return f'{damages[0]}{more}' if damages else 'its index is damaged'


def _free_name(path: Path) -> Path:
    """Return a name for a damaged file that no file has yet."""
    name = path.with_name(f'{path.name}.damaged')
    number = 1
    while name.exists():
        name = path.with_name(f'{path.name}.{number}.damaged')
        number += 1
    return name


def _copy_whole_chunks(scan: RecordScan, new: GrowingMcap) -> list[str]:
    """Copy all that can be read, and return why the rest cannot."""
    copy = _Copy(new)
    damages: list[str] = []
    for head in scan:
        try:
            content = scan.content(head)
            if head.opcode == Opcode.CHUNK:
                for inner in records_in(chunk_content(content)):
                    copy.take(inner)
                new.flush('')
            else:
                copy.take(RawRecord(head.opcode, content))
        except BagError as error:
            damages.append(f'is damaged at byte {head.offset}: {error}')
    return [*damages, *scan.damages]


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
                # Of a damaged definition readers take the standard one, if there is one.
                definition = known.data.decode(errors='replace')
                self._channels[channel.id] = self._new.add_channel(
                    channel.topic, known.name, definition, channel.metadata
                )
        elif record.opcode == Opcode.MESSAGE:
            if len(record.content) < _MESSAGE_HEAD.size:
                raise BagError('a message is cut off')
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
        summary = read_summary(stream)
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
