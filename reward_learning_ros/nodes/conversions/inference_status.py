"""The status of the inference, and of a simulated participant, as DiagnosticStatus."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from reward_learning_ros.interface import InferenceStatus, ParticipantStatus
from reward_learning_ros.interface.status import participant_diagnostic_of
from reward_learning_ros.interface.theta import inference_diagnostic_of
from reward_learning_ros.nodes.conversions.diagnostics import diagnostic_to_message


def inference_status_to_message(status: InferenceStatus) -> DiagnosticStatus:
    """Return the inference's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(inference_diagnostic_of(status))


def participant_status_to_message(status: ParticipantStatus) -> DiagnosticStatus:
    """Return a participant's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(participant_diagnostic_of(status))
