"""The sign self-test: push the arm, and see whether its torques point where the tool went."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.playback.preflight import Check
from reward_learning_ros.sensing.displacement import check_sign, force_from_torque

Array = NDArray[np.float64]

# What counts as a push: far enough to be no noise, near enough for two fingers.
_LEAST_DISPLACEMENT_M = 0.015
_RESTING_SAMPLES = 20


class SignTest:
    """Learns what the arm says at rest, then compares pushes with it.

    Attributes:
        pushes: how many samples of pushes were taken.
    """

    def __init__(self, kinematics: Kinematics, *, torque_sign: int = -1) -> None:
        self._kinematics = kinematics
        self._torque_sign = torque_sign
        self._resting: list[tuple[Array, Array]] = []
        self._forces: list[Array] = []
        self._displacements: list[Array] = []

    @property
    def pushes(self) -> int:
        """How many samples of pushes were taken."""
        return len(self._forces)

    def add(self, joints_rad: Array, torque_nm: Array) -> None:
        """Take note of a configuration (7,) and the external torques (7,) that were told there."""
        tool = self._kinematics.tool_poses(joints_rad)[0]
        if len(self._resting) < _RESTING_SAMPLES:
            self._resting.append((tool, np.array(torque_nm)))
            return
        rest_tool, rest_torque = (
            np.mean(part, axis=0) for part in zip(*self._resting, strict=True)
        )
        displacement = tool - rest_tool
        if np.linalg.norm(displacement) < _LEAST_DISPLACEMENT_M:
            return
        jacobian = self._kinematics.jacobian(joints_rad)[:3]
        change = self._torque_sign * (np.asarray(torque_nm) - rest_torque)
        self._forces.append(force_from_torque(jacobian, change))
        self._displacements.append(displacement)

    def check(self) -> Check:
        """Say what the pushes tell."""
        result = check_sign(self._forces, self._displacements)
        if result.sign == 1:
            return Check(
                name='sign of torques', found=f'as configured (cosine {result.cosine:.2f})'
            )
        if result.sign == -1:
            return Check(
                name='sign of torques',
                found=f'the other way round (cosine {result.cosine:.2f})',
                advice=f'set torque_sign to {-self._torque_sign}',
                blocks=True,
            )
        return Check(
            name='sign of torques',
            found='not tested' if not result.pushes else f'undecided (cosine {result.cosine:.2f})',
            advice='hold the arm two centimetres aside for a second during the test',
        )
