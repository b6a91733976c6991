"""Choices about the inference that several configurations offer, each said once."""

from __future__ import annotations

from typing import Any

from reward_learning_ros.parameters.specification import parameter


def method_parameter() -> Any:
    """Return the field for the sampler."""
    return parameter(
        'double_mh',
        description='How the normalizer is dealt with',
        choices=('double_mh', 'ignore', 'maximum', 'sampling'),
    )


def dependence_parameter() -> Any:
    """Return the field for the kind of corrections."""
    return parameter(
        'dependent',
        description='Whether a correction builds on those before it',
        choices=('dependent', 'independent'),
    )


def beta_parameter() -> Any:
    """Return the field for the person's rationality."""
    return parameter(
        None,
        description='How reliably the person picks what they want; inferred if unset',
        minimum=1e-3,
        maximum=1e4,
    )
