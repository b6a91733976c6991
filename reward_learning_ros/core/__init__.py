"""Bayesian reward learning, tasks and planning: no ROS, no physics engine.

Names are imported when they are first used, so that importing this package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reward_learning_ros.core.domain import BetaPrior, BotherPrior, ThetaDomain
    from reward_learning_ros.core.inference import Inference, Progress, infer
    from reward_learning_ros.core.passes import (
        MOTOR_NOISE_M,
        PASS_MODEL,
        PASS_SETTINGS,
        pass_model,
    )
    from reward_learning_ros.core.planner import plan, regret
    from reward_learning_ros.core.posterior import Posterior
    from reward_learning_ros.core.reference import reference_posterior
    from reward_learning_ros.core.replanning import (
        ChosenPlan,
        accepted_plan,
        choose_plan,
        doubt_after,
        unasked_plan,
    )
    from reward_learning_ros.core.samplers.base import Settings
    from reward_learning_ros.core.samplers.ensemble import EnsembleSize
    from reward_learning_ros.core.simulated_human import simulate_corrections
    from reward_learning_ros.core.task import Task, TrajectorySpace
    from reward_learning_ros.core.tasks import load_task, task_names
    from reward_learning_ros.core.trajectory import CorrectionSequence

_PLACES = {
    'BetaPrior': 'domain',
    'BotherPrior': 'domain',
    'ChosenPlan': 'replanning',
    'CorrectionSequence': 'trajectory',
    'EnsembleSize': 'samplers.ensemble',
    'Inference': 'inference',
    'MOTOR_NOISE_M': 'passes',
    'PASS_MODEL': 'passes',
    'PASS_SETTINGS': 'passes',
    'Posterior': 'posterior',
    'Progress': 'inference',
    'Settings': 'samplers.base',
    'Task': 'task',
    'ThetaDomain': 'domain',
    'TrajectorySpace': 'task',
    'accepted_plan': 'replanning',
    'choose_plan': 'replanning',
    'doubt_after': 'replanning',
    'infer': 'inference',
    'load_task': 'tasks',
    'pass_model': 'passes',
    'plan': 'planner',
    'reference_posterior': 'reference',
    'regret': 'planner',
    'simulate_corrections': 'simulated_human',
    'task_names': 'tasks',
    'unasked_plan': 'replanning',
}

__all__ = [
    'MOTOR_NOISE_M',
    'PASS_MODEL',
    'PASS_SETTINGS',
    'BetaPrior',
    'BotherPrior',
    'ChosenPlan',
    'CorrectionSequence',
    'EnsembleSize',
    'Inference',
    'Posterior',
    'Progress',
    'Settings',
    'Task',
    'ThetaDomain',
    'TrajectorySpace',
    'accepted_plan',
    'choose_plan',
    'doubt_after',
    'infer',
    'load_task',
    'pass_model',
    'plan',
    'reference_posterior',
    'regret',
    'simulate_corrections',
    'task_names',
    'unasked_plan',
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(import_module(f'{__name__}.{_PLACES[name]}'), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
