"""The configuration of the smoke nodes, without ROS: the command line is derived from it too."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import Parameters, parameter

CALLER = 'caller'
ECHO = 'echo'


@dataclass(frozen=True, kw_only=True)
class SmokeParameters(Parameters):
    """What a node of the smoke run does."""

    role: str = parameter(
        CALLER, description='Sends and compares, or sends back', choices=(CALLER, ECHO)
    )
    waypoints: int = parameter(20, description='Waypoints of the plan', minimum=1, maximum=10000)
    seed: int = parameter(0, description='Seed of the random plan', minimum=0)
    timeout_sec: float = parameter(
        30.0, description='When to give up', minimum=0.1, maximum=3600.0, unit='s'
    )
