"""The configuration of the inference's node, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.learning.learning_parameters import LearningParameters
from reward_learning_ros.parameters import parameter
from reward_learning_ros.parameters.shared import (
    AT_ONCE,
    BETWEEN_PASSES,
    replan_parameter,
)

__all__ = ['AT_ONCE', 'BETWEEN_PASSES', 'RewardInferenceParameters']


@dataclass(frozen=True, kw_only=True)
class RewardInferenceParameters(LearningParameters):
    """What is learned, how, and when the plan is replaced."""

    replan: str = replan_parameter()
    infers_ahead: bool = parameter(
        True,
        description='Whether it is inferred during a pass, once for all that was told, what '
        'follows if nobody pushes any more: then the next plan is there when the pass ends',
    )
    bag: str = parameter(
        '',
        description="The session's recording: if it is there already, what was learned before is "
        'taken from it',
    )
