"""How a node is doing, in words and numbers."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from reward_learning_ros.interface.records import (
    MessageError,
    Record,
    reading,
    stamp_ns_of,
)

STATUS_TYPE = 'diagnostic_msgs/DiagnosticStatus'
ARRAY_TYPE = 'diagnostic_msgs/DiagnosticArray'
_MAX_DIGITS = len(str(2**63))


class Level(enum.IntEnum):
    """The levels of diagnostic_msgs/DiagnosticStatus."""

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
    """What a node has to report at one time."""

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
    """Return one of these values as a number.

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
