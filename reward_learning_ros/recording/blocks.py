"""Many serialized messages at once, in one buffer, found by compiled code and put in order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.recording.mcap_records import decompressed_message
from reward_learning_ros.recording.problems import BagError

Ints = NDArray[np.int64]
# Serialized messages begin with 00 00 or 00 01; compressed ones with this.
_ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'

_MESSAGE_OPCODE = 5
_HEAD_BYTES = 9
_MESSAGE_HEAD_BYTES = 22


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageBlock:
    """Messages of several topics, in the order of their times.

    Attributes:
        buffer: holds all of them.
        topic: (k,) the number of each one's topic.
        time_ns: (k,) when each was recorded.
        start: (k,) where each begins in the buffer.
        end: (k,) where it ends.
    """

    buffer: bytes
    topic: Ints
    time_ns: Ints
    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.topic)

    def rows(self, chosen: slice | NDArray[np.bool_] | Ints) -> MessageBlock:
        """Return some of the messages, in the same buffer."""
        return MessageBlock(
            buffer=self.buffer,
            topic=self.topic[chosen],
            time_ns=self.time_ns[chosen],
            start=self.start[chosen],
            end=self.end[chosen],
        )

    def data(self, row: int) -> bytes:
        """Return one message."""
        return self.buffer[self.start[row] : self.end[row]]

    def messages(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield topic, time and content of each."""
        for topic, time_ns, start, end in zip(
            self.topic.tolist(),
            self.time_ns.tolist(),
            self.start.tolist(),
            self.end.tolist(),
            strict=True,
        ):
            yield topic, time_ns, self.buffer[start:end]

    def in_order(self) -> MessageBlock:
        """Return them in the order of their times; those of one time as they were."""
        if (np.diff(self.time_ns) >= 0).all():
            return self
        return self.rows(np.argsort(self.time_ns, kind='stable'))

    def decompressed(self, on_damage: Callable[[int, str], None]) -> MessageBlock:
        """Return the messages with those decompressed that rosbag2 compressed one by one.

        Args:
            on_damage: Told row and reason of each message that is left out.
        """
        if not self._compressed().any():
            return self
        kept, messages = [], []
        for row, (_, _, data) in enumerate(self.messages()):
            try:
                messages.append(decompressed_message(data) if data[:4] == _ZSTD_MAGIC else data)
            except BagError as error:
                on_damage(row, str(error))
            else:
                kept.append(row)
        rows = np.array(kept, dtype=np.int64)
        return block_of(self.topic[rows], self.time_ns[rows], messages)

    def _compressed(self) -> NDArray[np.bool_]:
        """Return which messages begin as those that rosbag2 compressed."""
        numbers = np.frombuffer(self.buffer, dtype=np.uint8)
        begins = self.end - self.start >= len(_ZSTD_MAGIC)
        for index, expected in enumerate(_ZSTD_MAGIC):
            begins[begins] = numbers[self.start[begins] + index] == expected
        return begins


def block_of(topic: Ints, time_ns: Ints, messages: list[bytes]) -> MessageBlock:
    """Return separate messages as a block."""
    end = np.cumsum([len(message) for message in messages], dtype=np.int64)
    start = np.concatenate([[0], end[:-1]]).astype(np.int64)[: len(messages)]
    return MessageBlock(
        buffer=b''.join(messages), topic=topic, time_ns=time_ns, start=start, end=end
    )


def joined(first: MessageBlock, second: MessageBlock) -> MessageBlock:
    """Return the messages of both, in the order of their times."""
    if not len(first):
        return second
    # Only what is left of the first is copied.
    kept = block_of(first.topic, first.time_ns, [data for _, _, data in first.messages()])
    shift = len(kept.buffer)
    return MessageBlock(
        buffer=kept.buffer + second.buffer,
        topic=np.concatenate([kept.topic, second.topic]),
        time_ns=np.concatenate([kept.time_ns, second.time_ns]),
        start=np.concatenate([kept.start, second.start + shift]),
        end=np.concatenate([kept.end, second.end + shift]),
    ).in_order()


def mcap_block(content: bytes, topic_of_channel: Ints) -> tuple[MessageBlock, Ints, bool]:
    """Find the messages in the content of an MCAP chunk, in the order of the file.

    Args:
        content: of the chunk, uncompressed.
        topic_of_channel: (65536,) the topic of each channel, -1 for those to leave out.

    Returns:
        The messages; (j, 2) where other records begin and end; and whether the content ends with
        a whole record.
    """
    numbers = np.frombuffer(content, dtype=np.uint8)
    counts = _count(numbers)
    places = np.empty((4, counts[0]), dtype=np.int64)
    others = np.empty((counts[1], 2), dtype=np.int64)
    found = _walk(numbers, topic_of_channel, places, others)
    topic, time_ns, start, end = places[:, :found]
    block = MessageBlock(buffer=content, topic=topic, time_ns=time_ns, start=start, end=end)
    return block, others, bool(counts[2] == len(content))


@numba.njit(cache=True)
def _word(numbers: np.ndarray, position: int, size: int) -> int:
    value = np.int64(0)
    for i in range(size - 1, -1, -1):
        value = (value << 8) | np.int64(numbers[position + i])
    return value


@numba.njit(cache=True)
def _count(numbers: np.ndarray) -> tuple[int, int, int]:
    """Return how many whole messages and other records there are, and where the last ends."""
    messages, others, position = 0, 0, 0
    while position + _HEAD_BYTES <= len(numbers):
        length = _word(numbers, position + 1, 8)
        # A length beyond 2**63 reads as negative, and a sum with one just below it would too.
        if length < 0 or length > len(numbers) - position - _HEAD_BYTES:
            break
        if numbers[position] == _MESSAGE_OPCODE and length >= _MESSAGE_HEAD_BYTES:
            messages += 1
        else:
            others += 1
        position += _HEAD_BYTES + length
    return messages, others, position


@numba.njit(cache=True)
def _walk(
    numbers: np.ndarray, topic_of_channel: np.ndarray, places: np.ndarray, others: np.ndarray
) -> int:
    message, other, position = 0, 0, 0
    for _ in range(places.shape[1] + len(others)):
        length = _word(numbers, position + 1, 8)
        start = position + _HEAD_BYTES
        end = start + length
        if numbers[position] == _MESSAGE_OPCODE and length >= _MESSAGE_HEAD_BYTES:
            topic = topic_of_channel[_word(numbers, start, 2)]
            if topic >= 0:
                places[0, message] = topic
                places[1, message] = _word(numbers, start + 6, 8)
                places[2, message] = start + _MESSAGE_HEAD_BYTES
                places[3, message] = end
                message += 1
        else:
            others[other, 0] = position
            others[other, 1] = end
            other += 1
        position = end
    return message


# Within a topic nothing is recorded so much later than what came after it; a clock that was set
# back does that.
CLOCK_JUMP_NS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a file.

    Attributes:
        start_ns: time of its earliest message.
        load: reads it.
    """

    start_ns: int
    load: Callable[[], MessageBlock]


def overlap(spans: list[tuple[int, int]]) -> bool:
    """Return whether parts with earliest and latest times overlap more than messages come late."""
    return any(after[0] < before[1] - CLOCK_JUMP_NS for before, after in itertools.pairwise(spans))


def merged(pieces: Iterable[Piece]) -> Iterator[MessageBlock]:
    """Yield the messages of all pieces in the order of their times.

    Only pieces that overlap are in memory at the same time.
    """
    ordered = sorted(pieces, key=lambda piece: piece.start_ns)
    pending: MessageBlock | None = None
    afterwards: list[Piece | None] = [*ordered[1:], None]
    # Without strict: of no pieces at all, None is one too many.
    for piece, after in zip(ordered, afterwards, strict=False):
        block = piece.load().in_order()
        if pending is not None:
            block = joined(pending, block)
        if after is None:
            ready = len(block)
        else:
            ready = int(np.searchsorted(block.time_ns, after.start_ns))
        pending = block.rows(slice(ready, None)) if ready < len(block) else None
        if ready:
            yield block.rows(slice(0, ready))


class ClockWatch:
    """Finds where the clock that stamped the messages was set back."""

    def __init__(self, topics: int) -> None:
        self._newest_ns = np.full(topics, -1, dtype=np.int64)

    def breaks(self, block: MessageBlock) -> list[int]:
        """Return the rows, of a block in the order of its file, at which a new time begins."""
        found: list[int] = []
        first = 0
        while (row := self._next_break(block, first)) is not None:
            found.append(row)
            self._newest_ns[:] = -1
            first = row
        return found

    def _next_break(self, block: MessageBlock, first: int) -> int | None:
        breaks = []
        newest = self._newest_ns.copy()
        for topic in np.unique(block.topic[first:]):
            rows = first + np.flatnonzero(block.topic[first:] == topic)
            times = block.time_ns[rows]
            before = np.maximum.accumulate(np.concatenate([[newest[topic]], times]))
            late = times < before[:-1] - CLOCK_JUMP_NS
            if late.any():
                breaks.append(int(rows[np.argmax(late)]))
            newest[topic] = before[-1]
        if breaks:
            return min(breaks)
        self._newest_ns = newest
        return None
