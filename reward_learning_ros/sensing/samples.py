"""Plain samples of the arm's state: what each stream carries and how they come side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from reward_learning_ros.sensing.sensing_errors import SampleShapeError

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
