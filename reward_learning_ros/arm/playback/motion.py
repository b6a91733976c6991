"""A timed joint trajectory on the wall's clock, and the messages that make the arm follow it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm.playback.time_law import TimeLaw
from reward_learning_ros.arm.timing import JointTrajectory, MotionState, SetPoints

Array = NDArray[np.float64]

# Between set-points the controller interpolates with quintics: at this distance the curve that it
# follows and the one that was meant differ by micrometres.
_SPACING_SEC = 0.04


@dataclass(frozen=True, kw_only=True)
class Command:
    """Set-points for a controller; the last one is at rest.

    Attributes:
        stamp_ns: from when times count; 0 means from when it arrives.
        times_sec: (S,) increasing.
        positions_rad, velocities_rad_s, accelerations_rad_s2: (S, 7).
    """

    stamp_ns: int
    times_sec: Array
    positions_rad: Array
    velocities_rad_s: Array
    accelerations_rad_s2: Array


@dataclass(frozen=True, kw_only=True)
class Motion:
    """A trajectory and the law by which its time passes.

    Attributes:
        trajectory: from rest or out of another motion, to rest.
        law: of its time.
        start_parameter: where on the plan's curve the trajectory begins.
    """

    trajectory: JointTrajectory
    law: TimeLaw
    start_parameter: float = 0.0

    def sample(self, times_sec: ArrayLike) -> SetPoints:
        """Return the set-points at times (S,)."""
        times = np.atleast_1d(np.asarray(times_sec, dtype=np.float64))
        elapsed, rate, change = self.law.at(times)
        points = self.trajectory.sample(elapsed)
        rate, change = rate[:, None], change[:, None]
        return SetPoints(
            times_sec=times,
            positions_rad=points.positions_rad,
            velocities_rad_s=points.velocities_rad_s * rate,
            accelerations_rad_s2=points.accelerations_rad_s2 * rate**2
            + points.velocities_rad_s * change,
        )

    def state(self, time_sec: float) -> MotionState:
        """Return where the joints are asked to be at a time, and how they move."""
        points = self.sample(time_sec)
        return MotionState(
            positions_rad=points.positions_rad[0],
            velocities_rad_s=points.velocities_rad_s[0],
            accelerations_rad_s2=points.accelerations_rad_s2[0],
        )

    def parameter(self, time_sec: float) -> float:
        """Return where on the plan's curve the motion is, 0 to 1."""
        elapsed, _, _ = self.law.at(time_sec)
        along = float(self.trajectory.parameter(elapsed)[0])
        return self.start_parameter + (1.0 - self.start_parameter) * along

    def has_ended(self, time_sec: float) -> bool:
        """Tell whether the trajectory is at its end."""
        return bool(self.law.at(time_sec)[0][0] >= self.trajectory.duration_sec)

    def rests(self, time_sec: float) -> bool:
        """Tell whether nothing moves from a time on: at the end, or halted on the way."""
        halted = self.law.target_rate == 0.0 and time_sec >= self.law.settled_sec
        return halted or self.has_ended(time_sec)

    def ramped(self, time_sec: float, target_rate: float, ramp_sec: float) -> Motion:
        """Return the motion that goes to another rate from a time on."""
        start = max(time_sec, self.law.begin_sec)
        return replace(self, law=self.law.ramped(start, target_rate, ramp_sec))

    def shifted(self, by_sec: float) -> Motion:
        """Return the same motion on a clock that was set by so much."""
        return replace(self, law=self.law.shifted(by_sec))

    def command(self, *, first_sec: float, now_sec: float, stamp_ns: int) -> Command:
        """Return the set-points from a time until the motion rests, which its law must bring.

        Args:
            first_sec: of the first set-point.
            now_sec: from when the command's times count.
            stamp_ns: the same on the clock of ROS, or 0.
        """
        first = max(first_sec, self.law.begin_sec)
        last = max(self.law.settled_sec, first + _SPACING_SEC)
        count = max(2, int(np.ceil((last - first) / _SPACING_SEC)) + 1)
        points = self.sample(np.linspace(first, last, count))
        return Command(
            stamp_ns=stamp_ns,
            times_sec=points.times_sec - now_sec,
            positions_rad=points.positions_rad,
            velocities_rad_s=points.velocities_rad_s,
            accelerations_rad_s2=points.accelerations_rad_s2,
        )
