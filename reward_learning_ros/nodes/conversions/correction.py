"""A correction as MultiDOFJointTrajectory, and the status of who records it."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from reward_learning_ros.interface import Correction, RecorderStatus
from reward_learning_ros.interface.correction import joint_name_of
from reward_learning_ros.interface.recorder import recorder_diagnostic_of
from reward_learning_ros.nodes.conversions.basics import (
    duration_message,
    header_message,
    transform_message,
)
from reward_learning_ros.nodes.conversions.diagnostics import diagnostic_to_message


def correction_to_message(correction: Correction) -> MultiDOFJointTrajectory:
    """Return a correction as a trajectory of one joint; `Correction` tells the layout."""
    return MultiDOFJointTrajectory(
        header=header_message(correction.stamp_ns, correction.frame_id),
        joint_names=[joint_name_of(correction)],
        points=[
            MultiDOFJointTrajectoryPoint(
                transforms=[transform_message(delta, turn)],
                time_from_start=duration_message(time),
            )
            for delta, turn, time in zip(
                correction.delta_positions,
                correction.delta_orientations,
                correction.times_sec,
                strict=True,
            )
        ],
    )


def recorder_status_to_message(status: RecorderStatus) -> DiagnosticStatus:
    """Return the recorder's status as a diagnostic whose values are the status' fields."""
    return diagnostic_to_message(recorder_diagnostic_of(status))
