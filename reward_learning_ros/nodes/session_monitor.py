"""Listens to a session, for whoever shows it on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Path
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from reward_learning_ros.arm.simulation_parameters import clock_topic
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    InferenceStatus,
    Level,
    ParticipantStatus,
    Plan,
    PlaybackStatus,
    SessionStatus,
    ThetaSummary,
    inference_status_from_message,
    participant_status_from_message,
    plan_from_message,
    playback_status_from_message,
    session_status_from_message,
    theta_from_message,
)
from reward_learning_ros.interface.status import level_of
from reward_learning_ros.nodes import names
from reward_learning_ros.session.node_parameters import RECORDER


class SessionMonitorNode(Node):
    """Keeps the latest status of each node of a session, for the terminal.

    Attributes:
        session: what the session does; None before it was heard.
        playback: what playback does; likewise.
        theta: what was learned and kept; likewise. The live belief is not looked at.
        inference: what the inference does; likewise.
        plan: what is shown; likewise.
        participant: what a simulated participant wants; likewise.
        recording_warning: what the recorder warns of; empty if it does not.
    """

    def __init__(self, *, namespace: str = '', context: Context | None = None) -> None:
        super().__init__('session_monitor', namespace=namespace, context=context)
        self.session: SessionStatus | None = None
        self.playback: PlaybackStatus | None = None
        self.theta: ThetaSummary | None = None
        self.inference: InferenceStatus | None = None
        self.plan: Plan | None = None
        self.participant: ParticipantStatus | None = None
        self.recording_warning = ''
        self._keep(
            'session', DiagnosticStatus, names.SESSION_STATUS_TOPIC, session_status_from_message
        )
        self._keep(
            'playback', DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, playback_status_from_message
        )
        self._keep('theta', Float64MultiArray, names.THETA_TOPIC, self._kept_theta)
        self._keep(
            'inference',
            DiagnosticStatus,
            names.INFERENCE_STATUS_TOPIC,
            inference_status_from_message,
        )
        self._keep('plan', Path, names.PLAN_TOPIC, plan_from_message)
        self._keep(
            'participant',
            DiagnosticStatus,
            names.PARTICIPANT_STATUS_TOPIC,
            participant_status_from_message,
        )

        self.create_subscription(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, self._on_diagnostics, names.DIAGNOSTICS_QOS
        )

    def _kept_theta(self, message: Float64MultiArray) -> ThetaSummary | None:
        theta = theta_from_message(message)
        return theta if isinstance(theta, ThetaSummary) else self.theta

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name == RECORDER:
                is_warning = level_of(status.level) == Level.WARN
                self.recording_warning = status.message if is_warning else ''

    def _keep(
        self,
        attribute: str,
        message_type: type,
        topic: str,
        read: Callable[[Any], Any],
        qos: QoSProfile = names.LATCHED_QOS,
    ) -> None:
        def keep(message: Any) -> None:
            try:
                setattr(self, attribute, read(message))
            except RewardLearningError as error:
                self.get_logger().warning(f'{topic}: {error}')

        self.create_subscription(message_type, topic, keep, qos)

    def others(self) -> tuple[str, ...]:
        """Return the topics that a session of its own would need, and that others have."""
        clock = clock_topic(self.get_namespace())
        topics = (names.SESSION_STATUS_TOPIC, names.PLAN_TOPIC, clock)
        return tuple(topic for topic in topics if self.count_publishers(topic))
