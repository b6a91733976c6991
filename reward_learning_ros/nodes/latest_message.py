"""The latest message of a topic that brings a thousand a second; only this one is decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from reward_learning_ros.nodes.polled_subscription import SAMPLES_QOS, PolledSubscription
from reward_learning_ros.sensing.samples import DecodingError

# The rate of messages is taken over at least and at most this time: a process that the machine
# lets wait for a moment finds the messages of that moment at its next look.
_MIN_RATE_SEC = 0.5
_MAX_RATE_SEC = 1.0


class LatestMessage:
    """Keeps the queue of a topic empty, and decodes what came last.

    Attributes:
        arrival_sec: when messages were there last.
    """

    def __init__(
        self,
        node: Node,
        message_type: Any,
        topic: str,
        decode: Callable[[bytes], Any],
        qos: QoSProfile = SAMPLES_QOS,
    ) -> None:
        self._subscription = PolledSubscription(node, message_type, topic, qos)
        self._decode = decode
        # When messages were there, and how many.
        self._looks: deque[tuple[float, int]] = deque()
        self.arrival_sec = 0.0

    def rate_hz(self) -> float | None:
        """Return how often messages came lately; None if that is not known yet."""
        if not self._looks:
            return None
        span_sec = self._looks[-1][0] - self._looks[0][0]
        if span_sec < _MIN_RATE_SEC:
            return None
        return (sum(count for _, count in self._looks) - self._looks[0][1]) / span_sec

    def take(self, now_sec: float, report: Callable[[str], None]) -> Any:
        """Return what the latest message says, None if none came since the last call."""
        messages = self._subscription.take()
        if not messages:
            return None
        self.arrival_sec = now_sec
        self._looks.append((now_sec, len(messages)))
        # After a silence there is no rate yet, and a clock that was set back has none either.
        while not 0.0 <= now_sec - self._looks[0][0] <= _MAX_RATE_SEC:
            self._looks.popleft()
        try:
            return self._decode(messages[-1][0])
        except DecodingError as error:
            report(str(error))
            return None
