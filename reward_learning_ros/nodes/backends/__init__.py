"""Controllers that playback can drive: one file each, behind one small interface."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from rclpy.node import Node

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.nodes.backends.backend import Backend
from reward_learning_ros.nodes.backends.crisp import CrispJointBackend, CrispPoseBackend
from reward_learning_ros.nodes.backends.joint_trajectory_controller import (
    JointTrajectoryControllerBackend,
)

BACKENDS: MappingProxyType[str, Callable[[Node, str, Kinematics], Backend]] = MappingProxyType(
    {
        'joint_trajectory_controller': JointTrajectoryControllerBackend,
        'crisp_joint': CrispJointBackend,
        'crisp_pose': CrispPoseBackend,
    }
)


def make_backend(name: str, node: Node, controller: str, kinematics: Kinematics) -> Backend:
    """Make the backend of a name in `BACKENDS`.

    Args:
        name: of the backend.
        node: that publishes the commands.
        controller: name of the controller.
        kinematics: of the arm.

    Raises:
        UnknownNameError: there is none of that name.
    """
    if name not in BACKENDS:
        raise UnknownNameError('backend', name, BACKENDS)
    return BACKENDS[name](node, controller, kinematics)


__all__ = ['BACKENDS', 'Backend', 'make_backend']
