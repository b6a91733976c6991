"""The configuration of the simulated participant's node, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import parameter
from reward_learning_ros.participant.decisions import ParticipantParameters
from reward_learning_ros.participant.hand import HandParameters


@dataclass(frozen=True, kw_only=True)
class SimulatedParticipantParameters(ParticipantParameters, HandParameters):
    """What the participant wants, and how they push."""

    prefix: str = parameter('fr3', description='Prefix of joints and frames')
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
    )
    rate_hz: float = parameter(
        50.0,
        description='How often the hand feels and pushes anew',
        minimum=10.0,
        maximum=1000.0,
        unit='Hz',
    )
