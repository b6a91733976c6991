"""What is known about the arm, and what of it forbids that the arm moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.description import RobotMode
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.playback.configuration import PlaybackParameters

Array = NDArray[np.float64]

# The share of the torque at which the arm holds down to which somebody still pushes it.
_STILL_PUSHED = 0.25
# The angle between the tool's reported and computed orientation that is no rounding any more.
_MAX_TOOL_ANGLE_RAD = 0.05
# What rounding makes of the length of a quaternion, and more.
_QUATERNION_TOLERANCE = 0.01


@dataclass(frozen=True, kw_only=True)
class SafetyViolation:
    """The finding of a safety check: the arm must not move.

    Attributes:
        reason: what is wrong, and what is allowed.
        is_push: whether somebody pushes the arm away: the arm then gives way.
    """

    reason: str
    is_push: bool = False


@dataclass(kw_only=True)
class Stream:
    """The latest values of a topic, with stamp and time of arrival.

    Attributes:
        values: the latest, None before the first.
        stamp_ns: their stamp, on the arm's clock.
        arrival_sec: when they came, on the clock that never jumps.
    """

    values: Array | None = None
    stamp_ns: int = 0
    arrival_sec: float = -np.inf

    def take(self, values: Sequence[float] | Array, stamp_ns: int, arrival_sec: float) -> None:
        """Take note of new values."""
        self.values = np.asarray(values, dtype=np.float64)
        self.stamp_ns = stamp_ns
        self.arrival_sec = arrival_sec


@dataclass(kw_only=True)
class ArmView:
    """Everything that playback knows about the arm and its controller.

    Attributes:
        joints: positions and velocities, (14,).
        torque: external torques, (7,).
        pose: the tool's pose in the base frame as the arm reports it: position, quaternion, (7,).
        mode: what the arm tells about itself; None where nobody told yet.
        mode_arrival_sec: when it was told; None before anybody told it.
        mode_reason: why, in words.
        command_publishers: who sends on the command topic, playback included.
        command_subscribers: who listens to it.
        missing_nodes: nodes without which the arm must not move, and that are not heard.
        inactive_controllers: those that drive the arm or tell its state and are not known to be
            active, in words.
    """

    joints: Stream = field(default_factory=Stream)
    torque: Stream = field(default_factory=Stream)
    pose: Stream = field(default_factory=Stream)
    mode: RobotMode | None = None
    mode_arrival_sec: float | None = None
    mode_reason: str = ''
    command_publishers: int = 1
    command_subscribers: int = 0
    missing_nodes: tuple[str, ...] = ()
    inactive_controllers: tuple[str, ...] = ()

    @property
    def positions_rad(self) -> Array | None:
        """Measured joint positions, (7,)."""
        return None if self.joints.values is None else self.joints.values[:7]

    @property
    def velocities_rad_s(self) -> Array | None:
        """Measured joint velocities, (7,)."""
        return None if self.joints.values is None else self.joints.values[7:14]

    @property
    def follows_commands(self) -> bool:
        """Whether nothing is known that keeps the arm from following its commands."""
        if self.inactive_controllers:
            return False
        return self.mode is None or self.mode.follows_commands


@dataclass(frozen=True, kw_only=True)
class SafetyChecks:
    """The rules that must hold for the arm to move, checked in each cycle."""

    config: PlaybackParameters
    kinematics: Kinematics

    def violation(
        self, view: ArmView, *, steady_sec: float, ros_ns: int
    ) -> SafetyViolation | None:
        """Say why the arm must not move now, None if it may.

        Args:
            view: what is known about the arm.
            steady_sec: now, on the clock that never jumps.
            ros_ns: now, on the clock of ROS.
        """
        reason = (
            self._stale('robot state', view.joints, steady_sec)
            or self._clocks_apart(view.joints, ros_ns)
            or self._wrong_mode(view, steady_sec)
            or self._stale('external torque', view.torque, steady_sec)
            or _inactive(view)
            or _graph(view)
            or _missing(view)
        )
        if reason is not None:
            return SafetyViolation(reason=reason)
        return self._too_much_torque(view)

    def is_pushed(self, view: ArmView) -> bool:
        """Tell whether somebody still pushes the arm that gives way to a push."""
        if view.torque.values is None:
            return False
        limits = _STILL_PUSHED * np.array(self.config.stop_torque_nm)
        return bool((np.abs(view.torque.values) > limits).any())

    def deviation(self, view: ArmView, set_point_rad: Array) -> SafetyViolation | None:
        """Say that the tool is too far from its set-point, None if it is not."""
        assert view.positions_rad is not None, 'checked with the state'
        measured, wanted = self.kinematics.tool_poses(
            np.stack([view.positions_rad, set_point_rad])
        )[0]
        distance = float(np.linalg.norm(measured - wanted))
        if distance <= self.config.max_deviation_m:
            return None
        return SafetyViolation(
            reason=f'the tool is {distance:.2f} m from its set-point; '
            f'allowed: {self.config.max_deviation_m:.2f}',
            is_push=True,
        )

    def tool_mismatch(self, view: ArmView, *, steady_sec: float) -> str | None:
        """Say that the arm reports another tool pose than its joints give, None if it does not.

        Where a simulated arm reports none, or none any more, there is nothing to compare.
        """
        stale = self._stale('tool pose', view.pose, steady_sec)
        if stale is not None:
            return stale if self.config.requires_mode else None
        assert view.pose.values is not None, 'it is not stale'
        length = float(np.linalg.norm(view.pose.values[3:7]))
        if abs(length - 1.0) > _QUATERNION_TOLERANCE:
            return f'the quaternion of the tool pose has length {length:.3f}; allowed: 1'
        assert view.positions_rad is not None, 'checked with the state'
        position, rotation = self.kinematics.tool_poses(view.positions_rad)
        distance = float(np.linalg.norm(view.pose.values[:3] - position))
        turn = Rotation.from_quat(view.pose.values[3:7]) * Rotation.from_matrix(rotation).inv()
        angle = float(turn.magnitude())
        allowed = self.config.tool_pose_tolerance_m
        if distance <= allowed and angle <= _MAX_TOOL_ANGLE_RAD:
            return None
        return (
            f'the tool pose that the arm reports is {100 * distance:.1f} cm and '
            f'{np.degrees(angle):.0f}° from the one computed: wrong hand or end-effector '
            f'transform; allowed: {100 * allowed:.1f} cm, {np.degrees(_MAX_TOOL_ANGLE_RAD):.0f}°'
        )

    def _stale(self, what: str, stream: Stream, steady_sec: float) -> str | None:
        if stream.values is None:
            return f'no {what} has come yet'
        age_sec = steady_sec - stream.arrival_sec
        if age_sec > self.config.state_timeout_sec:
            return f'{what} is {age_sec:.2f} s old; allowed: {self.config.state_timeout_sec:.2f}'
        if not np.isfinite(stream.values).all():
            return f'{what} holds a value that is not a number'
        return None

    def _clocks_apart(self, stream: Stream, ros_ns: int) -> str | None:
        apart_sec = (ros_ns - stream.stamp_ns) / 1e9
        allowed = self.config.clock_tolerance_sec + self.config.state_timeout_sec
        if abs(apart_sec) <= allowed:
            return None
        return (
            f'the clock is {apart_sec:.2f} s ahead of the stamps of the arm; '
            f'allowed: within {allowed:.2f}'
        )

    def _wrong_mode(self, view: ArmView, steady_sec: float) -> str | None:
        if view.mode is None:
            return 'the mode of the arm is not known' if self.config.requires_mode else None
        if view.mode_arrival_sec is not None:
            age_sec = steady_sec - view.mode_arrival_sec
            allowed = self.config.state_timeout_sec
            if age_sec > allowed:
                return f'the mode of the arm is {age_sec:.2f} s old; allowed: {allowed:.2f}'
        if view.mode.follows_commands:
            return None
        reason = f': {view.mode_reason}' if view.mode_reason else ''
        return f'the arm is in mode {view.mode.text}{reason}'

    def _too_much_torque(self, view: ArmView) -> SafetyViolation | None:
        assert view.torque.values is not None, 'checked before'
        limits = np.array(self.config.stop_torque_nm)
        excess = np.abs(view.torque.values) - limits
        joint = int(np.argmax(excess))
        if excess[joint] <= 0.0:
            return None
        name = self.kinematics.description.joint_names[joint]
        return SafetyViolation(
            reason=f'too large a force: external torque {view.torque.values[joint]:.1f} N·m at '
            f'{name}; allowed: {limits[joint]:.1f}',
            is_push=True,
        )


def _inactive(view: ArmView) -> str | None:
    if not view.inactive_controllers:
        return None
    return f'not active: {", ".join(view.inactive_controllers)}'


def _graph(view: ArmView) -> str | None:
    if view.command_publishers > 1:
        return f'{view.command_publishers - 1} other publisher(s) command the arm'
    if view.command_subscribers < 1:
        return 'no controller listens to commands'
    return None


def _missing(view: ArmView) -> str | None:
    if not view.missing_nodes:
        return None
    return f'not heard from: {", ".join(view.missing_nodes)}'
