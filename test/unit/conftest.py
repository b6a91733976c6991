"""Small things that the tests of the core and of tasks share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core import inference, planner, simulated_human
from reward_learning_ros.core.compiled import JIT_ENABLED
from reward_learning_ros.core.samplers import double_mh, optimum


@pytest.fixture(autouse=True)
def small_when_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do little work that no setting reaches when nothing is compiled."""
    if JIT_ENABLED:
        return
    little = dataclasses.replace(optimum.QUICK, searchers=1, stages=2, stage_steps=2)
    monkeypatch.setattr(optimum, 'QUICK', little)
    monkeypatch.setattr(optimum, 'STARTS', 16)
    monkeypatch.setattr(optimum, 'SEARCHED_PER_FEATURE', 1)
    monkeypatch.setattr(inference, 'SPREAD_SAMPLES', 16)
    monkeypatch.setattr(planner, 'POLISHING', ((2, 20),))
    monkeypatch.setattr(planner, 'RETIMED', 0)
    monkeypatch.setattr(double_mh, 'ADAPTED_ANCHORS', 2)
    monkeypatch.setattr(simulated_human, 'FINAL_STEPS', 10)
    monkeypatch.setattr(
        simulated_human, 'SIZE', core.EnsembleSize(seeds=400, members=20, anneal_steps=4)
    )


@pytest.fixture(scope='session')
def quick() -> core.Settings:
    """Settings for tests that look at the form of a result and not at its accuracy."""
    return core.Settings(
        chains=2,
        warmup=sized(80, 16),
        batch=sized(40, 24),
        thin=1,
        max_draws=sized(80, 48),
        inner_steps=sized(10, 2),
        candidates=16,
        samples=sized(200, 20),
        ensemble=core.EnsembleSize(
            seeds=sized(2000, 40), members=sized(32, 2), anneal_steps=sized(8, 1)
        ),
    )


@pytest.fixture(scope='session')
def corrections_of() -> Callable[..., core.CorrectionSequence]:
    """Make a few admissible corrections of a task's plan."""

    def make(task: core.Task, count: int = 3, seed: int = 0) -> core.CorrectionSequence:
        rng = np.random.default_rng(seed)
        fixed, waypoints = task.space.fixed_waypoints, len(task.plan)
        onsets = [fixed + index % (waypoints - fixed) for index in range(count)]
        width = np.minimum(-task.space.delta_low, task.space.delta_high)
        deltas = rng.uniform(-0.2, 0.2, (count, task.space.dimensions)) * width
        return core.CorrectionSequence.from_deltas(task.plan, deltas, onsets)

    return make
