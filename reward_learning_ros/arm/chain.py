"""The fixed geometry of an arm: its chain of transforms, and how far the wrist reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.description import ArmDescription, Origin

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
    """The transform (4, 4) that an origin stands for."""
    transform = np.eye(4)
    transform[:3, :3] = Rotation.from_euler('xyz', origin.rpy_rad).as_matrix()
    transform[:3, 3] = origin.xyz_m
    return transform
