"""The base of all records, and the checks that they share."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.errors import InvalidInputError

FloatArray = NDArray[np.float64]

# Rounding leaves a unit quaternion within 1e-15 of length one and single precision within 1e-7;
# a quaternion that was never normalised is far outside.
QUATERNION_TOLERANCE = 1e-3
# The seconds of a ROS time or duration are a signed 32-bit number.
MAX_SEC = 2**31
_MAX_TEXT = 200


class RecordError(InvalidInputError):
    """A record refuses a value; the message says which, its value, and what is allowed."""

    def __init__(
        self, record: str, field: str, value: object, allowed: str, index: int | None = None
    ) -> None:
        self.record = record
        self.field = field
        self.value = value
        self.allowed = allowed
        self.index = index
        row = '' if index is None else f'[{index}]'
        super().__init__(f'{record}.{field}{row} = {_brief(value)}: {allowed}')


class MessageError(InvalidInputError):
    """A message cannot be used; says its type, the field, its value and what is allowed."""

    def __init__(self, message_type: str, field: str, value: object, allowed: str) -> None:
        self.message_type = message_type
        self.field = field
        self.value = value
        self.allowed = allowed
        super().__init__(f'{message_type}: {field} = {_brief(value)}: {allowed}')


@dataclass(frozen=True, kw_only=True, eq=False)
class Record:
    """Base of all records: equal if all fields are, arrays by value."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            np.array_equal(mine, yours) if isinstance(mine, np.ndarray) else mine == yours
            for mine, yours in zip(_values(self), _values(other), strict=True)
        )

    # Arrays have no hash, and a record with one in it neither.
    __hash__ = None  # type: ignore[assignment]

    def refusal(
        self, field: str, value: object, allowed: str, index: int | None = None
    ) -> RecordError:
        """Return the error that refuses the value of a field (of its row `index`)."""
        return RecordError(type(self).__name__, field, value, allowed, index)

    def _set(self, field: str, value: object) -> None:
        # Frozen for everyone else: the constructor may put a value into its exact form.
        object.__setattr__(self, field, value)

    def _set_array(self, field: str, shape: tuple[int | str, ...]) -> FloatArray:
        """Keep a field as a read-only array of finite numbers, and return it.

        Args:
            field: Name of the field.
            shape: Its shape; a letter stands for any length but zero.
        """
        value = getattr(self, field)
        try:
            array = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise self.refusal(field, value, f'must be numbers of shape {_text(shape)}') from None
        if array.ndim != len(shape) or any(
            found != wanted if isinstance(wanted, int) else found == 0
            for found, wanted in zip(array.shape, shape, strict=False)
        ):
            raise self.refusal(
                field, value, f'has shape {array.shape}, must be {_text(shape)}, not empty'
            )
        if not np.isfinite(array).all():
            row = int(np.argwhere(~np.isfinite(array))[0][0])
            raise self.refusal(field, array[row].tolist(), 'must be finite', row)
        array.flags.writeable = False
        self._set(field, array)
        return array

    def _set_quaternions(self, field: str, shape: tuple[int | str, ...]) -> FloatArray:
        """Keep a field as unit quaternions x y z w, and return it."""
        quaternions = self._set_array(field, shape)
        with np.errstate(over='ignore'):
            # An infinite length is refused like any other.
            lengths = np.atleast_1d(np.linalg.norm(quaternions, axis=-1))
        wrong = np.abs(lengths - 1.0) > QUATERNION_TOLERANCE
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self.refusal(
                field,
                np.atleast_2d(quaternions)[row].tolist(),
                f'has length {lengths[row]:.6g}, must be a unit quaternion x y z w',
                row if quaternions.ndim > 1 else None,
            )
        return quaternions

    def _set_times(self, field: str, length: int) -> FloatArray:
        """Keep a field as increasing times from zero on, and return it.

        They are put on the nanoseconds that messages have, so that a record survives a round
        trip unchanged.
        """
        times = self._set_array(field, ('n',))
        self._check_length(field, len(times), length)
        is_late = times > MAX_SEC - 1
        if is_late.any():
            row = int(np.argmax(is_late))
            raise self.refusal(field, float(times[row]), 'must be at most 2**31 - 1 s', row)
        times = np.round(times * 1e9) / 1e9
        if times[0] < 0.0:
            raise self.refusal(field, float(times[0]), 'must not be negative', 0)
        stalled = np.diff(times) <= 0.0
        if stalled.any():
            row = int(np.argmax(stalled)) + 1
            raise self.refusal(
                field, float(times[row]), f'must be greater than {float(times[row - 1])}', row
            )
        times.flags.writeable = False
        self._set(field, times)
        return times

    def _set_number(self, field: str, minimum: float = -np.inf, maximum: float = np.inf) -> float:
        """Keep a field as a finite float within bounds, and return it."""
        value = getattr(self, field)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise self.refusal(field, value, 'must be a number') from None
        if not np.isfinite(number) or not minimum <= number <= maximum:
            raise self.refusal(field, value, f'must be finite, {minimum} to {maximum}')
        self._set(field, number)
        return number

    def _set_names(self, field: str) -> tuple[str, ...]:
        """Keep a field as a tuple of names, each given and different, and return it."""
        value = getattr(self, field)
        names = tuple(value) if not isinstance(value, str) else (None,)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise self.refusal(field, value, 'must be a list of names, not empty')
        if len(set(names)) < len(names):
            raise self.refusal(field, value, 'must have each name once')
        self._set(field, names)
        return names

    def _check_stamp(self, field: str) -> None:
        value = getattr(self, field)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise self.refusal(field, value, 'must be whole nanoseconds')
        if not 0 <= value < MAX_SEC * 10**9:
            raise self.refusal(field, value, 'must be 0 to 2**31 s, in nanoseconds')
        self._set(field, int(value))

    def _check_text(self, field: str) -> None:
        value = getattr(self, field)
        if not isinstance(value, str) or not value:
            raise self.refusal(field, value, 'must be text, not empty')

    def _check_length(self, field: str, found: int, wanted: int) -> None:
        if found != wanted:
            raise self.refusal(field, f'{found} values', f'must have {wanted}')


def _values(record: Any) -> list[Any]:
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def _text(shape: Sequence[int | str]) -> str:
    return '(' + ', '.join(map(str, shape)) + (',)' if len(shape) == 1 else ')')


def _brief(value: object) -> str:
    """Return a value short enough for an error message: it may come from anybody."""
    text = repr(value)
    return text if len(text) <= _MAX_TEXT else f'{text[: _MAX_TEXT - 1]}…'


@contextlib.contextmanager
def reading(message_type: str, fields: Mapping[str, str]) -> Iterator[None]:
    """Turn what a record refuses into an error that names the message's own field.

    Args:
        message_type: Such as `nav_msgs/Path`.
        fields: For each field of the record its place in the message; `{index}` stands for the
            row.
    """
    try:
        yield
    except RecordError as error:
        place = fields.get(error.field, error.field)
        if error.index is not None:
            place = place.format(index=error.index)
        else:
            place = place.replace('[{index}]', '')
        raise MessageError(message_type, place, error.value, error.allowed) from error


def stamp_ns_of(stamp: Any) -> int:
    """Return a time or duration message in nanoseconds."""
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def check_frame(message_type: str, found: str, expected: str | None, field: str) -> None:
    """Refuse a message in another frame than the expected one (if one is expected)."""
    if expected is not None and found != expected:
        raise MessageError(message_type, field, found, f'must be {expected!r}')
