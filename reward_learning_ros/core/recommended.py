"""The model of the person recommended for passes; docs/learning.md says why and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reward_learning_ros.core.domain import BetaPrior, BotherPrior
from reward_learning_ros.core.human_model import INDEPENDENT
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.samplers.ensemble import EnsembleSize
from reward_learning_ros.core.task import Task

# How far a hand misses what it means along each axis, for `Task.softened`.
MOTOR_NOISE_M = 0.01
# Options of `infer`. Silence says that no push was worth the bother, whatever that is. Whoever
# corrects a whole pass picks what they want rather reliably: with a smaller β every pass could be
# chance, and of some people nothing would ever be learned; with a larger one, people who are no
# draws from the model are taken to be surer than anybody is. Who pushes once a pass has a κ near
# 2; with a larger bound than 3, a pass without any push would say next to nothing.
PASS_MODEL: Mapping[str, Any] = MappingProxyType(
    {'silence': 'atom', 'bother': BotherPrior(high=3.0), 'beta': BetaPrior(low=5.0, high=30.0)}
)

# How hard to work between two passes. On Reach one random pass in twenty delivers, and fewer with
# silence in it: with a quarter of these seeds, or steps, the mean of θ moved by its whole spread
# from seed to seed, and β was found twice too large. Where chains mix badly a few seconds more are
# better than a pass from which nothing follows: of an untrusted posterior no plan is shown.
PASS_SETTINGS = Settings(
    warmup=240,
    batch=125,
    thin=3,
    target_ess=100.0,
    target_r_hat=1.02,
    max_draws=8000,
    enough_draws=1000,
    ensemble=EnsembleSize(seeds=16384, members=96, anneal_steps=48),
)


def pass_model(task: Task) -> Mapping[str, Any]:
    """Return the options of `infer` for passes of a task.

    A library of whole trajectories has none that builds on another: there a pass is one
    demonstration, of what it came to, and a pass without a push one of the plan.
    """
    if task.library is None:
        return PASS_MODEL
    return MappingProxyType({'dependence': INDEPENDENT, 'beta': PASS_MODEL['beta']})
