"""What the nodes say to each other: plain records, and the table of topics.

Imports core; no ROS.

Each record validates itself and keeps its arrays read-only. Next to a record stands the function
that reads it from a message. That function asks only for the message's fields, so it takes the
messages of rclpy and those that rosbags reads from a recording: what a node does live and what is
done offline is the same. The other direction, record to message, needs ROS: `nodes.conversions`.
"""

from reward_learning_ros.interface.correction import (
    Correction,
    PassCorrections,
    corrections_from_message,
    data_digest,
)
from reward_learning_ros.interface.plan import (
    Deformation,
    JointTrajectory,
    Plan,
    PlaybackState,
    PlaybackStatus,
    deformation_from_message,
    joint_trajectory_from_message,
    plan_from_message,
    playback_status_from_message,
)
from reward_learning_ros.interface.recorder import (
    ContactReport,
    RecorderStatus,
    contact_from_message,
    recorder_status_from_message,
)
from reward_learning_ros.interface.records import MessageError, Record, RecordError
from reward_learning_ros.interface.robot_state import (
    JointReading,
    PoseReading,
    WrenchReading,
    joint_reading_from_message,
    pose_reading_from_message,
    wrench_reading_from_message,
)
from reward_learning_ros.interface.status import (
    Diagnostic,
    DiagnosticReport,
    Level,
    ParticipantState,
    ParticipantStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
    diagnostic_from_message,
    diagnostic_report_from_message,
    participant_status_from_message,
    session_status_from_message,
)
from reward_learning_ros.interface.study_records import (
    OperatorMark,
    QuestionnaireAnswers,
    answers_from_message,
    mark_from_message,
)
from reward_learning_ros.interface.theta import (
    InferenceEvent,
    InferenceState,
    InferenceStatus,
    LiveTheta,
    ThetaSamples,
    ThetaSummary,
    inference_status_from_message,
    live_theta_from_message,
    theta_from_message,
    theta_samples_from_message,
    theta_summary_from_message,
)

__all__ = [
    'ContactReport',
    'Correction',
    'Deformation',
    'Diagnostic',
    'DiagnosticReport',
    'InferenceEvent',
    'InferenceState',
    'InferenceStatus',
    'JointReading',
    'JointTrajectory',
    'Level',
    'LiveTheta',
    'MessageError',
    'OperatorMark',
    'ParticipantState',
    'ParticipantStatus',
    'PassCorrections',
    'Plan',
    'PlaybackState',
    'PlaybackStatus',
    'PoseReading',
    'QuestionnaireAnswers',
    'Record',
    'RecordError',
    'RecorderStatus',
    'SessionEnd',
    'SessionState',
    'SessionStatus',
    'ThetaSamples',
    'ThetaSummary',
    'WrenchReading',
    'answers_from_message',
    'contact_from_message',
    'corrections_from_message',
    'data_digest',
    'deformation_from_message',
    'diagnostic_from_message',
    'diagnostic_report_from_message',
    'inference_status_from_message',
    'joint_reading_from_message',
    'joint_trajectory_from_message',
    'live_theta_from_message',
    'mark_from_message',
    'participant_status_from_message',
    'plan_from_message',
    'playback_status_from_message',
    'pose_reading_from_message',
    'recorder_status_from_message',
    'session_status_from_message',
    'theta_from_message',
    'theta_samples_from_message',
    'theta_summary_from_message',
    'wrench_reading_from_message',
]
