"""The topics, services and qualities of service of the whole package, in one place."""

from __future__ import annotations

from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
)

# Relative names: a node's namespace decides where they are.
PLAN_TOPIC = 'plan'
PLAYBACK_STATUS_TOPIC = 'playback/status'
DEFORMATION_TOPIC = 'deformation'
CORRECTIONS_TOPIC = 'corrections'
CONTACTS_TOPIC = 'contacts'
RECORDER_STATUS_TOPIC = 'recorder/status'
THETA_TOPIC = 'theta'
THETA_SAMPLES_TOPIC = 'theta/samples'
DIAGNOSTICS_TOPIC = 'diagnostics'
# What every node logs, wherever it is.
LOG_TOPIC = '/rosout'
MARKERS_TOPIC = 'markers'
SESSION_STATUS_TOPIC = 'session/status'
HEARTBEAT_TOPIC = 'heartbeat'
# Plans of a recording that is played again: its corrections are of these.
RECORDED_PLAN_TOPIC = 'recorded/plan'
INFERENCE_STATUS_TOPIC = 'inference/status'
# What a simulated participant wants, for those who judge the session afterwards.
PARTICIPANT_STATUS_TOPIC = 'participant/status'
PARTICIPANT_IDEAL_TOPIC = 'participant/ideal'
# What a simulated participant means to do to the pass, as corrections.
PARTICIPANT_CORRECTIONS_TOPIC = 'participant/corrections'
# What people say of a trial: a participant's answers, an operator's marks.
ANSWERS_TOPIC = 'questionnaire/answers'
MARKS_TOPIC = 'session/marks'
# What a person teleoperates with; remap them to what the driver of the device publishes.
JOY_TOPIC = 'joy'
TWIST_TOPIC = 'twist'

PLAYBACK_START_SERVICE = 'playback/start'
PLAYBACK_PAUSE_SERVICE = 'playback/pause'
PLAYBACK_RESUME_SERVICE = 'playback/resume'
PLAYBACK_STOP_SERVICE = 'playback/stop'
PLAYBACK_HOME_SERVICE = 'playback/home'
RECORDER_ZERO_SERVICE = 'recorder/zero'
RECORDER_LEARN_SERVICE = 'recorder/learn'
INFERENCE_UNDO_SERVICE = 'inference/undo'
INFERENCE_RESET_SERVICE = 'inference/reset'
SESSION_ACCEPT_SERVICE = 'session/accept'
SESSION_FINISH_SERVICE = 'session/finish'
SESSION_BEGIN_SERVICE = 'session/begin'
SESSION_CONTINUE_SERVICE = 'session/continue'
SESSION_HOME_SERVICE = 'session/home'
SESSION_HAND_OVER_SERVICE = 'session/hand_over'
SESSION_RECOVER_SERVICE = 'session/recover'

# Best effort hears reliable publishers too (older franka_ros2 releases, rosbag2 play), while a
# reliable subscriber would hear nothing from a best-effort one. Only the newest value counts.
ROBOT_STATE_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
# A shift that comes late is wrong: better the next one.
DEFORMATION_QOS = ROBOT_STATE_QOS
# The newest value, also for who comes later.
LATCHED_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# Every correction counts, also for an inference node that starts, or starts again, later.
CORRECTIONS_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_ALL,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
DIAGNOSTICS_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)
# As rcl publishes the log.
LOG_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1000,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# As joint_trajectory_controller subscribes.
COMMAND_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)

TOPIC_QOS = {
    PLAN_TOPIC: LATCHED_QOS,
    PLAYBACK_STATUS_TOPIC: LATCHED_QOS,
    DEFORMATION_TOPIC: DEFORMATION_QOS,
    CORRECTIONS_TOPIC: CORRECTIONS_QOS,
    CONTACTS_TOPIC: CORRECTIONS_QOS,
    PARTICIPANT_CORRECTIONS_TOPIC: CORRECTIONS_QOS,
    RECORDER_STATUS_TOPIC: LATCHED_QOS,
    THETA_TOPIC: LATCHED_QOS,
    THETA_SAMPLES_TOPIC: LATCHED_QOS,
    DIAGNOSTICS_TOPIC: DIAGNOSTICS_QOS,
    MARKERS_TOPIC: LATCHED_QOS,
    SESSION_STATUS_TOPIC: LATCHED_QOS,
    INFERENCE_STATUS_TOPIC: LATCHED_QOS,
    PARTICIPANT_STATUS_TOPIC: LATCHED_QOS,
    PARTICIPANT_IDEAL_TOPIC: LATCHED_QOS,
    ANSWERS_TOPIC: CORRECTIONS_QOS,
    MARKS_TOPIC: CORRECTIONS_QOS,
    HEARTBEAT_TOPIC: DIAGNOSTICS_QOS,
    LOG_TOPIC: LOG_QOS,
    RECORDED_PLAN_TOPIC: CORRECTIONS_QOS,
}

# What franka_robot_state_broadcaster publishes in the robot's namespace, and joint_states.
FRANKA_BROADCASTER = 'franka_robot_state_broadcaster'
EXTERNAL_JOINT_TORQUES_TOPIC = f'{FRANKA_BROADCASTER}/external_joint_torques'
MEASURED_JOINT_STATES_TOPIC = f'{FRANKA_BROADCASTER}/measured_joint_states'
DESIRED_JOINT_STATES_TOPIC = f'{FRANKA_BROADCASTER}/desired_joint_states'
CURRENT_POSE_TOPIC = f'{FRANKA_BROADCASTER}/current_pose'
LAST_DESIRED_POSE_TOPIC = f'{FRANKA_BROADCASTER}/last_desired_pose'
WRENCH_IN_BASE_TOPIC = f'{FRANKA_BROADCASTER}/external_wrench_in_base_frame'
WRENCH_IN_STIFFNESS_TOPIC = f'{FRANKA_BROADCASTER}/external_wrench_in_stiffness_frame'
ROBOT_STATE_TOPIC = f'{FRANKA_BROADCASTER}/robot_state'
JOINT_STATES_TOPIC = 'joint_states'

FRANKA_TOPIC_TYPES = {
    EXTERNAL_JOINT_TORQUES_TOPIC: 'sensor_msgs/msg/JointState',
    MEASURED_JOINT_STATES_TOPIC: 'sensor_msgs/msg/JointState',
    CURRENT_POSE_TOPIC: 'geometry_msgs/msg/PoseStamped',
    DESIRED_JOINT_STATES_TOPIC: 'sensor_msgs/msg/JointState',
    LAST_DESIRED_POSE_TOPIC: 'geometry_msgs/msg/PoseStamped',
    WRENCH_IN_BASE_TOPIC: 'geometry_msgs/msg/WrenchStamped',
    WRENCH_IN_STIFFNESS_TOPIC: 'geometry_msgs/msg/WrenchStamped',
    ROBOT_STATE_TOPIC: 'franka_msgs/msg/FrankaRobotState',
    JOINT_STATES_TOPIC: 'sensor_msgs/msg/JointState',
}
# Without these no correction can be felt, placed or played, and the mode of the arm is unknown.
FRANKA_REQUIRED_TOPICS = (
    EXTERNAL_JOINT_TORQUES_TOPIC,
    MEASURED_JOINT_STATES_TOPIC,
    CURRENT_POSE_TOPIC,
    ROBOT_STATE_TOPIC,
)


def command_topic(controller: str) -> str:
    """Return the topic on which a joint trajectory controller takes its trajectories."""
    return f'{controller}/joint_trajectory'
