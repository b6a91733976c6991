"""Plays topics of a recording, where `ros2 bag play` is not at hand."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node

from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import run
from reward_learning_ros.recording.bag_reader import BagMessage, BagReader
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.session.node_parameters import BagPlayerParameters

_PERIOD_SEC = 0.02


class BagPlayerNode(Node):
    """Publishes what was recorded, in its order and at its pace, and then stays.

    It stays for those who come later: plans and corrections are kept for them.

    Attributes:
        is_done: whether all was published.
        published: how many messages were.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('bag_player', context=context)
        self._config = config = declare(self, BagPlayerParameters)
        self._reader = BagReader(Path(config.bag))
        found = {topic: self._find(topic) for topic in config.topics}
        if not any(found.values()):
            raise BagError(f'{config.bag}: none of {", ".join(config.topics)} is in the bag')
        self._topic_publishers: dict[str, Any] = {}
        for topic, recorded in found.items():
            if recorded is None:
                self.get_logger().warning(f'{topic} is not in the bag')
                continue
            self._topic_publishers[recorded] = self.create_publisher(
                _message_type(self._reader.topics[recorded].type_name),
                topic,
                # All of it, also for those who come later or are slower.
                names.CORRECTIONS_QOS,
            )
        self._messages: Iterator[BagMessage] = self._reader.messages(list(self._topic_publishers))
        self._next = next(self._messages, None)
        self._due_sec = time.monotonic()
        self.is_done = False
        self.published = 0
        self.create_timer(
            _PERIOD_SEC, self._on_tick, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self.get_logger().info(f'playing {", ".join(self._topic_publishers)} of {config.bag}')

    def _find(self, topic: str) -> str | None:
        """Return a topic's name in the bag, whatever its namespace there."""
        matching = [
            name
            for name in self._reader.topics
            if name == f'/{topic}' or name.endswith(f'/{topic}')
        ]
        # `a/status` is also the end of `b/a/status`: the shortest is the one that is meant.
        return min(matching, key=len, default=None)

    def _on_tick(self) -> None:
        while self._next is not None and time.monotonic() >= self._due_sec:
            message = self._next
            self._topic_publishers[message.topic.name].publish(message.data)
            self.published += 1
            self._next = next(self._messages, None)
            if self._next is not None and self._config.rate:
                pause_sec = max(0.0, (self._next.time_ns - message.time_ns) / 1e9)
                pause_sec = min(pause_sec, self._config.max_pause_sec)
                self._due_sec += pause_sec / self._config.rate
        if self._next is None and not self.is_done:
            self.is_done = True
            self.get_logger().info(f'played {self.published} messages')

    def destroy_node(self) -> None:
        """Close the bag, then end the node."""
        self._reader.close()
        super().destroy_node()


def _message_type(type_name: str) -> Any:
    package, name = type_name.split('/msg/')
    return getattr(importlib.import_module(f'{package}.msg'), name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bag player."""
    return run(lambda context: BagPlayerNode(context=context), arguments)


if __name__ == '__main__':
    raise SystemExit(main())
