"""From the corrections of a session to θ and the next plan, the same live and offline.

Imports core, parameters, interface, arm and playback; no ROS.

The live node and re-inference from a recording both put what they heard into a `Learner` and what
it gives into `learn`, so they agree to the last digit.
"""

from reward_learning_ros.learning.inference_result import InferenceResult, learn, warm_up
from reward_learning_ros.learning.learner import Corrections, Learner, stamp_of
from reward_learning_ros.learning.learning_parameters import (
    LearningParameters,
    parameters_as_recorded,
)
from reward_learning_ros.learning.tool_paths import ToolPaths

__all__ = [
    'Corrections',
    'InferenceResult',
    'Learner',
    'LearningParameters',
    'ToolPaths',
    'learn',
    'parameters_as_recorded',
    'stamp_of',
    'warm_up',
]
