"""The state of the playback, and the live shift of the plan while a person pushes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.interface.diagnostics import (
    STATUS_TYPE,
    Diagnostic,
    Level,
    status_values,
    whole_number,
)
from reward_learning_ros.interface.records import (
    FloatArray,
    Record,
    check_frame,
    reading,
    stamp_ns_of,
)

DEFORMATION_TYPE = 'geometry_msgs/Vector3Stamped'
_STATUS_NAME = 'playback'
_SHIFT_KEY = 'shift_m'


class PlaybackState(enum.Enum):
    """What the playback does."""

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
