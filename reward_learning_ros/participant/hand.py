"""The hand of a simulated participant: how it guides a tool along a moving target; no ROS.

The hand holds the tool like a damped spring whose rest moves with the target. Muscles move that
rest no faster than a few times a second; what the eyes see of the error is corrected on top,
a reaction time later. So the tool ends up where it was meant to, although the arm resists.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.parameters import Parameters, parameter

Array = NDArray[np.float64]

# A hand that pushes shakes at about this frequency.
_TREMOR_HZ = 9.0
# Longer steps of the hand are simulated as several.
_MAX_STEP_SEC = 0.01
# A hand that was not asked for so long was not there: it does not make up for it.
_MAX_GAP_SEC = 0.2


@dataclass(frozen=True, kw_only=True)
class HandParameters(Parameters):
    """Parameters of a hand: strength, reaction time, tremor and patience."""

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
    max_force_n: float = parameter(
        30.0, description='It pushes no harder', minimum=1.0, maximum=100.0, unit='N'
    )
    bandwidth_hz: float = parameter(
        3.0,
        description='How quickly the muscles follow what is wanted',
        minimum=0.5,
        maximum=20.0,
        unit='Hz',
    )
    reaction_sec: float = parameter(
        0.2,
        description='What is seen takes this long to change what the hand does',
        minimum=0.0,
        maximum=2.0,
        unit='s',
    )
    correction_sec: float = parameter(
        1.0,
        description='Time in which an error that is seen is corrected',
        minimum=0.1,
        maximum=10.0,
        unit='s',
    )
    anticipation_sec: float = parameter(
        0.4,
        description='How far ahead of the target the hand goes, for an arm gives way slowly',
        minimum=0.0,
        maximum=2.0,
        unit='s',
    )
    onset_sec: float = parameter(
        0.3,
        description='Time in which the force comes, and as long to go, with the least jerk',
        minimum=0.05,
        maximum=5.0,
        unit='s',
    )
    patience_sec: float = parameter(
        1.5,
        description='After pushing as hard as it can for this long it lets go',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )
    tremor_n: float = parameter(
        0.3, description='Amplitude of the tremor', minimum=0.0, maximum=10.0, unit='N'
    )


class Hand:
    """A hand that takes hold of a tool, guides it, and lets it go."""

    def __init__(self, parameters: HandParameters, rng: np.random.Generator) -> None:
        self._parameters = parameters
        self._phase = rng.uniform(0.0, 2.0 * np.pi, 3)
        self._is_holding = False
        self._begin_sec = 0.0
        self._release_sec: float | None = None
        self._last_sec = 0.0
        # Rest of the spring, as the muscles have it, and how fast it moves.
        self._rest_m = np.zeros(3)
        self._rest_m_s = np.zeros(3)
        self._corrected_m = np.zeros(3)
        self._pull_n = np.zeros(3)
        # Since when it pushes as hard as it can.
        self._strained_sec: float | None = None
        self._before: tuple[float, Array] | None = None
        self._velocity_m_s = np.zeros(3)
        # Errors that were seen and have not changed anything yet, each with its time.
        self._errors: deque[tuple[float, Array]] = deque()
        self._error_m = np.zeros(3)

    @property
    def is_holding(self) -> bool:
        """Whether it touches the tool, which it does until the force is gone."""
        return self._is_holding

    @property
    def is_letting_go(self) -> bool:
        """Whether it touches the tool for the last moments."""
        return self._is_holding and self._release_sec is not None

    def take_hold(self, time_sec: float, displacement_m: Array) -> None:
        """Take hold of a tool (3,) off its plan, without any force yet."""
        self._is_holding = True
        self._begin_sec = self._last_sec = time_sec
        self._release_sec = None
        self._rest_m = np.array(displacement_m, dtype=np.float64)
        self._rest_m_s = np.zeros(3)
        self._corrected_m = np.zeros(3)
        self._pull_n = np.zeros(3)
        self._strained_sec = None
        self._before = None
        self._velocity_m_s = np.zeros(3)
        self._errors.clear()
        self._error_m = np.zeros(3)

    def let_go(self, time_sec: float) -> None:
        """Begin to let go."""
        if self._is_holding and self._release_sec is None:
            self._release_sec = time_sec

    def force(
        self,
        time_sec: float,
        target_m: Array | None,
        displacement_m: Array | None,
        seen_sec: float | None = None,
        *,
        ahead_m: Array | None = None,
    ) -> Array:
        """Return the force (3,) on the tool, in newtons; zero once it has let go.

        Args:
            time_sec: now.
            target_m: (3,) off its plan where the tool is wanted now; None while it lets go.
            displacement_m: (3,) off its plan where the tool is; None if nobody knows.
            seen_sec: when it was there; now by default.
            ahead_m: (3,) where the tool is wanted `anticipation_sec` from now, if that differs.
        """
        if not self._is_holding:
            return np.zeros(3)
        parameters = self._parameters
        if target_m is None or displacement_m is None:
            self.let_go(time_sec)
        elif self._release_sec is None:
            seen_sec = time_sec if seen_sec is None else seen_sec
            self._look(seen_sec, target_m, displacement_m)
            self._move_rest(time_sec, target_m if ahead_m is None else ahead_m)
            self._pull(time_sec, displacement_m)
        share = min_jerk((time_sec - self._begin_sec) / parameters.onset_sec)
        if self._release_sec is not None:
            gone = min_jerk((time_sec - self._release_sec) / parameters.onset_sec)
            if gone >= 1.0:
                self._is_holding = False
                return np.zeros(3)
            share *= 1.0 - gone
        tremor = np.sin(2.0 * np.pi * _TREMOR_HZ * time_sec + self._phase)
        return np.asarray(share * (self._pull_n + parameters.tremor_n * tremor))

    def _look(self, seen_sec: float, target_m: Array, displacement_m: Array) -> None:
        """Take note of error and velocity; what was seen once is not seen again."""
        if self._before is not None and seen_sec <= self._before[0]:
            return
        before, self._before = self._before, (seen_sec, np.array(displacement_m))
        if before is not None:
            self._velocity_m_s = (displacement_m - before[1]) / (seen_sec - before[0])
        self._errors.append((seen_sec, target_m - displacement_m))

    def _move_rest(self, time_sec: float, target_m: Array) -> None:
        parameters = self._parameters
        while self._errors and self._errors[0][0] <= time_sec - parameters.reaction_sec:
            self._error_m = self._errors.popleft()[1]
        left_sec = min(time_sec - self._last_sec, _MAX_GAP_SEC)
        self._last_sec = time_sec
        if left_sec <= 0.0:
            return
        steps = int(np.ceil(left_sec / _MAX_STEP_SEC))
        step_sec = left_sec / steps
        rate = 2.0 * np.pi * parameters.bandwidth_hz
        for _ in range(steps):
            # To want more than it can would only have to be taken back.
            if self._strained_sec is None:
                self._corrected_m = (
                    self._corrected_m + step_sec * self._error_m / parameters.correction_sec
                )
            # Critically damped, of second order.
            missing = target_m + self._corrected_m - self._rest_m
            acceleration = rate**2 * missing - 2.0 * rate * self._rest_m_s
            self._rest_m_s = self._rest_m_s + step_sec * acceleration
            self._rest_m = self._rest_m + step_sec * self._rest_m_s

    def _pull(self, time_sec: float, displacement_m: Array) -> None:
        parameters = self._parameters
        pull = parameters.stiffness_n_per_m * (self._rest_m - displacement_m)
        pull = pull - parameters.damping_n_s_per_m * (self._velocity_m_s - self._rest_m_s)
        strength = float(np.linalg.norm(pull))
        self._pull_n = pull * min(1.0, parameters.max_force_n / max(strength, 1e-9))
        if strength < parameters.max_force_n:
            self._strained_sec = None
        elif self._strained_sec is None:
            self._strained_sec = time_sec
        elif time_sec - self._strained_sec >= parameters.patience_sec:
            # The arm does not give way: nobody fights it for long.
            self.let_go(time_sec)


def min_jerk(fraction: float) -> float:
    """Return how far a motion of least jerk is after a fraction of its time, 0 to 1."""
    s = min(max(fraction, 0.0), 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
