"""The hand of a simulated participant: how it pushes a tool to where it is wanted; no ROS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.parameters import Parameters, parameter

Array = NDArray[np.float64]

# A hand that pushes shakes at about this frequency.
_TREMOR_HZ = 9.0


@dataclass(frozen=True, kw_only=True)
class HandParameters(Parameters):
    """How hard, how quickly and how exactly a hand pushes."""

    stiffness_n_per_m: float = parameter(
        600.0,
        description='Force with which the hand pulls the tool to where it is wanted',
        minimum=1.0,
        maximum=5000.0,
        unit='N/m',
    )
    damping_n_s_per_m: float = parameter(
        40.0,
        description='Force with which the hand slows the tool down',
        minimum=0.0,
        maximum=500.0,
        unit='N·s/m',
    )
    largest_force_n: float = parameter(
        30.0, description='It pushes no harder', minimum=1.0, maximum=100.0, unit='N'
    )
    onset_sec: float = parameter(
        0.5,
        description='Time in which the force comes, and as long to go, with the least jerk',
        minimum=0.05,
        maximum=5.0,
        unit='s',
    )
    longest_sec: float = parameter(
        5.0,
        description='After this long the hand lets go, wherever the tool is',
        minimum=0.5,
        maximum=60.0,
        unit='s',
    )
    tolerance_m: float = parameter(
        0.006, description='As near as this is near enough', minimum=1e-4, maximum=0.1, unit='m'
    )
    size_noise: float = parameter(
        0.05,
        description='Standard deviation of how far it pushes, as a share',
        minimum=0.0,
        maximum=1.0,
    )
    tremor_n: float = parameter(
        0.3, description='Amplitude of the tremor', minimum=0.0, maximum=10.0, unit='N'
    )


class Hand:
    """A hand that pulls a tool by a displacement off its plan, and lets go when it is there."""

    def __init__(self, parameters: HandParameters, rng: np.random.Generator) -> None:
        self._parameters = parameters
        self._rng = rng
        self._wanted_m: Array | None = None
        self._before: tuple[float, Array] | None = None
        self._velocity_m_s = np.zeros(3)
        self._pull_n = np.zeros(3)
        self._begin_sec = 0.0
        self._release_sec: float | None = None
        self._phase = np.zeros(3)

    @property
    def is_pushing(self) -> bool:
        """Whether it touches the tool."""
        return self._wanted_m is not None

    def begin(self, time_sec: float, displacement_m: Array, deviation_m: Array) -> None:
        """Begin to push.

        Args:
            time_sec: now.
            displacement_m: (3,) by which the tool is to be moved off where it is.
            deviation_m: (3,) of the tool from its plan, before it is pushed.
        """
        size = 1.0 + self._parameters.size_noise * self._rng.standard_normal()
        self._wanted_m = deviation_m + size * np.asarray(displacement_m)
        self._begin_sec = time_sec
        self._release_sec = None
        self._before = None
        self._velocity_m_s = np.zeros(3)
        self._pull_n = np.zeros(3)
        self._phase = self._rng.uniform(0.0, 2.0 * np.pi, 3)

    def let_go(self, time_sec: float) -> None:
        """Begin to let go, for example because the plan has changed."""
        if self._release_sec is None:
            self._release_sec = time_sec

    def force(
        self, time_sec: float, deviation_m: Array | None, seen_sec: float | None = None
    ) -> Array:
        """Return the force (3,) on the tool, in newtons; nothing once it has let go.

        Args:
            time_sec: now.
            deviation_m: (3,) of the tool from its plan; may be None while it lets go.
            seen_sec: when it was so; now by default.
        """
        if self._wanted_m is None:
            return np.zeros(3)
        parameters = self._parameters
        lasted_sec = time_sec - self._begin_sec
        if self._release_sec is None and deviation_m is not None:
            seen_sec = time_sec if seen_sec is None else seen_sec
            self._pull(seen_sec, self._wanted_m - deviation_m, deviation_m)
            missing_m = float(np.linalg.norm(self._wanted_m - deviation_m))
            if lasted_sec >= parameters.longest_sec or (
                lasted_sec >= parameters.onset_sec and missing_m <= parameters.tolerance_m
            ):
                self.let_go(time_sec)
        share = _least_jerk(lasted_sec / parameters.onset_sec)
        if self._release_sec is not None:
            gone = _least_jerk((time_sec - self._release_sec) / parameters.onset_sec)
            if gone >= 1.0:
                self._wanted_m = None
                return np.zeros(3)
            share *= 1.0 - gone
        tremor = np.sin(2.0 * np.pi * _TREMOR_HZ * time_sec + self._phase)
        return np.asarray(share * (self._pull_n + parameters.tremor_n * tremor))

    def _pull(self, seen_sec: float, missing_m: Array, deviation_m: Array) -> None:
        parameters = self._parameters
        velocity = self._velocity(seen_sec, deviation_m)
        pull = parameters.stiffness_n_per_m * missing_m - parameters.damping_n_s_per_m * velocity
        strength = float(np.linalg.norm(pull))
        self._pull_n = pull * min(1.0, parameters.largest_force_n / max(strength, 1e-9))

    def _velocity(self, seen_sec: float, deviation_m: Array) -> Array:
        """Return how fast the tool leaves its plan (3,); seen only once, as it was before."""
        if self._before is not None and seen_sec <= self._before[0]:
            return self._velocity_m_s
        before, self._before = self._before, (seen_sec, np.array(deviation_m))
        if before is not None:
            self._velocity_m_s = np.asarray((deviation_m - before[1]) / (seen_sec - before[0]))
        return self._velocity_m_s


def _least_jerk(fraction: float) -> float:
    """Return how far a motion of least jerk is after a fraction of its time, 0 to 1."""
    s = min(max(fraction, 0.0), 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
