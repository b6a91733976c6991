"""The nodes of the simulated arm and of playback in one process, in simulated time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Path
from std_srvs.srv import Trigger

from helpers.ros import DEADLINE_SEC, PrivateRos
from reward_learning_ros.interface import Plan, PlaybackStatus, playback_status_from_message
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import plan_to_message
from reward_learning_ros.nodes.simulated_arm import SimulatedArmNode
from reward_learning_ros.nodes.trajectory_playback import TrajectoryPlaybackNode

ARM_ARGUMENTS = (
    '--ros-args',
    '-p',
    'clock:=simulated',
    '-p',
    'speed:=0.0',
    # The tests look at every message; fewer of them keep the tests short.
    '-p',
    'convenience_publish_rate:=50',
    '-p',
    'clock_publish_rate:=50',
)
PLAYBACK_ARGUMENTS = ('--ros-args', '-p', 'use_sim_time:=true')
CYCLES = 20


def line_plan(
    stamp_ns: int, *, end=(0.6, 0.3, 0.2), duration_sec: float = 3.0, frame_id: str = 'fr3_link0'
) -> Plan:
    """A straight plan from near home."""
    return Plan(
        stamp_ns=stamp_ns,
        frame_id=frame_id,
        positions=np.linspace((0.33, 0.0, 0.48), end, 8),
        orientations=np.tile([1.0, 0.0, 0.0, 0.0], (8, 1)),
        times_sec=np.linspace(0.0, duration_sec, 8),
    )


class ArmAndPlayback:
    """Both nodes and an operator, advanced step by step: the outcome does not depend on load."""

    def __init__(
        self,
        make_ros: Callable[..., PrivateRos],
        *playback_arguments: str,
        shared_arguments: tuple[str, ...] = (),
    ) -> None:
        self.arm_ros = make_ros(*ARM_ARGUMENTS, *shared_arguments)
        self.arm_node = self.arm_ros.add(SimulatedArmNode(context=self.arm_ros.context))
        self.ros = make_ros(*PLAYBACK_ARGUMENTS, *playback_arguments, *shared_arguments)
        self.playback_node = self.ros.add(TrajectoryPlaybackNode(context=self.ros.context))
        self.operator = self.arm_ros.create_node('operator')
        self.statuses: list[PlaybackStatus] = []
        self.set_points: list[np.ndarray] = []
        self.operator.create_subscription(
            DiagnosticStatus,
            names.PLAYBACK_STATUS_TOPIC,
            lambda message: self.statuses.append(playback_status_from_message(message)),
            names.LATCHED_QOS,
        )
        self._plan_publisher = self.operator.create_publisher(
            Path, names.PLAN_TOPIC, names.LATCHED_QOS
        )
        self._clients: dict[str, Any] = {}
        self.advance_until(
            lambda: (
                self.playback_node.playback.view.joints.values is not None
                and self.playback_node.playback.view.torque.values is not None
                and (
                    self.playback.config.requires_mode
                    or self.playback_node.playback.view.mode is not None
                )
                and self.playback_node.playback.view.command_subscribers > 0
                and self._plan_publisher.get_subscription_count() > 0
                and self.statuses
            )
        )

    @property
    def arm(self):
        return self.arm_node.arm

    @property
    def playback(self):
        return self.playback_node.playback

    def advance(self) -> None:
        """Simulate a few cycles, and let everybody hear of them."""
        for _ in range(CYCLES):
            self.arm_node.advance()
            self.set_points.append(self.arm.set_point.copy())
        deadline = time.monotonic() + 0.05
        # Best effort: what does not come at once is made up for by the next cycles.
        while self._lag_ns() > 0 and time.monotonic() < deadline:
            self.ros.executor.spin_once(timeout_sec=0.002)
        for _ in range(6):
            self.ros.executor.spin_once(timeout_sec=0.0)
            self.arm_ros.executor.spin_once(timeout_sec=0.0)

    def _lag_ns(self) -> int:
        return self.arm.time_ns - self.playback_node.get_clock().now().nanoseconds

    def advance_until(
        self, condition: Callable[[], object], timeout_sec: float = DEADLINE_SEC
    ) -> None:
        deadline = time.monotonic() + timeout_sec
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f'{self.playback.status()}')
            self.advance()

    def advance_for(self, seconds: float) -> None:
        end_ns = self.arm.time_ns + round(seconds * 1e9)
        while self.arm.time_ns < end_ns:
            self.advance()

    def send_plan(self, plan: Plan) -> None:
        self._plan_publisher.publish(plan_to_message(plan))

    def take_plan(self, plan: Plan) -> None:
        """Send a plan and wait until playback has it."""
        self.send_plan(plan)
        self.advance_until(lambda: self.playback.status().plan_stamp_ns == plan.stamp_ns)

    def await_ready(self) -> None:
        """Wait until playback says that the next motion would not be refused."""
        self.advance_until(
            lambda: self.statuses and self.statuses[-1].not_ready == '' and self._is_up_to_date()
        )

    def _is_up_to_date(self) -> bool:
        return self.statuses[-1].plan_stamp_ns == self.playback.status().plan_stamp_ns

    def call(self, service: str, service_type: Any = Trigger, request: Any = None) -> Any:
        if service not in self._clients:
            self._clients[service] = self.operator.create_client(service_type, service)
        client = self._clients[service]
        self.advance_until(client.service_is_ready)
        future = client.call_async(request or service_type.Request())
        self.advance_until(future.done)
        return future.result()
