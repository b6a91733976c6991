"""A timed joint trajectory on the wall's clock, and the messages that make the arm follow it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm.joint_trajectory import JointTrajectory, MotionState, SetPoints
from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.playback.speed_scaling import TimeLaw

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


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedPath:
    """The path that a motion goes along: a plan, and how it is shifted.

    Attributes:
        plan: the plan.
        whole: the motion along all of it, from rest and not shifted.
        shift_m: (3,) by which the motion is shifted from the plan.
    """

    plan: Plan
    whole: JointTrajectory
    shift_m: Array = field(default_factory=lambda: np.zeros(3))

    def shifted(self, shift_m: Array) -> PlannedPath:
        """Return the same plan with another shift (3,)."""
        return replace(self, shift_m=np.array(shift_m))


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion:
    """A trajectory and the law by which its time passes.

    Attributes:
        trajectory: from rest or out of another motion, to rest.
        law: of its time.
        path: which plan it plays; None if it goes to a configuration.
        start_parameter: where on the plan's curve the trajectory begins.
        before: the motion that it takes over from; None if it begins at rest.
        take_over_sec: when it does.
    """

    trajectory: JointTrajectory
    law: TimeLaw
    path: PlannedPath | None = None
    start_parameter: float = 0.0
    before: Motion | None = None
    take_over_sec: float = -np.inf

    @property
    def planned_path(self) -> PlannedPath:
        """Which plan it plays; only for a motion along one."""
        assert self.path is not None, 'it goes along a plan'
        return self.path

    def at(self, time_sec: float) -> Motion:
        """Return the motion that is made at a time: this one, or one that it takes over from."""
        if self.before is None or time_sec >= self.take_over_sec:
            return self
        return self.before.at(time_sec)

    def sample(self, times_sec: ArrayLike) -> SetPoints:
        """Return the set-points at times (S,), which increase."""
        times = np.atleast_1d(np.asarray(times_sec, dtype=np.float64))
        early = int(np.searchsorted(times, self.take_over_sec))
        if self.before is None or early == 0:
            return self._sample(times)
        if early == len(times):
            return self.before.sample(times)
        parts = (self.before.sample(times[:early]), self._sample(times[early:]))
        return SetPoints(
            times_sec=times,
            positions_rad=np.vstack([part.positions_rad for part in parts]),
            velocities_rad_s=np.vstack([part.velocities_rad_s for part in parts]),
            accelerations_rad_s2=np.vstack([part.accelerations_rad_s2 for part in parts]),
        )

    def _sample(self, times: Array) -> SetPoints:
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
        """Return where on the curve of the plan of that time the motion is, 0 to 1."""
        made = self.at(time_sec)
        elapsed, _, _ = made.law.at(time_sec)
        along = float(made.trajectory.parameter(elapsed)[0])
        return made.start_parameter + (1.0 - made.start_parameter) * along

    def has_ended(self, time_sec: float) -> bool:
        """Tell whether the trajectory is at its end."""
        if self.at(time_sec) is not self:
            return False
        return bool(self.law.at(time_sec)[0][0] >= self.trajectory.duration_sec)

    def rests(self, time_sec: float) -> bool:
        """Tell whether nothing moves from a time on: at the end, or halted on the way."""
        if self.at(time_sec) is not self:
            return False
        halted = self.law.target_rate == 0.0 and time_sec >= self.law.settled_sec
        return halted or self.has_ended(time_sec)

    def taking_over(self, before: Motion, take_over_sec: float, now_sec: float) -> Motion:
        """Return the motion that follows another one until a time."""
        if before.at(now_sec) is before:
            # What that one took over from is history.
            before = replace(before, before=None)
        return replace(self, before=before, take_over_sec=take_over_sec)

    def ramped(self, time_sec: float, target_rate: float, ramp_sec: float) -> Motion:
        """Return the motion that goes to another rate from a time on.

        Before another motion takes over, this means that it never does.
        """
        if self.before is not None and time_sec < self.take_over_sec:
            return self.before.ramped(time_sec, target_rate, ramp_sec)
        if self.before is None and target_rate == 0.0 and time_sec < self.law.begin_sec:
            # It begins at rest, and has not yet begun.
            return self.halted(self.law.begin_sec)
        start = max(time_sec, self.law.begin_sec)
        return replace(self, law=self.law.ramped(start, target_rate, ramp_sec))

    def halted(self, time_sec: float) -> Motion:
        """Return what is made at a time, standing still from then on."""
        made = self.at(time_sec)
        elapsed_sec = float(made.law.at(time_sec)[0][0])
        law = TimeLaw.halted(time_sec, elapsed_sec)
        return replace(made, law=law, before=None, take_over_sec=-np.inf)

    def resumed(self, time_sec: float, ramp_sec: float) -> Motion:
        """Return the motion that goes on from a standstill, at a time."""
        halted = self.halted(time_sec)
        return replace(halted, law=halted.law.ramped(time_sec, 1.0, ramp_sec))

    def shifted(self, by_sec: float) -> Motion:
        """Return the same motion on a clock that was set by so much."""
        return replace(
            self,
            law=self.law.shifted(by_sec),
            before=None if self.before is None else self.before.shifted(by_sec),
            take_over_sec=self.take_over_sec + by_sec,
        )

    def command(self, *, first_sec: float, now_sec: float, stamp_ns: int) -> Command:
        """Return the set-points from a time until the motion rests, which its law must bring.

        Args:
            first_sec: of the first set-point.
            now_sec: from when the command's times count.
            stamp_ns: the same on the clock of ROS, or 0.
        """
        first = first_sec if self.before is not None else max(first_sec, self.law.begin_sec)
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
