"""The plan that the arm plays: tool poses over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.interface.records import (
    FloatArray,
    MessageError,
    Record,
    check_frame,
    reading,
    stamp_ns_of,
)

MESSAGE_TYPE = 'nav_msgs/Path'


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Record):
    """Tool poses in a frame and when to be there, counted from the start of the playback.

    A plan is known by its stamp: a correction names the stamp of the plan that it corrects.
    """

    stamp_ns: int
    """When the plan was made."""
    frame_id: str
    positions: FloatArray
    """(n, 3) in metres."""
    orientations: FloatArray
    """(n, 4) unit quaternions x y z w."""
    times_sec: FloatArray
    """(n,) increasing, from 0 or later."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        self._check_text('frame_id')
        positions = self._set_array('positions', ('n', 3))
        orientations = self._set_quaternions('orientations', ('n', 4))
        self._check_length('orientations', len(orientations), len(positions))
        self._set_times('times_sec', len(positions))

    @property
    def duration_sec(self) -> float:
        """Time of the last pose."""
        return float(self.times_sec[-1])


def plan_from_message(message: Any, *, frame_id: str | None = None) -> Plan:
    """Read a plan from a nav_msgs/Path.

    Args:
        message: The message. The stamp of each pose is its time from the start.
        frame_id: The frame that the plan must be in, if only one will do.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    frame = message.header.frame_id
    check_frame(MESSAGE_TYPE, frame, frame_id, 'header.frame_id')
    for index, pose in enumerate(message.poses):
        # An empty frame means the frame of the path: some tools leave it so.
        if pose.header.frame_id not in ('', frame):
            raise MessageError(
                MESSAGE_TYPE,
                f'poses[{index}].header.frame_id',
                pose.header.frame_id,
                f'must be {frame!r}, as the path',
            )
    poses = [stamped.pose for stamped in message.poses]
    places = {
        'stamp_ns': 'header.stamp',
        'frame_id': 'header.frame_id',
        'positions': 'poses[{index}].pose.position',
        'orientations': 'poses[{index}].pose.orientation',
        'times_sec': 'poses[{index}].header.stamp',
    }
    with reading(MESSAGE_TYPE, places):
        return Plan(
            stamp_ns=stamp_ns_of(message.header.stamp),
            frame_id=frame,
            positions=np.array([[p.position.x, p.position.y, p.position.z] for p in poses]),
            orientations=np.array(
                [
                    [p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w]
                    for p in poses
                ]
            ),
            times_sec=np.array(
                [stamp_ns_of(stamped.header.stamp) / 1e9 for stamped in message.poses]
            ),
        )
