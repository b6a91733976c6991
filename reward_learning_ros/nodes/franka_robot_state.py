"""franka_msgs/FrankaRobotState of the simulated arm, where franka_msgs is installed."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.nodes.installed_interfaces import find_interface

Array = NDArray[np.float64]

_NS_PER_SEC = 1_000_000_000
# robot_mode, one byte, comes right after the eight of control_command_success_rate.
_BYTES_TO_MODE = 8


def robot_state_type() -> Any:
    """Return the type of robot_state, None where franka_msgs is not installed."""
    return find_interface('franka_msgs/msg/FrankaRobotState')


class RobotStateMessage:
    """One message, serialized once, in which the arm's state is written over and over."""

    def __init__(
        self,
        message: Any,
        arm: SimulatedArm,
        serialize: Callable[[Any], bytes],
        *,
        as_field: Callable[[Array], Any] = lambda numbers: numbers.tolist(),
    ) -> None:
        """Fill in what never changes, and find the places of what does.

        Args:
            message: an empty FrankaRobotState.
            arm: whose state is sent.
            serialize: turns the message into little-endian CDR.
            as_field: turns numbers into what an array field of the message takes.
        """
        description = arm.kinematics.description
        self._arm = arm
        told = arm.observation
        measured = told[kernels.MEASURED].reshape(3, 7)
        self._time = np.zeros(2)
        sources: list[Array] = []
        places = marks(*[7] * 6, 7, 6, 6, 7, 7, 7, 7, 2)
        for part, rows in (
            ('measured_joint_state', measured),
            (
                'desired_joint_state',
                (arm.set_point[0], arm.set_point[1], arm.commanded_torque_nm),
            ),
        ):
            joints = getattr(message, part)
            joints.name = list(description.joint_names)
            for field, row in zip(('position', 'velocity', 'effort'), rows, strict=True):
                setattr(joints, field, as_field(places[len(sources)]))
                sources.append(row)
        torque = message.tau_ext_hat_filtered
        torque.name = list(description.joint_names)
        torque.position, torque.velocity = as_field(np.empty(0)), as_field(np.empty(0))
        torque.effort = as_field(places[len(sources)])
        sources.append(told[kernels.EXTERNAL_TORQUE])
        for part, frame, values in (
            ('k_f_ext_hat_k', description.tool_frame, told[kernels.WRENCH_IN_STIFFNESS]),
            ('o_f_ext_hat_k', description.base_frame, told[kernels.WRENCH_IN_BASE]),
        ):
            stamped = getattr(message, part)
            stamped.header.frame_id = frame
            _set_vector(stamped.wrench.force, places[len(sources)][:3])
            _set_vector(stamped.wrench.torque, places[len(sources)][3:])
            sources.append(values)
        for part, values in (
            ('o_t_ee', told[kernels.POSE]),
            ('o_t_ee_d', told[kernels.DESIRED_POSE]),
            ('o_t_ee_c', told[kernels.DESIRED_POSE]),
        ):
            stamped = getattr(message, part)
            stamped.header.frame_id = description.base_frame
            numbers = places[len(sources)]
            _set_vector(stamped.pose.position, numbers[:3])
            _set_vector(stamped.pose.orientation, numbers[3:6])
            stamped.pose.orientation.w = float(numbers[6])
            sources.append(values)
        message.ddq_d = places[len(sources)]
        sources.append(arm.set_point[2])
        # Two fields, one after the other.
        message.time, message.control_command_success_rate = map(float, places[len(sources)])
        sources.append(self._time)
        serialized = serialize(message)
        self._packed = PackedMessage(serialized, places)
        self._copies = tuple(zip(self._packed.numbers, sources, strict=True))
        self._mode_offset = serialized.index(places[-1].tobytes()) + 8 + _BYTES_TO_MODE

    def stamped(self, time_ns: int) -> bytes:
        """Return the message with the arm's state as it is now."""
        self._time[:] = time_ns / _NS_PER_SEC, 1.0
        for place, source in self._copies:
            place[:] = source
        self._packed.set_byte(self._mode_offset, int(self._arm.mode))
        return self._packed.stamped(stamp_bytes(time_ns))


def _set_vector(vector: Any, numbers: Array) -> None:
    vector.x, vector.y, vector.z = (float(value) for value in numbers)


# Encapsulation header of CDR; the stamp of a message with a header follows at once.
_STAMP_PLACE = slice(4, 12)
_STAMP = struct.Struct('<iI')
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
    return _STAMP.pack(*divmod(time_ns, _NS_PER_SEC))


def marks(*lengths: int) -> list[Array]:
    """Return arrays of numbers that are all different and in no message by chance."""
    # Any seed will do; the same one makes templates that are the same in every process.
    rng = np.random.default_rng(0)
    return [rng.uniform(1.0, 2.0, size=length) for length in lengths]
