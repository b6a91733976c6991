"""A timed joint trajectory on the steady clock, and the commands that make the arm follow it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm.joint_trajectory import JointTrajectory, MotionState, SetPoints
from reward_learning_ros.interface.plan import Plan

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
    """A trajectory and the time scaling by which it is slowed down or halted.

    Attributes:
        trajectory: from rest or out of another motion, to rest.
        time_scaling: how its own time passes.
        path: which plan it plays; None if it goes to a configuration.
        start_parameter: where on the plan's curve the trajectory begins.
        before: the motion that it takes over from; None if it begins at rest.
        take_over_sec: when it does.
    """

    trajectory: JointTrajectory
    time_scaling: TimeScaling
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
        elapsed, rate, change = self.time_scaling.at(times)
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
        elapsed, _, _ = made.time_scaling.at(time_sec)
        along = float(made.trajectory.parameter(elapsed)[0])
        return made.start_parameter + (1.0 - made.start_parameter) * along

    def has_ended(self, time_sec: float) -> bool:
        """Tell whether the trajectory is at its end."""
        if self.at(time_sec) is not self:
            return False
        return bool(self.time_scaling.at(time_sec)[0][0] >= self.trajectory.duration_sec)

    def rests(self, time_sec: float) -> bool:
        """Tell whether nothing moves from a time on: at the end, or halted on the way."""
        if self.at(time_sec) is not self:
            return False
        halted = self.time_scaling.target_rate == 0.0 and time_sec >= self.time_scaling.settled_sec
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
        if self.before is None and target_rate == 0.0 and time_sec < self.time_scaling.begin_sec:
            # It begins at rest, and has not yet begun.
            return self.halted(self.time_scaling.begin_sec)
        start = max(time_sec, self.time_scaling.begin_sec)
        return replace(self, time_scaling=self.time_scaling.ramped(start, target_rate, ramp_sec))

    def halted(self, time_sec: float) -> Motion:
        """Return what is made at a time, standing still from then on."""
        made = self.at(time_sec)
        elapsed_sec = float(made.time_scaling.at(time_sec)[0][0])
        time_scaling = TimeScaling.halted(time_sec, elapsed_sec)
        return replace(made, time_scaling=time_scaling, before=None, take_over_sec=-np.inf)

    def resumed(self, time_sec: float, ramp_sec: float) -> Motion:
        """Return the motion that goes on from a standstill, at a time."""
        halted = self.halted(time_sec)
        return replace(halted, time_scaling=halted.time_scaling.ramped(time_sec, 1.0, ramp_sec))

    def shifted(self, by_sec: float) -> Motion:
        """Return the same motion on a clock that was set by so much."""
        return replace(
            self,
            time_scaling=self.time_scaling.shifted(by_sec),
            before=None if self.before is None else self.before.shifted(by_sec),
            take_over_sec=self.take_over_sec + by_sec,
        )

    def command(self, *, first_sec: float, now_sec: float, stamp_ns: int) -> Command:
        """Return the set-points from a time until the motion rests.

        Its time scaling must bring it to rest.

        Args:
            first_sec: of the first set-point.
            now_sec: from when the command's times count.
            stamp_ns: the same on the clock of ROS, or 0.
        """
        first = (
            first_sec if self.before is not None else max(first_sec, self.time_scaling.begin_sec)
        )
        last = max(self.time_scaling.settled_sec, first + _SPACING_SEC)
        count = max(2, int(np.ceil((last - first) / _SPACING_SEC)) + 1)
        points = self.sample(np.linspace(first, last, count))
        return Command(
            stamp_ns=stamp_ns,
            times_sec=points.times_sec - now_sec,
            positions_rad=points.positions_rad,
            velocities_rad_s=points.velocities_rad_s,
            accelerations_rad_s2=points.accelerations_rad_s2,
        )


@dataclass(frozen=True, kw_only=True)
class Now:
    """The present time on the clock of ROS and on the steady clock.

    Attributes:
        ros_ns: the clock of ROS, which may be simulated and may jump.
        steady_sec: a clock that never jumps; in simulated time the same as that of ROS.
    """

    ros_ns: int
    steady_sec: float


@dataclass(frozen=True, kw_only=True)
class TimeScaling:
    """A smooth change of the rate at which a motion's own time passes.

    From `start_sec` on the rate goes from `rate`, with the slope `rate_change`, to `target_rate`
    in `ramp_sec`, and stays there; the slope is continuous and ends at zero.

    Attributes:
        start_sec: when the change begins.
        elapsed_sec: the motion's own time by then.
        rate: motion seconds per second, by then.
        rate_change: its slope, 1/s.
        target_rate: where it goes.
        ramp_sec: in which time.
        before: the time scaling until `start_sec`; None if time stood still before.
    """

    start_sec: float
    elapsed_sec: float = 0.0
    rate: float = 1.0
    rate_change: float = 0.0
    target_rate: float = 1.0
    ramp_sec: float = 0.0
    before: TimeScaling | None = None

    @classmethod
    def halted(cls, time_sec: float, elapsed_sec: float) -> TimeScaling:
        """Return the time scaling under which time stands still."""
        return cls(start_sec=time_sec, elapsed_sec=elapsed_sec, rate=0.0, target_rate=0.0)

    def at(self, times_sec: ArrayLike) -> tuple[Array, Array, Array]:
        """Return the motion's own time, its rate and the rate's slope at times (S,), each (S,)."""
        times = np.atleast_1d(np.asarray(times_sec, np.float64))
        after = self._after_start(np.maximum(times - self.start_sec, 0.0))
        if self.before is None or (times >= self.start_sec).all():
            return after
        is_before = times < self.start_sec
        elapsed, rate, change = (
            np.where(is_before, early, late)
            for early, late in zip(self.before.at(times), after, strict=True)
        )
        return elapsed, rate, change

    def _after_start(self, since: Array) -> tuple[Array, Array, Array]:
        if self.ramp_sec == 0.0:
            ones = np.ones_like(since)
            elapsed = self.elapsed_sec + self.target_rate * since
            return elapsed, self.target_rate * ones, 0.0 * ones
        ramp = self.ramp_sec
        x = np.minimum(since / ramp, 1.0)
        slope = ramp * self.rate_change
        # By multiplication: the powers of NumPy take several times as long.
        x2 = x * x
        x3, x4 = x2 * x, x2 * x2
        # Cubic Hermite from (rate, slope) to (target, 0), its integral and its derivative.
        rate = (
            self.rate * (2 * x3 - 3 * x2 + 1)
            + slope * (x3 - 2 * x2 + x)
            + self.target_rate * (3 * x2 - 2 * x3)
        )
        covered = ramp * (
            self.rate * (x4 / 2 - x3 + x)
            + slope * (x4 / 4 - 2 * x3 / 3 + x2 / 2)
            + self.target_rate * (x3 - x4 / 2)
        )
        change = (
            6 * (self.target_rate - self.rate) * (x - x2) + slope * (3 * x2 - 4 * x + 1)
        ) / ramp
        settled = np.maximum(since - ramp, 0.0)
        return self.elapsed_sec + covered + self.target_rate * settled, rate, change

    def ramped(self, time_sec: float, target_rate: float, ramp_sec: float) -> TimeScaling:
        """Return the time scaling that is this one until a time, then goes to another rate."""
        elapsed, rate, change = (float(values[0]) for values in self.at(time_sec))
        return TimeScaling(
            start_sec=time_sec,
            elapsed_sec=elapsed,
            rate=rate,
            rate_change=change,
            target_rate=target_rate,
            ramp_sec=ramp_sec,
            before=replace(self, before=None) if time_sec > self.start_sec else None,
        )

    def shifted(self, by_sec: float) -> TimeScaling:
        """Return the same time scaling on a clock that was set by so much."""
        before = None if self.before is None else self.before.shifted(by_sec)
        return replace(self, start_sec=self.start_sec + by_sec, before=before)

    @property
    def begin_sec(self) -> float:
        """From when on it is known."""
        return self.start_sec if self.before is None else self.before.start_sec

    @property
    def settled_sec(self) -> float:
        """When the rate has reached its target."""
        return self.start_sec + self.ramp_sec
