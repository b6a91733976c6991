"""Listens to the best source of samples that is there and speaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from rclpy.node import Node

from reward_learning_ros.nodes.arm_sources import ArmSource, Channel
from reward_learning_ros.nodes.polled_subscription import SAMPLES_QOS, PolledSubscription
from reward_learning_ros.sensing.samples import DecodingError, Stream

# How often it is looked who publishes what.
_GRAPH_PERIOD_SEC = 0.5
# Silent for longer than this, worse sources are listened to as well.
_SILENT_SEC = 0.5


class ArmSources:
    """Listens to the best source that speaks, and changes when a better one comes or it goes.

    Attributes:
        current: the source in use, None before any has spoken.
    """

    def __init__(
        self,
        node: Node,
        sources: Sequence[ArmSource],
        *,
        add: Callable[[Stream, int, Sequence[float]], None],
        timeout_sec: float,
        on_change: Callable[[ArmSource | None, ArmSource], None],
    ) -> None:
        """Begin to listen.

        Args:
            node: subscribes.
            sources: best first.
            add: takes each sample: stream, stamp, values; () for one that cannot be read.
            timeout_sec: how long a source may be silent before a worse one takes its place.
            on_change: is told of the source before and the new one.
        """
        self.current: ArmSource | None = None
        self._node = node
        self._sources = sources
        self._add = add
        self._timeout_sec = timeout_sec
        self._on_change = on_change
        self._clock = node.get_clock()
        self._last_ns = 0
        self._next_graph_sec = -np.inf

    @property
    def silent_sec(self) -> float:
        """How long the current source has been silent; infinite without one."""
        return np.inf if self.current is None else time.monotonic() - self.current.heard_sec

    def update(self) -> None:
        """Take the samples that came, and look who speaks; to be called many times a second."""
        for source in self._sources:
            for channel, subscription in zip(source.channels, source.subscriptions, strict=False):
                self._take(source, channel, subscription)
        self._last_ns = self._clock.now().nanoseconds
        self._choose()
        now_sec = time.monotonic()
        if now_sec >= self._next_graph_sec:
            self._next_graph_sec = now_sec + _GRAPH_PERIOD_SEC
            self._listen()

    def close(self) -> None:
        """Stop listening."""
        for source in self._sources:
            self._leave(source)

    def _take(self, source: ArmSource, channel: Channel, subscription: PolledSubscription) -> None:
        messages = subscription.take()
        if messages and channel is source.channels[0]:
            source.heard_sec = time.monotonic()
        if source is not self.current:
            return
        for place, (data, arrival_ns) in enumerate(messages):
            try:
                time_ns, samples = channel.read(data)
            except DecodingError as error:
                self._add(channel.stream, 0, ())
                self._node.get_logger().warning(
                    f'{channel.topic}: {error}', throttle_duration_sec=5.0
                )
                continue
            if not time_ns:
                time_ns = self._arrival_ns(arrival_ns, (place + 1) / len(messages))
            for stream, values in samples:
                self._add(stream, time_ns, values)

    def _arrival_ns(self, arrival_ns: int, share: float) -> int:
        """Return when a message came; in simulated time, as if evenly between two looks."""
        if arrival_ns and not self._clock.ros_time_is_active:
            return arrival_ns
        now_ns = self._clock.now().nanoseconds
        return int(self._last_ns + share * (now_ns - self._last_ns))

    def _choose(self) -> None:
        """Change to a better source that speaks, or from a silent one to a worse one."""
        now_sec = time.monotonic()
        speaking = [s for s in self._sources if now_sec - s.heard_sec <= _SILENT_SEC]
        if not speaking or speaking[0] is self.current:
            return
        best, current = speaking[0], self.current
        is_better = current is None or self._sources.index(best) < self._sources.index(current)
        if is_better or self.silent_sec > self._timeout_sec:
            self.current = best
            self._on_change(current, best)
            self._next_graph_sec = now_sec

    def _listen(self) -> None:
        """Subscribe to the current source, to better ones that appear, to worse ones in need."""
        is_heard = self.silent_sec <= _SILENT_SEC
        may_be_better = True
        for source in self._sources:
            is_current = source is self.current
            is_wanted = is_current or (
                (may_be_better or not is_heard)
                and all(self._node.count_publishers(topic) for topic in source.topics)
            )
            if is_current:
                may_be_better = False
            if is_wanted and not source.subscriptions:
                source.subscriptions = [
                    PolledSubscription(
                        self._node, channel.message_type, channel.topic, SAMPLES_QOS
                    )
                    for channel in source.channels
                ]
            elif not is_wanted:
                self._leave(source)

    def _leave(self, source: ArmSource) -> None:
        for subscription in source.subscriptions:
            subscription.destroy()
        source.subscriptions = []
