"""Stands between the simulated arm and all that listen to it, and spoils its state on request.

The arm publishes under `raw/`. The topic `relay/fault` says what is done to what it says: a word
of `FAULTS`, with seconds after `delayed`. Messages are changed as bytes: a stamp begins at the
fourth.
"""

from __future__ import annotations

import random
import struct
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.polling import SAMPLES_QOS, PolledSubscription
from reward_learning_ros.session.session_description import NodeDescription

FAULT_TOPIC = 'relay/fault'
PREFIX = 'raw/'
_TYPES = {
    names.EXTERNAL_JOINT_TORQUES_TOPIC: JointState,
    names.MEASURED_JOINT_STATES_TOPIC: JointState,
    names.CURRENT_POSE_TOPIC: PoseStamped,
}
_STAMP = slice(4, 12)
_NAN = struct.pack('<d', float('nan'))
_PERIOD_SEC = 0.001


def behind_relay(arm: NodeDescription) -> NodeDescription:
    """Return the arm so that what it says goes to the relay."""
    moved = tuple((topic, PREFIX + topic) for topic in _TYPES)
    return replace(arm, remappings=(*arm.remappings, *moved))


class Relay:
    """Passes messages on, spoilt or not."""

    def __init__(self, node: Node) -> None:
        self._rng = random.Random(0)
        self._fault, self._seconds = 'none', 0.0
        self._frozen = b''
        self._queues: dict[str, deque[tuple[float, bytes]]] = {topic: deque() for topic in _TYPES}
        self._links = {
            topic: (
                PolledSubscription(node, kind, PREFIX + topic, SAMPLES_QOS),
                node.create_publisher(kind, topic, names.ROBOT_STATE_QOS),
            )
            for topic, kind in _TYPES.items()
        }
        node.create_subscription(String, FAULT_TOPIC, self._on_fault, names.LATCHED_QOS)

    def _on_fault(self, message: String) -> None:
        self._fault, _, seconds = message.data.partition(' ')
        self._seconds = float(seconds or 0.0)
        self._frozen = b''

    def pass_on(self) -> None:
        """Pass on what came since the last call."""
        now_sec = time.monotonic()
        for topic, (subscription, publisher) in self._links.items():
            queue = self._queues[topic]
            queue.extend((now_sec, data) for data, _ in subscription.take())
            due = []
            delay_sec = self._seconds if self._fault == 'delayed' else 0.0
            while queue and queue[0][0] + delay_sec <= now_sec:
                due.append(queue.popleft()[1])
            for data in FAULTS[self._fault](self, due):
                publisher.publish(data)

    def _frozen_at(self, due: list[bytes]) -> list[bytes]:
        if due and not self._frozen:
            self._frozen = due[0][_STAMP]
        return [data[: _STAMP.start] + self._frozen + data[_STAMP.stop :] for data in due]

    def _shuffled(self, due: list[bytes]) -> list[bytes]:
        self._rng.shuffle(due)
        return due


FAULTS: dict[str, Callable[[Relay, list[bytes]], list[bytes]]] = {
    'none': lambda relay, due: due,
    'delayed': lambda relay, due: due,
    'stopped': lambda relay, due: [],
    'frozen': Relay._frozen_at,
    'nan': lambda relay, due: [data[:-8] + _NAN for data in due],
    'shuffled': Relay._shuffled,
    'doubled': lambda relay, due: [data for data in due for _ in range(2)],
}


def main() -> int:
    """Run the relay until it is killed."""
    rclpy.init()
    node = rclpy.create_node('relay')
    relay = Relay(node)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while rclpy.ok():
        executor.spin_once(timeout_sec=_PERIOD_SEC)
        relay.pass_on()
    return 0


if __name__ == '__main__':
    sys.exit(main())
