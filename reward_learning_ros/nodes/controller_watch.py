"""Asks the controller manager, again and again, which controllers are active."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from reward_learning_ros.arm.franka import ACTIVE
from reward_learning_ros.nodes import arm_names
from reward_learning_ros.nodes.installed_interfaces import MissingInterfaceError, require_interface
from reward_learning_ros.session.node_parameters import RECORDER

_PERIOD_SEC = 0.5
# Also how long an answer stands.
_TIMEOUT_SEC = 3.0
# What the middleware says before it has heard the name of a node.
_UNKNOWN_NAME = '_NODE_NAME_UNKNOWN_'


class ControllerWatch:
    """Polls the controller manager for the states of controllers.

    Attributes:
        states: state of each controller by its name; None if it is not known.
        reason: why it is not known, in words.
    """

    def __init__(self, node: Node) -> None:
        self.states: Mapping[str, str] | None = None
        self.reason = 'the controller manager was not asked yet'
        self._pending: Any = None
        self._asked_sec = 0.0
        try:
            list_controllers = require_interface('controller_manager_msgs/srv/ListControllers')
        except MissingInterfaceError as error:
            self.reason = str(error)
            return
        self._client = node.create_client(list_controllers, arm_names.LIST_CONTROLLERS_SERVICE)
        node.create_timer(_PERIOD_SEC, self._ask, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def inactive(self, required: tuple[str, ...]) -> tuple[str, ...]:
        """Return in words which of the required controllers cannot be relied on."""
        if not required:
            return ()
        if self.states is None:
            return (f'controllers ({self.reason})',)
        return tuple(
            f'controller {name} ({self.states.get(name, "not loaded")})'
            for name in required
            if self.states.get(name) != ACTIVE
        )

    def _ask(self) -> None:
        now_sec = time.monotonic()
        if self._pending is not None:
            if now_sec - self._asked_sec < _TIMEOUT_SEC:
                return
            self._client.remove_pending_request(self._pending)
            self._pending = None
            self._forget('does not answer')
        if not self._client.service_is_ready():
            self._forget('is not there')
            return
        self._asked_sec = now_sec
        self._pending = self._client.call_async(self._client.srv_type.Request())
        self._pending.add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        if future is not self._pending:
            return
        self._pending = None
        self.states = {each.name: each.state for each in future.result().controller}

    def _forget(self, reason: str) -> None:
        self.states = None
        self.reason = f'{self._client.srv_name} {reason}'


def command_listeners(node: Node, topic: str) -> list[Any]:
    """Return who listens to commands and may follow them: all but who records the session.

    Args:
        node: Whose graph is looked at.
        topic: Full name of the topic of the commands.

    Returns:
        For each what the graph says of it, as rclpy's `TopicEndpointInfo`. One whose name is not
        known yet is left out, since it may be the recorder.
    """
    found = node.get_subscriptions_info_by_topic(topic)
    return [info for info in found if info.node_name not in (RECORDER, _UNKNOWN_NAME)]
