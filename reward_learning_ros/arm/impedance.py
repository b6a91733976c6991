"""How stiffly the joints hold on to their set-points, and what that means at the tool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]

# The gains of the effort controller that franka_ros2's MoveIt configuration brings.
FRANKA_STIFFNESS_NM = (600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0)
FRANKA_DAMPING_NM_S = (30.0, 30.0, 30.0, 30.0, 10.0, 10.0, 5.0)

# A sixth of that stiffness gives way by 4 to 8.5 cm to a push of 20 N, which a person can do with
# two fingers. Damping goes with the root, so that the arm comes to rest as it does with Franka's.
COMPLIANT_SHARE = 1.0 / 6.0
COMPLIANT_STIFFNESS_NM = tuple(round(COMPLIANT_SHARE * gain, 2) for gain in FRANKA_STIFFNESS_NM)
COMPLIANT_DAMPING_NM_S = tuple(
    round(COMPLIANT_SHARE**0.5 * gain, 2) for gain in FRANKA_DAMPING_NM_S
)


@dataclass(frozen=True, kw_only=True)
class Impedance:
    """A spring and a damper at every joint, each (7,), read-only.

    Attributes:
        stiffness_nm: N·m/rad.
        damping_nm_s: N·m·s/rad.
    """

    stiffness_nm: Array
    damping_nm_s: Array

    def __post_init__(self) -> None:
        for name in ('stiffness_nm', 'damping_nm_s'):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (JOINT_COUNT,) or not (array > 0.0).all():
                raise InvalidInputError(
                    f'{name} is {getattr(self, name)}; allowed: {JOINT_COUNT} values above 0'
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def displacement_m(self, jacobian: ArrayLike, force_n: ArrayLike) -> Array:
        """Compute how far a force at the tool displaces it, to first order.

        Args:
            jacobian: (6, 7) of the tool, base frame.
            force_n: (3,) base frame.

        Returns:
            (3,) in metres, base frame.
        """
        linear = np.asarray(jacobian)[:3]
        return np.asarray(linear @ ((linear.T @ np.asarray(force_n)) / self.stiffness_nm))

    def torque_nm(self, jacobian: ArrayLike, displacement_m: ArrayLike) -> Array:
        """Compute the joint torques of a person who holds the tool displaced, to first order.

        Args:
            jacobian: (6, 7) of the tool, base frame.
            displacement_m: (3,) base frame; the tool is free to turn.

        Returns:
            (7,) in N·m.
        """
        linear = np.asarray(jacobian)[:3]
        compliance = linear @ (linear / self.stiffness_nm).T
        force = np.linalg.solve(compliance, np.asarray(displacement_m))
        return np.asarray(linear.T @ force)


COMPLIANT = Impedance(
    stiffness_nm=np.array(COMPLIANT_STIFFNESS_NM), damping_nm_s=np.array(COMPLIANT_DAMPING_NM_S)
)
