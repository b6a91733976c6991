"""The joint trajectory controller of ros2_control."""

from __future__ import annotations

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import JointTrajectory
from reward_learning_ros.nodes.conversions import joint_trajectory_to_message
from reward_learning_ros.nodes.names import COMMAND_QOS, command_topic
from reward_learning_ros.playback.motion import Command


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
