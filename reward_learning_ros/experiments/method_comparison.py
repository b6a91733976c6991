"""What each method costs, and how near it comes: to the exact posterior and to what people want.

People with θ from the prior correct each task; every method infers θ from the same corrections, on
one thread. Beside them is the posterior that is exact, as far as there is one: summed over a
library, by quadrature on the cup, and elsewhere reweighted from a large pool.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import positive_number, whole_number
from reward_learning_ros.core.domain import UNIT_NONNEGATIVE
from reward_learning_ros.core.errors import RewardLearningError, UnknownNameError
from reward_learning_ros.core.human_model import DEPENDENT, INDEPENDENT
from reward_learning_ros.core.inference import infer
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.core.reference import (
    GridPosterior,
    quadrature_posterior,
    reference_posterior,
)
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.simulated_human import simulate_corrections
from reward_learning_ros.core.task import Task
from reward_learning_ros.experiments.parameter_sweep import Cell, sweep
from reward_learning_ros.experiments.simulations import ExactPosterior, person_seed, theta_domain
from reward_learning_ros.tasks import load_task

# Name of each way of inference → method and settings. `double_mh_one` is as the paper prints it
# for independent demonstrations; of dependent corrections it is the same as `double_mh`.
METHODS: Mapping[str, tuple[str, Settings]] = {
    'ignore': ('ignore', Settings()),
    'sampling': ('sampling', Settings()),
    'maximum': ('maximum', Settings()),
    'double_mh': ('double_mh', Settings()),
    'double_mh_one': ('double_mh', Settings(one_auxiliary=True)),
    'double_mh_screened': ('double_mh', Settings(screening_steps=4)),
    'tabulated': ('tabulated', Settings()),
}
TASKS = ('cup', 'press', 'reach', 'push', 'close', 'pour')
BETAS = (5.0,)
# Of each person: one after the other of a plan, or demonstrations each for itself.
CORRECTIONS, DEMONSTRATIONS = 7, 3
BINS = 20
PROBABILITY = 0.9


@dataclass(frozen=True, kw_only=True)
class MethodCell:
    """What one method came to on one task, over people.

    Attributes:
        task, beta, method: which.
        people: of how many.
        refused: of how many more it did not answer.
        distance: how far a component of the mean is from that of the exact posterior, on average.
        variation: total variation to the exact posterior; NaN unless θ is an angle.
        error: ‖θ* − mean‖, on average.
        exact_error: that of the exact posterior.
        coverage: share of 90 % intervals of components that hold θ*.
        seconds: processor time of one inference, median.
    """

    task: str
    beta: float
    method: str
    people: int
    refused: int
    distance: float
    variation: float
    error: float
    exact_error: float
    coverage: float
    seconds: float


def compare_methods(
    tasks: Sequence[str],
    *,
    humans: int,
    betas: Sequence[float] = BETAS,
    methods: Sequence[str] | None = None,
    settings: Callable[[Settings], Settings] | None = None,
    library_size: int | None = None,
    seed: int = 0,
    journal: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> list[MethodCell]:
    """Let people correct tasks and every method infer from it.

    Args:
        tasks: Of `TASKS`.
        humans: People for each task and β.
        betas: How rational they are; known to the methods.
        methods: Of `METHODS`; all by default.
        settings: Changes those of every method; by default none.
        library_size: Trajectories of push, close and pour; None leaves it to the task.
        seed: Of all random numbers.
        journal: Where finished people are kept; a run that was interrupted goes on from there.
        workers: Processes; all cores by default.
        scheduler: Address of a Dask scheduler to work on in place of processes.
        on_done: Called after each person.
    """
    whole_number(humans, 'humans', 1)
    for beta in betas:
        positive_number(beta, 'beta')
    ways = tuple(METHODS) if methods is None else tuple(methods)
    for kind, names, known in (('task', tasks, TASKS), ('method', ways, tuple(METHODS))):
        for name in names:
            if name not in known:
                raise UnknownNameError(kind, name, known)
    chosen = {
        name: replace(base) if settings is None else settings(base)
        for name, (_, base) in METHODS.items()
        if name in ways
    }
    for name in tasks:
        task = _task(name, library_size)
        if task.needs_preparation:
            # Simulated now, once, rather than by all workers at the same time.
            task.prepare()
    cells = [
        Cell(
            choices={'task': task, 'beta': beta, 'human': human, 'seed': seed},
            data=repr((chosen, library_size)),
            infer=partial(_compare_one, task, beta, human, seed, chosen, library_size),
        )
        for task in tasks
        for beta in betas
        for human in range(humans)
    ]
    rows = sweep(cells, journal=journal, workers=workers, scheduler=scheduler, on_done=on_done)
    for row in rows:
        if row['failure']:
            raise RewardLearningError(f'{row["task"]}, person {row["human"]}: {row["failure"]}')
    return [
        _cell(
            task, beta, name, [row for row in rows if (row['task'], row['beta']) == (task, beta)]
        )
        for task in tasks
        for beta in betas
        for name in chosen
    ]


def _compare_one(
    name: str,
    beta: float,
    human: int,
    seed: int,
    settings: Mapping[str, Settings],
    library_size: int | None,
) -> dict[str, Any]:
    """Return what every method makes of one person, as columns of a row."""
    warnings.simplefilter('ignore')
    task = _task(name, library_size)
    truth_seed, human_seed, infer_seed = person_seed(seed, name, beta, human)
    domain = theta_domain(task, 'task')
    theta = domain.sample(1, np.random.default_rng(truth_seed))[0]
    dependence = DEPENDENT if name in ('press', 'reach') else INDEPENDENT
    corrections = simulate_corrections(
        task,
        theta,
        beta=beta,
        count=CORRECTIONS if dependence == DEPENDENT else DEMONSTRATIONS,
        dependence=dependence,
        seed=human_seed,
    )
    options: dict[str, Any] = {'dependence': dependence, 'beta': beta}
    seeds = infer_seed.spawn(len(settings) + 1)
    exact = _exact(name, library_size, corrections, options, _number(seeds[-1]))
    grid = exact if isinstance(exact, GridPosterior) and exact.angle is not None else None
    results: dict[str, Any] = {}
    for index, (way, chosen) in enumerate(settings.items()):
        method, _ = METHODS[way]
        _warm_up(name, method, library_size)
        # Each has a seed of its own: what one draws must not be there already for the next.
        begin = time.process_time()
        try:
            posterior = infer(
                task,
                corrections,
                method=method,
                seed=_number(seeds[index]),
                settings=chosen,
                threads=1,
                **options,
            )
        except RewardLearningError as error:
            results[way] = {'refused': str(error)}
            continue
        seconds = time.process_time() - begin
        low, high = np.quantile(
            posterior.samples, [(1 - PROBABILITY) / 2, (1 + PROBABILITY) / 2], axis=0
        )
        results[way] = {
            'distance': float(np.abs(posterior.mean - exact.mean).mean()),
            'variation': None if grid is None else grid.total_variation(posterior, BINS),
            'error': float(np.linalg.norm(theta - posterior.mean)),
            'coverage': float(((low <= theta) & (theta <= high)).mean()),
            'seconds': seconds,
        }
    return {
        'theta': theta.tolist(),
        'exact_error': float(np.linalg.norm(theta - exact.mean)),
        'results': results,
    }


def _exact(
    name: str,
    library_size: int | None,
    corrections: Any,
    options: Mapping[str, Any],
    seed: int,
) -> GridPosterior | Posterior:
    task = _task(name, library_size)
    if task.library is not None:
        known = _library_posterior(name, library_size, options['beta'])
        return known.posterior(task.evaluate(corrections.corrected))
    if theta_domain(task, 'task').kind == UNIT_NONNEGATIVE and task.size == 2:
        return quadrature_posterior(task, corrections, beta=options['beta'])
    return reference_posterior(task, corrections, seed=seed, threads=1, **options)


@lru_cache(maxsize=8)
def _library_posterior(name: str, library_size: int | None, beta: float) -> ExactPosterior:
    task = _task(name, library_size)
    assert task.library is not None
    return ExactPosterior(task.library, theta_domain(task, 'task'), beta)


@lru_cache(maxsize=8)
def _task(name: str, library_size: int | None) -> Task:
    if library_size is None or name not in ('push', 'close', 'pour'):
        return load_task(name)
    return load_task(name, library_size=library_size)


@lru_cache(maxsize=64)
def _warm_up(name: str, method: str, library_size: int | None) -> None:
    """Load and compile what a method needs, so that it is not taken for its work."""
    task = _task(name, library_size)
    dependence = DEPENDENT if name in ('press', 'reach') else INDEPENDENT
    theta = theta_domain(task, 'task').sample(1, np.random.default_rng(0))[0]
    corrections = simulate_corrections(task, theta, beta=1.0, count=1, dependence=dependence)
    infer(task, corrections, method=method, dependence=dependence, beta=1.0, threads=1)


def _number(seed: np.random.SeedSequence) -> int:
    return int(seed.generate_state(1)[0])


def _cell(task: str, beta: float, method: str, rows: Sequence[Mapping[str, Any]]) -> MethodCell:
    answered = [row for row in rows if 'refused' not in row['results'][method]]

    def of(name: str) -> list[float]:
        values = (row['results'][method][name] for row in answered)
        return [math.nan if value is None else value for value in values]

    def mean(values: list[float]) -> float:
        return float(np.mean(values)) if values else math.nan

    return MethodCell(
        task=task,
        beta=beta,
        method=method,
        people=len(answered),
        refused=len(rows) - len(answered),
        distance=mean(of('distance')),
        variation=mean(of('variation')),
        error=mean(of('error')),
        exact_error=mean([row['exact_error'] for row in answered]),
        coverage=mean(of('coverage')),
        seconds=median(of('seconds')) if answered else math.nan,
    )


def comparison_text(cells: Sequence[MethodCell]) -> str:
    """Return the table of a comparison as text."""
    lines = [
        'distance: of a component of the mean to the exact one; TV: total variation; '
        'seconds: processor time, median',
        f'{"task":<8}{"β":>4} {"method":<20}{"people":>7}{"distance":>10}{"TV":>8}'
        f'{"Error":>8}{"exact":>8}{"coverage":>10}{"seconds":>10}',
    ]
    for cell in cells:
        refused = f'  (refused: {cell.refused})' if cell.refused else ''
        variation = '–' if math.isnan(cell.variation) else f'{cell.variation:.3f}'
        lines.append(
            f'{cell.task:<8}{cell.beta:>4g} {cell.method:<20}{cell.people:>7}'
            f'{cell.distance:>10.4f}{variation:>8}'
            f'{cell.error:>8.3f}{cell.exact_error:>8.3f}{cell.coverage:>10.3f}'
            f'{cell.seconds:>10.3f}{refused}'
        )
    return '\n'.join(lines)
