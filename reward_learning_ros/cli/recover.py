"""Recover the arm after a reflex or a user stop: clear its errors, activate hardware, controllers.

Each step is reported, and a step that fails ends the recovery. Recovery never moves the arm and is
no consent to a motion. If a session runs, it does the work (`session/recover`).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from reward_learning_ros.arm.franka import ARM_CONTROLLER, STATE_BROADCASTER
from reward_learning_ros.parameters import Parameters, from_arguments, parameter
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters.shared import ARMS, FRANKA

NAME = 'recover'
HELP = 'recover the arm after a reflex or a user stop'

EXIT_RECOVERED = 0
EXIT_NOT_RECOVERED = 1


@dataclass(frozen=True, kw_only=True)
class RecoverParameters(Parameters):
    """Which arm is recovered, and where it is looked for."""

    arm: str = parameter(FRANKA, description='Which arm it is', choices=ARMS)
    namespace: str = parameter(
        '', description='ROS namespace of the arm and its session', is_namespace=True
    )
    arm_prefix: str = parameter(
        '', description='Tells the arms of one description apart, left for example; empty for none'
    )
    controllers: tuple[str, ...] = parameter(
        (STATE_BROADCASTER, ARM_CONTROLLER),
        description='Controllers that are activated again',
    )
    discovery_sec: float = parameter(
        5.0,
        description='How long to wait for the arm or a session to be found',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the recovery."""
    add_parameters(parser, RecoverParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Recover the arm, print what became of each step, and return 0 only if all were done.

    Raises:
        RewardLearningError: There is no ROS 2, types are not installed, or no arm was found.
    """
    config = from_arguments(RecoverParameters, options)
    from reward_learning_ros.cli._temporary_node import recover

    is_complete, report = recover(config)
    print(report)
    return EXIT_RECOVERED if is_complete else EXIT_NOT_RECOVERED
