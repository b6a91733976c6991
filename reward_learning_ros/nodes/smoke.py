"""Two nodes that prove the way between two processes: what is sent comes back equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from nav_msgs.msg import Path
from rclpy.context import Context
from rclpy.node import Node
from trajectory_msgs.msg import MultiDOFJointTrajectory

from reward_learning_ros.interface import Correction, Plan
from reward_learning_ros.nodes.conversions import (
    correction_from_message,
    correction_to_message,
    plan_from_message,
    plan_to_message,
)
from reward_learning_ros.nodes.names import (
    CORRECTIONS_QOS,
    CORRECTIONS_TOPIC,
    LATCHED_QOS,
    PLAN_TOPIC,
)
from reward_learning_ros.nodes.parameters import declare
from reward_learning_ros.nodes.running import EXIT_FAILURE, NodeFinished, run
from reward_learning_ros.nodes.smoke_parameters import CALLER, ECHO, SmokeParameters


class SmokeNode(Node):
    """Sends a plan and a correction and waits for both to come back, or sends them back.

    The caller ends with code 0 when both came back equal; either one ends at the timeout, so
    that nothing is left behind.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('smoke', context=context)
        self._config = declare(self, SmokeParameters)
        self._missing: dict[str, Plan | Correction] = {}
        # The two nodes use each other's names, so that each has its own way back.
        here, there = (
            ('to_echo', 'to_caller') if self._config.role == CALLER else ('to_caller', 'to_echo')
        )
        self._plan_publisher = self.create_publisher(Path, f'{here}/{PLAN_TOPIC}', LATCHED_QOS)
        self._correction_publisher = self.create_publisher(
            MultiDOFJointTrajectory, f'{here}/{CORRECTIONS_TOPIC}', CORRECTIONS_QOS
        )
        self.create_subscription(Path, f'{there}/{PLAN_TOPIC}', self._on_plan, LATCHED_QOS)
        self.create_subscription(
            MultiDOFJointTrajectory,
            f'{there}/{CORRECTIONS_TOPIC}',
            self._on_correction,
            CORRECTIONS_QOS,
        )
        self.create_timer(self._config.timeout_sec, self._on_timeout)
        if self._config.role == CALLER:
            self._send()
        self.get_logger().info(f'{self._config.role} is up')

    def _send(self) -> None:
        rng = np.random.default_rng(self._config.seed)
        plan = random_plan(
            rng, waypoints=self._config.waypoints, stamp_ns=self.get_clock().now().nanoseconds
        )
        correction = random_correction(rng, plan)
        self._missing = {PLAN_TOPIC: plan, CORRECTIONS_TOPIC: correction}
        self._plan_publisher.publish(plan_to_message(plan))
        self._correction_publisher.publish(correction_to_message(correction))

    def _on_plan(self, message: Path) -> None:
        plan = plan_from_message(message)
        if self._config.role == ECHO:
            self._plan_publisher.publish(plan_to_message(plan))
            self.get_logger().info('sent the plan back')
        else:
            self._compare(PLAN_TOPIC, plan)

    def _on_correction(self, message: MultiDOFJointTrajectory) -> None:
        correction = correction_from_message(message)
        if self._config.role == ECHO:
            self._correction_publisher.publish(correction_to_message(correction))
            self.get_logger().info('sent the correction back')
        else:
            self._compare(CORRECTIONS_TOPIC, correction)

    def _compare(self, topic: str, received: Plan | Correction) -> None:
        if received != self._missing.pop(topic, received):
            self.get_logger().error(f'{topic}: came back changed')
            raise NodeFinished(EXIT_FAILURE)
        self.get_logger().info(f'{topic}: came back equal')
        if not self._missing:
            raise NodeFinished

    def _on_timeout(self) -> None:
        if self._config.role == ECHO:
            raise NodeFinished
        missing = ' and '.join(self._missing)
        self.get_logger().error(f'{missing}: not back within {self._config.timeout_sec} s')
        raise NodeFinished(EXIT_FAILURE)


def random_plan(rng: np.random.Generator, *, waypoints: int, stamp_ns: int) -> Plan:
    """Return a random plan."""
    return Plan(
        stamp_ns=stamp_ns,
        frame_id='base',
        positions=rng.normal(size=(waypoints, 3)),
        orientations=_random_quaternions(rng, waypoints),
        times_sec=np.cumsum(rng.uniform(0.1, 0.5, size=waypoints)),
    )


def random_correction(rng: np.random.Generator, plan: Plan) -> Correction:
    """Return a random correction of a plan."""
    waypoints = len(plan.positions)
    onset = int(rng.integers(waypoints))
    return Correction(
        stamp_ns=plan.stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='tool',
        plan_stamp_ns=plan.stamp_ns,
        delta_positions=rng.normal(scale=0.05, size=(waypoints, 3)),
        delta_orientations=_random_quaternions(rng, waypoints),
        times_sec=plan.times_sec,
        onset_waypoint=onset,
        onset_time_sec=float(plan.times_sec[onset]),
        duration_sec=rng.exponential(),
        peak_force=rng.exponential(10.0),
        confidence=rng.uniform(),
    )


def _random_quaternions(rng: np.random.Generator, count: int) -> np.ndarray:
    quaternions = rng.normal(size=(count, 4))
    return quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the two nodes."""
    return run(lambda context: SmokeNode(context=context), arguments)


if __name__ == '__main__':
    raise SystemExit(main())
