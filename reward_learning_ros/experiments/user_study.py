"""The paper's user study with simulated participants: corrections that build on each other.

Press, Reach and Push. Each participant teaches three θ of each task by a sequence of dependent
corrections; every method infers them as dependent and as independent.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import positive_number, whole_number
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.human_model import (
    DEPENDENCES,
    DEPENDENT,
    INDEPENDENT,
    InadmissibleCorrectionWarning,
)
from reward_learning_ros.core.inference import infer
from reward_learning_ros.core.planner import plan
from reward_learning_ros.core.samplers.base import Problem
from reward_learning_ros.core.samplers.kernels import Space
from reward_learning_ros.core.samplers.normalizer import Maximum, Table
from reward_learning_ros.core.samplers.optimum import best_statistics
from reward_learning_ros.core.simulated_human import simulate_corrections
from reward_learning_ros.core.task import Task
from reward_learning_ros.experiments.budget import METHODS, ONE_AUXILIARY, find_budget
from reward_learning_ros.experiments.rows import Job, Result, Row, Timing, run_jobs
from reward_learning_ros.experiments.simulations import BETAS, Setup, person_seed, theta_domain
from reward_learning_ros.tasks import load_task

TASKS = ('press', 'reach', 'push_study')
PARTICIPANTS = 10
GOALS = 3
# What they teach: the task's presets, as in the paper, or θ that nobody has chosen.
PRESETS, PRIOR = 'presets', 'prior'
GOAL_KINDS = (PRESETS, PRIOR)
# A dependent sequence is one datum with one auxiliary, so one for all data is only different where
# corrections are treated as independent.
CONDITIONS = (
    *((method, dependence) for dependence in DEPENDENCES for method in METHODS),
    (ONE_AUXILIARY, INDEPENDENT),
)


def simulate_study(
    tasks: Sequence[str] = TASKS,
    *,
    betas: Sequence[float] = BETAS,
    participants: int = PARTICIPANTS,
    goals: str = PRESETS,
    setup: Setup | None = None,
    folder: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> Result:
    """Simulate participants; return a row for each of them, each θ and each condition.

    Args:
        tasks: Names of tasks that are corrected waypoint by waypoint.
        betas: How rational participants are.
        participants: How many.
        goals: Whether each teaches the first presets of a task, or θ drawn from the prior.
        setup: What all of them share.
        folder: Where rows are kept, and found again if the run was interrupted.
        workers: Processes; all cores by default.
        scheduler: Address of a Dask scheduler to work on in place of processes.
        on_done: Called after each trial.
    """
    whole_number(participants, 'participants', 1)
    for name in tasks:
        if _task(name).library is not None:
            raise InvalidInputError(
                f'task {name!r} is a library of whole trajectories, which nobody corrects; '
                f'allowed: {", ".join(TASKS)}'
            )
        # What has to be simulated for it is simulated now, not by the first workers.
        _task(name).prepare()
    jobs = [
        Job(
            task=name,
            beta=positive_number(beta, 'beta'),
            human=participant,
            goal=goals_of(_task(name), goals)[index],
        )
        for beta in betas
        for participant in range(participants)
        for name in tasks
        for index in range(GOALS)
    ]
    chosen = setup or Setup()
    return run_jobs(
        partial(simulate_trial, chosen),
        jobs,
        rows_each=len(CONDITIONS),
        setup=asdict(chosen),
        folder=folder,
        workers=workers,
        scheduler=scheduler,
        on_done=on_done,
    )


def goals_of(task: Task, kind: str = PRESETS) -> tuple[str, ...]:
    """Return the names of the θ that a participant teaches."""
    if kind not in GOAL_KINDS:
        raise UnknownNameError('kind of goals', kind, GOAL_KINDS)
    if kind == PRIOR:
        return tuple(f'{PRIOR} {index + 1}' for index in range(GOALS))
    names = tuple(task.presets)[:GOALS]
    if len(names) < GOALS:
        raise InvalidInputError(f'task {task.name!r} has fewer than {GOALS} presets to be taught')
    return names


def taught_theta(setup: Setup, job: Job) -> np.ndarray:
    """Return the θ (d,) that a participant teaches in a trial: a preset, or one of their own."""
    task = _task(job.task)
    if job.goal in task.presets:
        return np.array(task.presets[job.goal])
    domain = theta_domain(task, setup.domain)
    theta: np.ndarray = domain.sample(1, np.random.default_rng(_seeds(setup, job)[0]))[0]
    return theta


def _seeds(setup: Setup, job: Job) -> Sequence[np.random.SeedSequence]:
    """Return the seeds of what is wanted, of the person and of the inferences."""
    return person_seed(setup.seed, f'{job.task} {job.goal}', job.beta, job.human)


def simulate_trial(setup: Setup, job: Job) -> Result:
    """Simulate one participant who teaches one θ, and infer it in every condition."""
    task = _task(job.task)
    _, human_seed, infer_seed = _seeds(setup, job)
    theta = taught_theta(setup, job)
    ideal = _ideal_reward(task.name, tuple(map(float, theta)))
    count = len(task.plan) - task.space.fixed_waypoints
    corrections = simulate_corrections(task, theta, beta=job.beta, count=count, seed=human_seed)
    budget = find_budget(setup.budget)
    seed = int(infer_seed.generate_state(1)[0])
    rows, timings = [], []
    for method, dependence in CONDITIONS:
        options = budget.options(method, 1 if dependence == DEPENDENT else count)
        options['sampler'] = SharedMaximum if method == 'maximum' else None
        begin = time.process_time()
        with warnings.catch_warnings():
            # Dependent corrections may leave the space of independent trajectories.
            warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
            estimate = infer(
                task,
                corrections,
                dependence=dependence,
                beta=job.beta,
                theta=theta_domain(task, setup.domain),
                seed=seed,
                **options,
            ).mean
        seconds = time.process_time() - begin
        condition: dict[str, Any] = {**vars(job), 'method': method, 'dependence': dependence}
        timings.append(Timing(**condition, seconds=seconds))
        rows.append(
            Row(
                **condition,
                error=float(np.linalg.norm(theta - estimate)),
                regret=_regret(task, ideal, theta, estimate),
                theta=tuple(map(float, theta)),
                estimate=tuple(map(float, estimate)),
            )
        )
    return rows, timings


class SharedMaximum(Maximum):
    """The maximum, searched once for each space: what is best does not depend on the data."""

    def make_table(self, space: Space, index: int) -> Table:
        """Return the best corrections of a space, from an earlier problem if there was one."""
        problem = self._problem
        key = (problem.features, problem.domain.kind, *(array.tobytes() for array in space))
        if key not in _TABLES:
            _TABLES[key] = _best(problem, space)
        return _TABLES[key]


_TABLES: dict[tuple[Any, ...], Table] = {}


def _best(problem: Problem, space: Space) -> Table:
    # A seed of its own: the table must not depend on who asked first.
    seed = np.random.SeedSequence(0)
    statistics = best_statistics(problem.features, space, problem.domain, seed, problem.executor)
    return Table(statistics, np.zeros(len(statistics)))


def _regret(task: Task, ideal: float, theta: np.ndarray, estimate: np.ndarray) -> float:
    """Return what the best trajectory for θ̂ lacks of the ideal reward (equation U1)."""
    learned = float(task.evaluate(plan(task, estimate)) @ theta)
    # Should the search for θ̂ have found a better trajectory for θ, then that one is ideal.
    return max(0.0, ideal - learned)


@lru_cache(maxsize=8)
def _task(name: str) -> Task:
    return load_task(name)


@lru_cache(maxsize=32)
def _ideal_reward(name: str, theta: tuple[float, ...]) -> float:
    task = _task(name)
    return float(task.evaluate(plan(task, theta)) @ np.array(theta))
