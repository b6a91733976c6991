"""Which topic of a bag plays which part, in our own sessions and in other people's bags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.interface import topics as table
from reward_learning_ros.interface.topics import TopicSpecification
from reward_learning_ros.recording.problems import BagError, TopicInBag

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

PARTS: Mapping[str, TopicSpecification] = {
    part: table.TOPICS[name]
    for part, name in {
        PLAN: table.PLAN_TOPIC,
        STATUS: table.PLAYBACK_STATUS_TOPIC,
        CORRECTIONS: table.CORRECTIONS_TOPIC,
        CONTACTS: table.CONTACTS_TOPIC,
        THETA: table.THETA_TOPIC,
        SAMPLES: table.THETA_SAMPLES_TOPIC,
        INFERENCE: table.INFERENCE_STATUS_TOPIC,
        PARTICIPANT: table.PARTICIPANT_STATUS_TOPIC,
        PARTICIPANT_CORRECTIONS: table.PARTICIPANT_CORRECTIONS_TOPIC,
        SESSION: table.SESSION_STATUS_TOPIC,
        ANSWERS: table.ANSWERS_TOPIC,
        MARKS: table.MARKS_TOPIC,
        TORQUES: table.EXTERNAL_JOINT_TORQUES_TOPIC,
        JOINTS: table.MEASURED_JOINT_STATES_TOPIC,
        POSE: table.CURRENT_POSE_TOPIC,
        WRENCH: table.WRENCH_IN_BASE_TOPIC,
        ROBOT_STATE: table.ROBOT_STATE_TOPIC,
    }.items()
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
        names = {part: prefix + needed.name for part, needed in PARTS.items()}
        found = cls(path, {}, {})
        found._found = {part: topics[name] for part, name in names.items() if name in topics}
        return found

    def _find(
        self, part: str, needed: TopicSpecification, topics: Mapping[str, TopicInBag]
    ) -> None:
        suitable = [
            topic
            for name, topic in topics.items()
            if topic.count
            and topic.type_name == needed.type_name
            and name.endswith(f'/{needed.name}')
            # What a participant means is no correction that was made.
            and not any(
                name.endswith(f'/{other.name}')
                for other in PARTS.values()
                if other.name.endswith(f'/{needed.name}')
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
                f'{self._path}: there is no topic {needed.name} of type {needed.type_name} with '
                f'messages; another name can be given as {part}=/NAME'
            ) from None

    def names(self, *parts: str) -> list[str]:
        """Return the names of the topics of those parts that are played."""
        return [self._found[part].name for part in parts if part in self._found]
