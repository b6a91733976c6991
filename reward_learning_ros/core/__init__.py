"""Bayesian reward learning: the human model, the samplers, the posterior and the planner.

Imports nothing of this package; no ROS.

The public names are imported when they are first used, so that importing this package is quick;
tasks are loaded by name from `reward_learning_ros.tasks`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reward_learning_ros.core.domain import BetaPrior, BotherPrior, ThetaDomain
    from reward_learning_ros.core.inference import Inference, Progress, infer
    from reward_learning_ros.core.planner import plan, regret
    from reward_learning_ros.core.posterior import Posterior
    from reward_learning_ros.core.recommended import (
        MOTOR_NOISE_M,
        PASS_MODEL,
        PASS_SETTINGS,
        pass_model,
    )
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
    from reward_learning_ros.core.trajectory import CorrectionSequence
    from reward_learning_ros.tasks import load_task, task_names

_PLACES = {
    'BetaPrior': 'core.domain',
    'BotherPrior': 'core.domain',
    'ChosenPlan': 'core.replanning',
    'CorrectionSequence': 'core.trajectory',
    'EnsembleSize': 'core.samplers.ensemble',
    'Inference': 'core.inference',
    'MOTOR_NOISE_M': 'core.recommended',
    'PASS_MODEL': 'core.recommended',
    'PASS_SETTINGS': 'core.recommended',
    'Posterior': 'core.posterior',
    'Progress': 'core.inference',
    'Settings': 'core.samplers.base',
    'Task': 'core.task',
    'ThetaDomain': 'core.domain',
    'TrajectorySpace': 'core.task',
    'accepted_plan': 'core.replanning',
    'choose_plan': 'core.replanning',
    'doubt_after': 'core.replanning',
    'infer': 'core.inference',
    'load_task': 'tasks',
    'pass_model': 'core.recommended',
    'plan': 'core.planner',
    'reference_posterior': 'core.reference',
    'regret': 'core.planner',
    'simulate_corrections': 'core.simulated_human',
    'task_names': 'tasks',
    'unasked_plan': 'core.replanning',
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
    value = getattr(import_module(f'reward_learning_ros.{_PLACES[name]}'), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
