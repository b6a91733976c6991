"""A process that publishes an arm's state at 1 kHz, raw, as cheaply as it can.

`python -m benchmarks.arm_stream DOMAIN SECONDS topics|robot_state`
"""

from __future__ import annotations

import sys
import time
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from rclpy.context import Context
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from reward_learning_ros.interface import Plan, PlaybackState, PlaybackStatus
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import plan_to_message, playback_status_to_message
from reward_learning_ros.nodes.franka_robot_state import (
    PackedMessage,
    robot_state_type,
    stamp_bytes,
)

JOINTS = [f'fr3_joint{number}' for number in range(1, 8)]
PERIOD_NS = 1_000_000
TOPICS, ROBOT_STATE = 'topics', 'robot_state'
_STATUS_CYCLES = 50


def carrier_type() -> Any:
    """Return what carries a FrankaRobotState: itself, or any type where it is not installed.

    Serialized messages pass through the middleware as they are, whatever their type is.
    """
    return robot_state_type() or String


def _franka_bytes() -> bytes:
    sys.path.insert(0, str(FilePath(__file__).resolve().parents[1] / 'test'))
    from helpers.random_messages import RandomMessages

    messages = RandomMessages(np.random.default_rng(1))
    state = messages.franka_state(JOINTS)
    for joints in (state.measured_joint_state, state.tau_ext_hat_filtered):
        joints.position = joints.velocity = joints.effort = np.full(7, 0.1)
    for stamped in (state.o_t_ee, state.o_t_ee_d):
        for part in (stamped.pose.position, stamped.pose.orientation):
            for name in vars(part).keys() & {'x', 'y', 'z', 'w'}:
                setattr(part, name, 0.5)
    for part in (state.o_f_ext_hat_k.wrench.force, state.o_f_ext_hat_k.wrench.torque):
        part.x = part.y = part.z = 0.1
    return messages.serialize(state)


def _channels(kind: str) -> list[tuple[Any, str, bytes]]:
    if kind == ROBOT_STATE:
        return [(carrier_type(), names.ROBOT_STATE_TOPIC, _franka_bytes())]
    torque = JointState(name=JOINTS, effort=[0.1] * 7)
    joints = JointState(
        name=JOINTS, position=[0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8], velocity=[0.0] * 7
    )
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.x = 0.35, 0.5, 1.0
    return [
        (JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC, serialize_message(torque)),
        (JointState, names.MEASURED_JOINT_STATES_TOPIC, serialize_message(joints)),
        (PoseStamped, names.CURRENT_POSE_TOPIC, serialize_message(pose)),
    ]


def main() -> int:
    """Wait for a listener, publish, and end."""
    domain_id, seconds, kind = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    context = Context()
    rclpy.init(args=[], context=context, domain_id=domain_id)
    node = rclpy.create_node('arm_stream', context=context)
    channels = [
        (
            node.create_publisher(message_type, topic, names.ROBOT_STATE_QOS),
            PackedMessage(data, []),
        )
        for message_type, topic, data in _channels(kind)
    ]
    plans = node.create_publisher(Path, names.PLAN_TOPIC, names.LATCHED_QOS)
    statuses = node.create_publisher(
        DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, names.LATCHED_QOS
    )
    plan = Plan(
        stamp_ns=1,
        frame_id='fr3_link0',
        positions=np.linspace((0.35, 0.0, 0.5), (0.6, 0.3, 0.2), 8),
        orientations=np.tile([1.0, 0.0, 0.0, 0.0], (8, 1)),
        times_sec=np.linspace(0.0, seconds + 10.0, 8),
    )
    plans.publish(plan_to_message(plan))
    while any(not publisher.get_subscription_count() for publisher, _ in channels):
        time.sleep(0.01)
    start_ns = time.time_ns()
    for cycle in range(round(seconds * 1000)):
        due_ns = start_ns + cycle * PERIOD_NS
        late_ns = time.time_ns() - due_ns
        if late_ns < 0:
            time.sleep(-late_ns / 1e9)
        stamp = stamp_bytes(due_ns)
        for publisher, message in channels:
            publisher.handle.publish_raw(message.stamped(stamp))
        if cycle % _STATUS_CYCLES == 0:
            status = PlaybackStatus(
                state=PlaybackState.PLAYING,
                plan_stamp_ns=plan.stamp_ns,
                plan_time_sec=cycle / 1000,
                progress=0.5,
            )
            statuses.publish(playback_status_to_message(status))
    node.destroy_node()
    context.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
