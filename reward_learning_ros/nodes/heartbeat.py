"""Who of a session is alive: each node says so twice a second, and some listen."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import String

from reward_learning_ros.nodes import names

# By the wall: simulated time stands still while the simulation is away.
_PERIOD_SEC = 0.5


class Heartbeat:
    """Says that a node is alive; one whose callbacks hang falls silent too."""

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(
            String, names.HEARTBEAT_TOPIC, names.DIAGNOSTICS_QOS
        )
        # With which start of it: one that died and came back was away, however briefly.
        self._message = String(data=f'{node.get_name()} {os.getpid()}.{time.monotonic_ns()}')
        node.create_timer(_PERIOD_SEC, self.beat, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def beat(self) -> None:
        """Say it now."""
        self._publisher.publish(self._message)


class HeartbeatWatch:
    """Listens for the nodes that must be there."""

    def __init__(self, node: Node, watched: Sequence[str], timeout_sec: float) -> None:
        self._timeout_sec = timeout_sec
        self._heard_sec = dict.fromkeys(watched, -float('inf'))
        self._starts: dict[str, str] = {}
        if watched:
            node.create_subscription(
                String, names.HEARTBEAT_TOPIC, self._on_beat, names.DIAGNOSTICS_QOS
            )

    def _on_beat(self, message: String) -> None:
        name, _, start = message.data.partition(' ')
        if name not in self._heard_sec:
            return
        is_same = self._starts.get(name, start) == start
        self._starts[name] = start
        # Another start of it counts from its second beat on, so that it is missed once.
        self._heard_sec[name] = time.monotonic() if is_same else -float('inf')

    @property
    def missing(self) -> tuple[str, ...]:
        """The nodes that were not heard lately."""
        oldest = time.monotonic() - self._timeout_sec
        return tuple(name for name, heard in self._heard_sec.items() if heard < oldest)
