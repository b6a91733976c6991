"""What is known about the arm, and what of it forbids that the arm moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.playback.parameters import PlaybackParameters
from reward_learning_ros.arm.robot_mode import RobotMode

Array = NDArray[np.float64]


@dataclass(kw_only=True)
class Stream:
    """The latest values of a topic, and when they came.

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
        mode: what the arm tells about itself; None where nobody tells.
        mode_reason: why, in words.
        command_publishers: who sends on the command topic, playback included.
        command_subscribers: who listens to it.
        missing_nodes: nodes without which the arm must not move, and that are not heard.
    """

    joints: Stream = field(default_factory=Stream)
    torque: Stream = field(default_factory=Stream)
    mode: RobotMode | None = None
    mode_reason: str = ''
    command_publishers: int = 1
    command_subscribers: int = 0
    missing_nodes: tuple[str, ...] = ()

    @property
    def positions_rad(self) -> Array | None:
        """Measured joint positions, (7,)."""
        return None if self.joints.values is None else self.joints.values[:7]

    @property
    def velocities_rad_s(self) -> Array | None:
        """Measured joint velocities, (7,)."""
        return None if self.joints.values is None else self.joints.values[7:14]


@dataclass(frozen=True, kw_only=True)
class Guards:
    """The rules under which the arm may move."""

    config: PlaybackParameters
    kinematics: Kinematics

    def objection(self, view: ArmView, *, steady_sec: float, ros_ns: int) -> str | None:
        """Say why the arm must not move now, None if it may.

        Args:
            view: what is known about the arm.
            steady_sec: now, on the clock that never jumps.
            ros_ns: now, on the clock of ROS.
        """
        return (
            self._stale('robot state', view.joints, steady_sec)
            or self._clocks_apart(view.joints, ros_ns)
            or self._wrong_mode(view)
            or self._stale('external torque', view.torque, steady_sec)
            or self._too_much_torque(view)
            or _graph(view)
            or _missing(view)
        )

    def deviation(self, view: ArmView, set_point_rad: Array) -> str | None:
        """Say that the tool is too far from its set-point, None if it is not."""
        assert view.positions_rad is not None, 'checked with the state'
        measured, wanted = self.kinematics.tool_poses(
            np.stack([view.positions_rad, set_point_rad])
        )[0]
        distance = float(np.linalg.norm(measured - wanted))
        if distance <= self.config.largest_deviation_m:
            return None
        return (
            f'the tool is {distance:.2f} m from its set-point; '
            f'allowed: {self.config.largest_deviation_m:.2f}'
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

    def _wrong_mode(self, view: ArmView) -> str | None:
        if view.mode is None or view.mode.follows_commands:
            return None
        reason = f': {view.mode_reason}' if view.mode_reason else ''
        return f'the arm is in mode {view.mode.words}{reason}'

    def _too_much_torque(self, view: ArmView) -> str | None:
        assert view.torque.values is not None, 'checked before'
        limits = np.array(self.config.stop_torque_nm)
        excess = np.abs(view.torque.values) - limits
        joint = int(np.argmax(excess))
        if excess[joint] <= 0.0:
            return None
        name = self.kinematics.description.joint_names[joint]
        return (
            f'too large a force: external torque {view.torque.values[joint]:.1f} N·m at {name}; '
            f'allowed: {limits[joint]:.1f}'
        )


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
