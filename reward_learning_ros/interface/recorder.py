"""What the recorder says while it listens: each contact, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reward_learning_ros.interface.correction import PassCorrections
from reward_learning_ros.interface.records import (
    MAX_SEC,
    FloatArray,
    Record,
    reading,
)
from reward_learning_ros.interface.status import (
    STATUS_TYPE,
    Diagnostic,
    status_values,
    whole_number,
)

_CONTACT_STATUS = 'contact'
_NUMBERS = ('onset_plan_sec', 'duration_sec', 'peak_force_n', 'confidence')
_AXES = ('x', 'y', 'z')
_STAMPS = ('plan_stamp_ns', 'onset_ns')
_CONTACT_VALUES = (*_STAMPS, *_NUMBERS, 'source', *(f'displacement_m.{axis}' for axis in _AXES))


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
        name=_CONTACT_STATUS,
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
    values = status_values(message, _CONTACT_VALUES)
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in _CONTACT_VALUES}):
        return ContactReport(
            **{name: whole_number(values, name) for name in _STAMPS},
            source=values['source'],
            # Text, checked and converted there.
            **{name: values[name] for name in _NUMBERS},  # type: ignore[arg-type]
            displacement_m=[values[f'displacement_m.{axis}'] for axis in _AXES],  # type: ignore[arg-type]
        )


_RECORDER_STATUS = 'recorder'
_RECORDER_VALUES = ('in_contact', 'plan_stamp_ns', 'digest', 'is_complete')


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
        name=_RECORDER_STATUS,
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
    values = status_values(message, _RECORDER_VALUES)
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in _RECORDER_VALUES}):
        return RecorderStatus(
            in_contact=bool(whole_number(values, 'in_contact')),
            plan_stamp_ns=whole_number(values, 'plan_stamp_ns'),
            digest=values['digest'],
            is_complete=bool(whole_number(values, 'is_complete')),
        )
