"""How time runs along a motion: at its own rate, slowing to a halt, or starting again."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Now:
    """A moment on both clocks.

    Attributes:
        ros_ns: the clock of ROS, which may be simulated and may jump.
        steady_sec: a clock that never jumps; in simulated time the same as that of ROS.
    """

    ros_ns: int
    steady_sec: float


@dataclass(frozen=True, kw_only=True)
class TimeLaw:
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
        before: the law until `start_sec`; None if time stood still before.
    """

    start_sec: float
    elapsed_sec: float = 0.0
    rate: float = 1.0
    rate_change: float = 0.0
    target_rate: float = 1.0
    ramp_sec: float = 0.0
    before: TimeLaw | None = None

    @classmethod
    def halted(cls, time_sec: float, elapsed_sec: float) -> TimeLaw:
        """Return the law under which time stands still."""
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
        # Cubic Hermite from (rate, slope) to (target, 0), its integral and its derivative.
        rate = (
            self.rate * (2 * x**3 - 3 * x**2 + 1)
            + slope * (x**3 - 2 * x**2 + x)
            + self.target_rate * (3 * x**2 - 2 * x**3)
        )
        covered = ramp * (
            self.rate * (x**4 / 2 - x**3 + x)
            + slope * (x**4 / 4 - 2 * x**3 / 3 + x**2 / 2)
            + self.target_rate * (x**3 - x**4 / 2)
        )
        change = (
            6 * (self.target_rate - self.rate) * (x - x**2) + slope * (3 * x**2 - 4 * x + 1)
        ) / ramp
        settled = np.maximum(since - ramp, 0.0)
        return self.elapsed_sec + covered + self.target_rate * settled, rate, change

    def ramped(self, time_sec: float, target_rate: float, ramp_sec: float) -> TimeLaw:
        """Return the law that follows this one until a time and then goes to another rate."""
        elapsed, rate, change = (float(values[0]) for values in self.at(time_sec))
        return TimeLaw(
            start_sec=time_sec,
            elapsed_sec=elapsed,
            rate=rate,
            rate_change=change,
            target_rate=target_rate,
            ramp_sec=ramp_sec,
            before=replace(self, before=None) if time_sec > self.start_sec else None,
        )

    def shifted(self, by_sec: float) -> TimeLaw:
        """Return the same law on a clock that was set by so much."""
        before = None if self.before is None else self.before.shifted(by_sec)
        return replace(self, start_sec=self.start_sec + by_sec, before=before)

    @property
    def begin_sec(self) -> float:
        """From when on the law is known."""
        return self.start_sec if self.before is None else self.before.start_sec

    @property
    def settled_sec(self) -> float:
        """When the rate has reached its target."""
        return self.start_sec + self.ramp_sec
