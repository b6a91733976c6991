"""Records of `interface` to ROS messages and back: one file per concept.

The way back is defined without ROS, next to each record, and only passed on here.
"""

from reward_learning_ros.interface import (
    answers_from_message,
    contact_from_message,
    corrections_from_message,
    deformation_from_message,
    diagnostic_from_message,
    diagnostic_report_from_message,
    inference_status_from_message,
    joint_reading_from_message,
    joint_trajectory_from_message,
    mark_from_message,
    participant_status_from_message,
    plan_from_message,
    playback_status_from_message,
    pose_reading_from_message,
    recorder_status_from_message,
    session_status_from_message,
    theta_samples_from_message,
    theta_summary_from_message,
    wrench_reading_from_message,
)
from reward_learning_ros.nodes.conversions.correction import (
    contact_to_message,
    corrections_to_message,
    recorder_status_to_message,
)
from reward_learning_ros.nodes.conversions.diagnostics import (
    diagnostic_report_to_message,
    diagnostic_to_message,
)
from reward_learning_ros.nodes.conversions.inference_status import (
    inference_status_to_message,
    participant_status_to_message,
)
from reward_learning_ros.nodes.conversions.markers import (
    clearing_marker,
    correction_markers,
    ideal_markers,
    marker_array,
    plan_markers,
    scene_markers,
)
from reward_learning_ros.nodes.conversions.motion import joint_trajectory_to_message
from reward_learning_ros.nodes.conversions.plan import plan_to_message
from reward_learning_ros.nodes.conversions.playback_status import (
    deformation_to_message,
    playback_status_to_message,
)
from reward_learning_ros.nodes.conversions.robot_state import (
    joint_reading_to_message,
    pose_reading_to_message,
    wrench_reading_to_message,
)
from reward_learning_ros.nodes.conversions.session_status import session_status_to_message
from reward_learning_ros.nodes.conversions.study_records import (
    answers_to_message,
    mark_to_message,
)
from reward_learning_ros.nodes.conversions.theta import (
    theta_samples_to_message,
    theta_summary_to_message,
)

__all__ = [
    'answers_from_message',
    'answers_to_message',
    'clearing_marker',
    'contact_from_message',
    'contact_to_message',
    'correction_markers',
    'corrections_from_message',
    'corrections_to_message',
    'deformation_from_message',
    'deformation_to_message',
    'diagnostic_from_message',
    'diagnostic_report_from_message',
    'diagnostic_report_to_message',
    'diagnostic_to_message',
    'ideal_markers',
    'inference_status_from_message',
    'inference_status_to_message',
    'joint_reading_from_message',
    'joint_reading_to_message',
    'joint_trajectory_from_message',
    'joint_trajectory_to_message',
    'mark_from_message',
    'mark_to_message',
    'marker_array',
    'participant_status_from_message',
    'participant_status_to_message',
    'plan_from_message',
    'plan_markers',
    'plan_to_message',
    'playback_status_from_message',
    'playback_status_to_message',
    'pose_reading_from_message',
    'pose_reading_to_message',
    'recorder_status_from_message',
    'recorder_status_to_message',
    'scene_markers',
    'session_status_from_message',
    'session_status_to_message',
    'theta_samples_from_message',
    'theta_samples_to_message',
    'theta_summary_from_message',
    'theta_summary_to_message',
    'wrench_reading_from_message',
    'wrench_reading_to_message',
]
