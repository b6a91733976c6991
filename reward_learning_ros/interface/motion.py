"""The motion of the joints that the arm is told to make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.interface.records import (
    FloatArray,
    MessageError,
    Record,
    reading,
    stamp_ns_of,
)

MESSAGE_TYPE = 'trajectory_msgs/JointTrajectory'


@dataclass(frozen=True, kw_only=True, eq=False)
class JointTrajectory(Record):
    """Joint positions over time, with velocities and accelerations where they are known."""

    joint_names: tuple[str, ...]
    """(j,)"""
    positions: FloatArray
    """(n, j) in radians."""
    times_sec: FloatArray
    """(n,) increasing, from 0 or later."""
    velocities: FloatArray | None = None
    """(n, j) in radians per second."""
    accelerations: FloatArray | None = None
    """(n, j) in radians per second squared."""
    stamp_ns: int = 0
    """When to start; 0 means at once."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        joints = len(self._set_names('joint_names'))
        positions = self._set_array('positions', ('n', joints))
        self._set_times('times_sec', len(positions))
        for field in ('velocities', 'accelerations'):
            if getattr(self, field) is not None:
                self._check_length(
                    field, len(self._set_array(field, ('n', joints))), len(positions)
                )


def joint_trajectory_from_message(message: Any) -> JointTrajectory:
    """Read a motion from a trajectory_msgs/JointTrajectory.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    columns = {
        field: _column(message, field) for field in ('positions', 'velocities', 'accelerations')
    }
    places = {
        'stamp_ns': 'header.stamp',
        'times_sec': 'points[{index}].time_from_start',
        **{field: f'points[{{index}}].{field}' for field in columns},
    }
    with reading(MESSAGE_TYPE, places):
        return JointTrajectory(
            joint_names=tuple(message.joint_names),
            positions=columns['positions'] if columns['positions'] is not None else np.empty(0),
            times_sec=np.array(
                [stamp_ns_of(point.time_from_start) / 1e9 for point in message.points]
            ),
            velocities=columns['velocities'],
            accelerations=columns['accelerations'],
            stamp_ns=stamp_ns_of(message.header.stamp),
        )


def _column(message: Any, field: str) -> FloatArray | None:
    """Return one quantity of all points, None if no point has it."""
    rows = [getattr(point, field) for point in message.points]
    if not any(len(row) for row in rows):
        return None
    for index, row in enumerate(rows):
        if len(row) != len(message.joint_names):
            raise MessageError(
                MESSAGE_TYPE,
                f'points[{index}].{field}',
                list(row),
                f'must have {len(message.joint_names)} values, as joint_names',
            )
    return np.array(rows, dtype=np.float64)
