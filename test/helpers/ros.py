"""A private ROS 2 for each test: context, domain, executor, deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

# Generous: it is only ever waited for in full by a test that fails.
DEADLINE_SEC = 30.0


class PrivateRos:
    """A context in a domain of its own, and an executor that spins the nodes made in it."""

    def __init__(self, domain_id: int, arguments: Sequence[str] = ()) -> None:
        self.domain_id = domain_id
        self.context = Context()
        rclpy.init(args=list(arguments), context=self.context, domain_id=domain_id)
        self.executor = SingleThreadedExecutor(context=self.context)
        self._nodes: list[Node] = []

    def add(self, node: Node) -> Node:
        """Spin a node, and destroy it at the end."""
        self._nodes.append(node)
        self.executor.add_node(node)
        return node

    def remove(self, node: Node) -> None:
        """Destroy a node now."""
        self._nodes.remove(node)
        self.executor.remove_node(node)
        node.destroy_node()

    def create_node(self, name: str, **options: Any) -> Node:
        """Make a plain node of this context."""
        return self.add(rclpy.create_node(name, context=self.context, **options))

    def wait_until(
        self, condition: Callable[[], object], timeout_sec: float = DEADLINE_SEC
    ) -> None:
        """Spin until a condition is true.

        Raises:
            TimeoutError: It did not become true in time.
        """
        deadline = time.monotonic() + timeout_sec
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f'not true within {timeout_sec} s: {condition}')
            self.executor.spin_once(timeout_sec=0.02)

    def call(self, client: Any, request: Any, timeout_sec: float = DEADLINE_SEC) -> Any:
        """Call a service and return its response."""
        self.wait_until(client.service_is_ready, timeout_sec)
        future = client.call_async(request)
        self.wait_until(future.done, timeout_sec)
        return future.result()

    def close(self) -> None:
        """Destroy the nodes and end the context."""
        for node in self._nodes:
            self.executor.remove_node(node)
            node.destroy_node()
        self._nodes.clear()
        self.executor.shutdown()
        self.context.try_shutdown()
