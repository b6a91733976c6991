"""Messages in the order of their times, out of pieces that may overlap; a little in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.recording.blocks import MessageBlock, joined

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
