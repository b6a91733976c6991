"""The state of a session: what is going on, how far it is, and how it ended."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from reward_learning_ros.interface.diagnostics import (
    STATUS_TYPE,
    Diagnostic,
    Level,
    status_values,
    whole_number,
)
from reward_learning_ros.interface.records import Record, reading

_STATUS_NAME = 'session'


class SessionState(enum.Enum):
    """What a session does."""

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
    def words(self) -> str:
        """The state as it is said in a sentence."""
        return str(self.value).replace('_', ' ')


class SessionEnd(enum.Enum):
    """How a session came to its end."""

    ACCEPTED = 'accepted'
    MAX_PASSES = 'max_passes'
    MAX_CORRECTIONS = 'max_corrections'
    FINISHED = 'finished'


@dataclass(frozen=True, kw_only=True, eq=False)
class SessionStatus(Record):
    """What a session does, and what it has done."""

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
        for field, kind in (('state', SessionState), ('end', SessionEnd)):
            value = getattr(self, field)
            if value is None and field == 'end':
                continue
            try:
                self._set(field, kind(value))
            except ValueError:
                allowed = ', '.join(member.value for member in kind)
                raise self.refusal(field, value, f'must be one of {allowed}') from None
        for field in ('passes', 'corrections'):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise self.refusal(field, value, 'must be a whole number, not negative')
        if (self.end is not None) != (self.state is SessionState.ENDED):
            raise self.refusal('end', self.end, 'must be given if and only if state is ended')


def session_diagnostic_of(status: SessionStatus) -> Diagnostic:
    """Return a status as the diagnostic that carries it."""
    return Diagnostic(
        name=_STATUS_NAME,
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
