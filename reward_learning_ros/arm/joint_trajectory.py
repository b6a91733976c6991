"""A joint trajectory in time, and the states that one motion hands over to the next."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm import timing_kernels as kernels
from reward_learning_ros.arm.curve import progress
from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MotionState:
    """Where the commanded joints are and how they move, each (7,)."""

    positions_rad: Array
    velocities_rad_s: Array = field(default_factory=lambda: np.zeros(JOINT_COUNT))
    accelerations_rad_s2: Array = field(default_factory=lambda: np.zeros(JOINT_COUNT))

    def __post_init__(self) -> None:
        for name in ('positions_rad', 'velocities_rad_s', 'accelerations_rad_s2'):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (JOINT_COUNT,) or not np.isfinite(array).all():
                raise InvalidInputError(f'{name} is {array}; allowed: {JOINT_COUNT} finite values')
            array.setflags(write=False)
            object.__setattr__(self, name, array)


@dataclass(frozen=True, kw_only=True)
class SetPoints:
    """Sampled set-points: times (S,), the rest (S, 7)."""

    times_sec: Array
    positions_rad: Array
    velocities_rad_s: Array
    accelerations_rad_s2: Array


@dataclass(frozen=True, kw_only=True)
class JointTrajectory:
    """A motion along a joint path that ends at rest; continuous up to its acceleration.

    Attributes:
        requested_duration_sec: what was asked for; shorter if the limits demanded more.
        waypoint_times_sec: (n,) when the waypoints are met.
    """

    requested_duration_sec: float
    waypoint_times_sec: Array
    _course: kernels.Course = field(repr=False)

    @classmethod
    def settling(
        cls, start: MotionState, joints_rad: Array, duration_sec: float
    ) -> JointTrajectory:
        """Go from a state to rest at a configuration (7,), each joint by a quintic.

        No limit is looked at.
        """
        offset = np.stack(
            [
                start.positions_rad - joints_rad,
                start.velocities_rad_s,
                start.accelerations_rad_s2,
            ]
        )
        coefficients = np.zeros((4, 1, JOINT_COUNT))
        coefficients[3, 0] = joints_rad
        fade = np.empty((6, JOINT_COUNT))
        kernels.fade_out(offset, duration_sec, fade)
        return cls(
            requested_duration_sec=duration_sec,
            waypoint_times_sec=np.array([0.0, duration_sec]),
            _course=kernels.Course(
                knots=np.array([0.0, 1.0]),
                coefficients=coefficients,
                total_sec=duration_sec,
                start_rate=0.0,
                blend_sec=duration_sec,
                fade=fade,
            ),
        )

    @property
    def duration_sec(self) -> float:
        """How long the motion takes."""
        return self._course.total_sec

    @property
    def blend_sec(self) -> float:
        """Time over which the difference to the motion before vanishes."""
        return self._course.blend_sec

    @property
    def slowed(self) -> bool:
        """Whether the motion takes longer than was asked for."""
        return self.duration_sec > self.requested_duration_sec

    def __str__(self) -> str:
        text = f'{self.duration_sec:.2f} s'
        if self.slowed:
            text += f' ({self.requested_duration_sec:.2f} s asked for; the limits demand more)'
        return text

    def sample(self, times_sec: ArrayLike) -> SetPoints:
        """Compute set-points.

        Args:
            times_sec: (S,) from the start; before it the motion stands at its start, after its
                end at its end.

        Returns:
            The set-points.
        """
        times = np.clip(np.atleast_1d(np.asarray(times_sec, np.float64)), 0.0, self.duration_sec)
        points = np.empty((len(times), 4, JOINT_COUNT))
        kernels.set_points(self._course, times, points)
        return SetPoints(
            times_sec=times,
            positions_rad=points[:, kernels.POSITION].copy(),
            velocities_rad_s=points[:, kernels.VELOCITY].copy(),
            accelerations_rad_s2=points[:, kernels.ACCELERATION].copy(),
        )

    def parameter(self, times_sec: ArrayLike) -> Array:
        """Return how far along its path the motion is at times (S,), each in [0, 1]."""
        fractions = np.atleast_1d(np.asarray(times_sec, np.float64)) / self.duration_sec
        return progress(fractions, start_rate=self._course.start_rate).value[:, 0]

    def state(self, time_sec: float) -> MotionState:
        """Return the commanded state at a time, from which another motion may take over."""
        points = self.sample(time_sec)
        return MotionState(
            positions_rad=points.positions_rad[0],
            velocities_rad_s=points.velocities_rad_s[0],
            accelerations_rad_s2=points.accelerations_rad_s2[0],
        )
