"""Which topic of a bag plays which part, in our own sessions and in other people's bags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.recording.problems import BagError, TopicInBag

_BROADCASTER = 'franka_robot_state_broadcaster'


@dataclass(frozen=True, kw_only=True)
class Part:
    """What a topic is for.

    Attributes:
        topic: its name in a session, without a namespace.
        type_name: of its messages.
    """

    topic: str
    type_name: str


PLAN = 'plan'
STATUS = 'status'
CORRECTIONS = 'corrections'
CONTACTS = 'contacts'
THETA = 'theta'
SAMPLES = 'samples'
INFERENCE = 'inference'
PARTICIPANT = 'participant'
PARTICIPANT_CORRECTIONS = 'participant_corrections'
SESSION = 'session'
ANSWERS = 'answers'
MARKS = 'marks'
TORQUES = 'torques'
JOINTS = 'joints'
POSE = 'pose'
WRENCH = 'wrench'
ROBOT_STATE = 'robot_state'

PARTS: Mapping[str, Part] = {
    PLAN: Part(topic='plan', type_name='nav_msgs/msg/Path'),
    STATUS: Part(topic='playback/status', type_name='diagnostic_msgs/msg/DiagnosticStatus'),
    CORRECTIONS: Part(
        topic='corrections', type_name='trajectory_msgs/msg/MultiDOFJointTrajectory'
    ),
    CONTACTS: Part(topic='contacts', type_name='diagnostic_msgs/msg/DiagnosticStatus'),
    THETA: Part(topic='theta', type_name='std_msgs/msg/Float64MultiArray'),
    SAMPLES: Part(topic='theta/samples', type_name='std_msgs/msg/Float64MultiArray'),
    INFERENCE: Part(topic='inference/status', type_name='diagnostic_msgs/msg/DiagnosticStatus'),
    PARTICIPANT: Part(
        topic='participant/status', type_name='diagnostic_msgs/msg/DiagnosticStatus'
    ),
    PARTICIPANT_CORRECTIONS: Part(
        topic='participant/corrections', type_name='trajectory_msgs/msg/MultiDOFJointTrajectory'
    ),
    SESSION: Part(topic='session/status', type_name='diagnostic_msgs/msg/DiagnosticStatus'),
    ANSWERS: Part(topic='questionnaire/answers', type_name='diagnostic_msgs/msg/DiagnosticStatus'),
    MARKS: Part(topic='session/marks', type_name='diagnostic_msgs/msg/DiagnosticStatus'),
    TORQUES: Part(
        topic=f'{_BROADCASTER}/external_joint_torques', type_name='sensor_msgs/msg/JointState'
    ),
    JOINTS: Part(
        topic=f'{_BROADCASTER}/measured_joint_states', type_name='sensor_msgs/msg/JointState'
    ),
    POSE: Part(topic=f'{_BROADCASTER}/current_pose', type_name='geometry_msgs/msg/PoseStamped'),
    WRENCH: Part(
        topic=f'{_BROADCASTER}/external_wrench_in_base_frame',
        type_name='geometry_msgs/msg/WrenchStamped',
    ),
    ROBOT_STATE: Part(
        topic=f'{_BROADCASTER}/robot_state', type_name='franka_msgs/msg/FrankaRobotState'
    ),
}


class SessionTopics:
    """The topics of a bag by the parts that they play.

    Without a name that was given, a part is played by the topic of its name, at the top or in any
    one namespace.
    """

    def __init__(
        self, path: Path, topics: Mapping[str, TopicInBag], given: Mapping[str, str]
    ) -> None:
        """Find the topics.

        Args:
            path: Of the bag.
            topics: What is in it, by name.
            given: Names of topics by part, where they are other than ours.

        Raises:
            UnknownNameError: A part or a topic that is given is not there.
            BagError: A topic that is given has another type than its part needs.
            InvalidInputError: A part could be played by several topics.
        """
        self._path = path
        self._found: dict[str, TopicInBag] = {}
        for part in given:
            if part not in PARTS:
                raise UnknownNameError('part of a topic', part, PARTS)
        for part, needed in PARTS.items():
            if part in given:
                topic = topics.get(given[part])
                if topic is None:
                    raise UnknownNameError('topic', given[part], topics)
                if topic.type_name != needed.type_name:
                    raise BagError(
                        f'{path}: topic {topic.name} is {topic.type_name}; as {part} it must be '
                        f'{needed.type_name}'
                    )
                self._found[part] = topic
            else:
                self._find(part, needed, topics)

    @classmethod
    def in_namespace(
        cls, path: Path, topics: Mapping[str, TopicInBag], namespace: str
    ) -> SessionTopics:
        """Return the topics of the nodes of one namespace, as far as they are there."""
        prefix = f'/{namespace.strip("/")}/' if namespace.strip('/') else '/'
        names = {part: prefix + needed.topic for part, needed in PARTS.items()}
        found = cls(path, {}, {})
        found._found = {part: topics[name] for part, name in names.items() if name in topics}
        return found

    def _find(self, part: str, needed: Part, topics: Mapping[str, TopicInBag]) -> None:
        suitable = [
            topic
            for name, topic in topics.items()
            if topic.count
            and topic.type_name == needed.type_name
            and name.endswith(f'/{needed.topic}')
            # What a participant means is no correction that was made.
            and not any(
                name.endswith(f'/{other.topic}')
                for other in PARTS.values()
                if other.topic.endswith(f'/{needed.topic}')
            )
        ]
        if len(suitable) > 1:
            names = ', '.join(topic.name for topic in suitable)
            raise InvalidInputError(
                f'{self._path}: several topics could be {part}: {names}; name one of them'
            )
        if suitable:
            self._found[part] = suitable[0]

    def __contains__(self, part: str) -> bool:
        return part in self._found

    def __getitem__(self, part: str) -> TopicInBag:
        """Return the topic that plays a part.

        Raises:
            BagError: None does.
        """
        try:
            return self._found[part]
        except KeyError:
            needed = PARTS[part]
            raise BagError(
                f'{self._path}: there is no topic {needed.topic} of type {needed.type_name} with '
                f'messages; another name can be given as {part}=/NAME'
            ) from None

    def names(self, *parts: str) -> list[str]:
        """Return the names of the topics of those parts that are played."""
        return [self._found[part].name for part in parts if part in self._found]
