"""Set the collision thresholds of a real arm, before a controller commands it.

The arm takes them only while it is idle, so this comes between the bringup and the activation of
the controller; `ros2 launch reward_learning_ros franka.launch.py` does it in this order.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from reward_learning_ros.arm.franka import ThresholdParameters
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import from_arguments, parameter
from reward_learning_ros.parameters.shared import STOP_TORQUE_NM

NAME = 'thresholds'
HELP = 'set the collision thresholds of a real arm'


@dataclass(frozen=True, kw_only=True)
class ThresholdsParameters(ThresholdParameters):
    """The collision thresholds, and the arm that they are set on."""

    namespace: str = parameter('', description='ROS namespace of the arm', is_namespace=True)
    arm_prefix: str = parameter(
        '', description='Tells the arms of one description apart, left for example; empty for none'
    )
    stop_torque_nm: tuple[float, ...] = parameter(
        STOP_TORQUE_NM,
        description='External torque of each joint at which playback holds',
        minimum=0.1,
        unit='N·m',
    )
    timeout_sec: float = parameter(
        30.0,
        description='How long to wait for the arm to be brought up, and for its answer',
        minimum=0.1,
        maximum=600.0,
        unit='s',
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the thresholds."""
    add_parameters(parser, ThresholdsParameters)


def run(options: argparse.Namespace) -> int:
    """Set the thresholds and return 0.

    Raises:
        RewardLearningError: They contradict each other, types are not installed, no arm was
            found, a controller commands it, or it refuses.
    """
    import numpy as np

    from reward_learning_ros.playback.preflight import check_thresholds

    config = from_arguments(ThresholdsParameters, options)
    check = check_thresholds(config, np.array(config.stop_torque_nm))
    if check.blocks:
        raise InvalidInputError(f'{check.found}: {check.advice}')
    from reward_learning_ros.cli._temporary_node import set_thresholds

    set_thresholds(config)
    print(f'the arm has taken its collision thresholds: {check.found}')
    return 0
