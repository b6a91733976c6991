"""A short-lived node with which a command asks the arm or a session for something."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import OperatorMark, QuestionnaireAnswers
from reward_learning_ros.parameters.shared import SIMULATED
from reward_learning_ros.session.node_parameters import RECORDER
from reward_learning_ros.session.processes import check_ros

if TYPE_CHECKING:
    from reward_learning_ros.cli.recover import RecoverParameters
    from reward_learning_ros.cli.thresholds import ThresholdsParameters

_SPIN_SEC = 0.05
# For the transport, beyond the deadlines of the steps themselves.
_MARGIN_SEC = 5.0


def recover(config: RecoverParameters) -> tuple[bool, str]:
    """Recover the arm; return whether all steps were done, and the report.

    Raises:
        RewardLearningError: Neither the arm nor a session was found, or types are missing.
    """
    with temporary_node(config.namespace) as asked:
        from std_srvs.srv import Trigger

        from reward_learning_ros.arm.franka import STEP_TIMEOUT_SEC, STEPS
        from reward_learning_ros.nodes import names
        from reward_learning_ros.nodes.arm_services import (
            FrankaArmServices,
            Recovery,
            SimulatedArmServices,
        )

        timeout_sec = len(STEPS) * STEP_TIMEOUT_SEC + _MARGIN_SEC
        session = asked.node.create_client(Trigger, names.SESSION_RECOVER_SERVICE)
        services = (
            SimulatedArmServices(asked.node)
            if config.arm == SIMULATED
            else FrankaArmServices(asked.node, config.controllers, config.arm_prefix)
        )
        recovery = Recovery(asked.node, services.do)
        # A session is looked for during the whole time: only one may recover the arm.
        asked.spin_until(session.service_is_ready, config.discovery_sec)
        if session.service_is_ready():
            answer = asked.result(session.call_async(Trigger.Request()), timeout_sec)
            return answer.success, answer.message
        if not services.are_ready:
            raise RewardLearningError(
                'no arm was found: bring it up; check --namespace (now '
                f'{config.namespace or "none"}) and ROS_DOMAIN_ID'
            )
        sequence = asked.result(recovery.begin(), timeout_sec)
        return sequence.is_complete, sequence.report


def set_thresholds(config: ThresholdsParameters) -> None:
    """Set the collision thresholds of a real arm.

    Raises:
        RewardLearningError: No arm was found, or it refuses; says why.
    """
    with temporary_node(config.namespace) as asked:
        from reward_learning_ros.nodes.arm_services import FrankaArmServices

        services = FrankaArmServices(asked.node, (), config.arm_prefix)
        asked.spin_until(lambda: services.are_ready, config.timeout_sec)
        task = asked.executor.create_task(services.set_collision_thresholds(config))
        asked.result(task, config.timeout_sec)


class TemporaryNode:
    """A node that lives as long as one command, and the executor that spins it."""

    def __init__(self, node: Any, executor: Any) -> None:
        self.node = node
        self.executor = executor

    def spin_until(self, condition: Callable[[], object], timeout_sec: float) -> None:
        """Spin until a condition is true, or the time is over."""
        deadline = time.monotonic() + timeout_sec
        while not condition() and time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=_SPIN_SEC)

    def result(self, future: Any, timeout_sec: float) -> Any:
        """Return what a future comes to.

        Raises:
            RewardLearningError: No answer came in time.
        """
        self.spin_until(future.done, timeout_sec)
        if not future.done():
            raise RewardLearningError(f'no answer within {timeout_sec:.0f} s')
        return future.result()


@contextlib.contextmanager
def temporary_node(namespace: str) -> Iterator[TemporaryNode]:
    """Yield a node in a namespace, and destroy it afterwards."""
    check_ros()
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor

    context = Context()
    rclpy.init(args=[], context=context)
    try:
        node = rclpy.create_node('reward_learning_asks', namespace=namespace, context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        yield TemporaryNode(node, executor)
        executor.shutdown()
        node.destroy_node()
    finally:
        context.try_shutdown()


_DISCOVERY_SEC = 5.0
_DELIVERY_SEC = 5.0


def publish_record(
    said: QuestionnaireAnswers | OperatorMark,
    namespace: str,
    discovery_sec: float = _DISCOVERY_SEC,
) -> None:
    """Publish answers or a mark to the recorder of a running session.

    Raises:
        RewardLearningError: There is no ROS 2, no recorder was found, or it did not take it.
    """
    with temporary_node(namespace) as session:
        from diagnostic_msgs.msg import DiagnosticStatus
        from rclpy.duration import Duration

        from reward_learning_ros.nodes import names
        from reward_learning_ros.nodes.conversions import answers_to_message, mark_to_message

        if isinstance(said, OperatorMark):
            topic, message = names.MARKS_TOPIC, mark_to_message(said)
        else:
            topic, message = names.ANSWERS_TOPIC, answers_to_message(said)
        publisher = session.node.create_publisher(DiagnosticStatus, topic, names.CORRECTIONS_QOS)
        full_name = session.node.resolve_topic_name(topic)

        def is_recorded() -> bool:
            listeners = session.node.get_subscriptions_info_by_topic(full_name)
            has_recorder = any(listener.node_name == RECORDER for listener in listeners)
            return has_recorder and publisher.get_subscription_count() >= len(listeners)

        session.spin_until(is_recorded, discovery_sec)
        if not is_recorded():
            raise RewardLearningError(
                f'nobody records {full_name}: no session runs; check --namespace (now '
                f'{namespace or "none"}) and ROS_DOMAIN_ID'
            )
        publisher.publish(message)
        if not publisher.wait_for_all_acked(Duration(seconds=_DELIVERY_SEC)):
            raise RewardLearningError(f'the recorder did not take it within {_DELIVERY_SEC:g} s')
