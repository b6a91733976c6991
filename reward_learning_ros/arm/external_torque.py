"""The errors with which an arm tells of torques that act on it: noise, and a bias of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.simulation_kernels import NOISE_SIZE

Array = NDArray[np.float64]

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
    def drawn(cls, largest_nm: float, rng: np.random.Generator) -> TorqueBias:
        """Draw the bias of one arm.

        Args:
            largest_nm: largest bias of the strong joints.
            rng: another generator is another arm.
        """
        return cls(
            amplitude_nm=largest_nm * _SHARE_OF_JOINT,
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
