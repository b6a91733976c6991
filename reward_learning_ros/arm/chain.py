"""The fixed geometry of an arm: chain of transforms, reach, weight, and frames of its links."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.description import JOINT_COUNT, ArmDescription, Origin
from reward_learning_ros.core.errors import UnknownNameError

Array = NDArray[np.float64]


def chain_of(description: ArmDescription) -> Array:
    """The fixed transforms of a description, (8, 3, 4)."""
    tool = transform_of(description.flange_origin)
    if description.hand is not None:
        tool = (
            tool
            @ transform_of(description.hand.origin)
            @ transform_of(description.hand.tool_origin)
        )
    transforms = [*(transform_of(joint.origin) for joint in description.joints), tool]
    return np.ascontiguousarray(np.stack(transforms)[:, :3])


def wrist_geometry(description: ArmDescription, chain: Array) -> tuple[Array, float, float]:
    """Shoulder in the base frame (3,), smallest and largest distance of the wrist from it."""

    def origins(elbow_rad: float) -> tuple[Array, Array]:
        transform = np.eye(4)
        shoulder = np.zeros(3)
        for joint in range(6):
            transform = transform @ np.vstack([chain[joint], [0.0, 0.0, 0.0, 1.0]])
            if joint == 1:
                shoulder = transform[:3, 3].copy()
            if joint == 3:
                turn = np.eye(4)
                turn[:3, :3] = Rotation.from_euler('z', elbow_rad).as_matrix()
                transform = transform @ turn
        return shoulder, transform[:3, 3]

    elbow = description.joints[3]
    ends = [origins(angle) for angle in (elbow.lower_rad, elbow.upper_rad)]
    distances = [float(np.linalg.norm(wrist - shoulder)) for shoulder, wrist in ends]
    return ends[0][0], min(distances), max(distances)


def transform_of(origin: Origin) -> Array:
    """Return the homogeneous transform (4, 4) of an origin: translation and roll-pitch-yaw."""
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_euler('xyz', origin.rpy_rad).as_matrix()
    transform[:3, 3] = origin.xyz_m
    return transform


_GRAVITY_M_S2 = 9.81


class Gravity:
    """The weight of an arm and its hand, in joint torques."""

    def __init__(self, description: ArmDescription) -> None:
        self._origins = [transform_of(joint.origin) for joint in description.joints]
        self._masses = np.array([joint.inertial.mass_kg for joint in description.joints])
        self._centres = np.array([joint.inertial.centre_of_mass_m for joint in description.joints])
        hand = description.hand
        if hand is not None:
            # The hand is one body with the last link.
            to_hand = transform_of(description.flange_origin) @ transform_of(hand.origin)
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


class LinkFrames:
    """The frames of an arm's base, links, flange, hand and tool.

    Attributes:
        names: of all frames, from the base to the tool.
    """

    def __init__(self, description: ArmDescription) -> None:
        self._base_frame = description.base_frame
        self._origins = [transform_of(joint.origin) for joint in description.joints]
        # Of each frame: how many joints move it, and where it is in the last of their links.
        self._places = {description.base_frame: (0, np.eye(4))}
        for number, joint in enumerate(description.joints, 1):
            self._places[joint.link_name] = (number, np.eye(4))
        flange = transform_of(description.flange_origin)
        self._places[description.flange_frame] = (JOINT_COUNT, flange)
        if description.hand is not None:
            hand = flange @ transform_of(description.hand.origin)
            tool = hand @ transform_of(description.hand.tool_origin)
            self._places[description.hand.link_name] = (JOINT_COUNT, hand)
            self._places[description.hand.tool_frame] = (JOINT_COUNT, tool)
        self.names = tuple(self._places)

    def moving_joints(self, frame: str) -> int:
        """Return how many joints, counted from the base, move a frame.

        Raises:
            UnknownNameError: The arm has no such frame.
        """
        if frame not in self._places:
            raise UnknownNameError('frame of the arm', frame, self.names)
        return self._places[frame][0]

    def poses(self, joints_rad: ArrayLike) -> dict[str, Array]:
        """Return the transform (4, 4) from each frame to the base, for joints (7,)."""
        angles = np.asarray(joints_rad, dtype=np.float64)
        links = [np.eye(4)]
        for origin, angle in zip(self._origins, angles, strict=True):
            turn = np.eye(4)
            turn[:3, :3] = Rotation.from_euler('z', angle).as_matrix()
            links.append(links[-1] @ origin @ turn)
        return {name: links[number] @ place for name, (number, place) in self._places.items()}
