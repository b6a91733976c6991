"""The errors of sensing, all under the package's base class."""

from __future__ import annotations

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError


class DecodingError(RewardLearningError, ValueError):
    """Serialized bytes are not the message that they should be."""


class TruncatedMessageError(DecodingError):
    """A field would lie beyond the end of the bytes."""


class EncapsulationError(DecodingError):
    """The bytes are not plain CDR, version 1."""


class SampleShapeError(InvalidInputError):
    """An array of samples has a shape that its stream does not have."""
