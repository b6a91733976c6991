"""The state of the correction recorder: whether somebody pushes, how far a pass is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reward_learning_ros.interface.correction import PassCorrections
from reward_learning_ros.interface.diagnostics import (
    STATUS_TYPE,
    Diagnostic,
    status_values,
    whole_number,
)
from reward_learning_ros.interface.records import Record, reading

_STATUS_NAME = 'recorder'
_ATTRIBUTES = ('in_contact', 'plan_stamp_ns', 'digest', 'is_complete')


@dataclass(frozen=True, kw_only=True, eq=False)
class RecorderStatus(Record):
    """Whether somebody pushes, and how far the corrections of the present pass are told."""

    in_contact: bool = False
    """Whether somebody pushes the arm, or teleoperates it."""
    plan_stamp_ns: int = 0
    """Stamp of the plan of the present or last pass; 0 before the first."""
    digest: str = ''
    """Of the last corrections of that pass that were published; empty before the first."""
    is_complete: bool = False
    """Whether the pass is over and nothing more will be told of it."""

    def __post_init__(self) -> None:
        self._set('in_contact', bool(self.in_contact))
        self._set('is_complete', bool(self.is_complete))
        self._check_stamp('plan_stamp_ns')

    def is_heard(self, corrections: PassCorrections | None) -> bool:
        """Tell whether these corrections, the last that were heard of the pass, are the last told.

        Status and corrections are two topics: one may come before the other.
        """
        return not self.digest or (
            corrections is not None
            and corrections.plan_stamp_ns == self.plan_stamp_ns
            and corrections.digest == self.digest
        )


def recorder_diagnostic_of(status: RecorderStatus) -> Diagnostic:
    """Return a status as the diagnostic that carries it."""
    return Diagnostic(
        name=_STATUS_NAME,
        message='in contact' if status.in_contact else 'listening',
        values={
            'in_contact': str(int(status.in_contact)),
            'plan_stamp_ns': str(status.plan_stamp_ns),
            'digest': status.digest,
            'is_complete': str(int(status.is_complete)),
        },
    )


def recorder_status_from_message(message: Any) -> RecorderStatus:
    """Read the recorder's status from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    values = status_values(message, _ATTRIBUTES)
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in _ATTRIBUTES}):
        return RecorderStatus(
            in_contact=bool(whole_number(values, 'in_contact')),
            plan_stamp_ns=whole_number(values, 'plan_stamp_ns'),
            digest=values['digest'],
            is_complete=bool(whole_number(values, 'is_complete')),
        )
