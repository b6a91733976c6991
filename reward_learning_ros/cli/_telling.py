"""Brings what somebody says onto the topics of a session, and waits until the recorder has it."""

from __future__ import annotations

from reward_learning_ros.cli._asking import asking
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import OperatorMark, QuestionnaireAnswers
from reward_learning_ros.session.node_parameters.session_recorder import RECORDER

_DISCOVERY_SEC = 5.0
_DELIVERY_SEC = 5.0


def tell(
    said: QuestionnaireAnswers | OperatorMark,
    namespace: str,
    discovery_sec: float = _DISCOVERY_SEC,
) -> None:
    """Publish answers or a mark for the recorder of a session.

    Raises:
        RewardLearningError: There is no ROS 2, no recorder was found, or it did not take it.
    """
    with asking(namespace) as session:
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
