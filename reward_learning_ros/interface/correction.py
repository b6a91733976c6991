"""A correction: how far a person moved each waypoint of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np

from reward_learning_ros.interface.records import (
    MAX_SEC,
    FloatArray,
    MessageError,
    Record,
    check_frame,
    reading,
    stamp_ns_of,
)

MESSAGE_TYPE = 'trajectory_msgs/MultiDOFJointTrajectory'
# Far beyond the reach of any arm: what is greater is not in metres, or damaged.
MAX_DELTA = 100.0

# What a correction has beyond its deltas, as it is called in the message, and how it is read.
_ATTRIBUTES = {
    'plan_stamp_ns': int,
    'onset_waypoint': int,
    'onset_time_sec': float,
    'duration_sec': float,
    'peak_force': float,
    'confidence': float,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Correction(Record):
    """The delta of every waypoint of a plan, and the contact that it came from.

    In a message it is one joint with many degrees of freedom, from the planned to the corrected
    tool: each point holds the delta of one waypoint as a transform, and the waypoint's time in
    the plan. MultiDOFJointTrajectory has no room for attributes, so they are appended to the
    joint's name as a query (RFC 3986): readable in every tool, exact, and each point still has
    as many transforms as there are joints:

        fr3_hand_tcp?plan_stamp_ns=1760000000000000000&onset_waypoint=4&onset_time_sec=1.25&…
    """

    stamp_ns: int
    """When the contact began."""
    frame_id: str
    tool_frame: str
    plan_stamp_ns: int
    """Stamp of the plan that is corrected."""
    delta_positions: FloatArray
    """(n, 3) shift of each waypoint in `frame_id`, in metres."""
    delta_orientations: FloatArray
    """(n, 4) turn of each waypoint in `frame_id`, unit quaternions x y z w."""
    times_sec: FloatArray
    """(n,) times of the waypoints in the plan."""
    onset_waypoint: int
    """Index of the first waypoint at or after the onset, 0 to n - 1."""
    onset_time_sec: float
    """Time in the plan at which the contact began."""
    duration_sec: float
    """How long the contact lasted."""
    peak_force: float
    """Greatest force of the contact, in newtons."""
    confidence: float
    """From 0 (perhaps no contact at all) to 1."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        self._check_text('frame_id')
        self._check_text('tool_frame')
        if '?' in self.tool_frame:
            raise self.refusal('tool_frame', self.tool_frame, 'must not contain "?"')
        self._check_stamp('plan_stamp_ns')
        deltas = self._set_array('delta_positions', ('n', 3))
        is_far = np.abs(deltas).max(axis=1) > MAX_DELTA
        if is_far.any():
            row = int(np.argmax(is_far))
            raise self.refusal(
                'delta_positions', deltas[row].tolist(), f'must be at most {MAX_DELTA:g} m', row
            )
        turns = self._set_quaternions('delta_orientations', ('n', 4))
        self._check_length('delta_orientations', len(turns), len(deltas))
        self._set_times('times_sec', len(deltas))
        if isinstance(self.onset_waypoint, bool) or not isinstance(
            self.onset_waypoint, (int, np.integer)
        ):
            raise self.refusal('onset_waypoint', self.onset_waypoint, 'must be a whole number')
        if not 0 <= self.onset_waypoint < len(deltas):
            raise self.refusal(
                'onset_waypoint', self.onset_waypoint, f'must be 0 to {len(deltas) - 1}'
            )
        self._set('onset_waypoint', int(self.onset_waypoint))
        self._set_number('onset_time_sec', minimum=0.0, maximum=MAX_SEC)
        self._set_number('duration_sec', minimum=0.0, maximum=MAX_SEC)
        self._set_number('peak_force', minimum=0.0)
        self._set_number('confidence', minimum=0.0, maximum=1.0)

    @property
    def end_ns(self) -> int:
        """When the contact ended."""
        return self.stamp_ns + round(self.duration_sec * 1e9)


def joint_name_of(correction: Correction) -> str:
    """Return the joint's name in the message: the tool frame and the attributes."""
    # repr gives the shortest text that reads back as the same number.
    attributes = {name: repr(getattr(correction, name)) for name in _ATTRIBUTES}
    return f'{correction.tool_frame}?{urlencode(attributes)}'


def correction_from_message(message: Any, *, frame_id: str | None = None) -> Correction:
    """Read a correction from a trajectory_msgs/MultiDOFJointTrajectory.

    Args:
        message: The message.
        frame_id: The frame that the deltas must be in, if only one will do.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    check_frame(MESSAGE_TYPE, message.header.frame_id, frame_id, 'header.frame_id')
    if len(message.joint_names) != 1:
        raise MessageError(
            MESSAGE_TYPE, 'joint_names', list(message.joint_names), 'must be one, the tool'
        )
    tool_frame, attributes = _split(message.joint_names[0])
    for index, point in enumerate(message.points):
        if len(point.transforms) != 1:
            raise MessageError(
                MESSAGE_TYPE,
                f'points[{index}].transforms',
                f'{len(point.transforms)} transforms',
                'must be one, as joint_names',
            )
    deltas = [point.transforms[0].translation for point in message.points]
    turns = [point.transforms[0].rotation for point in message.points]
    places = {
        'stamp_ns': 'header.stamp',
        'frame_id': 'header.frame_id',
        'tool_frame': 'joint_names[0]',
        'delta_positions': 'points[{index}].transforms[0].translation',
        'delta_orientations': 'points[{index}].transforms[0].rotation',
        'times_sec': 'points[{index}].time_from_start',
        **{name: f'joint_names[0], {name}' for name in _ATTRIBUTES},
    }
    with reading(MESSAGE_TYPE, places):
        return Correction(
            stamp_ns=stamp_ns_of(message.header.stamp),
            frame_id=message.header.frame_id,
            tool_frame=tool_frame,
            delta_positions=np.array([[t.x, t.y, t.z] for t in deltas]),
            delta_orientations=np.array([[q.x, q.y, q.z, q.w] for q in turns]),
            times_sec=np.array(
                [stamp_ns_of(point.time_from_start) / 1e9 for point in message.points]
            ),
            **attributes,
        )


def _split(joint_name: str) -> tuple[str, dict[str, Any]]:
    """Return the tool frame and the attributes of a joint's name."""
    tool_frame, _, query = joint_name.partition('?')
    texts = dict(parse_qsl(query, keep_blank_values=True))
    if set(texts) != set(_ATTRIBUTES):
        raise MessageError(
            MESSAGE_TYPE,
            'joint_names[0]',
            joint_name,
            f'must be tool_frame?{"&".join(f"{name}=…" for name in _ATTRIBUTES)}',
        )
    attributes = {}
    for name, read in _ATTRIBUTES.items():
        try:
            attributes[name] = read(texts[name])
        except ValueError:
            raise MessageError(
                MESSAGE_TYPE,
                f'joint_names[0], {name}',
                texts[name],
                'must be a whole number' if read is int else 'must be a number',
            ) from None
    return tool_frame, attributes
