"""The interface's topics and services, with their qualities of service as rclpy has them."""

from __future__ import annotations

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)

from reward_learning_ros.interface import topics
from reward_learning_ros.interface.topics import *  # noqa: F403  nodes say names.PLAN_TOPIC


def qos_profile(qos: topics.QualityOfService) -> QoSProfile:
    """Return a quality of service of the table as a QoSProfile."""
    return QoSProfile(
        history=HistoryPolicy[qos.history.upper()],
        depth=qos.depth,
        reliability=ReliabilityPolicy[qos.reliability.upper()],
        durability=DurabilityPolicy[qos.durability.upper()],
    )


ROBOT_STATE_QOS = qos_profile(topics.NEWEST)
DEFORMATION_QOS = ROBOT_STATE_QOS
LATCHED_QOS = qos_profile(topics.LATCHED)
CORRECTIONS_QOS = qos_profile(topics.KEPT)
DIAGNOSTICS_QOS = qos_profile(topics.REPORTED)
LOG_QOS = qos_profile(topics.LOGGED)
COMMAND_QOS = qos_profile(topics.COMMANDED)
