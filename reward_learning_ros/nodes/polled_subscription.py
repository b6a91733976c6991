"""Subscriptions without an executor: messages wait until they are taken, many at a time."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

# Best effort hears every publisher, of old and new releases. Deep, so that a process that the
# machine lets wait for a moment loses nothing at 1 kHz.
SAMPLES_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=500, reliability=ReliabilityPolicy.BEST_EFFORT
)


class PolledSubscription:
    """A subscription whose serialized messages are taken when they are wanted.

    An executor wakes up for every message, which costs ten times as much as taking it. The queue
    of the middleware must be deep enough for what comes between two looks.
    """

    def __init__(self, node: Node, message_type: Any, topic: str, qos: QoSProfile) -> None:
        self._node = node
        self._type = message_type
        self._subscription = node.create_subscription(
            message_type, topic, self._never_called, qos, raw=True
        )
        # An executor waits for the subscriptions in this list. There is no public way to keep one
        # out of it; the list is the same from Humble to Kilted.
        node._subscriptions.remove(self._subscription)

    def _never_called(self, data: bytes) -> None:
        raise AssertionError('no executor knows of this subscription')

    def take(self) -> list[tuple[bytes, int]]:
        """Return the messages that came since the last call, each with its time of arrival.

        The time is in nanoseconds of the system's clock, 0 where the middleware does not tell.
        """
        messages = []
        handle = self._subscription.handle
        with handle:
            take = handle.take_message
            while (taken := take(self._type, True)) is not None:
                messages.append((taken[0], taken[1]['received_timestamp']))
        return messages

    def destroy(self) -> None:
        """Stop listening."""
        self._node._subscriptions.append(self._subscription)
        self._node.destroy_subscription(self._subscription)
