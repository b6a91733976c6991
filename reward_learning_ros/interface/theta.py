"""θ, draws of it, and the status of the inference."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from reward_learning_ros.interface.records import (
    FloatArray,
    MessageError,
    Record,
    reading,
)
from reward_learning_ros.interface.status import (
    STATUS_TYPE,
    Diagnostic,
    Level,
    status_values,
    whole_number,
    whole_number_of,
)

MESSAGE_TYPE = 'std_msgs/Float64MultiArray'
# What the first dimension of a summary counts: of the belief that is kept, and of the live one.
STATISTIC, LIVE_STATISTIC = 'statistic', 'live statistic'
STATISTICS = ('mean', 'sd', '5 %', '50 %', '95 %')


@dataclass(frozen=True, kw_only=True, eq=False)
class ThetaSummary(Record):
    """Mean, standard deviation and quantiles of each weight of θ."""

    features: tuple[str, ...]
    """(d,) names."""
    mean: FloatArray
    """(d,)"""
    sd: FloatArray
    """(d,)"""
    quantiles: FloatArray
    """(3, d): 5 %, 50 % and 95 %."""

    def __post_init__(self) -> None:
        size = len(_set_features(self))
        self._set_array('mean', (size,))
        self._set_array('sd', (size,))
        if (self.sd < 0.0).any():
            raise self.refusal('sd', self.sd.tolist(), 'must not be negative')
        quantiles = self._set_array('quantiles', (3, size))
        if (quantiles[1:] < quantiles[:-1]).any():
            raise self.refusal('quantiles', quantiles.tolist(), 'must not decrease')

    @property
    def table(self) -> FloatArray:
        """(5, d): a row for each of `STATISTICS`."""
        return np.vstack([self.mean, self.sd, self.quantiles])


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveTheta(Record):
    """The belief while a person pushes: to be seen, not to be kept, and no `ThetaSummary`."""

    theta: ThetaSummary

    def __post_init__(self) -> None:
        if not isinstance(self.theta, ThetaSummary):
            raise self.refusal('theta', self.theta, 'must be a summary of θ')


@dataclass(frozen=True, kw_only=True, eq=False)
class ThetaSamples(Record):
    """Draws of θ from the posterior."""

    features: tuple[str, ...]
    """(d,) names."""
    samples: FloatArray
    """(draws, d)"""

    def __post_init__(self) -> None:
        self._set_array('samples', ('draws', len(_set_features(self))))


def _set_features(record: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = record._set_names('features')
    for name in names:
        # The names stand in a dimension's label, with commas between them.
        if ',' in name or name != name.strip():
            raise record.refusal('features', name, 'must have no comma and no space at its ends')
    return names


def label_of(dimension: str, names: Sequence[str] = ()) -> str:
    """Return the label of a dimension: what it counts, and the name of each entry."""
    return f'{dimension}: {", ".join(names)}' if names else dimension


def theta_from_message(message: Any) -> ThetaSummary | LiveTheta:
    """Read what is said on `theta`: the belief that is kept, or the live one.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    dimensions = message.layout.dim
    if dimensions and dimensions[0].label.partition(':')[0].strip() == LIVE_STATISTIC:
        return live_theta_from_message(message)
    return theta_summary_from_message(message)


def theta_summary_from_message(message: Any) -> ThetaSummary:
    """Read a summary that is kept from a std_msgs/Float64MultiArray (statistic × feature).

    Raises:
        MessageError: A field of the message cannot be used; that of a live belief neither.
    """
    return _summary_from_message(message, STATISTIC)


def live_theta_from_message(message: Any) -> LiveTheta:
    """Read a live belief from a std_msgs/Float64MultiArray (live statistic × feature).

    Raises:
        MessageError: A field of the message cannot be used; that of a belief that is kept neither.
    """
    return LiveTheta(theta=_summary_from_message(message, LIVE_STATISTIC))


def _summary_from_message(message: Any, rows: str) -> ThetaSummary:
    table, names = _table_from_message(message, rows)
    statistics = _names_in(message, 0, rows)
    if statistics != STATISTICS:
        raise MessageError(
            MESSAGE_TYPE,
            'layout.dim[0].label',
            message.layout.dim[0].label,
            f'must be {label_of(rows, STATISTICS)!r}',
        )
    if len(table) != len(STATISTICS):
        raise MessageError(
            MESSAGE_TYPE, 'layout.dim[0].size', len(table), f'must be {len(STATISTICS)}'
        )
    places = {
        'features': 'layout.dim[1].label',
        'mean': 'data, mean',
        'sd': 'data, sd',
        'quantiles': 'data, quantiles',
    }
    with reading(MESSAGE_TYPE, places):
        return ThetaSummary(features=names, mean=table[0], sd=table[1], quantiles=table[2:])


def theta_samples_from_message(message: Any) -> ThetaSamples:
    """Read samples from a std_msgs/Float64MultiArray (draw × feature).

    Raises:
        MessageError: A field of the message cannot be used.
    """
    table, names = _table_from_message(message, 'draw')
    places = {'features': 'layout.dim[1].label', 'samples': 'data, draw {index}'}
    with reading(MESSAGE_TYPE, places):
        return ThetaSamples(features=names, samples=table)


def _table_from_message(message: Any, rows: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the numbers as a table, and the features that its columns stand for."""
    dimensions = message.layout.dim
    if len(dimensions) != 2:
        raise MessageError(
            MESSAGE_TYPE,
            'layout.dim',
            [dimension.label for dimension in dimensions],
            f'must be two dimensions, {rows} and feature',
        )
    _names_in(message, 0, rows)
    names = _names_in(message, 1, 'feature')
    shape = (int(dimensions[0].size), int(dimensions[1].size))
    if len(names) != shape[1]:
        raise MessageError(
            MESSAGE_TYPE, 'layout.dim[1].size', shape[1], f'must be {len(names)}, as its label'
        )
    # By the definition of the message: the first stride is the size of the whole.
    for index, stride in enumerate((shape[0] * shape[1], shape[1])):
        if dimensions[index].stride != stride:
            raise MessageError(
                MESSAGE_TYPE,
                f'layout.dim[{index}].stride',
                dimensions[index].stride,
                f'must be {stride}',
            )
    numbers = np.asarray(message.data, dtype=np.float64)[message.layout.data_offset :]
    if len(numbers) != shape[0] * shape[1]:
        raise MessageError(
            MESSAGE_TYPE, 'data', f'{len(numbers)} values', f'must have {shape[0]} × {shape[1]}'
        )
    return numbers.reshape(shape), names


def _names_in(message: Any, index: int, dimension: str) -> tuple[str, ...]:
    """Return the names in a dimension's label, which must be of that dimension."""
    label = message.layout.dim[index].label
    found, _, names = label.partition(':')
    if found.strip() != dimension:
        raise MessageError(
            MESSAGE_TYPE, f'layout.dim[{index}].label', label, f'must begin with {dimension!r}'
        )
    return tuple(name.strip() for name in names.split(',')) if names.strip() else ()


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
    """States of the inference node."""

    STARTING = 'starting'
    WAITING = 'waiting'
    INFERRING = 'inferring'


class InferenceEvent(enum.Enum):
    """The latest event of the inference node."""

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
    tables_ready: int = 0
    """How many tables for the live belief in the present pass are there."""
    tables_wanted: int = 0
    """How many there will be: one for each waypoint that can be corrected; 0 without any."""
    tables_fault: str = ''
    """Why there is no live belief, in words; empty if nothing speaks against it."""

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
        for name in ('heard', 'pushes', 'tables_ready', 'tables_wanted'):
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
            'tables_ready': str(status.tables_ready),
            'tables_wanted': str(status.tables_wanted),
            'tables_fault': status.tables_fault,
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
            # Recordings of before know no tables.
            tables_ready=whole_number({'tables_ready': '0', **values}, 'tables_ready'),
            tables_wanted=whole_number({'tables_wanted': '0', **values}, 'tables_wanted'),
            tables_fault=values.get('tables_fault', ''),
            quality={
                name[len(_QUALITY) :]: value
                for name, value in values.items()
                if name.startswith(_QUALITY)
            },
        )
