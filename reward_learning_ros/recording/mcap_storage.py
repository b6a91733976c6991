"""An MCAP file of a bag, whole or damaged."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from mcap.opcode import Opcode
from mcap.records import Channel, Schema

from reward_learning_ros.recording.blocks import (
    ClockWatch,
    Ints,
    MessageBlock,
    Piece,
    mcap_block,
    merged,
    overlap,
)
from reward_learning_ros.recording.mcap_records import (
    HEAD,
    RecordScan,
    chunk_content,
    cut_chunk_content,
    parse,
    read_summary,
)
from reward_learning_ros.recording.problems import BagError, Problem, TopicInBag

_CHUNK_TIMES = struct.Struct('<QQ')
_MESSAGE_HEAD = struct.Struct('<HIQQ')
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
            if not self._read_summary():
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
                text = 'the clock was set back here; the order of the file is kept'
                self._note(text, int(block.time_ns[row]))
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
        note = self._note if report else _nobody
        try:
            content = self._content(part.segment)
        except BagError as error:
            note(f'byte {part.segment.offset}: {error}; the rest is used', part.segment.start_ns)
            return _nothing()
        block, _, is_complete = mcap_block(content, numbers)
        if not is_complete:
            text = 'a chunk ends within a record; what comes before is used'
            note(f'byte {part.segment.offset}: {text}', part.segment.end_ns)
        # A time of ROS has 63 bits; one with more reads as negative.
        is_possible = block.time_ns >= 0
        if not is_possible.all():
            count = int((~is_possible).sum())
            note(f'byte {part.segment.offset}: messages of impossible time: {count}')
            block = block.rows(is_possible)
        return block.rows(slice(part.first, part.last))

    def _content(self, segment: _Segment) -> bytes:
        self._stream.seek(segment.offset)
        content = self._stream.read(segment.end - segment.offset)
        if not segment.is_chunk:
            return content
        record = content[HEAD.size :]
        is_cut = len(record) < HEAD.unpack_from(content)[1]
        return cut_chunk_content(record) if is_cut else chunk_content(record)

    def _find_segments(self) -> Iterator[_Segment]:
        """Go over the heads of all records."""
        try:
            scan = RecordScan(self._stream)
        except BagError as error:
            raise BagError(f'{self.path}: {error}') from error
        run_start: int | None = None
        run_end = 0
        times: list[int] = []
        for head in scan:
            is_chunk = head.opcode == Opcode.CHUNK
            if run_start is not None and (
                is_chunk or head.offset != run_end or run_end - run_start > _RUN_BYTES
            ):
                yield _run(run_start, run_end, times)
                run_start, times = None, []
            if is_chunk:
                if len(head.beginning) >= _CHUNK_TIMES.size:
                    span = _CHUNK_TIMES.unpack_from(head.beginning)
                    yield _Segment(head.offset, head.end, True, span[0], span[1], True)
                continue
            if run_start is None:
                run_start = head.offset
            run_end = head.end
            size = head.end - head.offset - HEAD.size
            if head.opcode == Opcode.MESSAGE and size >= _MESSAGE_HEAD.size:
                times.append(_MESSAGE_HEAD.unpack_from(head.beginning)[2])
        if run_start is not None:
            yield _run(run_start, run_end, times)
        for damage in scan.damages:
            self._note(f'{damage}; the rest is used')

    def _note(self, text: str, time_ns: int | None = None) -> None:
        self.problems.append(Problem(file=self.path, time_ns=time_ns, text=text))

    def _read_summary(self) -> bool:
        """Learn the topics from the index; return whether there is one."""
        summary = read_summary(self._stream)
        if summary is None and not self.problems:
            self._note('its index is damaged')
        if summary is None or summary.statistics is None or not summary.channels:
            return False
        listed = summary.statistics.chunk_count
        there = sum(segment.is_chunk for segment in self._segments)
        if listed != there and not self.problems:
            self._note(f'is damaged: {there} of {listed} chunks are there')
        self._counts = dict(summary.statistics.channel_message_counts)
        self._channels, self._schemas = summary.channels, summary.schemas
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
                try:
                    self._learn(content[start], content[start + HEAD.size : end])
                except BagError as error:
                    self._note(f'{error}; the rest is used')

    def _learn(self, opcode: int, content: bytes) -> None:
        """Take a type or a topic from its record."""
        if opcode == Opcode.SCHEMA:
            schema = parse(Schema, content)
            self._schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            channel = parse(Channel, content)
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


def _run(start: int, end: int, times: list[int]) -> _Segment:
    """Return records outside of chunks as a segment."""
    first, last = min(times, default=0), max(times, default=0)
    return _Segment(start, end, False, first, last, bool(times))


def _nobody(text: str, time_ns: int | None = None) -> None:
    """Leave it to a later time to say what is wrong."""


def _nothing() -> MessageBlock:
    none = np.empty(0, dtype=np.int64)
    return MessageBlock(buffer=b'', topic=none, time_ns=none, start=none, end=none)
