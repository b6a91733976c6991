"""The shift of the plan while a person pushes: the arm gives way and keeps the shift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reward_learning_ros.parameters import Parameters, parameter
from reward_learning_ros.parameters.shared import MAX_SHIFT_M, limited
from reward_learning_ros.sensing.displacement import (
    MEASURED,
    DisplacementParameters,
)
from reward_learning_ros.sensing.samples import NANOSECONDS

# After a silence of the stream the shift goes on as if it had been this short.
_MAX_STEP_SEC = 0.05


@dataclass(frozen=True, kw_only=True)
class LiveParameters(Parameters):
    """Parameters of the live shift: how fast and how far the plan gives way."""

    yield_time_sec: float = parameter(
        0.4,
        description='How quickly the plan follows the tool that a person holds away from it',
        minimum=0.02,
        maximum=10.0,
        unit='s',
    )
    max_shift_speed_m_s: float = parameter(
        0.25,
        description='Fastest shift of the plan',
        minimum=0.0,
        maximum=2.0,
        unit='m/s',
        former_names=('largest_speed_m_s',),
    )
    max_shift_m: float = parameter(
        MAX_SHIFT_M,
        description='Farthest shift of the plan',
        minimum=0.0,
        maximum=2.0,
        unit='m',
        former_names=('largest_shift_m',),
    )


class LiveDeformation:
    """The live shift, advanced a hundred times a second while a contact is open.

    Attributes:
        shift_m: (3,) how far the plan is shifted now, base frame.
        resting_m: (3,) how far the tool was off its shifted plan before it was pushed.
    """

    def __init__(
        self,
        parameters: LiveParameters | None = None,
        displacement_parameters: DisplacementParameters | None = None,
    ) -> None:
        self.parameters = parameters or LiveParameters()
        self._displacement = displacement_parameters or DisplacementParameters()
        self.shift_m = np.zeros(3)
        self._before_m = np.zeros(3)
        self.resting_m = np.zeros(3)
        self._last_ns: int | None = None

    @property
    def follows_force(self) -> bool:
        """Whether the force moves the plan; else the tool's deviation does."""
        return self._displacement.displacement_source != MEASURED

    def begin(self, time_ns: int, deviation_before_m: np.ndarray) -> None:
        """A contact has begun.

        Args:
            time_ns: when that became certain.
            deviation_before_m: (k, 3) of the tool from its plan before anybody pushed.
        """
        self._before_m = self.shift_m.copy()
        known = deviation_before_m[np.isfinite(deviation_before_m).all(axis=1)]
        # What the tool is off its shifted plan without being pushed.
        self.resting_m = known.mean(axis=0) - self.shift_m if len(known) else np.zeros(3)
        self._last_ns = time_ns

    def advance(self, time_ns: int, deviation_m: np.ndarray, force_n: np.ndarray | None) -> None:
        """Follows the tool, or the force, over one more point of the open contact.

        Args:
            time_ns: of the point.
            deviation_m: (3,) of the tool from its plan, NaN if unknown.
            force_n: (3,) with which the person pushes, if the force moves the plan.
        """
        if self._last_ns is None:
            return
        step_sec = min(max((time_ns - self._last_ns) / NANOSECONDS, 0.0), _MAX_STEP_SEC)
        self._last_ns = time_ns
        if force_n is None:
            held_away = deviation_m - self.resting_m - self.shift_m
            velocity = held_away / self.parameters.yield_time_sec
        else:
            velocity = self._displacement.admittance_m_per_n_s * force_n
        if not np.isfinite(velocity).all():
            return
        velocity = limited(velocity, self.parameters.max_shift_speed_m_s)
        self.shift_m = limited(self.shift_m + step_sec * velocity, self.parameters.max_shift_m)

    def keep(self, shift_m: np.ndarray | None = None) -> None:
        """The contact was a correction: the plan stays where it was brought.

        Args:
            shift_m: (3,) how far the arm followed, if it could not follow all the way.
        """
        if shift_m is not None:
            self.shift_m = np.array(shift_m)
        self._last_ns = None

    def undo(self) -> None:
        """The contact was none: the plan goes back to where it was before."""
        if self._last_ns is not None:
            self.shift_m = self._before_m.copy()
        self._last_ns = None

    def reset(self) -> None:
        """A new plan contains what was learned: it is not shifted."""
        self.shift_m = np.zeros(3)
        self._before_m = np.zeros(3)
        self._last_ns = None
