"""Parameters and values that several configurations share, each defined once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.parameters.specification import parameter

SIMULATED = 'simulated'
FRANKA = 'franka'
ARMS = (SIMULATED, FRANKA)


KINESTHETIC, JOY, TWIST = 'kinesthetic', 'joy', 'twist'


def correction_source_parameter() -> Any:
    """Return the field for what the person corrects with."""
    return parameter(
        KINESTHETIC,
        description='What the person corrects with: the hand on the arm, a joystick, or velocity '
        'commands (SpaceMouse, MoveIt Servo)',
        choices=(KINESTHETIC, JOY, TWIST),
    )


# Models of the person: the one for whole passes (`core.PASS_MODEL`), and the paper's.
PASS, PAPER = 'pass', 'paper'
HUMAN_MODELS = (PASS, PAPER)
# When the plan that is shown is replaced.
BETWEEN_PASSES, AT_ONCE = 'between_passes', 'at_once'
SILENCES = ('zero', 'left_out', 'atom')
# As `core.infer` has them; named here so that reading options needs no compiled code.
METHODS = ('double_mh', 'ignore', 'maximum', 'sampling', 'tabulated')
# As `core.Task` has it.
_MAX_MOTOR_NOISE_M = 0.1


def method_parameter() -> Any:
    """Return the parameter for the sampler."""
    return parameter(
        'double_mh',
        description='How the normalizer is dealt with',
        choices=METHODS,
    )


def dependence_parameter() -> Any:
    """Return the parameter for dependent or independent corrections."""
    return parameter(
        'dependent',
        description='Whether a correction builds on those before it',
        choices=('dependent', 'independent'),
    )


def beta_parameter() -> Any:
    """Return the parameter for the person's rationality β."""
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


# Torque over all joints with which a contact begins.
DETECTION_TORQUE_NM = 0.8
# External torque of each joint at which playback holds the arm.
STOP_TORQUE_NM = (25.0, 25.0, 25.0, 25.0, 9.0, 9.0, 9.0)
# External torque of each joint, and force at the tool, at which the arm stops in a reflex.
REFLEX_TORQUE_NM = (35.0, 35.0, 35.0, 35.0, 12.0, 12.0, 12.0)
REFLEX_FORCE_N = 70.0
# Farthest live shift of a plan: nobody tells playback of a larger one, and it takes none.
MAX_SHIFT_M = 0.6
# How long a watched node may be silent, before the session waits for it and playback holds.
WATCH_TIMEOUT_SEC = 2.5
# How the chunks of a recording may be compressed.
NO_COMPRESSION = 'none'
COMPRESSIONS = (NO_COMPRESSION, 'lz4', 'zstd')
# A vector shortened to a limit must not exceed it by a rounding error.
_ROUNDING = 1e-9


def limited(vector: NDArray[np.float64], largest: float) -> NDArray[np.float64]:
    """Return the vector, shortened to a length of `largest` if it is longer."""
    size = float(np.linalg.norm(vector))
    return vector * (largest * (1.0 - _ROUNDING) / size) if size > largest else vector
