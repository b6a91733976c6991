"""The joint torques that carry the arm's own weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.description import ArmDescription, Origin

Array = NDArray[np.float64]

_GRAVITY_M_S2 = 9.81


class Gravity:
    """The weight of an arm and its hand, in joint torques."""

    def __init__(self, description: ArmDescription) -> None:
        self._origins = [_transform(joint.origin) for joint in description.joints]
        self._masses = np.array([joint.inertial.mass_kg for joint in description.joints])
        self._centres = np.array([joint.inertial.centre_of_mass_m for joint in description.joints])
        hand = description.hand
        if hand is not None:
            # The hand is one body with the last link.
            to_hand = _transform(description.flange_origin) @ _transform(hand.origin)
            centre = to_hand[:3, :3] @ hand.inertial.centre_of_mass_m + to_hand[:3, 3]
            mass = self._masses[-1] + hand.inertial.mass_kg
            self._centres[-1] += (centre - self._centres[-1]) * (hand.inertial.mass_kg / mass)
            self._masses[-1] = mass

    def torque_nm(self, joints_rad: Array) -> Array:
        """Return the torques (7,) that hold the arm still at joints (7,)."""
        frame = np.eye(4)
        places, axes, centres = [], [], []
        for origin, angle, centre in zip(
            self._origins, np.asarray(joints_rad), self._centres, strict=True
        ):
            turn = np.eye(4)
            turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            frame = frame @ origin @ turn
            places.append(frame[:3, 3])
            axes.append(frame[:3, 2])
            centres.append(frame[:3, :3] @ centre + frame[:3, 3])
        torque = np.empty(len(places))
        for j, (place, axis) in enumerate(zip(places, axes, strict=True)):
            # How fast the weight behind a joint rises when that joint turns.
            rises = np.cross(axis, np.array(centres[j:]) - place)[:, 2]
            torque[j] = _GRAVITY_M_S2 * float(self._masses[j:] @ rises)
        return torque


def _transform(origin: Origin) -> Array:
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_euler('xyz', origin.rpy_rad).as_matrix()
    transform[:3, 3] = origin.xyz_m
    return transform
