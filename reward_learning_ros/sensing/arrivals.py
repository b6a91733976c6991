"""Samples of all streams in the order in which they arrived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.sensing.samples import STREAM_WIDTHS, Stream
from reward_learning_ros.sensing.sensing_errors import SampleShapeError

WIDEST = max(STREAM_WIDTHS.values())


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """Samples of all streams in the order in which they arrived.

    Attributes:
        stream: (n,) which stream each belongs to.
        time_ns: (n,) their stamps.
        values: (n, 14) their values; a narrower stream leaves the rest zero.
    """

    stream: np.ndarray
    time_ns: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        n = len(self.stream)
        if self.time_ns.shape != (n,) or self.values.shape != (n, WIDEST):
            raise SampleShapeError(
                f'arrivals of {n} samples have times {self.time_ns.shape}, values '
                f'{self.values.shape}; expected ({n},), ({n}, {WIDEST})'
            )

    def __len__(self) -> int:
        return len(self.stream)

    def __getitem__(self, part: slice | np.ndarray) -> Arrivals:
        return Arrivals(
            stream=self.stream[part], time_ns=self.time_ns[part], values=self.values[part]
        )


def interleave(recordings: Mapping[Stream, tuple[np.ndarray, np.ndarray]]) -> Arrivals:
    """Returns recorded streams as if every sample had arrived at its stamp.

    Args:
        recordings: stamps (n,) in ns and values (n, width) of each stream.
    """
    total = sum(len(times) for times, _ in recordings.values())
    stream = np.empty(total, dtype=np.int64)
    time_ns = np.empty(total, dtype=np.int64)
    values = np.zeros((total, WIDEST))
    start = 0
    for name, (times, rows) in recordings.items():
        if rows.shape != (len(times), STREAM_WIDTHS[name]):
            raise SampleShapeError(
                f'{name.name} has values of shape {rows.shape}, expected '
                f'({len(times)}, {STREAM_WIDTHS[name]})'
            )
        part = slice(start, start + len(times))
        stream[part], time_ns[part] = name, times
        values[part, : STREAM_WIDTHS[name]] = rows
        start += len(times)
    order = np.argsort(time_ns, kind='stable')
    return Arrivals(stream=stream[order], time_ns=time_ns[order], values=values[order])


def gathered(samples: list[tuple[int, int, Sequence[float]]]) -> Arrivals:
    """Returns samples (stream, stamp, values) that arrived one by one, in that order."""
    stream = np.array([sample[0] for sample in samples], dtype=np.int64)
    values = np.zeros((len(samples), WIDEST))
    for name, width in STREAM_WIDTHS.items():
        mine = stream == name
        if mine.any():
            values[mine, :width] = [sample[2] for sample in samples if sample[0] == name]
    time_ns = np.array([sample[1] for sample in samples], dtype=np.int64)
    return Arrivals(stream=stream, time_ns=time_ns, values=values)
