"""What is known about θ: its summary and its samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.interface.records import (
    FloatArray,
    MessageError,
    Record,
    reading,
)

MESSAGE_TYPE = 'std_msgs/Float64MultiArray'
STATISTICS = ('mean', 'sd', '5 %', '50 %', '95 %')


@dataclass(frozen=True, kw_only=True, eq=False)
class ThetaSummary(Record):
    """The statistics of each feature's weight."""

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
class ThetaSamples(Record):
    """Draws from the posterior."""

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


def theta_summary_from_message(message: Any) -> ThetaSummary:
    """Read a summary from a std_msgs/Float64MultiArray (statistic × feature).

    Raises:
        MessageError: A field of the message cannot be used.
    """
    table, names = _table_from_message(message, 'statistic')
    statistics = _names_in(message, 0, 'statistic')
    if statistics != STATISTICS:
        raise MessageError(
            MESSAGE_TYPE,
            'layout.dim[0].label',
            message.layout.dim[0].label,
            f'must be {label_of("statistic", STATISTICS)!r}',
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
