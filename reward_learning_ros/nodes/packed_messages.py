"""Messages that are serialized once and then only written over: a few microseconds each."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]

# Encapsulation header of CDR; the stamp of a message with a header follows at once.
_STAMP_PLACE = slice(4, 12)
_STAMP = struct.Struct('<iI')
_NANOSECONDS = 1_000_000_000
_LITTLE_ENDIAN = 1


class PackedMessage:
    """A serialized message with a header, whose stamp and numbers are replaced in place.

    Attributes:
        numbers: the numbers that may be replaced; what is written to them is sent next.
    """

    def __init__(self, serialized: bytes, places: Sequence[Array]) -> None:
        """Find the places of numbers in a serialized message.

        Args:
            serialized: the message, in which the numbers to be replaced are `places`.
            places: arrays of numbers that stand nowhere else in the message, see `marks`.

        Raises:
            InvalidInputError: numbers are not there, or there twice.
        """
        if len(serialized) < _STAMP_PLACE.stop or serialized[1] != _LITTLE_ENDIAN:
            raise InvalidInputError('the message is not serialized in little-endian CDR')
        self._buffer = bytearray(serialized)
        self.numbers: list[Array] = []
        for index, place in enumerate(places):
            pattern = np.asarray(place, dtype='<f8').tobytes()
            if serialized.count(pattern) != 1:
                raise InvalidInputError(
                    f'the numbers of place {index} are {serialized.count(pattern)} times in the '
                    'message; allowed: once'
                )
            offset = serialized.index(pattern)
            self.numbers.append(
                np.frombuffer(self._buffer, dtype='<f8', count=len(place), offset=offset)
            )

    def set_byte(self, offset: int, value: int) -> None:
        """Replace one byte of the message."""
        self._buffer[offset] = value

    def stamped(self, stamp: bytes) -> bytes:
        """Return the message with its numbers as they are now and a stamp of `stamp_bytes`."""
        self._buffer[_STAMP_PLACE] = stamp
        return bytes(self._buffer)


def without_tail(serialized: bytes, last: Array) -> bytes:
    """Return a serialized message that ends with given numbers, without what lies behind them.

    rclpy leaves some bytes there if an array is empty, and not every reader puts up with them.
    """
    pattern = np.asarray(last, dtype='<f8').tobytes()
    return serialized[: serialized.rindex(pattern) + len(pattern)]


def stamp_bytes(time_ns: int) -> bytes:
    """Return a time as it stands in a serialized message."""
    return _STAMP.pack(*divmod(time_ns, _NANOSECONDS))


def marks(*lengths: int) -> list[Array]:
    """Return arrays of numbers that are all different and in no message by chance."""
    # Any seed will do; the same one makes templates that are the same in every process.
    rng = np.random.default_rng(0)
    return [rng.uniform(1.0, 2.0, size=length) for length in lengths]
