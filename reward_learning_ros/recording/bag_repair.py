"""metadata.yaml, and MCAP files made whole that a killed process or a full disk left damaged."""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from mcap.opcode import Opcode
from mcap.records import Channel, Schema
from mcap.writer import MCAP0_MAGIC

from reward_learning_ros.recording.growing_mcap import GrowingMcap
from reward_learning_ros.recording.mcap_records import (
    RawRecord,
    RecordScan,
    chunk_content,
    parse,
    read_summary,
    records_in,
)
from reward_learning_ros.recording.problems import BagError

METADATA_FILE = 'metadata.yaml'
INFORMATION = 'rosbag2_bagfile_information'
# Humble reads version 8 like its own; Jazzy and Kilted, which write 9, read it too.
_VERSION = 8

# The C library is there wherever PyYAML's wheel or Ubuntu's package is; it is ten times as fast.
_Dumper: Any = getattr(yaml, 'CSafeDumper', yaml.SafeDumper)


@dataclass(frozen=True, kw_only=True)
class TopicInformation:
    """A topic as metadata.yaml describes it; `qos` is YAML in itself."""

    name: str
    type_name: str
    qos: str
    type_hash: str = ''


@dataclass(frozen=True, kw_only=True)
class FileInformation:
    """A file of a bag: its name, its topics, and how many messages of each it has."""

    name: str
    topics: tuple[TopicInformation, ...]
    counts: Mapping[str, int]
    start_ns: int | None
    end_ns: int | None


def metadata_texts(files: Sequence[FileInformation], ros_distribution: str) -> tuple[str, str]:
    """Return metadata.yaml, and what each MCAP file keeps of it."""
    information = _information(files, ros_distribution)
    in_file = yaml.dump(information, Dumper=_Dumper, sort_keys=False)
    return f'{INFORMATION}:\n{textwrap.indent(in_file, "  ")}', in_file


def _information(files: Sequence[FileInformation], ros_distribution: str) -> dict[str, Any]:
    topics: dict[TopicInformation, int] = {}
    for file in files:
        for topic in file.topics:
            topics[topic] = topics.get(topic, 0) + file.counts.get(topic.name, 0)
    starts = [file.start_ns for file in files if file.start_ns is not None]
    ends = [file.end_ns for file in files if file.end_ns is not None]
    return {
        'version': _VERSION,
        'storage_identifier': 'mcap',
        **_span(min(starts, default=None), max(ends, default=None)),
        'message_count': sum(topics.values()),
        'topics_with_message_count': [
            {
                'topic_metadata': {
                    'name': topic.name,
                    'type': topic.type_name,
                    'serialization_format': 'cdr',
                    'offered_qos_profiles': topic.qos,
                    'type_description_hash': topic.type_hash,
                },
                'message_count': count,
            }
            for topic, count in topics.items()
        ],
        'compression_format': '',
        'compression_mode': '',
        'relative_file_paths': [file.name for file in files],
        'files': [
            {
                'path': file.name,
                **_span(file.start_ns, file.end_ns),
                'message_count': sum(file.counts.values()),
            }
            for file in files
        ],
        'custom_data': None,
        'ros_distro': ros_distribution,
    }


def _span(start_ns: int | None, end_ns: int | None) -> dict[str, Any]:
    start, end = start_ns or 0, end_ns or 0
    return {
        'duration': {'nanoseconds': end - start},
        'starting_time': {'nanoseconds_since_epoch': start},
    }


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
    with path.open('rb') as stream:
        is_begun_only = MCAP0_MAGIC.startswith(stream.read(len(MCAP0_MAGIC) + 1))
    if is_begun_only:
        # Its writer was killed, or the power went, between making the file and writing to it.
        path.unlink()
        GrowingMcap(path).close()
        return 'ends before anything was recorded'
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
    """Return topics, counts and times of an undamaged file, for the metadata of its bag.

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
