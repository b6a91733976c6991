"""The corrections of a pass, and those of older recordings: one for each contact."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from numpy.typing import NDArray

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

# Where the fields of either record stand in the message.
_PLACES = {
    'frame_id': 'header.frame_id',
    'delta_positions': 'points[{index}].transforms[0].translation',
    'delta_orientations': 'points[{index}].transforms[0].rotation',
    'times_sec': 'points[{index}].time_from_start',
}

# What a contact has beyond its deltas, as it is called in the message, and how it is read.
_ATTRIBUTES = {
    'plan_stamp_ns': int,
    'onset_waypoint': int,
    'onset_time_sec': float,
    'duration_sec': float,
    'peak_force': float,
    'confidence': float,
}


class _DeltaRecord(Record):
    """A record with a shift and a turn of each of some waypoints."""

    def _set_deltas(self) -> None:
        """Keep deltas, turns and times, as many of each."""
        deltas = self._set_array('delta_positions', ('k', 3))
        is_far = np.abs(deltas).max(axis=1) > MAX_DELTA
        if is_far.any():
            row = int(np.argmax(is_far))
            raise self.refusal(
                'delta_positions', deltas[row].tolist(), f'must be at most {MAX_DELTA:g} m', row
            )
        turns = self._set_quaternions('delta_orientations', ('k', 4))
        self._check_length('delta_orientations', len(turns), len(deltas))
        self._set_times('times_sec', len(deltas))


@dataclass(frozen=True, kw_only=True, eq=False)
class PassCorrections(_DeltaRecord):
    """What a person did to one pass of a plan, as far as the arm has got.

    In a message it is one joint with many degrees of freedom, the tool. The header's stamp is that
    of the plan. Each point is one waypoint, named by its time in the plan; its transform is the
    delta by which the person moved this waypoint and all later ones. The identity is silence:
    nobody pushed there. A waypoint of which nothing is known has no point.

    A later message of the same plan replaces the earlier ones.
    """

    plan_stamp_ns: int
    """Stamp of the plan that is corrected."""
    frame_id: str
    tool_frame: str
    times_sec: FloatArray
    """(k,) times in the plan of the waypoints that something is known of; may be empty."""
    delta_positions: FloatArray
    """(k, 3) shift of each waypoint and all later ones in `frame_id`, in metres."""
    delta_orientations: FloatArray
    """(k, 4) turn of each waypoint and all later ones in `frame_id`, unit quaternions x y z w."""

    def __post_init__(self) -> None:
        self._check_stamp('plan_stamp_ns')
        self._check_text('frame_id')
        self._check_text('tool_frame')
        if '?' in self.tool_frame:
            raise self.refusal('tool_frame', self.tool_frame, 'must not contain "?"')
        if np.size(self.times_sec) == 0:
            for name, columns in (('delta_positions', 3), ('delta_orientations', 4)):
                self._check_length(name, len(getattr(self, name)), 0)
                self._set(name, _read_only(np.zeros((0, columns))))
            self._set('times_sec', _read_only(np.zeros(0)))
            return
        self._set_deltas()

    @property
    def is_push(self) -> NDArray[np.bool_]:
        """Whether somebody pushed (k,) at each waypoint."""
        turned = np.abs(self.delta_orientations[:, :3]).max(axis=1, initial=0.0) > 0.0
        return np.asarray((self.delta_positions != 0.0).any(axis=1) | turned)

    @property
    def pushes(self) -> int:
        """At how many waypoints somebody pushed."""
        return int(self.is_push.sum())

    @property
    def digest(self) -> str:
        """A short text that tells this content from any other."""
        content = hashlib.blake2b(digest_size=8)
        content.update(f'{self.plan_stamp_ns} {self.frame_id} {self.tool_frame}'.encode())
        for array in (self.times_sec, self.delta_positions, self.delta_orientations):
            # Negative zero is zero.
            content.update((array + 0.0).tobytes())
        return content.hexdigest()


@dataclass(frozen=True, kw_only=True, eq=False)
class Correction(_DeltaRecord):
    """One contact as a delta of every waypoint of a plan, as older recordings have it.

    In a message it is one joint with many degrees of freedom, from the planned to the corrected
    tool: each point holds the delta of one waypoint as a transform, and the waypoint's time in
    the plan. Attributes are appended to the joint's name as a query (RFC 3986):

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
        self._set_deltas()
        count = len(self.delta_positions)
        if isinstance(self.onset_waypoint, bool) or not isinstance(
            self.onset_waypoint, (int, np.integer)
        ):
            raise self.refusal('onset_waypoint', self.onset_waypoint, 'must be a whole number')
        if not 0 <= self.onset_waypoint < count:
            raise self.refusal('onset_waypoint', self.onset_waypoint, f'must be 0 to {count - 1}')
        self._set('onset_waypoint', int(self.onset_waypoint))
        self._set_number('onset_time_sec', minimum=0.0, maximum=MAX_SEC)
        self._set_number('duration_sec', minimum=0.0, maximum=MAX_SEC)
        self._set_number('peak_force', minimum=0.0)
        self._set_number('confidence', minimum=0.0, maximum=1.0)

    @property
    def end_ns(self) -> int:
        """When the contact ended."""
        return self.stamp_ns + round(self.duration_sec * 1e9)


def data_digest(passes: Iterable[PassCorrections]) -> str:
    """Return a short text that tells the content of some passes from any other; '' of none."""
    digests = [each.digest for each in passes]
    if not digests:
        return ''
    return hashlib.blake2b(' '.join(digests).encode(), digest_size=8).hexdigest()


def corrections_from_message(
    message: Any, *, frame_id: str | None = None
) -> PassCorrections | Correction:
    """Read corrections from a trajectory_msgs/MultiDOFJointTrajectory, of a pass or a contact.

    Args:
        message: The message.
        frame_id: The frame that the deltas must be in, if only one will do.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    if len(message.joint_names) == 1 and '?' in message.joint_names[0]:
        return correction_from_message(message, frame_id=frame_id)
    check_frame(MESSAGE_TYPE, message.header.frame_id, frame_id, 'header.frame_id')
    positions, orientations, times_sec = _points_of(message)
    places = {
        'plan_stamp_ns': 'header.stamp',
        'tool_frame': 'joint_names[0]',
        **_PLACES,
    }
    with reading(MESSAGE_TYPE, places):
        return PassCorrections(
            plan_stamp_ns=stamp_ns_of(message.header.stamp),
            frame_id=message.header.frame_id,
            tool_frame=message.joint_names[0],
            times_sec=times_sec,
            delta_positions=positions,
            delta_orientations=orientations,
        )


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
    positions, orientations, times_sec = _points_of(message)
    tool_frame, attributes = _split(message.joint_names[0])
    places = {
        'stamp_ns': 'header.stamp',
        'tool_frame': 'joint_names[0]',
        **_PLACES,
        **{name: f'joint_names[0], {name}' for name in _ATTRIBUTES},
    }
    with reading(MESSAGE_TYPE, places):
        return Correction(
            stamp_ns=stamp_ns_of(message.header.stamp),
            frame_id=message.header.frame_id,
            tool_frame=tool_frame,
            delta_positions=positions,
            delta_orientations=orientations,
            times_sec=times_sec,
            **attributes,
        )


def _points_of(message: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the deltas (k, 3), the turns (k, 4) and the times (k,) of the message's points."""
    if len(message.joint_names) != 1:
        raise MessageError(
            MESSAGE_TYPE, 'joint_names', list(message.joint_names), 'must be one, the tool'
        )
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
    return (
        np.array([[t.x, t.y, t.z] for t in deltas]),
        np.array([[q.x, q.y, q.z, q.w] for q in turns]),
        np.array([stamp_ns_of(point.time_from_start) / 1e9 for point in message.points]),
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


def _read_only(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
