"""CRISP's compliant controllers, which follow one target at a time."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import JointReading, PoseReading
from reward_learning_ros.nodes.arm_names import CRISP_TARGET_JOINT_TOPIC, CRISP_TARGET_POSE_TOPIC
from reward_learning_ros.nodes.conversions import (
    joint_reading_to_message,
    pose_reading_to_message,
)
from reward_learning_ros.nodes.names import COMMAND_QOS
from reward_learning_ros.playback.motion import Command


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
