"""The corrections of a pass as MultiDOFJointTrajectory; contacts, and who records them."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from reward_learning_ros.interface import ContactReport, PassCorrections, RecorderStatus
from reward_learning_ros.interface.correction import contact_diagnostic_of
from reward_learning_ros.interface.status import recorder_diagnostic_of
from reward_learning_ros.nodes.conversions.basics import (
    duration_message,
    header_message,
    transform_message,
)
from reward_learning_ros.nodes.conversions.diagnostics import diagnostic_to_message


def corrections_to_message(corrections: PassCorrections) -> MultiDOFJointTrajectory:
    """Return the corrections of a pass as a trajectory; `PassCorrections` tells the layout."""
    return MultiDOFJointTrajectory(
        header=header_message(corrections.plan_stamp_ns, corrections.frame_id),
        joint_names=[corrections.tool_frame],
        points=[
            MultiDOFJointTrajectoryPoint(
                transforms=[transform_message(delta, turn)],
                time_from_start=duration_message(time),
            )
            for delta, turn, time in zip(
                corrections.delta_positions,
                corrections.delta_orientations,
                corrections.times_sec,
                strict=True,
            )
        ],
    )


def contact_to_message(contact: ContactReport) -> DiagnosticStatus:
    """Return a contact as a diagnostic whose values are its fields."""
    return diagnostic_to_message(contact_diagnostic_of(contact))


def recorder_status_to_message(status: RecorderStatus) -> DiagnosticStatus:
    """Return the recorder's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(recorder_diagnostic_of(status))
