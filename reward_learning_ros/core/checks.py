"""Checks of input that say what is wrong and what is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError


def finite_array(value: Any, name: str, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return a read-only float64 copy of an array of the given shape, or say why it is none.

    Args:
        value: What should be an array.
        name: What to call it in the error.
        shape: The wanted shape; None stands for any length of at least one.
    """
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f'{name} is not an array of numbers: {error}') from None
    fits = array.ndim == len(shape) and all(
        have == want or (want is None and have > 0)
        for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ', '.join('any' if length is None else str(length) for length in shape)
        raise InvalidInputError(f'{name} has shape {array.shape}; expected ({wanted})')
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInputError(f'{name}{list(index)} is {array[index]}; it must be finite')
    array.setflags(write=False)
    return array


def positive_number(value: Any, name: str) -> float:
    """Return a positive finite number, or say why it is none."""
    number = _number(value, name)
    if not (np.isfinite(number) and number > 0.0):
        raise InvalidInputError(f'{name} is {value!r}; it must be a positive finite number')
    return number


def number_between(value: Any, name: str, low: float, high: float) -> float:
    """Return a number from low to high, or say why it is none."""
    number = _number(value, name)
    if not low <= number <= high:
        raise InvalidInputError(f'{name} is {value!r}; it must be from {low:g} to {high:g}')
    return number


def whole_number(value: Any, name: str, low: int) -> int:
    """Return a whole number of at least `low`, or say why it is none."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise InvalidInputError(f'{name} is {value!r}; it must be a whole number')
    if value < low:
        raise InvalidInputError(f'{name} is {value}; it must be at least {low}')
    return int(value)


def _number(value: Any, name: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise InvalidInputError(f'{name} is {value!r}; it must be a number')
    return float(value)
