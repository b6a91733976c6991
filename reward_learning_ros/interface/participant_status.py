"""A simulated participant: what they want, which nobody else may use before the session's end."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import Any

from reward_learning_ros.interface.diagnostics import (
    STATUS_TYPE,
    Diagnostic,
    status_values,
    whole_number,
)
from reward_learning_ros.interface.records import FloatArray, MessageError, Record, reading

_STATUS_NAME = 'simulated_participant'
_ATTRIBUTES = ('state', 'theta', 'beta', 'pushes')


class ParticipantState(enum.Enum):
    """What the participant does."""

    WATCHING = 'watching'
    PUSHING = 'pushing'
    CONTENT = 'content'


@dataclass(frozen=True, kw_only=True, eq=False)
class ParticipantStatus(Record):
    """What a simulated participant does and wants."""

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
        name=_STATUS_NAME,
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
    values = status_values(message, _ATTRIBUTES)
    try:
        theta = json.loads(values['theta'])
    # Brackets without end are a recursion.
    except (ValueError, RecursionError):
        raise MessageError(
            STATUS_TYPE, 'values, theta', values['theta'], 'must be a list of numbers'
        ) from None
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in _ATTRIBUTES}):
        return ParticipantStatus(
            state=values['state'],  # type: ignore[arg-type]  # checked there
            theta=theta,
            beta=values['beta'],  # type: ignore[arg-type]
            pushes=whole_number(values, 'pushes'),
        )
