"""Look at a running arm before it moves, in a process of its own; print the findings as JSON.

The doctor calls `python -m reward_learning_ros.nodes.arm_preflight --ros-args -p seconds:=2.0`.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy
from sensor_msgs.msg import JointState

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.arm.franka import ARM_CONTROLLER, STATE_BROADCASTER
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.interface import joint_reading_from_message
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.controller_watch import ControllerWatch, command_listeners
from reward_learning_ros.nodes.inspection import rate_of
from reward_learning_ros.nodes.ros_parameters import declare
from reward_learning_ros.nodes.running import NodeFinished, events_executor, run
from reward_learning_ros.parameters import parameter
from reward_learning_ros.parameters.shared import STOP_TORQUE_NM
from reward_learning_ros.playback.configuration import PreflightParameters
from reward_learning_ros.playback.preflight import (
    Check,
    SignTest,
    check_command_topic,
    check_controllers,
    check_stiffness,
    check_stream,
    check_thresholds,
)

_SAMPLE_SEC = 0.02


@dataclass(frozen=True, kw_only=True)
class PreflightNodeParameters(PreflightParameters):
    """Parameters of the preflight node: limits, names, and how long it listens."""

    prefix: str = parameter('fr3', description='Prefix of joints and frames')
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
    )
    controller: str = parameter(
        ARM_CONTROLLER, description='Name of the joint trajectory controller'
    )
    seconds: float = parameter(
        3.0, description='How long to listen', minimum=0.2, maximum=600.0, unit='s'
    )
    stop_torque_nm: tuple[float, ...] = parameter(
        STOP_TORQUE_NM,
        description='External torque of each joint at which playback holds',
        minimum=0.1,
        unit='N·m',
    )
    torque_sign: int = parameter(
        -1,
        description='-1: torques are what the arm does to the person (libfranka), 1: reverse',
        choices=(-1, 1),
    )


class PreflightNode(Node):
    """Listens to the arm for a while and checks rates, limits and signs before any motion.

    Attributes:
        checks: what was found, once it has listened long enough.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__('preflight', context=context)
        self._config = declare(self, PreflightNodeParameters)
        self._kinematics = Kinematics(
            description=franka_arm(prefix=self._config.prefix, hand=self._config.hand)
        )
        self._sign_test = SignTest(self._kinematics, torque_sign=self._config.torque_sign)
        self._controllers = ControllerWatch(self)
        self._arrivals: dict[str, list[float]] = {}
        self._joints: np.ndarray | None = None
        self._torque: np.ndarray | None = None
        self._next_sample_sec = 0.0
        self._ends_sec = time.monotonic() + self._config.seconds
        self.checks: list[Check] = []
        for topic in (names.MEASURED_JOINT_STATES_TOPIC, names.EXTERNAL_JOINT_TORQUES_TOPIC):
            self._arrivals[topic] = []
            self.create_subscription(
                JointState,
                topic,
                lambda message, topic=topic: self._on_state(topic, message),
                names.ROBOT_STATE_QOS,
            )
        self.create_timer(0.05, self._on_timer)
        self.get_logger().info(
            f'listening for {self._config.seconds:.0f} s; hold the tool a little aside to test '
            'the sign of the torques'
        )

    def _on_state(self, topic: str, message: JointState) -> None:
        now = time.monotonic()
        self._arrivals[topic].append(now)
        if now < self._next_sample_sec:
            return
        reading = joint_reading_from_message(message)
        if topic == names.MEASURED_JOINT_STATES_TOPIC:
            self._joints = reading.positions
        else:
            self._torque = reading.efforts
        if self._joints is not None and self._torque is not None:
            self._sign_test.add(self._joints, self._torque)
            self._next_sample_sec = now + _SAMPLE_SEC
            self._torque = None

    def _on_timer(self) -> None:
        if time.monotonic() < self._ends_sec:
            return
        self.checks = self._examine()
        raise NodeFinished(1 if any(check.blocks for check in self.checks) else 0)

    def _examine(self) -> list[Check]:
        now = time.monotonic()
        checks = [
            check_stream(
                topic,
                age_sec=now - arrivals[-1] if arrivals else None,
                rate_hz=rate_of(arrivals),
                config=self._config,
            )
            for topic, arrivals in self._arrivals.items()
        ]
        topic = names.command_topic(self._config.controller)
        listeners = command_listeners(self, self.resolve_topic_name(topic))
        checks.append(
            check_command_topic(
                # Playback itself is there, or will be.
                publishers=max(self.count_publishers(topic), 1),
                subscribers=len(listeners),
                are_compatible=all(
                    info.qos_profile.durability != DurabilityPolicy.TRANSIENT_LOCAL
                    for info in listeners
                ),
            )
        )
        checks += check_controllers(
            self._controllers.states,
            (STATE_BROADCASTER, self._config.controller),
            namespace=self.get_namespace(),
            reason=self._controllers.reason,
        )
        checks.append(check_thresholds(self._config, np.array(self._config.stop_torque_nm)))
        if self._joints is not None:
            checks.append(check_stiffness(self._config, self._kinematics, self._joints))
        checks.append(self._sign_test.check())
        return checks


def main(arguments: Sequence[str] | None = None) -> int:
    """Listen, and print what was found as JSON; code 1 if the arm must not move."""
    made: list[PreflightNode] = []

    def build(context: Context) -> PreflightNode:
        made.append(PreflightNode(context=context))
        return made[0]

    code = run(build, arguments, make_executor=events_executor)
    if made and made[0].checks:
        print(json.dumps([dataclasses.asdict(check) for check in made[0].checks]))  # noqa: T201
    return code


if __name__ == '__main__':
    raise SystemExit(main())
