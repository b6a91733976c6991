"""Look at the ROS graph: which topics of the arm are there, how they are sent, and how often.

It runs in a process of its own (`python -m reward_learning_ros.nodes.inspection`), because a
middleware that is not installed right may end the process that loads it.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from reward_learning_ros.interface.topics import ARM_TOPICS, REQUIRED_ARM_TOPICS, TOPICS
from reward_learning_ros.nodes.installed_interfaces import find_interface
from reward_learning_ros.nodes.running import events_executor

# Best effort hears everyone; deep, so that none is lost between two spins at 1 kHz.
_COUNTING_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT
)
_SPIN_SEC = 0.05
ARM_TOPIC_TYPES = {name: TOPICS[name].type_name for name in ARM_TOPICS}


@dataclass(frozen=True, kw_only=True)
class TopicReport:
    """Type, quality of service and rate that were observed of a topic."""

    topic: str
    """Full name."""
    expected_type: str
    required: bool
    """Whether a session with the real arm needs it."""
    types: tuple[str, ...]
    """Types under which it is published; none if nobody publishes it."""
    publishers: int
    reliability: tuple[str, ...]
    """Of the publishers, each kind once."""
    durability: tuple[str, ...]
    rate_hz: float | None
    """Measured; None if its type is not installed or not the expected one, 0 if silent."""


def inspect_topics(
    node: Node,
    executor: Any,
    *,
    namespace: str,
    seconds: float,
    discovery_sec: float = 0.0,
    expected: Mapping[str, str] = ARM_TOPIC_TYPES,
) -> list[TopicReport]:
    """Listen for a time, and report type, quality of service and rate of each expected topic.

    Args:
        node: A node to listen with.
        executor: Spins that node.
        namespace: Namespace of the arm, empty for none.
        seconds: How long to listen.
        discovery_sec: How long to wait, before that, for the required topics to appear.
        expected: Type of each topic.
    """
    names = {relative: _full_name(namespace, relative) for relative in expected}
    arrivals: dict[str, list[float]] = {}
    subscriptions = []
    for relative, type_name in expected.items():
        message_class = find_interface(type_name)
        if message_class is None:
            continue
        times = arrivals.setdefault(relative, [])
        subscriptions.append(
            node.create_subscription(
                message_class,
                names[relative],
                lambda raw, times=times: times.append(time.monotonic()),
                _COUNTING_QOS,
                # Only counted: decoding a thousand messages a second would be the bottleneck.
                raw=True,
            )
        )
    required = [names[relative] for relative in expected if relative in REQUIRED_ARM_TOPICS]
    _spin(executor, discovery_sec, until=lambda: all(map(node.count_publishers, required)))
    _spin(executor, seconds)
    reports = [
        _report(node, relative, names[relative], expected[relative], arrivals.get(relative))
        for relative in expected
    ]
    for subscription in subscriptions:
        node.destroy_subscription(subscription)
    return reports


def _spin(executor: Any, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0.0 and not until():
        executor.spin_once(timeout_sec=min(left, _SPIN_SEC))


def _report(
    node: Node, relative: str, name: str, expected_type: str, arrivals: list[float] | None
) -> TopicReport:
    publishers = node.get_publishers_info_by_topic(name)
    types = tuple(sorted({publisher.topic_type for publisher in publishers}))
    qos = [publisher.qos_profile for publisher in publishers]
    is_heard = arrivals is not None and types in ((), (expected_type,))
    return TopicReport(
        topic=name,
        expected_type=expected_type,
        required=relative in REQUIRED_ARM_TOPICS,
        types=types,
        publishers=len(publishers),
        reliability=tuple(sorted({profile.reliability.name.lower() for profile in qos})),
        durability=tuple(sorted({profile.durability.name.lower() for profile in qos})),
        rate_hz=rate_of(arrivals) if is_heard and arrivals is not None else None,
    )


def rate_of(arrivals: list[float]) -> float:
    """Return the rate of arrival times in Hz, 0 if there are fewer than two."""
    if len(arrivals) < 2 or arrivals[-1] <= arrivals[0]:
        return 0.0
    return (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])


def _full_name(namespace: str, relative: str) -> str:
    return '/'.join(('', *(part for part in namespace.split('/') if part), relative))


def main() -> int:
    """Make a node, listen, and print what was found as JSON."""
    namespace, seconds, discovery_sec = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    context = Context()
    rclpy.init(args=[], context=context)
    try:
        node = rclpy.create_node('reward_learning_doctor', context=context)
        executor = events_executor(context)
        executor.add_node(node)
        reports = inspect_topics(
            node, executor, namespace=namespace, seconds=seconds, discovery_sec=discovery_sec
        )
        found = {
            'rmw': rclpy.get_rmw_implementation_identifier(),
            'domain_id': context.get_domain_id(),
            'topics': [dataclasses.asdict(report) for report in reports],
        }
        executor.shutdown()
        node.destroy_node()
    finally:
        context.try_shutdown()
    print(json.dumps(found))  # noqa: T201
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
