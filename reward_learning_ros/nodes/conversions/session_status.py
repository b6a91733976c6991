"""The session's status as DiagnosticStatus."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from reward_learning_ros.interface import SessionStatus
from reward_learning_ros.interface.status import session_diagnostic_of
from reward_learning_ros.nodes.conversions.diagnostics import diagnostic_to_message


def session_status_to_message(status: SessionStatus) -> DiagnosticStatus:
    """Return the session's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(session_diagnostic_of(status))
