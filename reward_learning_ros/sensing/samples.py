"""Samples of the arm: their streams, as they arrive one by one, and side by side in blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError


class DecodingError(RewardLearningError, ValueError):
    """Serialized bytes are not the message that they should be."""


class TruncatedMessageError(DecodingError):
    """A field would lie beyond the end of the bytes."""


class EncapsulationError(DecodingError):
    """The bytes are not plain CDR, version 1."""


class SampleShapeError(InvalidInputError):
    """An array of samples has a shape that its stream does not have."""


JOINT_COUNT = 7
NANOSECONDS = 1_000_000_000
# The age of a value that was never received.
NEVER_NS = np.iinfo(np.int64).max


class Stream(IntEnum):
    """The streams of samples. The external torque is the clock: it decides what happens when."""

    TORQUE = 0
    JOINTS = 1
    POSE = 2
    REFERENCE = 3
    WRENCH = 4


STREAM_WIDTHS: Mapping[Stream, int] = {
    Stream.TORQUE: JOINT_COUNT,  # external joint torque, N·m
    Stream.JOINTS: 2 * JOINT_COUNT,  # position, rad, then velocity, rad/s
    Stream.POSE: 7,  # measured tool pose in the base frame: x y z in m, quaternion x y z w
    Stream.REFERENCE: 3,  # where the tool should be, in the base frame, m
    Stream.WRENCH: 6,  # external force, N, and torque, N·m, in the base frame
}


@dataclass(frozen=True, kw_only=True)
class SampleBlock:
    """Consecutive torque samples with the latest value of every other stream beside each.

    A value is held until the next one of its stream; its age says how old it is by then. A stream
    that has not begun has NaN values and the age `NEVER_NS`.

    Attributes:
        time_ns: (n,) stamps of the torque samples, increasing within an epoch.
        epoch: (n,) counts how often the clock has jumped backwards.
        torque_nm: (n, 7) external joint torques.
        joint_position_rad: (n, 7).
        joint_velocity_rad_s: (n, 7).
        joint_age_ns: (n,).
        tool_pose: (n, 7) measured, base frame: x y z, quaternion x y z w.
        tool_age_ns: (n,).
        reference_m: (n, 3) where the tool should be, base frame.
        reference_age_ns: (n,).
        wrench: (n, 6) force, N, and torque, N·m, base frame.
        wrench_age_ns: (n,).
    """

    time_ns: np.ndarray
    epoch: np.ndarray
    torque_nm: np.ndarray
    joint_position_rad: np.ndarray
    joint_velocity_rad_s: np.ndarray
    joint_age_ns: np.ndarray
    tool_pose: np.ndarray
    tool_age_ns: np.ndarray
    reference_m: np.ndarray
    reference_age_ns: np.ndarray
    wrench: np.ndarray
    wrench_age_ns: np.ndarray

    def __post_init__(self) -> None:
        for field, width in _WIDTHS.items():
            array = getattr(self, field)
            expected = (len(self.time_ns),) if width == 0 else (len(self.time_ns), width)
            if array.shape != expected:
                raise SampleShapeError(f'{field} has shape {array.shape}, expected {expected}')

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, part: slice) -> SampleBlock:
        return SampleBlock(**{field.name: getattr(self, field.name)[part] for field in _FIELDS})

    @property
    def tool_position_m(self) -> np.ndarray:
        """(n, 3) measured tool position in the base frame."""
        return self.tool_pose[:, :3]


_FIELDS = fields(SampleBlock)
_WIDTHS = {
    'time_ns': 0,
    'epoch': 0,
    'torque_nm': JOINT_COUNT,
    'joint_position_rad': JOINT_COUNT,
    'joint_velocity_rad_s': JOINT_COUNT,
    'joint_age_ns': 0,
    'tool_pose': 7,
    'tool_age_ns': 0,
    'reference_m': 3,
    'reference_age_ns': 0,
    'wrench': 6,
    'wrench_age_ns': 0,
}


def join_blocks(blocks: list[SampleBlock]) -> SampleBlock:
    """Returns consecutive blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    return SampleBlock(
        **{
            field.name: np.concatenate([getattr(block, field.name) for block in blocks])
            for field in _FIELDS
        }
    )


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
