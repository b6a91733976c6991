"""What joint_trajectory_controller makes of the trajectories it is sent: one set-point a cycle.

Meant are its rules for its topic, without an action's goal: a stamp of zero means now, a stamp in
the future waits for it, points of the past are skipped, a new trajectory replaces the old one in
mid-motion, and after the end, or when a joint strays too far from its set-point, it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.simulation_kernels import NOISE_SIZE, sample_spline
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface.plan import JointTrajectory

Array = NDArray[np.float64]

_NANOSECONDS = 1_000_000_000

# The controller takes a last velocity below this for rest.
_REST_RAD_S = 1e-4


class TrajectoryRefusedError(RewardLearningError):
    """The simulated controller refuses a trajectory; says why."""


class TrajectoryFollower:
    """Follows the latest trajectory, as a joint trajectory controller does.

    Attributes:
        knots_sec: (k + 1,) since `epoch_ns`, of the pieces of the motion.
        coefficients: (k, 6, 7) of the pieces, as `sample_spline` takes them.
    """

    def __init__(self, joint_names: Sequence[str], *, start_rad: Array, epoch_ns: int) -> None:
        self._joint_names = tuple(joint_names)
        self._epoch_ns = epoch_ns
        self.knots_sec = np.empty(0)
        self.coefficients = np.empty((0, 6, JOINT_COUNT))
        self.hold(start_rad, epoch_ns)

    def seconds(self, time_ns: int) -> float:
        """Return a time in seconds since the epoch."""
        return (time_ns - self._epoch_ns) / _NANOSECONDS

    def sample(self, time_ns: int) -> Array:
        """Return the set-point (3, 7) at a time: position, velocity, acceleration."""
        point = np.empty((3, JOINT_COUNT))
        sample_spline(self.knots_sec, self.coefficients, self.seconds(time_ns), point)
        return point

    def is_moving(self, time_ns: int) -> bool:
        """Tell whether a trajectory has not ended yet."""
        return self.seconds(time_ns) < self.knots_sec[-1]

    def hold(self, joints_rad: Array, time_ns: int) -> None:
        """Forget the trajectory and stay at a configuration (7,)."""
        now = self.seconds(time_ns)
        self.knots_sec = np.array([now, now])
        self.coefficients = np.zeros((1, 6, JOINT_COUNT))
        self.coefficients[0, 0] = joints_rad

    def accept(self, trajectory: JointTrajectory, time_ns: int, state: Array) -> None:
        """Replace the trajectory that is being followed.

        Args:
            trajectory: the new one.
            time_ns: now.
            state: (3, 7) from which to blend into its first point, if that lies ahead: what the
                arm is asked for now, or what was measured.

        Raises:
            TrajectoryRefusedError: the controller would ignore it; nothing has changed.
        """
        order = self._order_of(trajectory)
        now = self.seconds(time_ns)
        start = now if trajectory.stamp_ns == 0 else self.seconds(trajectory.stamp_ns)
        times = start + trajectory.times_sec
        if times[-1] < now:
            raise TrajectoryRefusedError(f'it ended {now - times[-1]:.3f} s ago')
        velocities = _reordered(trajectory.velocities, order)
        if velocities is not None and np.abs(velocities[-1]).max() > _REST_RAD_S:
            raise TrajectoryRefusedError('its last velocity is not zero')
        positions = trajectory.positions[:, order]
        accelerations = _reordered(trajectory.accelerations, order)
        if times[0] > now:
            times = np.concatenate([[now], times])
            positions = np.vstack([state[:1], positions])
            if velocities is not None:
                velocities = np.vstack([state[1:2], velocities])
            if accelerations is not None:
                accelerations = np.vstack([state[2:3], accelerations])
        elif len(times) == 1:
            # A single point that is due: the controller goes there at once.
            self.hold(positions[0], time_ns)
            return
        self.knots_sec = times
        self.coefficients = _pieces(times, positions, velocities, accelerations)

    def _order_of(self, trajectory: JointTrajectory) -> list[int]:
        """Where each of the controller's joints is in the trajectory's."""
        if set(trajectory.joint_names) != set(self._joint_names):
            raise TrajectoryRefusedError(
                f'it is for the joints {", ".join(trajectory.joint_names)}; '
                f'allowed: {", ".join(self._joint_names)}'
            )
        return [trajectory.joint_names.index(name) for name in self._joint_names]


def _reordered(values: Array | None, order: list[int]) -> Array | None:
    return None if values is None else values[:, order]


def _pieces(
    times: Array, positions: Array, velocities: Array | None, accelerations: Array | None
) -> Array:
    """Coefficients (k, 6, 7) between points: straight, cubic or quintic, by what they tell."""
    span = np.diff(times)[:, None]
    step = np.diff(positions, axis=0)
    coefficients = np.zeros((len(span), 6, JOINT_COUNT))
    coefficients[:, 0] = positions[:-1]
    if velocities is None:
        coefficients[:, 1] = step / span
        return coefficients
    before, after = velocities[:-1], velocities[1:]
    coefficients[:, 1] = before
    if accelerations is None:
        coefficients[:, 2] = (3.0 * step / span - 2.0 * before - after) / span
        coefficients[:, 3] = (-2.0 * step / span + before + after) / span**2
        return coefficients
    bend, unbend = accelerations[:-1], accelerations[1:]
    coefficients[:, 2] = 0.5 * bend
    coefficients[:, 3] = (
        20.0 * step - (8.0 * after + 12.0 * before) * span - (3.0 * bend - unbend) * span**2
    ) / (2.0 * span**3)
    coefficients[:, 4] = (
        -30.0 * step
        + (14.0 * after + 16.0 * before) * span
        + (3.0 * bend - 2.0 * unbend) * span**2
    ) / (2.0 * span**4)
    coefficients[:, 5] = (
        12.0 * step - 6.0 * (after + before) * span + (unbend - bend) * span**2
    ) / (2.0 * span**5)
    return coefficients


# The wrist carries less and errs less.
_SHARE_OF_JOINT = np.array([1.0, 1.0, 1.0, 1.0, 0.4, 0.4, 0.3])
_NOISE_BLOCK = 4096


@dataclass(frozen=True, kw_only=True)
class TorqueBias:
    """A bias that varies smoothly with the configuration, as unknown payloads make it.

    Attributes:
        amplitude_nm: (7,) largest bias of each joint.
        directions: (7, 7) and
        phases_rad: (7,): the bias is amplitude · sin(directions @ joints + phases).
    """

    amplitude_nm: Array
    directions: Array
    phases_rad: Array

    @classmethod
    def drawn(cls, max_nm: float, rng: np.random.Generator) -> TorqueBias:
        """Draw the bias of one arm.

        Args:
            max_nm: largest bias of the strong joints.
            rng: another generator is another arm.
        """
        return cls(
            amplitude_nm=max_nm * _SHARE_OF_JOINT,
            # Over the workspace of a task, about a radian, the bias changes by half its size.
            directions=rng.normal(scale=0.4, size=(JOINT_COUNT, JOINT_COUNT)),
            phases_rad=rng.uniform(-np.pi, np.pi, size=JOINT_COUNT),
        )


class Noise:
    """Standard normal numbers for one observation after another, drawn in blocks."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._block = np.empty((0, NOISE_SIZE))
        self._next = 0

    def draw(self) -> Array:
        """Return the next (21,)."""
        if self._next == len(self._block):
            self._block = self._rng.standard_normal((_NOISE_BLOCK, NOISE_SIZE))
            self._next = 0
        row: Array = self._block[self._next]
        self._next += 1
        return row
