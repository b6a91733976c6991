"""Controllers that playback can drive, behind one small interface."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Protocol

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.interface import JointReading, JointTrajectory, PoseReading
from reward_learning_ros.nodes.arm_names import CRISP_TARGET_JOINT_TOPIC, CRISP_TARGET_POSE_TOPIC
from reward_learning_ros.nodes.conversions import (
    joint_reading_to_message,
    joint_trajectory_to_message,
    pose_reading_to_message,
)
from reward_learning_ros.nodes.names import COMMAND_QOS, command_topic
from reward_learning_ros.playback.motion import Command


class Backend(Protocol):
    """Protocol of what sends set-points to a controller.

    Without further commands the controller must come to hold by itself: a trajectory ends at
    rest, a lone target is one.

    Attributes:
        topic: full name of the topic that commands go to.
        description: in a few words, for the log.
        controllers: names of those that must be active; none if the user names them elsewhere.
    """

    topic: str
    description: str
    controllers: tuple[str, ...]

    def send(self, command: Command) -> None:
        """Send a command."""


class JointTrajectoryControllerBackend:
    """Sends the whole horizon: the controller follows it, and holds at its end."""

    def __init__(self, node: Node, controller: str, kinematics: Kinematics) -> None:
        self._joint_names = kinematics.description.joint_names
        self._publisher = node.create_publisher(
            JointTrajectoryMessage, command_topic(controller), COMMAND_QOS
        )
        self.topic = self._publisher.topic_name
        self.controllers: tuple[str, ...] = (controller,)
        self.description = f'joint trajectory controller {controller}'

    def send(self, command: Command) -> None:
        """Send the set-points as one trajectory."""
        trajectory = JointTrajectory(
            stamp_ns=command.stamp_ns,
            joint_names=self._joint_names,
            times_sec=command.times_sec,
            positions=command.positions_rad,
            velocities=command.velocities_rad_s,
            accelerations=command.accelerations_rad_s2,
        )
        self._publisher.publish(joint_trajectory_to_message(trajectory))


class CrispJointBackend:
    """Sends the nearest set-point as target_joint; without the next one the arm holds there."""

    def __init__(self, node: Node, controller: str, kinematics: Kinematics) -> None:
        self._joint_names = kinematics.description.joint_names
        self._publisher = node.create_publisher(JointState, CRISP_TARGET_JOINT_TOPIC, COMMAND_QOS)
        self.topic = self._publisher.topic_name
        self.controllers: tuple[str, ...] = ()
        self.description = 'CRISP, joint targets'

    def send(self, command: Command) -> None:
        """Send the first set-point."""
        reading = JointReading(
            stamp_ns=command.stamp_ns,
            joint_names=self._joint_names,
            positions=command.positions_rad[0],
            velocities=command.velocities_rad_s[0],
        )
        self._publisher.publish(joint_reading_to_message(reading))


class CrispPoseBackend:
    """Sends the nearest set-point as target_pose; without the next one the arm holds there."""

    def __init__(self, node: Node, controller: str, kinematics: Kinematics) -> None:
        self._kinematics = kinematics
        self._publisher = node.create_publisher(PoseStamped, CRISP_TARGET_POSE_TOPIC, COMMAND_QOS)
        self.topic = self._publisher.topic_name
        self.controllers: tuple[str, ...] = ()
        self.description = 'CRISP, pose targets'

    def send(self, command: Command) -> None:
        """Send the tool's pose at the first set-point."""
        position, rotation = self._kinematics.tool_poses(command.positions_rad[0])
        reading = PoseReading(
            stamp_ns=command.stamp_ns,
            frame_id=self._kinematics.description.base_frame,
            position=position,
            orientation=Rotation.from_matrix(rotation).as_quat(),
        )
        self._publisher.publish(pose_reading_to_message(reading))


BACKENDS: MappingProxyType[str, Callable[[Node, str, Kinematics], Backend]] = MappingProxyType(
    {
        'joint_trajectory_controller': JointTrajectoryControllerBackend,
        'crisp_joint': CrispJointBackend,
        'crisp_pose': CrispPoseBackend,
    }
)


def make_backend(name: str, node: Node, controller: str, kinematics: Kinematics) -> Backend:
    """Make the backend that drives a controller, by its name in `BACKENDS`.

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
