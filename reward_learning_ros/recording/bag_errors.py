"""What can go wrong with a bag."""

from __future__ import annotations

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
