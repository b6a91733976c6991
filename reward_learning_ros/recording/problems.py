"""What can go wrong with a bag: errors, problems that do not keep the rest from being used."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError


class BagError(InvalidInputError):
    """A bag cannot be used; the message names the file, and the topic and time if it has them."""


class BagWriteError(RewardLearningError):
    """Messages could not be written; what was written before can still be read."""


class UnknownTypeError(InvalidInputError):
    """Nobody knows the definition of a message type."""

    def __init__(self, type_name: str) -> None:
        super().__init__(
            f'the definition of {type_name} is unknown: it is neither a standard message of ROS 2 '
            'nor in an installed package'
        )


NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that is wrong with a bag and did not keep the rest from being used."""

    file: Path
    text: str
    topic: str = ''
    time_ns: int | None = None

    def __str__(self) -> str:
        place = [str(self.file)]
        if self.topic:
            place.append(f'topic {self.topic}')
        if self.time_ns is not None:
            place.append(f'at {time_text(self.time_ns)}')
        return f'{", ".join(place)}: {self.text}'


def time_text(time_ns: int) -> str:
    """Return a time as `ros2 bag info` shows it: seconds, to the nanosecond."""
    return f'{time_ns // NANOSECONDS}.{time_ns % NANOSECONDS:09d} s'


@dataclass(frozen=True, kw_only=True)
class TopicInBag:
    """A topic that a file has.

    Attributes:
        name: full name.
        type_name: `nav_msgs/msg/Path`.
        definition: the type's definition, empty if the file has none.
        definition_format: `ros2msg` or `ros2idl`.
        encoding: of the messages; `cdr` is the only one that is read.
        count: how many messages the file has of it.
    """

    name: str
    type_name: str
    definition: str = ''
    definition_format: str = ''
    encoding: str = 'cdr'
    count: int = 0
