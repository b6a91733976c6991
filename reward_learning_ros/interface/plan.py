"""Plans, the motions that follow them, and the status of playback."""

from __future__ import annotations

import enum
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
from reward_learning_ros.interface.status import (
    STATUS_TYPE,
    Diagnostic,
    Level,
    status_values,
    whole_number,
)

PATH_TYPE = 'nav_msgs/Path'


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
    check_frame(PATH_TYPE, frame, frame_id, 'header.frame_id')
    for index, pose in enumerate(message.poses):
        # An empty frame means the frame of the path: some tools leave it so.
        if pose.header.frame_id not in ('', frame):
            raise MessageError(
                PATH_TYPE,
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
    with reading(PATH_TYPE, places):
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


JOINT_TRAJECTORY_TYPE = 'trajectory_msgs/JointTrajectory'


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
    with reading(JOINT_TRAJECTORY_TYPE, places):
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
                JOINT_TRAJECTORY_TYPE,
                f'points[{index}].{field}',
                list(row),
                f'must have {len(message.joint_names)} values, as joint_names',
            )
    return np.array(rows, dtype=np.float64)


DEFORMATION_TYPE = 'geometry_msgs/Vector3Stamped'
_STATUS_NAME = 'playback'
_SHIFT_KEY = 'shift_m'


class PlaybackState(enum.Enum):
    """States of playback."""

    IDLE = 'idle'
    APPROACHING = 'approaching'
    HOMING = 'homing'
    PLAYING = 'playing'
    PAUSED = 'paused'
    STOPPED = 'stopped'
    FINISHED = 'finished'
    FAULT = 'fault'

    @property
    def is_moving(self) -> bool:
        """Whether the arm is led somewhere: to a plan's first pose, along the plan, or home."""
        return self in (PlaybackState.APPROACHING, PlaybackState.PLAYING, PlaybackState.HOMING)


# What `not_ready` says before the first plan; what else it says then is why a plan was refused.
NO_PLAN = 'there is no plan'


@dataclass(frozen=True, kw_only=True, eq=False)
class PlaybackStatus(Record):
    """What the playback does, with which plan, and how far it is."""

    state: PlaybackState
    plan_stamp_ns: int = 0
    """Stamp of the plan that is played; 0 while there is none."""
    plan_time_sec: float = 0.0
    """Time in the plan: it stands still while the playback is paused."""
    progress: float = 0.0
    """Share of the plan's duration, 0 to 1."""
    fault: str = ''
    """What is wrong; empty unless the state is FAULT."""
    faults: int = 0
    """How often something was wrong so far; who missed the moment still learns of it here."""
    last_fault: str = ''
    """What was wrong last, also after the arm went on."""
    not_ready: str = ''
    """Why a start, or after a pause or a fault a resume, would be refused now; empty if not."""
    is_too_far: bool = False
    """Whether nothing but the arm's distance from the start of the plan forbids a start."""
    stamp_ns: int = 0
    """When it was so, by the clock of ROS; 0 if that is not known."""
    shift_m: FloatArray | None = None
    """(3,) in metres, by how much the plan is shifted that the arm follows; None if unknown."""
    is_shift_limited: bool = False
    """Whether the arm could not follow the latest shift that was asked for: `shift_m` is what it
    follows instead."""

    def __post_init__(self) -> None:
        if self.shift_m is not None:
            self._set_array('shift_m', (3,))
        try:
            self._set('state', PlaybackState(self.state))
        except ValueError:
            states = ', '.join(state.value for state in PlaybackState)
            raise self.refusal('state', self.state, f'must be one of {states}') from None
        self._check_stamp('plan_stamp_ns')
        self._check_stamp('stamp_ns')
        self._set_number('plan_time_sec', minimum=0.0)
        self._set_number('progress', minimum=0.0, maximum=1.0)
        if bool(self.fault) != (self.state is PlaybackState.FAULT):
            raise self.refusal('fault', self.fault, 'must be given if and only if state is fault')
        if self.faults < 0:
            raise self.refusal('faults', self.faults, 'must not be negative')


@dataclass(frozen=True, kw_only=True, eq=False)
class Deformation(Record):
    """How far a person holds the arm away from its plan, now."""

    stamp_ns: int
    frame_id: str
    shift: FloatArray
    """(3,) in metres."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        self._check_text('frame_id')
        self._set_array('shift', (3,))


def diagnostic_of(status: PlaybackStatus) -> Diagnostic:
    """Return a status as the diagnostic that carries it."""
    return Diagnostic(
        name=_STATUS_NAME,
        level=Level.ERROR if status.state is PlaybackState.FAULT else Level.OK,
        message=status.fault or status.state.value,
        values={
            'state': status.state.value,
            'plan_stamp_ns': str(status.plan_stamp_ns),
            'plan_time_sec': repr(status.plan_time_sec),
            'progress': repr(status.progress),
            'fault': status.fault,
            'faults': str(status.faults),
            'last_fault': status.last_fault,
            'not_ready': status.not_ready,
            'is_too_far': str(int(status.is_too_far)),
            'stamp_ns': str(status.stamp_ns),
            _SHIFT_KEY: ''
            if status.shift_m is None
            else ' '.join(repr(float(value)) for value in status.shift_m),
            'is_shift_limited': str(int(status.is_shift_limited)),
        },
    )


def playback_status_from_message(message: Any) -> PlaybackStatus:
    """Read the playback's status from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    attributes = ('state', 'plan_stamp_ns', 'plan_time_sec', 'progress', 'fault')
    values = status_values(message, attributes)
    state = values['state']
    if state == PlaybackState.HOMING.value and _SHIFT_KEY not in values:
        # Recordings of before the shift was told call both ways homing; the one home is rare.
        state = PlaybackState.APPROACHING.value
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in (*attributes, _SHIFT_KEY)}):
        return PlaybackStatus(
            state=state,  # type: ignore[arg-type]  # checked there
            plan_stamp_ns=whole_number(values, 'plan_stamp_ns'),
            plan_time_sec=values['plan_time_sec'],  # type: ignore[arg-type]
            progress=values['progress'],  # type: ignore[arg-type]
            fault=values['fault'],
            # Recordings of before do not have these.
            faults=whole_number({'faults': '0', **values}, 'faults'),
            last_fault=values.get('last_fault', ''),
            not_ready=values.get('not_ready', ''),
            is_too_far=values.get('is_too_far', '0') == '1',
            stamp_ns=whole_number({'stamp_ns': '0', **values}, 'stamp_ns'),
            shift_m=values.get(_SHIFT_KEY, '').split() or None,  # type: ignore[arg-type]
            is_shift_limited=values.get('is_shift_limited', '0') == '1',
        )


def deformation_from_message(message: Any, *, frame_id: str | None = None) -> Deformation:
    """Read a deformation from a geometry_msgs/Vector3Stamped.

    Raises:
        MessageError: A field of the message cannot be used, or it is not in `frame_id`.
    """
    check_frame(DEFORMATION_TYPE, message.header.frame_id, frame_id, 'header.frame_id')
    places = {'stamp_ns': 'header.stamp', 'frame_id': 'header.frame_id', 'shift': 'vector'}
    with reading(DEFORMATION_TYPE, places):
        return Deformation(
            stamp_ns=stamp_ns_of(message.header.stamp),
            frame_id=message.header.frame_id,
            shift=np.array([message.vector.x, message.vector.y, message.vector.z]),
        )
