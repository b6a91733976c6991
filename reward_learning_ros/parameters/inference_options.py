"""Choices about the inference that several configurations offer, each said once."""

from __future__ import annotations

from typing import Any

from reward_learning_ros.parameters.specification import parameter

# Models of the person: the one for whole passes (`core.PASS_MODEL`), and the paper's.
PASS, PAPER = 'pass', 'paper'
HUMAN_MODELS = (PASS, PAPER)
# When the plan that is shown is replaced.
BETWEEN_PASSES, AT_ONCE = 'between_passes', 'at_once'
SILENCES = ('zero', 'left_out', 'atom')
# As `core.Task` has it.
_MAX_MOTOR_NOISE_M = 0.1


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


def human_model_parameter() -> Any:
    """Return the field for the model of the person, as far as nothing else is chosen."""
    return parameter(
        PASS,
        description='Model of the person: for whole passes, or as in the paper (sharp features, '
        'silence as a delta of zero)',
        choices=HUMAN_MODELS,
    )


def silence_parameter() -> Any:
    """Return the field for what a waypoint without a push says."""
    return parameter(
        '',
        description='What a waypoint without a push says: a delta of zero, nothing, or that no '
        'push was worth the bother; unset, as human_model has it',
        choices=('', *SILENCES),
    )


def motor_noise_parameter() -> Any:
    """Return the field for how far a hand misses what it means."""
    return parameter(
        None,
        description='How far a hand misses what it means along each axis; features are softened '
        'by it, 0 leaves them sharp; unset, as human_model has it',
        minimum=0.0,
        maximum=_MAX_MOTOR_NOISE_M,
        unit='m',
    )


def replan_parameter() -> Any:
    """Return the field for when the plan that is shown is replaced."""
    return parameter(
        BETWEEN_PASSES,
        description='When the plan is replaced by what was learned: between passes, or at once, '
        'in the middle of a pass, which cuts off what the person was about to teach',
        choices=(BETWEEN_PASSES, AT_ONCE),
    )
