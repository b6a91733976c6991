"""An MCAP file of a bag, whole or damaged."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import SeekingReader
from mcap.records import Channel, Schema
from mcap.writer import MCAP0_MAGIC

from reward_learning_ros.bags.blocks import Ints, MessageBlock, mcap_block
from reward_learning_ros.bags.errors import BagError
from reward_learning_ros.bags.finishing import is_whole
from reward_learning_ros.bags.mcap_records import chunk_content, cut_chunk_content, parse
from reward_learning_ros.bags.ordering import ClockWatch, Piece, merged, overlap
from reward_learning_ros.bags.problems import Problem, TopicInBag

_HEAD = struct.Struct('<BQ')
_CHUNK_TIMES = struct.Struct('<QQ')
_MESSAGE_HEAD = struct.Struct('<HIQQ')
_LONGEST_RECORD = 2**32
# Messages outside of chunks are read so many bytes at a time.
_RUN_BYTES = 2**20
_CHANNELS = 2**16


class _Segment(NamedTuple):
    """A chunk, or a run of records outside of chunks."""

    offset: int
    end: int
    is_chunk: bool
    start_ns: int
    end_ns: int
    has_messages: bool


@dataclass(frozen=True)
class _Part:
    """Rows of a segment, from `first` up to but without `last`."""

    segment: _Segment
    first: int = 0
    last: int | None = None


class McapStorage:
    """Reads one file.

    Attributes:
        path: of the file, as it is called.
        topics: what is in it.
        problems: what is wrong with it; grows while it is read.
    """

    def __init__(self, path: Path, name: Path | None = None) -> None:
        """Open a file and find out what is in it.

        Args:
            path: Of the file.
            name: What to call it; a copy is called as its original.

        Raises:
            BagError: It is no MCAP file.
            OSError: It cannot be read.
        """
        self.path = name or path
        self.problems: list[Problem] = []
        self._stream: BinaryIO = path.open('rb')
        try:
            self._segments = list(self._find_segments())
            self._channels: dict[int, Channel] = {}
            self._schemas: dict[int, Schema] = {}
            self._counts: dict[int, int] = {}
            if not self._read_summary(is_whole(path)):
                self._read_channels()
        except BaseException:
            self.close()
            raise
        self.topics = [
            self._topic(channel, self._counts.get(number, 0))
            for number, channel in self._channels.items()
        ]

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def blocks(self, names: Sequence[str]) -> Iterator[MessageBlock]:
        """Yield the messages of some topics in the order of time; a topic's number is its place.

        Where the clock was set back a new time begins: the order of the file goes before.
        """
        numbers = np.full(_CHANNELS, -1, dtype=np.int64)
        for number, channel in self._channels.items():
            if channel.topic in names:
                numbers[number] = list(names).index(channel.topic)
        for parts in self._epochs(numbers, len(names)):
            yield from merged(
                Piece(
                    start_ns=part.segment.start_ns,
                    load=lambda part=part: self._load(part, numbers),  # type: ignore[misc]
                )
                for part in parts
            )

    def _epochs(self, numbers: Ints, topics: int) -> Iterator[list[_Part]]:
        """Yield the parts of the file between which the clock was set back."""
        segments = [segment for segment in self._segments if segment.has_messages]
        parts = [_Part(segment) for segment in segments]
        # Chunks that overlap are those of a writer that keeps one for each topic, or of a clock
        # that was set back. The last one overlaps with none, whatever is in it.
        watched = parts
        if not overlap([(segment.start_ns, segment.end_ns) for segment in segments]):
            watched = parts[-1:]
        watch = ClockWatch(topics)
        epoch = parts[: len(parts) - len(watched)]
        for part in watched:
            block = self._load(part, numbers, report=False)
            first = 0
            for row in watch.breaks(block):
                epoch.append(_Part(part.segment, first, row))
                yield [self._exact(each, numbers) for each in epoch]
                epoch, first = [], row
                self.problems.append(
                    Problem(
                        file=self.path,
                        time_ns=int(block.time_ns[row]),
                        text='the clock was set back here; the order of the file is kept',
                    )
                )
            epoch.append(_Part(part.segment, first))
        yield [self._exact(each, numbers) for each in epoch]

    def _exact(self, part: _Part, numbers: Ints) -> _Part:
        """Return a part with the times of its own rows, if it is not a whole segment."""
        if part.first == 0 and part.last is None:
            return part
        times = self._load(part, numbers, report=False).time_ns
        if not len(times):
            return part
        segment = part.segment._replace(start_ns=int(times.min()), end_ns=int(times.max()))
        return _Part(segment, part.first, part.last)

    def _load(self, part: _Part, numbers: Ints, report: bool = True) -> MessageBlock:
        try:
            content = self._content(part.segment)
        except BagError as error:
            if report:
                self.problems.append(
                    Problem(file=self.path, time_ns=part.segment.start_ns, text=str(error))
                )
            return _nothing()
        block, _, is_complete = mcap_block(content, numbers)
        if not is_complete and report:
            text = 'a chunk ends within a record; what comes before is used'
            self.problems.append(Problem(file=self.path, time_ns=part.segment.end_ns, text=text))
        return block.rows(slice(part.first, part.last))

    def _content(self, segment: _Segment) -> bytes:
        self._stream.seek(segment.offset)
        content = self._stream.read(segment.end - segment.offset)
        if not segment.is_chunk:
            return content
        record = content[_HEAD.size :]
        is_cut = len(record) < _HEAD.unpack_from(content)[1]
        return cut_chunk_content(record) if is_cut else chunk_content(record)

    def _find_segments(self) -> Iterator[_Segment]:
        """Go over the heads of all records."""
        stream, size = self._stream, os.fstat(self._stream.fileno()).st_size
        if stream.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
            raise BagError(f'{self.path}: is no MCAP file, it does not begin as one')
        offset = run_start = len(MCAP0_MAGIC)
        times: list[int] = []
        damage = ''
        while True:
            stream.seek(offset)
            head = stream.read(_HEAD.size + _MESSAGE_HEAD.size)
            if len(head) < _HEAD.size:
                damage = f'ends without an index, at byte {size}'
                break
            opcode, length = _HEAD.unpack_from(head)
            end = offset + _HEAD.size + length
            is_end = opcode in (Opcode.DATA_END, Opcode.FOOTER)
            if opcode == 0 or length > _LONGEST_RECORD:
                damage = f'has no record at byte {offset}'
                break
            if end > size and opcode != Opcode.CHUNK:
                damage = f'is cut off at byte {size}, within a record'
                break
            if opcode == Opcode.CHUNK or is_end or offset - run_start > _RUN_BYTES:
                yield from _run(run_start, offset, times)
                run_start, times = offset, []
            if is_end:
                return
            if opcode == Opcode.CHUNK:
                if len(head) < _HEAD.size + _CHUNK_TIMES.size:
                    damage = f'is cut off at byte {size}, within a record'
                    break
                span = _CHUNK_TIMES.unpack_from(head, _HEAD.size)
                yield _Segment(offset, min(end, size), True, span[0], span[1], True)
                run_start = end
                if end > size:
                    damage = f'is cut off at byte {size}, within a chunk'
                    break
            elif opcode == Opcode.MESSAGE and length >= _MESSAGE_HEAD.size:
                times.append(_MESSAGE_HEAD.unpack_from(head, _HEAD.size)[2])
            offset = end
        if run_start < offset <= size:
            yield from _run(run_start, offset, times)
        self.problems.append(Problem(file=self.path, text=f'{damage}; what comes before is used'))

    def _read_summary(self, is_whole: bool) -> bool:
        """Learn the topics from the index; return whether there is one."""
        if not is_whole:
            if not self.problems:
                self.problems.append(Problem(file=self.path, text='its index is damaged'))
            return False
        self._stream.seek(0)
        try:
            summary = SeekingReader(self._stream).get_summary()
        except (McapError, struct.error, ValueError):
            summary = None
        if summary is None or summary.statistics is None or not summary.channels:
            return False
        self._counts = dict(summary.statistics.channel_message_counts)
        self._channels, self._schemas = dict(summary.channels), dict(summary.schemas)
        return True

    def _read_channels(self) -> None:
        """Learn the topics from the data itself."""
        numbers = np.arange(_CHANNELS)
        for segment in self._segments:
            try:
                content = self._content(segment)
            except BagError:
                # Said when it is read for its messages.
                continue
            block, others, _ = mcap_block(content, numbers)
            for number, count in zip(*np.unique(block.topic, return_counts=True), strict=True):
                self._counts[int(number)] = self._counts.get(int(number), 0) + int(count)
            for start, end in others.tolist():
                record = content[start + _HEAD.size : end]
                if content[start] == Opcode.SCHEMA:
                    schema = parse(Schema, record)
                    self._schemas[schema.id] = schema
                elif content[start] == Opcode.CHANNEL:
                    channel = parse(Channel, record)
                    self._channels.setdefault(channel.id, channel)

    def _topic(self, channel: Channel, count: int) -> TopicInBag:
        schema = self._schemas.get(channel.schema_id)
        return TopicInBag(
            name=channel.topic,
            type_name=schema.name if schema else '',
            definition=schema.data.decode(errors='replace') if schema else '',
            definition_format=schema.encoding if schema else '',
            encoding=channel.message_encoding,
            count=count,
        )


def _run(start: int, end: int, times: list[int]) -> Iterator[_Segment]:
    """Yield the records between two chunks as a segment, if there are any."""
    if end > start:
        first, last = min(times, default=0), max(times, default=0)
        yield _Segment(start, end, False, first, last, bool(times))


def _nothing() -> MessageBlock:
    none = np.empty(0, dtype=np.int64)
    return MessageBlock(buffer=b'', topic=none, time_ns=none, start=none, end=none)
