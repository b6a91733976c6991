"""The state of the inference: from which passes it learned what is shown now."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from reward_learning_ros.interface.diagnostics import (
    STATUS_TYPE,
    Diagnostic,
    Level,
    status_values,
    whole_number,
    whole_number_of,
)
from reward_learning_ros.interface.records import Record, reading

_STATUS_NAME = 'reward_inference'
_STAMPS = ('corrections_ns', 'considered_ns', 'learned_from_ns')
_ATTRIBUTES = ('state', 'event', *_STAMPS, 'heard', 'plan_stamp_ns', 'reasons', 'fault')
# Digests of data; recordings of before do not have them.
_DIGESTS = ('data', 'considered_data', 'learned_data')
# Between reasons in one value: none has a second line.
_SEPARATOR = '\n'
# What a value of `quality` is called in the message.
_QUALITY = 'quality.'


class InferenceState(enum.Enum):
    """What the inference does."""

    STARTING = 'starting'
    WAITING = 'waiting'
    INFERRING = 'inferring'


class InferenceEvent(enum.Enum):
    """What happened last."""

    STARTED = 'started'
    CORRECTED = 'corrected'
    UNDONE = 'undone'
    RESET = 'reset'
    LEARNED = 'learned'
    FAILED = 'failed'


@dataclass(frozen=True, kw_only=True, eq=False)
class InferenceStatus(Record):
    """What the inference does, and which passes are active.

    A pass is known by the stamp of its plan (a correction of an older recording by its own), so
    undo and reset can be told from a recording. What was told of each is known by a digest of it.
    """

    state: InferenceState
    event: InferenceEvent = InferenceEvent.STARTED
    corrections_ns: tuple[int, ...] = ()
    """Stamps of the active passes, as undo and reset left them."""
    considered_ns: tuple[int, ...] = ()
    """Stamps of those that the last inference had, whatever came of it."""
    learned_from_ns: tuple[int, ...] = ()
    """Stamps of those that the published θ was learned from."""
    data: str = ''
    """Digest of all that was told of the active passes."""
    considered_data: str = ''
    """Digest of what the last inference had of them."""
    learned_data: str = ''
    """Digest of what the published θ was learned from."""
    pushes: int = 0
    """At how many waypoints of the active passes somebody pushed."""
    heard: int = 0
    """Of how many passes anything was ever heard."""
    plan_stamp_ns: int = 0
    """Stamp of the plan that is published; 0 before the first."""
    reasons: tuple[str, ...] = ()
    """Why the plan for the published θ is not shown, in words; empty if it is."""
    fault: str = ''
    """What is wrong; empty if nothing is."""
    quality: Mapping[str, str] = field(default_factory=dict)
    """Numbers that tell how far to trust the published θ, by name."""

    def __post_init__(self) -> None:
        for name, kind in (('state', InferenceState), ('event', InferenceEvent)):
            value = getattr(self, name)
            try:
                self._set(name, kind(value))
            except ValueError:
                allowed = ', '.join(member.value for member in kind)
                raise self.refusal(name, value, f'must be one of {allowed}') from None
        for name in _STAMPS:
            stamps = tuple(getattr(self, name))
            if not all(isinstance(stamp, int) and stamp >= 0 for stamp in stamps):
                raise self.refusal(name, stamps, 'must be whole nanoseconds')
            self._set(name, stamps)
        for name in ('heard', 'pushes'):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise self.refusal(name, count, 'must be a whole number, not negative')
        self._check_stamp('plan_stamp_ns')
        self._set('reasons', tuple(' '.join(reason.split()) for reason in self.reasons))
        self._set('quality', MappingProxyType({str(k): str(v) for k, v in self.quality.items()}))

    @property
    def is_settled(self) -> bool:
        """Whether nothing more will be learned until something happens."""
        return (
            self.state is InferenceState.WAITING
            and self.corrections_ns == self.considered_ns
            and self.data == self.considered_data
        )

    def active_among(self, stamps_ns: Iterable[int]) -> tuple[int, ...]:
        """Return which of all recorded passes are active, if this was said last.

        What it had heard and no longer counted was undone; what came later is active.

        Args:
            stamps_ns: of the passes in the order in which they were heard of.
        """
        stamps = tuple(dict.fromkeys(stamps_ns))
        counted = {*self.corrections_ns, *stamps[self.heard :]}
        return tuple(stamp for stamp in stamps if stamp in counted)


def inference_diagnostic_of(status: InferenceStatus) -> Diagnostic:
    """Return a status as the diagnostic that carries it."""
    level = Level.WARN if status.reasons else Level.OK
    reasons = _SEPARATOR.join(status.reasons)
    return Diagnostic(
        name=_STATUS_NAME,
        level=Level.ERROR if status.fault else level,
        message=status.fault or '; '.join(status.reasons) or status.state.value,
        values={
            'state': status.state.value,
            'event': status.event.value,
            **{name: ','.join(map(str, getattr(status, name))) for name in _STAMPS},
            **{name: getattr(status, name) for name in _DIGESTS},
            'pushes': str(status.pushes),
            'heard': str(status.heard),
            'plan_stamp_ns': str(status.plan_stamp_ns),
            'reasons': reasons,
            'fault': status.fault,
            **{f'{_QUALITY}{name}': value for name, value in status.quality.items()},
        },
    )


def inference_status_from_message(message: Any) -> InferenceStatus:
    """Read the inference's status from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    values = status_values(message, _ATTRIBUTES)
    stamps = {
        name: tuple(whole_number_of(text, name) for text in values[name].split(',') if text)
        for name in _STAMPS
    }
    with reading(STATUS_TYPE, {name: f'values, {name}' for name in _ATTRIBUTES}):
        return InferenceStatus(
            state=values['state'],  # type: ignore[arg-type]  # checked there
            event=values['event'],  # type: ignore[arg-type]
            **stamps,  # type: ignore[arg-type]
            **{name: values.get(name, '') for name in _DIGESTS},  # type: ignore[arg-type]
            pushes=whole_number({'pushes': '0', **values}, 'pushes'),
            heard=whole_number(values, 'heard'),
            plan_stamp_ns=whole_number(values, 'plan_stamp_ns'),
            reasons=tuple(values['reasons'].split(_SEPARATOR)) if values['reasons'] else (),
            fault=values['fault'],
            quality={
                name[len(_QUALITY) :]: value
                for name, value in values.items()
                if name.startswith(_QUALITY)
            },
        )
