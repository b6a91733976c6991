"""A contact: what is known of one push beyond the deltas that came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reward_learning_ros.interface.diagnostics import (
    STATUS_TYPE,
    Diagnostic,
    status_values,
    whole_number,
)
from reward_learning_ros.interface.records import MAX_SEC, FloatArray, Record, reading

_STATUS_NAME = 'contact'
_NUMBERS = ('onset_plan_sec', 'duration_sec', 'peak_force_n', 'confidence')
_AXES = ('x', 'y', 'z')
_STAMPS = ('plan_stamp_ns', 'onset_ns')
_ATTRIBUTES = (*_STAMPS, *_NUMBERS, 'source', *(f'displacement_m.{axis}' for axis in _AXES))


@dataclass(frozen=True, kw_only=True, eq=False)
class ContactReport(Record):
    """One contact that moved the plan: when, how far, how hard, how surely."""

    plan_stamp_ns: int
    """Stamp of the plan that was played."""
    onset_ns: int
    """When the contact began."""
    onset_plan_sec: float
    """Where in the plan it began."""
    duration_sec: float
    """How long it lasted."""
    displacement_m: FloatArray
    """(3,) how far it moved the tool off where it would have been, base frame."""
    peak_force_n: float
    """Greatest force, 0 if none is known."""
    confidence: float
    """From 0 (perhaps no contact at all) to 1."""
    source: str
    """What the displacement is known by: `measured`, `admittance` or `teleoperation`."""

    def __post_init__(self) -> None:
        for name in _STAMPS:
            self._check_stamp(name)
        self._set_number('onset_plan_sec', minimum=0.0, maximum=MAX_SEC)
        self._set_number('duration_sec', minimum=0.0, maximum=MAX_SEC)
        self._set_array('displacement_m', (3,))
        self._set_number('peak_force_n', minimum=0.0)
        self._set_number('confidence', minimum=0.0, maximum=1.0)
        self._check_text('source')

    @property
    def end_ns(self) -> int:
        """When it ended."""
        return self.onset_ns + round(self.duration_sec * 1e9)


def contact_diagnostic_of(contact: ContactReport) -> Diagnostic:
    """Return a contact as the diagnostic that carries it."""
    shifts = zip(_AXES, contact.displacement_m.tolist(), strict=True)
    return Diagnostic(
        name=_STATUS_NAME,
        message=f'pushed for {contact.duration_sec:.2f} s',
        values={
            **{name: str(getattr(contact, name)) for name in _STAMPS},
            **{name: repr(getattr(contact, name)) for name in _NUMBERS},
            'source': contact.source,
            **{f'displacement_m.{axis}': repr(shift) for axis, shift in shifts},
        },
    )


def contact_from_message(message: Any) -> ContactReport:
    """Read a contact from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    values = status_values(message, _ATTRIBUTES)
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in _ATTRIBUTES}):
        return ContactReport(
            **{name: whole_number(values, name) for name in _STAMPS},
            source=values['source'],
            # Text, checked and converted there.
            **{name: values[name] for name in _NUMBERS},  # type: ignore[arg-type]
            displacement_m=[values[f'displacement_m.{axis}'] for axis in _AXES],  # type: ignore[arg-type]
        )
