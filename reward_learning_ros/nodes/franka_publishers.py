"""The state topics of franka_ros2, published from the observations of the simulated arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.arm_names import RELIABLE_STATE_QOS
from reward_learning_ros.nodes.conversions import pose_message, vector_message
from reward_learning_ros.nodes.franka_robot_state import (
    PackedMessage,
    marks,
    stamp_bytes,
    without_tail,
)

Array = NDArray[np.float64]

# franka_robot_state_broadcaster: best effort, depth 1.
_STATE_QOS = names.ROBOT_STATE_QOS
# Every so many messages it is looked who listens; what nobody hears is not sent.
_LOOK_CYCLES = 50


class FrankaPublishers:
    """Publishes what franka_robot_state_broadcaster and joint_state_broadcaster do.

    It sends the arm's own arrays as they are at the moment.
    """

    def __init__(self, node: Node, arm: SimulatedArm) -> None:
        description = arm.kinematics.description
        base, tool = description.base_frame, description.tool_frame
        self._joint_names = list(description.joint_names)
        told = arm.observation
        measured = told[kernels.MEASURED].reshape(3, 7)
        torque = told[kernels.EXTERNAL_TORQUE]
        set_point, commanded = arm.set_point, arm.commanded_torque_nm
        self._state_channels = (
            self._joints(node, names.MEASURED_JOINT_STATES_TOPIC, *measured),
            self._efforts(node, names.EXTERNAL_JOINT_TORQUES_TOPIC, torque),
            self._joints(
                node, names.DESIRED_JOINT_STATES_TOPIC, set_point[0], set_point[1], commanded
            ),
            _pose(node, names.CURRENT_POSE_TOPIC, base, told[kernels.POSE]),
            _pose(node, names.LAST_DESIRED_POSE_TOPIC, base, told[kernels.DESIRED_POSE]),
            _wrench(node, names.WRENCH_IN_BASE_TOPIC, base, told[kernels.WRENCH_IN_BASE]),
            _wrench(
                node, names.WRENCH_IN_STIFFNESS_TOPIC, tool, told[kernels.WRENCH_IN_STIFFNESS]
            ),
        )
        self._heard_channels: list[_Channel] = []
        self._until_look = 0
        self._joint_states = self._joints(
            node, names.JOINT_STATES_TOPIC, *measured, qos=RELIABLE_STATE_QOS
        )

    def publish_state(self, time_ns: int) -> None:
        """Publish everything that franka_robot_state_broadcaster does, but robot_state."""
        if self._until_look == 0:
            self._heard_channels = [each for each in self._state_channels if each.is_heard]
            self._until_look = _LOOK_CYCLES
        self._until_look -= 1
        stamp = stamp_bytes(time_ns)
        for channel in self._heard_channels:
            channel.send(stamp)

    def publish_joint_states(self, time_ns: int) -> None:
        """Publish `joint_states`, which robot_state_publisher and RViz use."""
        self._joint_states.send(stamp_bytes(time_ns))

    def _joints(
        self,
        node: Node,
        topic: str,
        positions: Array,
        velocities: Array,
        efforts: Array,
        *,
        qos: Any = _STATE_QOS,
    ) -> _Channel:
        places = marks(7, 7, 7)
        message = JointState(
            name=self._joint_names,
            position=places[0].tolist(),
            velocity=places[1].tolist(),
            effort=places[2].tolist(),
        )
        sources = (positions, velocities, efforts)
        return _Channel(node.create_publisher(JointState, topic, qos), message, places, sources)

    def _efforts(self, node: Node, topic: str, efforts: Array) -> _Channel:
        # As the broadcaster: of the external torques it fills neither position nor velocity.
        places = marks(7)
        message = JointState(name=self._joint_names, effort=places[0].tolist())
        publisher = node.create_publisher(JointState, topic, _STATE_QOS)
        return _Channel(publisher, message, places, (efforts,))


def _pose(node: Node, topic: str, frame: str, pose: Array) -> _Channel:
    places = marks(7)
    message = PoseStamped(pose=pose_message(places[0][:3], places[0][3:]))
    message.header.frame_id = frame
    publisher = node.create_publisher(PoseStamped, topic, _STATE_QOS)
    return _Channel(publisher, message, places, (pose,))


def _wrench(node: Node, topic: str, frame: str, wrench: Array) -> _Channel:
    places = marks(6)
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.force = vector_message(places[0][:3])
    message.wrench.torque = vector_message(places[0][3:])
    publisher = node.create_publisher(WrenchStamped, topic, _STATE_QOS)
    return _Channel(publisher, message, places, (wrench,))


class _Channel:
    """A publisher and the message that it sends over and over, with other numbers.

    The last of these numbers end the message.
    """

    def __init__(
        self, publisher: Any, message: Any, places: list[Array], sources: tuple[Array, ...]
    ) -> None:
        # Publisher.publish checks the type each time and guards against being destroyed by
        # another thread; that costs as much as the publishing itself, and here is one thread.
        self._publish = publisher.handle.publish_raw
        self._publisher = publisher
        serialized = without_tail(serialize_message(message), places[-1])
        self._message = PackedMessage(serialized, places)
        self._copies = tuple(zip(self._message.numbers, sources, strict=True))

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._publisher.get_subscription_count())

    def send(self, stamp: bytes) -> None:
        """Publish the message with a stamp and the numbers that the sources have now."""
        for place, source in self._copies:
            place[:] = source
        self._publish(self._message.stamped(stamp))
