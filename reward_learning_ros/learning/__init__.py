"""From corrections on the wire to θ and the next plan; no ROS.

The live node and re-inference from a recording both put what they heard into a `Learner` and what
it gives into `learn`, so they agree to the last digit.
"""

from reward_learning_ros.learning.learner import Learner
from reward_learning_ros.learning.lesson import Lesson, learn, warm_up
from reward_learning_ros.learning.parameters import LearningParameters
from reward_learning_ros.learning.tool_paths import ToolPaths

__all__ = ['Learner', 'LearningParameters', 'Lesson', 'ToolPaths', 'learn', 'warm_up']
