"""The one table of topics: name, type, quality of service, who publishes and who subscribes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class QualityOfService:
    """How a topic is sent; `ros2 bag play` sends it in the same way."""

    history: str = 'keep_last'
    depth: int = 10
    reliability: str = 'reliable'
    durability: str = 'volatile'

    @property
    def text(self) -> str:
        """In a few words, as the documents have it."""
        if self.history == 'keep_all':
            return 'reliable, transient local, all'
        if self.durability == 'transient_local' and self.depth == 1:
            return 'latched'
        return f'{self.reliability.replace("_", " ")}, {self.depth}'


# Best effort hears reliable publishers too (older franka_ros2 releases, rosbag2 play), while a
# reliable subscriber would hear nothing from a best-effort one. Only the newest value counts.
NEWEST = QualityOfService(depth=1, reliability='best_effort')
# The newest value, also for who comes later.
LATCHED = QualityOfService(depth=1, durability='transient_local')
# Every message counts, also for a node that starts, or starts again, later.
KEPT = QualityOfService(history='keep_all', durability='transient_local')
# A few messages, none of them lost.
REPORTED = QualityOfService(depth=10)
# As rcl publishes the log.
LOGGED = QualityOfService(depth=1000, durability='transient_local')
# As joint_trajectory_controller subscribes.
COMMANDED = QualityOfService(depth=1)


@dataclass(frozen=True, kw_only=True)
class TopicSpecification:
    """Name, type, quality of service, publishers and subscribers of a topic.

    Attributes:
        name: relative; a node's namespace decides where it is.
        type_name: of its messages, `nav_msgs/msg/Path`.
        qos: how our publishers offer it, or how we hear what others publish.
        publishers: nodes of this package that publish it; `every node` for all of them.
        subscribers: nodes of this package that hear it, besides the session recorder.
        is_recorded: whether the session recorder keeps it.
    """

    name: str
    type_name: str
    qos: QualityOfService
    publishers: tuple[str, ...] = ()
    subscribers: tuple[str, ...] = ()
    is_recorded: bool = True


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
# How a person pushes the simulated arm: a wrench on the tool, or on a link.
PERSON_WRENCH_TOPIC = 'person/wrench'
# What the arm tells about its mode where franka_msgs, and with it robot_state, is missing.
ARM_STATUS_TOPIC = 'arm/status'
# CRISP's controllers listen here.
CRISP_TARGET_JOINT_TOPIC = 'target_joint'
CRISP_TARGET_POSE_TOPIC = 'target_pose'

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

# As publisher or subscriber of a topic: all nodes.
EVERY_NODE = 'every node'

_PATH = 'nav_msgs/msg/Path'
_STATUS = 'diagnostic_msgs/msg/DiagnosticStatus'
_NUMBERS = 'std_msgs/msg/Float64MultiArray'
_CORRECTIONS = 'trajectory_msgs/msg/MultiDOFJointTrajectory'
_JOINTS = 'sensor_msgs/msg/JointState'
_POSE = 'geometry_msgs/msg/PoseStamped'
_WRENCH = 'geometry_msgs/msg/WrenchStamped'

_PLAYBACK = 'trajectory_playback'
_RECORDER = 'correction_recorder'
_INFERENCE = 'reward_inference'
_CONDUCTOR = 'session_conductor'
_BAG = 'session_recorder'
_ARM = 'simulated_arm'
_PARTICIPANT = 'simulated_participant'
_CONSOLE = 'console'
_MONITOR = 'session_monitor'
_PLAYER = 'bag_player'


def _topic(
    name: str,
    type_name: str,
    qos: QualityOfService,
    publishers: tuple[str, ...] = (),
    subscribers: tuple[str, ...] = (),
    *,
    is_recorded: bool = True,
) -> TopicSpecification:
    return TopicSpecification(
        name=name,
        type_name=type_name,
        qos=qos,
        publishers=publishers,
        subscribers=subscribers,
        is_recorded=is_recorded,
    )


_SPECIFICATIONS = (
    _topic(
        PLAN_TOPIC,
        _PATH,
        LATCHED,
        (_INFERENCE,),
        (_RECORDER, _PLAYBACK, _PARTICIPANT, _CONSOLE, _MONITOR),
    ),
    _topic(
        PLAYBACK_STATUS_TOPIC,
        _STATUS,
        LATCHED,
        (_PLAYBACK,),
        (_RECORDER, _INFERENCE, _CONDUCTOR, _PARTICIPANT, _CONSOLE, _MONITOR),
    ),
    # A shift that comes late is wrong: better the next one.
    _topic(
        DEFORMATION_TOPIC,
        'geometry_msgs/msg/Vector3Stamped',
        NEWEST,
        (_RECORDER,),
        (_PLAYBACK, _INFERENCE),
    ),
    _topic(CORRECTIONS_TOPIC, _CORRECTIONS, KEPT, (_RECORDER,), (_INFERENCE,)),
    _topic(CONTACTS_TOPIC, _STATUS, KEPT, (_RECORDER,)),
    _topic(
        RECORDER_STATUS_TOPIC, _STATUS, LATCHED, (_RECORDER,), (_INFERENCE, _CONDUCTOR, _CONSOLE)
    ),
    _topic(
        THETA_TOPIC,
        _NUMBERS,
        LATCHED,
        (_INFERENCE,),
        (
            _CONSOLE,
            _MONITOR,
        ),
    ),
    _topic(THETA_SAMPLES_TOPIC, _NUMBERS, LATCHED, (_INFERENCE,)),
    _topic(
        DIAGNOSTICS_TOPIC,
        'diagnostic_msgs/msg/DiagnosticArray',
        REPORTED,
        (_PLAYBACK, _RECORDER, _INFERENCE, _BAG),
        (_CONDUCTOR, _CONSOLE, _MONITOR),
    ),
    _topic(
        MARKERS_TOPIC, 'visualization_msgs/msg/MarkerArray', LATCHED, (_INFERENCE,), (_CONSOLE,)
    ),
    _topic(
        SESSION_STATUS_TOPIC,
        _STATUS,
        LATCHED,
        (_CONDUCTOR,),
        (
            _CONSOLE,
            _MONITOR,
        ),
    ),
    _topic(
        INFERENCE_STATUS_TOPIC, _STATUS, LATCHED, (_INFERENCE,), (_CONDUCTOR, _CONSOLE, _MONITOR)
    ),
    _topic(
        PARTICIPANT_STATUS_TOPIC,
        _STATUS,
        LATCHED,
        (_PARTICIPANT,),
        (
            _CONSOLE,
            _MONITOR,
        ),
    ),
    _topic(PARTICIPANT_IDEAL_TOPIC, _PATH, LATCHED, (_PARTICIPANT,), (_INFERENCE, _CONSOLE)),
    _topic(PARTICIPANT_CORRECTIONS_TOPIC, _CORRECTIONS, KEPT, (_PARTICIPANT,)),
    _topic(ANSWERS_TOPIC, _STATUS, KEPT),
    _topic(MARKS_TOPIC, _STATUS, KEPT, (_CONSOLE,)),
    _topic(JOY_TOPIC, 'sensor_msgs/msg/Joy', NEWEST, (), (_RECORDER,)),
    _topic(TWIST_TOPIC, 'geometry_msgs/msg/TwistStamped', NEWEST, (), (_RECORDER,)),
    _topic(ARM_STATUS_TOPIC, _STATUS, LATCHED, (_ARM,), (_PLAYBACK, _CONSOLE)),
    _topic(PERSON_WRENCH_TOPIC, _WRENCH, NEWEST, (_PARTICIPANT, _CONSOLE), (_ARM,)),
    # What explains a fault afterwards: who was there, and what they said.
    _topic(HEARTBEAT_TOPIC, 'std_msgs/msg/String', REPORTED, (EVERY_NODE,), (_PLAYBACK, _CONSOLE)),
    _topic(LOG_TOPIC, 'rcl_interfaces/msg/Log', LOGGED, (EVERY_NODE,), (_CONSOLE,)),
    _topic(RECORDED_PLAN_TOPIC, _PATH, KEPT, (_PLAYER,), (_INFERENCE,), is_recorded=False),
    _topic(CRISP_TARGET_JOINT_TOPIC, _JOINTS, COMMANDED, (_PLAYBACK,)),
    _topic(CRISP_TARGET_POSE_TOPIC, _POSE, COMMANDED, (_PLAYBACK,)),
    _topic(EXTERNAL_JOINT_TORQUES_TOPIC, _JOINTS, NEWEST, (_ARM,), (_RECORDER, _PLAYBACK)),
    _topic(
        MEASURED_JOINT_STATES_TOPIC,
        _JOINTS,
        NEWEST,
        (_ARM,),
        (_RECORDER, _PLAYBACK, _CONSOLE),
    ),
    _topic(CURRENT_POSE_TOPIC, _POSE, NEWEST, (_ARM,), (_RECORDER, _PLAYBACK, _PARTICIPANT)),
    _topic(DESIRED_JOINT_STATES_TOPIC, _JOINTS, NEWEST, (_ARM,), is_recorded=False),
    _topic(LAST_DESIRED_POSE_TOPIC, _POSE, NEWEST, (_ARM,), is_recorded=False),
    _topic(WRENCH_IN_BASE_TOPIC, _WRENCH, NEWEST, (_ARM,), (_RECORDER, _CONSOLE)),
    _topic(WRENCH_IN_STIFFNESS_TOPIC, _WRENCH, NEWEST, (_ARM,), is_recorded=False),
    _topic(
        ROBOT_STATE_TOPIC,
        'franka_msgs/msg/FrankaRobotState',
        REPORTED,
        (_ARM,),
        (_RECORDER, _PLAYBACK),
    ),
    _topic(JOINT_STATES_TOPIC, _JOINTS, REPORTED, (_ARM,), (_RECORDER,), is_recorded=False),
)
TOPICS: Mapping[str, TopicSpecification] = MappingProxyType(
    {each.name: each for each in _SPECIFICATIONS}
)
# Those of the arm, as franka_ros2 publishes them: their names are not ours.
ARM_TOPICS = tuple(
    name for name in TOPICS if name.startswith(FRANKA_BROADCASTER) or name == JOINT_STATES_TOPIC
)
# Without these no correction can be felt, placed or played, and the mode of the arm is unknown.
REQUIRED_ARM_TOPICS = (
    EXTERNAL_JOINT_TORQUES_TOPIC,
    MEASURED_JOINT_STATES_TOPIC,
    CURRENT_POSE_TOPIC,
    ROBOT_STATE_TOPIC,
)
# Others' nodes speak or listen there: devices, and controllers.
FOREIGN_TOPICS = (
    JOY_TOPIC,
    TWIST_TOPIC,
    CRISP_TARGET_JOINT_TOPIC,
    CRISP_TARGET_POSE_TOPIC,
    *ARM_TOPICS,
)


def command_topic(controller: str) -> str:
    """Return the topic on which a joint trajectory controller takes its trajectories."""
    return f'{controller}/joint_trajectory'
