"""Reads only the needed numbers out of serialized messages, a few microseconds each.

The definition of franka_msgs/FrankaRobotState is the same in franka_ros2 v0.1 (Humble) to v3.4
(Humble) and v2.5 (Jazzy), so one schema serves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from reward_learning_ros.sensing.message_layout import (
    DOUBLES,
    STRING,
    STRINGS,
    Field,
    Layout,
    Schema,
    find_layout,
    nested,
)
from reward_learning_ros.sensing.samples import DecodingError

Numbers = tuple[float, ...]

_HEADER: Schema = (Field('stamp.sec', 'i'), Field('stamp.nanosec', 'I'), Field('frame_id', STRING))
_JOINT_STATE: Schema = (
    *nested('header', _HEADER),
    Field('name', STRINGS),
    Field('position', DOUBLES),
    Field('velocity', DOUBLES),
    Field('effort', DOUBLES),
)
_POSE_STAMPED: Schema = (*nested('header', _HEADER), Field('pose', 'd', 7))
# Wrench, twist and acceleration are all two vectors of three.
_TWO_VECTORS_STAMPED: Schema = (*nested('header', _HEADER), Field('vectors', 'd', 6))
_INERTIA_STAMPED: Schema = (*nested('header', _HEADER), Field('inertia', 'd', 10))
_ERROR_FLAGS = 36
FRANKA_ROBOT_STATE: Schema = (
    *nested('header', _HEADER),
    Field('collision_indicators', 'd', 4 * 3 + 2 * 7),
    *nested('measured_joint_state', _JOINT_STATE),
    *nested('desired_joint_state', _JOINT_STATE),
    *nested('measured_joint_motor_state', _JOINT_STATE),
    Field('ddq_d', 'd', 7),
    Field('dtau_j', 'd', 7),
    *nested('tau_ext_hat_filtered', _JOINT_STATE),
    Field('elbow', 'd', 5 * 2),
    *nested('k_f_ext_hat_k', _TWO_VECTORS_STAMPED),
    *nested('o_f_ext_hat_k', _TWO_VECTORS_STAMPED),
    *nested('inertia_ee', _INERTIA_STAMPED),
    *nested('inertia_load', _INERTIA_STAMPED),
    *nested('inertia_total', _INERTIA_STAMPED),
    *nested('o_t_ee', _POSE_STAMPED),
    *nested('o_t_ee_d', _POSE_STAMPED),
    *nested('o_t_ee_c', _POSE_STAMPED),
    *nested('f_t_ee', _POSE_STAMPED),
    *nested('ee_t_k', _POSE_STAMPED),
    *nested('o_dp_ee_d', _TWO_VECTORS_STAMPED),
    *nested('o_dp_ee_c', _TWO_VECTORS_STAMPED),
    *nested('o_ddp_ee_c', _TWO_VECTORS_STAMPED),
    Field('time', 'd'),
    Field('control_command_success_rate', 'd'),
    Field('robot_mode', 'B'),
    Field('current_errors', 'B', _ERROR_FLAGS),
    Field('last_motion_errors', 'B', _ERROR_FLAGS),
)


class JointStateRecord(NamedTuple):
    """What a sensor_msgs/JointState says; a part that it leaves out is empty."""

    time_ns: int
    position: Numbers
    velocity: Numbers
    effort: Numbers


class PoseRecord(NamedTuple):
    """What a geometry_msgs/PoseStamped says: x y z in metres, quaternion x y z w."""

    time_ns: int
    pose: Numbers


class WrenchRecord(NamedTuple):
    """What a geometry_msgs/WrenchStamped says: force x y z in N, torque x y z in N·m."""

    time_ns: int
    wrench: Numbers


class FrankaStateRecord(NamedTuple):
    """What contact detection needs of a franka_msgs/FrankaRobotState.

    Attributes:
        time_ns: the header's stamp.
        joint_position: q, rad.
        joint_velocity: dq, rad/s.
        external_torque: tau_ext_hat_filtered, N·m.
        wrench: O_F_ext_hat_K, force then torque, as libfranka signs it.
        pose: measured tool pose in the base frame, x y z and quaternion x y z w.
        desired_pose: last desired tool pose in the base frame, likewise.
        robot_mode: 0 other, 1 idle, 2 move, 3 guiding, 4 reflex, 5 user stopped, 6 recovery.
    """

    time_ns: int
    joint_position: Numbers
    joint_velocity: Numbers
    external_torque: Numbers
    wrench: Numbers
    pose: Numbers
    desired_pose: Numbers
    robot_mode: int


class _Reader:
    """Reads the wanted fields of one type of message, remembering the last layout seen.

    The first two wanted values are always the seconds and nanoseconds of the header's stamp.
    """

    def __init__(self, schema: Schema, wanted: Sequence[str]) -> None:
        self._schema = schema
        self._wanted = frozenset(('header.stamp.sec', 'header.stamp.nanosec', *wanted))
        self.layout: Layout | None = None

    def __call__(self, data: bytes) -> tuple[Any, ...]:
        """Returns the wanted values in message order; `layout.slices` says which are whose."""
        if self.layout is not None:
            values = self.layout.read(data)
            if values is not None:
                return values
        layout = find_layout(data, self._schema, self._wanted)
        values = layout.read(data)
        assert values is not None, 'a layout reads the message that it was found in'
        self.layout = layout
        return values


class PoseStampedDecoder:
    """Decodes geometry_msgs/PoseStamped."""

    def __init__(self) -> None:
        self._read = _Reader(_POSE_STAMPED, ('pose',))

    def decode(self, data: bytes) -> PoseRecord:
        """Decodes one serialized message; DecodingError if it is none."""
        values = self._read(data)
        return PoseRecord(values[0] * 1_000_000_000 + values[1], values[2:])


class WrenchStampedDecoder:
    """Decodes geometry_msgs/WrenchStamped."""

    def __init__(self) -> None:
        self._read = _Reader(_TWO_VECTORS_STAMPED, ('vectors',))

    def decode(self, data: bytes) -> WrenchRecord:
        """Decodes one serialized message; DecodingError if it is none."""
        values = self._read(data)
        return WrenchRecord(values[0] * 1_000_000_000 + values[1], values[2:])


class JointStateDecoder:
    """Decodes sensor_msgs/JointState, in the order of the joints that are asked for.

    Attributes:
        joint_names: the joints to read, or None for all of a message in its own order.
    """

    def __init__(self, joint_names: Sequence[str] | None = None) -> None:
        self.joint_names = None if joint_names is None else tuple(joint_names)
        self._read = _Reader(_JOINT_STATE, ('name', 'position', 'velocity', 'effort'))
        self._layout: Layout | None = None
        self._order: tuple[int, ...] | None = None
        self._parts: tuple[slice, slice, slice]

    def decode(self, data: bytes) -> JointStateRecord:
        """Decodes one serialized message.

        Raises:
            DecodingError: it is no JointState, or it lacks a joint that was asked for.
        """
        values = self._read(data)
        layout = self._read.layout
        if layout is not self._layout and layout is not None:
            self._order = self._find_order(data, layout)
            self._parts = (
                layout.slices['position'],
                layout.slices['velocity'],
                layout.slices['effort'],
            )
            self._layout = layout
        position, velocity, effort = self._parts
        time_ns = values[0] * 1_000_000_000 + values[1]
        if self._order is None:
            return JointStateRecord(time_ns, values[position], values[velocity], values[effort])
        return JointStateRecord(
            time_ns,
            self._ordered(values[position]),
            self._ordered(values[velocity]),
            self._ordered(values[effort]),
        )

    def _ordered(self, part: Numbers) -> Numbers:
        return tuple(part[index] for index in self._order) if part and self._order else part

    def _find_order(self, data: bytes, layout: Layout) -> tuple[int, ...] | None:
        """Returns which of the message's joints are wanted; None for all of them in order."""
        if self.joint_names is None:
            return None
        names = joint_names(data)
        missing = [name for name in self.joint_names if name not in names]
        if missing:
            self._read.layout = None
            raise DecodingError(
                f'JointState lacks {", ".join(missing)}; it has {", ".join(names) or "no joints"}'
            )
        order = tuple(names.index(name) for name in self.joint_names)
        for part in ('position', 'velocity', 'effort'):
            span = layout.slices[part]
            if span.stop - span.start not in (0, len(names)):
                self._read.layout = None
                raise DecodingError(
                    f'JointState has {len(names)} names but {span.stop - span.start} of {part}'
                )
        return None if order == tuple(range(len(names))) else order


class FrankaStateDecoder:
    """Decodes franka_msgs/FrankaRobotState, whose joints are always in the arm's order."""

    _PARTS = (
        'measured_joint_state.position',
        'measured_joint_state.velocity',
        'tau_ext_hat_filtered.effort',
        'o_f_ext_hat_k.vectors',
        'o_t_ee.pose',
        'o_t_ee_d.pose',
        'robot_mode',
    )

    def __init__(self) -> None:
        self._read = _Reader(FRANKA_ROBOT_STATE, self._PARTS)
        self._layout: Layout | None = None
        self._slices: tuple[slice, ...] = ()

    def decode(self, data: bytes) -> FrankaStateRecord:
        """Decodes one serialized message; DecodingError if it is none."""
        values = self._read(data)
        layout = self._read.layout
        if layout is not self._layout and layout is not None:
            self._slices = tuple(layout.slices[part] for part in self._PARTS)
            self._layout = layout
        position, velocity, torque, wrench, pose, desired_pose, mode = self._slices
        return FrankaStateRecord(
            values[0] * 1_000_000_000 + values[1],
            values[position],
            values[velocity],
            values[torque],
            values[wrench],
            values[pose],
            values[desired_pose],
            values[mode.start],
        )


def joint_names(data: bytes) -> tuple[str, ...]:
    """Returns the joint names of a serialized JointState; DecodingError if it is none."""
    layout = find_layout(data, _JOINT_STATE, frozenset(('name',)))
    return tuple(content[:-1].decode() for content in layout.fixed_strings())
