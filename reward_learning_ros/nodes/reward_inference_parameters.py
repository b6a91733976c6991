"""The configuration of the inference's node, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.learning.parameters import LearningParameters
from reward_learning_ros.parameters import parameter

ONLINE = 'online'
AFTER_PASS = 'after_pass'


@dataclass(frozen=True, kw_only=True)
class RewardInferenceParameters(LearningParameters):
    """What is learned, how, and when."""

    mode: str = parameter(
        ONLINE,
        description='When to infer: after every correction, or after a pass with many',
        choices=(ONLINE, AFTER_PASS),
    )
    bag: str = parameter(
        '',
        description="The session's recording: if it is there already, what was learned before is "
        'taken from it',
    )
