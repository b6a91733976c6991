"""Subscriptions and services that a node reads when it has time, not in callbacks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.service import Service

from reward_learning_ros.sensing.samples import DecodingError

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


@dataclass(frozen=True, kw_only=True)
class ServiceRequest:
    """A service request that waits for its response.

    Attributes:
        request: what is asked for.
        age_sec: how long ago it was sent, by the wall clock of sender and receiver; None where
            the middleware does not tell.
    """

    request: Any
    age_sec: float | None
    _service: Service
    _header: Any

    def respond(self, response: Any) -> None:
        """Send the response."""
        self._service.send_response(response, self._header)


class PolledService:
    """A service whose requests are taken when they are wanted.

    The callback of an executor is not told when its request was sent.
    """

    def __init__(self, node: Node, service_type: Any, name: str) -> None:
        self._type = service_type
        self._service = node.create_service(service_type, name, self._never_called)
        # An executor serves the services in this list. There is no public way to keep one out of
        # it; the list is the same from Humble to Kilted.
        node._services.remove(self._service)

    def _never_called(self, request: Any, response: Any) -> Any:
        raise AssertionError('no executor knows of this service')

    def take(self) -> Iterator[ServiceRequest]:
        """Yield the requests that wait, in the order in which they came."""
        handle = self._service.handle
        while True:
            with handle:
                request, header = handle.service_take_request(self._type.Request)
            if header is None:
                return
            sent_ns = header.source_timestamp
            yield ServiceRequest(
                request=request,
                age_sec=(time.time_ns() - sent_ns) / 1e9 if sent_ns > 0 else None,
                _service=self._service,
                _header=header,
            )


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
