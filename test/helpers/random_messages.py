"""Random messages of every length and alignment, serialized by an independent library."""

from __future__ import annotations

from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from helpers.franka_message import FRANKA_MESSAGES


class RandomMessages:
    """A typestore and a generator of its messages."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._store = get_typestore(Stores.ROS2_HUMBLE)
        for name, text in FRANKA_MESSAGES.items():
            self._store.register(get_types_from_msg(text, name))
        self._rng = rng

    def serialize(self, message: Any, little_endian: bool = True) -> bytes:
        return bytes(
            self._store.serialize_cdr(message, message.__msgtype__, little_endian=little_endian)
        )

    def joint_state(self, names: Any = None, sizes: Any = None) -> Any:
        """A JointState with these joints and numbers of positions, velocities and efforts."""
        if names is None:
            names = [self._text() for _ in range(self._rng.integers(0, 9))]
        if sizes is None:
            sizes = self._rng.integers(0, 9, size=3)
        return self._store.types['sensor_msgs/msg/JointState'](
            header=self.message('std_msgs/msg/Header'),
            name=list(names),
            position=self._numbers(sizes[0]),
            velocity=self._numbers(sizes[1]),
            effort=self._numbers(sizes[2]),
        )

    def franka_state(self, joint_names: Any) -> Any:
        """A FrankaRobotState as an arm sends it: seven of everything, the arm's own names."""
        message = self.message('franka_msgs/msg/FrankaRobotState')
        for part in (
            'measured_joint_state',
            'desired_joint_state',
            'measured_joint_motor_state',
            'tau_ext_hat_filtered',
        ):
            setattr(message, part, self.joint_state(joint_names, (7, 7, 7)))
        return message

    def message(self, name: str) -> Any:
        """A random message of any type, down to its leaves."""
        if name == 'sensor_msgs/msg/JointState':
            return self.joint_state()
        values = {
            field: self._value(node, detail)
            for field, (node, detail) in self._store.fielddefs[name][1]
        }
        return self._store.types[name](**values)

    def _value(self, node: Nodetype, detail: Any) -> Any:
        if node == Nodetype.NAME:
            return self.message(detail)
        if node == Nodetype.ARRAY:
            return self._numbers(detail[1])
        return {
            'string': self._text,
            'float64': lambda: float(self._numbers(1)[0]),
            'bool': lambda: bool(self._rng.integers(0, 2)),
            'uint8': lambda: int(self._rng.integers(0, 256)),
            'int32': lambda: int(self._rng.integers(-(2**31), 2**31)),
            'uint32': lambda: int(self._rng.integers(0, 10**9)),
        }[detail[0]]()

    def _text(self) -> str:
        return ''.join(self._rng.choice(list('aé_/漢'), size=self._rng.integers(0, 14)))

    def _numbers(self, count: int) -> np.ndarray:
        return self._rng.normal(size=count) * 10.0 ** self._rng.integers(-300, 300)
