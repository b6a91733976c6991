"""The playback's status as DiagnosticStatus, a deformation as Vector3Stamped."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Vector3Stamped

from reward_learning_ros.interface import Deformation, PlaybackStatus
from reward_learning_ros.interface.plan import diagnostic_of
from reward_learning_ros.nodes.conversions.basics import header_message, vector_message
from reward_learning_ros.nodes.conversions.diagnostics import diagnostic_to_message


def playback_status_to_message(status: PlaybackStatus) -> DiagnosticStatus:
    """Return the playback's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(diagnostic_of(status))


def deformation_to_message(deformation: Deformation) -> Vector3Stamped:
    """Return a deformation as a message."""
    return Vector3Stamped(
        header=header_message(deformation.stamp_ns, deformation.frame_id),
        vector=vector_message(deformation.shift),
    )
