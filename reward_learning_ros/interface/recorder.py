"""The state of the correction recorder: whether somebody pushes the arm now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reward_learning_ros.interface.diagnostics import (
    STATUS_TYPE,
    Diagnostic,
    status_values,
    whole_number,
)
from reward_learning_ros.interface.records import Record, reading

_STATUS_NAME = 'recorder'
_ATTRIBUTES = ('in_contact', 'last_correction_ns')


@dataclass(frozen=True, kw_only=True, eq=False)
class RecorderStatus(Record):
    """Whether somebody pushes, and the last correction that came of it."""

    in_contact: bool = False
    """Whether somebody pushes the arm, or teleoperates it."""
    last_correction_ns: int = 0
    """Stamp of the last correction that was published before this; 0 before the first."""

    def __post_init__(self) -> None:
        self._set('in_contact', bool(self.in_contact))
        self._check_stamp('last_correction_ns')

    def is_pushing(self, heard_ns: int) -> bool:
        """Tell whether a correction goes on, or has ended but is not heard yet.

        Status and corrections are two topics: one may come before the other.

        Args:
            heard_ns: stamp of the last correction that was heard.
        """
        return self.in_contact or self.last_correction_ns > heard_ns


def recorder_diagnostic_of(status: RecorderStatus) -> Diagnostic:
    """Return a status as the diagnostic that carries it."""
    return Diagnostic(
        name=_STATUS_NAME,
        message='in contact' if status.in_contact else 'listening',
        values={
            'in_contact': str(int(status.in_contact)),
            'last_correction_ns': str(status.last_correction_ns),
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
            last_correction_ns=whole_number(values, 'last_correction_ns'),
        )
