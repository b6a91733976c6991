"""The status of recorder, participant and session, as diagnostics."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reward_learning_ros.interface.records import (
    FloatArray,
    MessageError,
    Record,
    reading,
    stamp_ns_of,
)

if TYPE_CHECKING:
    # A contact is told as a status, so corrections import this module.
    pass

STATUS_TYPE = 'diagnostic_msgs/DiagnosticStatus'
ARRAY_TYPE = 'diagnostic_msgs/DiagnosticArray'
_MAX_DIGITS = len(str(2**63))


class Level(enum.IntEnum):
    """Levels of a diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnostic(Record):
    """One thing that is well or not, with named values.

    Values become text, as in the message. A number that is not finite is allowed: that an R̂ is
    `nan` is just what a diagnostic has to tell.
    """

    name: str
    level: Level = Level.OK
    message: str = ''
    hardware_id: str = ''
    values: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._check_text('name')
        try:
            self._set('level', Level(self.level))
        except ValueError:
            levels = ', '.join(f'{level.value} ({level.name})' for level in Level)
            raise self.refusal('level', self.level, f'must be one of {levels}') from None
        texts = {
            str(key): value if isinstance(value, str) else str(value)
            for key, value in self.values.items()
        }
        self._set('values', MappingProxyType(texts))


@dataclass(frozen=True, kw_only=True, eq=False)
class DiagnosticReport(Record):
    """The diagnostics of a node at one time."""

    stamp_ns: int
    diagnostics: tuple[Diagnostic, ...]

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        self._set('diagnostics', tuple(self.diagnostics))
        if not self.diagnostics:
            raise self.refusal('diagnostics', (), 'must not be empty')


def level_of(value: Any) -> int:
    """Return a level as a number: in rclpy a byte is `bytes`, in rosbags an int."""
    return value[0] if isinstance(value, bytes) else int(value)


def diagnostic_from_message(message: Any) -> Diagnostic:
    """Read one diagnostic from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    values: dict[str, str] = {}
    for index, item in enumerate(message.values):
        if item.key in values:
            raise MessageError(
                STATUS_TYPE, f'values[{index}].key', item.key, 'must be there only once'
            )
        values[item.key] = item.value
    with reading(STATUS_TYPE, {}):
        return Diagnostic(
            name=message.name,
            level=level_of(message.level),  # type: ignore[arg-type]  # checked there
            message=message.message,
            hardware_id=message.hardware_id,
            values=values,
        )


def status_values(message: Any, names: Sequence[str]) -> Mapping[str, str]:
    """Return the values of a diagnostic_msgs/DiagnosticStatus that carries a record.

    Raises:
        MessageError: One of the names is missing, or the message cannot be used.
    """
    values = diagnostic_from_message(message).values
    if not all(name in values for name in names):
        raise MessageError(STATUS_TYPE, 'values', sorted(values), f'must have {", ".join(names)}')
    return values


def whole_number(values: Mapping[str, str], name: str) -> int:
    """Return the named value of a status as a whole number.

    Raises:
        MessageError: It is no whole number, negative, or has more than 63 bits.
    """
    return whole_number_of(values[name], name)


def whole_number_of(text: str, name: str) -> int:
    """Return the text of a value, or a part of it, as a number.

    Raises:
        MessageError: It is no whole number, negative, or has more than 63 bits.
    """
    # By its length first: to read a number of thousands of digits takes long.
    if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS:
        number = int(text)
        if number < 2**63:
            return number
    raise MessageError(
        STATUS_TYPE, f'values, {name}', text, 'must be a whole number, 0 to 2**63 - 1'
    )


def diagnostic_report_from_message(message: Any) -> DiagnosticReport:
    """Read a report from a diagnostic_msgs/DiagnosticArray.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    with reading(ARRAY_TYPE, {'stamp_ns': 'header.stamp', 'diagnostics': 'status'}):
        return DiagnosticReport(
            stamp_ns=stamp_ns_of(message.header.stamp),
            diagnostics=tuple(diagnostic_from_message(status) for status in message.status),
        )


_PARTICIPANT_STATUS = 'simulated_participant'
_PARTICIPANT_VALUES = ('state', 'theta', 'beta', 'pushes')


class ParticipantState(enum.Enum):
    """States of a simulated participant."""

    WATCHING = 'watching'
    PUSHING = 'pushing'
    CONTENT = 'content'


@dataclass(frozen=True, kw_only=True, eq=False)
class ParticipantStatus(Record):
    """State, θ* and β* of a simulated participant."""

    state: ParticipantState
    theta: FloatArray
    """(d,) θ*, the weights that they have in mind."""
    beta: float
    """How reliably they pick what they want."""
    pushes: int = 0
    """How often they pushed."""

    def __post_init__(self) -> None:
        try:
            self._set('state', ParticipantState(self.state))
        except ValueError:
            states = ', '.join(state.value for state in ParticipantState)
            raise self.refusal('state', self.state, f'must be one of {states}') from None
        self._set_array('theta', ('d',))
        self._set_number('beta', minimum=0.0)
        if isinstance(self.pushes, bool) or not isinstance(self.pushes, int) or self.pushes < 0:
            raise self.refusal('pushes', self.pushes, 'must be a whole number, not negative')


def participant_diagnostic_of(status: ParticipantStatus) -> Diagnostic:
    """Return a status as the diagnostic that carries it."""
    return Diagnostic(
        name=_PARTICIPANT_STATUS,
        message=status.state.value,
        values={
            'state': status.state.value,
            'theta': json.dumps(status.theta.tolist()),
            'beta': repr(status.beta),
            'pushes': str(status.pushes),
        },
    )


def participant_status_from_message(message: Any) -> ParticipantStatus:
    """Read a participant's status from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    values = status_values(message, _PARTICIPANT_VALUES)
    try:
        theta = json.loads(values['theta'])
    # Brackets without end are a recursion.
    except (ValueError, RecursionError):
        raise MessageError(
            STATUS_TYPE, 'values, theta', values['theta'], 'must be a list of numbers'
        ) from None
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in _PARTICIPANT_VALUES}):
        return ParticipantStatus(
            state=values['state'],  # type: ignore[arg-type]  # checked there
            theta=theta,
            beta=values['beta'],  # type: ignore[arg-type]
            pushes=whole_number(values, 'pushes'),
        )


_SESSION_STATUS = 'session'


class SessionState(enum.Enum):
    """States of a session."""

    WAITING = 'waiting'
    """For a node, a plan, or an arm that may be moved."""
    READY = 'ready'
    """For somebody's consent to the next pass."""
    STARTING = 'starting'
    """Playback was asked to begin a pass."""
    DEPARTING = 'departing'
    """Playback said yes, but was not seen to move the arm yet."""
    PLAYING = 'playing'
    """The arm shows its plan."""
    HOLDING = 'holding'
    """The arm stands in the middle of a pass, until somebody consents to going on."""
    RESUMING = 'resuming'
    """Playback was asked to go on."""
    INFERRING = 'inferring'
    """The pass is over; a push is waited for to end, or something is learned."""
    AWAY = 'away'
    """The arm must go home first, for which somebody must consent."""
    SENDING_HOME = 'sending_home'
    """Playback was asked to go home."""
    RETURNING = 'returning'
    """Playback said yes, but was not seen to move the arm yet."""
    HOMING = 'homing'
    """The arm goes home."""
    STOPPING = 'stopping'
    """The session is over as soon as the arm stands."""
    CONCLUDING = 'concluding'
    """The session is over as soon as the arm stands and the last correction is learned from."""
    ENDED = 'ended'

    @property
    def text(self) -> str:
        """The state as it is said in a sentence."""
        return str(self.value).replace('_', ' ')


class SessionEnd(enum.Enum):
    """How a session ended."""

    ACCEPTED = 'accepted'
    MAX_PASSES = 'max_passes'
    MAX_CORRECTIONS = 'max_corrections'
    FINISHED = 'finished'


@dataclass(frozen=True, kw_only=True, eq=False)
class SessionStatus(Record):
    """State and counts of a session."""

    state: SessionState
    passes: int = 0
    """How many times the arm began to show its plan."""
    corrections: int = 0
    """How many corrections were made."""
    end: SessionEnd | None = None
    """How it ended; None unless the state is ENDED."""
    reason: str = ''
    """What it waits for, or why it holds."""

    def __post_init__(self) -> None:
        for name, kind in (('state', SessionState), ('end', SessionEnd)):
            value = getattr(self, name)
            if value is None and name == 'end':
                continue
            try:
                self._set(name, kind(value))
            except ValueError:
                allowed = ', '.join(member.value for member in kind)
                raise self.refusal(name, value, f'must be one of {allowed}') from None
        for name in ('passes', 'corrections'):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise self.refusal(name, value, 'must be a whole number, not negative')
        if (self.end is not None) != (self.state is SessionState.ENDED):
            raise self.refusal('end', self.end, 'must be given if and only if state is ended')


def session_diagnostic_of(status: SessionStatus) -> Diagnostic:
    """Return a status as the diagnostic that carries it."""
    return Diagnostic(
        name=_SESSION_STATUS,
        level=Level.ERROR if status.state is SessionState.HOLDING else Level.OK,
        message=status.reason or status.state.value,
        values={
            'state': status.state.value,
            'passes': str(status.passes),
            'corrections': str(status.corrections),
            'end': '' if status.end is None else status.end.value,
            'reason': status.reason,
        },
    )


def session_status_from_message(message: Any) -> SessionStatus:
    """Read the session's status from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    attributes = ('state', 'passes', 'corrections', 'end', 'reason')
    values = status_values(message, attributes)
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in attributes}):
        return SessionStatus(
            state=values['state'],  # type: ignore[arg-type]  # checked there
            end=values['end'] or None,  # type: ignore[arg-type]
            reason=values['reason'],
            passes=whole_number(values, 'passes'),
            corrections=whole_number(values, 'corrections'),
        )
