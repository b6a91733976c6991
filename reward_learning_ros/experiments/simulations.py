"""The paper's simulations: people with known θ demonstrate, every method infers, errors are kept.

Push, Close and Pour. A person's θ, demonstrations and inferences depend on the seed, the task, β
and the person's number alone: the same rows come out wherever and in
whatever order they are made.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

from reward_learning_ros.core.checks import finite_array, positive_number, whole_number
from reward_learning_ros.core.domain import BOX, KINDS, UNIT_NONNEGATIVE, ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.human_model import INDEPENDENT
from reward_learning_ros.core.inference import infer
from reward_learning_ros.core.library import TrajectoryLibrary
from reward_learning_ros.core.reference import GridPosterior
from reward_learning_ros.core.simulated_human import simulate_corrections
from reward_learning_ros.core.task import Task
from reward_learning_ros.experiments.budget import ALL_METHODS, Budget, find_budget
from reward_learning_ros.experiments.rows import Job, Result, Row, Timing, run_jobs
from reward_learning_ros.tasks import load_task

# Points along the quarter circle, and along each side of a box.
ARC_POINTS = 1024
SIDE_POINTS = 64
# θ whose sums are done at a time.
_BATCH = 64


class ExactPosterior:
    """Normalizers of all θ of a grid, summed over all trajectories for one β."""

    def __init__(self, library: TrajectoryLibrary, domain: ThetaDomain, beta: float) -> None:
        self._theta = _grid(domain)
        self._beta = beta
        parts = np.array_split(self._theta, max(1, len(self._theta) // _BATCH))
        features = np.asarray(library.features)
        self._log_normalizer = np.concatenate(
            [logsumexp(beta * part @ features.T, axis=1) for part in parts]
        )

    def mean(self, features: np.ndarray) -> np.ndarray:
        """Return the posterior mean (d,) after independent demonstrations of features (K, d)."""
        probability = self._probability(features)
        return np.asarray(probability @ self._theta / probability.sum())

    def posterior(self, features: np.ndarray) -> GridPosterior:
        """Return the posterior after independent demonstrations of features (K, d)."""
        probability = self._probability(features)
        lengths = np.linalg.norm(self._theta, axis=1)
        angle = None
        if np.allclose(lengths, 1.0):
            angle = np.arctan2(self._theta[:, 1], self._theta[:, 0])
        return GridPosterior(
            theta=self._theta, probability=probability / probability.sum(), angle=angle
        )

    def _probability(self, features: np.ndarray) -> np.ndarray:
        log_probability = (
            self._beta * self._theta @ features.sum(axis=0) - len(features) * self._log_normalizer
        )
        return np.asarray(np.exp(log_probability - log_probability.max()))


def _grid(domain: ThetaDomain) -> np.ndarray:
    """Return points (G, 2) with equal prior probability."""
    if domain.size == 2 and domain.kind == UNIT_NONNEGATIVE:
        angle = (np.arange(ARC_POINTS) + 0.5) / ARC_POINTS * (np.pi / 2)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    if domain.size == 2 and domain.kind == BOX:
        cube = (np.arange(SIDE_POINTS) + 0.5) / SIDE_POINTS
        return domain.from_unit_cube(np.stack(np.meshgrid(cube, cube), axis=-1).reshape(-1, 2))
    raise InvalidInputError(
        f'the exact posterior is for two features and θ on a quarter circle or in a box, not for '
        f'{domain.size} features and a {domain.kind} domain'
    )


TASKS = ('push', 'close', 'pour')
BETAS = (5.0, 25.0)
HUMANS = 100
DEMONSTRATIONS = 3
EXACT = 'exact'


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The setup that all simulated people of an experiment share.

    Attributes:
        budget: Name of the budget.
        domain: Where θ may be; `task` leaves it to the task.
        demonstrations: Of each person.
        seed: Of all random numbers.
        library_size: Trajectories of each library; None leaves it to the task.
    """

    budget: str = 'thorough'
    domain: str = 'task'
    demonstrations: int = DEMONSTRATIONS
    seed: int = 0
    library_size: int | None = None

    def __post_init__(self) -> None:
        find_budget(self.budget)
        if self.domain not in ('task', *KINDS):
            raise UnknownNameError('domain of θ', self.domain, ('task', *KINDS))
        whole_number(self.demonstrations, 'demonstrations', 1)
        whole_number(self.seed, 'seed', 0)


def simulate(
    tasks: Sequence[str],
    *,
    betas: Sequence[float] = BETAS,
    humans: int = HUMANS,
    setup: Setup | None = None,
    folder: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> Result:
    """Simulate people and return one row for each of them and each method.

    Args:
        tasks: Names of tasks with a library of trajectories.
        betas: How rational people are.
        humans: How many, for each task and β.
        setup: What all of them share.
        folder: Where rows are kept, and found again if the run was interrupted.
        workers: Processes; all cores by default.
        scheduler: Address of a Dask scheduler to work on in place of processes.
        on_done: Called after each person.
    """
    whole_number(humans, 'humans', 1)
    chosen = setup or Setup()
    for task in tasks:
        # Simulated now, once, rather than by all workers at the same time.
        _library_of(_task(task, chosen.library_size))
    jobs = [
        Job(task=task, beta=positive_number(beta, 'beta'), human=human)
        for task in tasks
        for beta in betas
        for human in range(humans)
    ]
    return run_jobs(
        partial(simulate_human, chosen),
        jobs,
        rows_each=len(ALL_METHODS) + 1,
        setup=asdict(chosen),
        folder=folder,
        workers=workers,
        scheduler=scheduler,
        on_done=on_done,
    )


def simulate_human(setup: Setup, job: Job) -> Result:
    """Simulate one person and return what every method, and the exact posterior, make of it."""
    task = _task(job.task, setup.library_size)
    domain = theta_domain(task, setup.domain)
    truth_seed, human_seed, infer_seed = person_seed(setup.seed, job.task, job.beta, job.human)
    theta = domain.sample(1, np.random.default_rng(truth_seed))[0]
    demonstrations = simulate_corrections(
        task,
        theta,
        beta=job.beta,
        count=setup.demonstrations,
        dependence=INDEPENDENT,
        seed=human_seed,
    )
    budget: Budget = find_budget(setup.budget)
    seed = int(infer_seed.generate_state(1)[0])
    estimates: dict[str, np.ndarray] = {}
    timings = []
    for method in ALL_METHODS:
        begin = time.process_time()
        estimates[method] = infer(
            task,
            demonstrations,
            dependence=INDEPENDENT,
            beta=job.beta,
            theta=domain,
            seed=seed,
            **budget.options(method, setup.demonstrations),
        ).mean
        timings.append(
            Timing(
                **vars(job),
                method=method,
                dependence=INDEPENDENT,
                seconds=time.process_time() - begin,
            )
        )
    exact = _exact(job.task, setup.library_size, setup.domain, job.beta)
    estimates[EXACT] = exact.mean(task.evaluate(demonstrations.corrected))
    rows = [
        Row(
            **vars(job),
            method=method,
            dependence=INDEPENDENT,
            error=float(np.linalg.norm(theta - estimate)),
            regret=library_regret(task, theta, estimate),
            theta=tuple(map(float, theta)),
            estimate=tuple(map(float, estimate)),
        )
        for method, estimate in estimates.items()
    ]
    return rows, timings


def library_regret(task: Task, theta: Any, estimate: Any) -> float:
    """Return R(ξ, θ) − R(ξ̂, θ), both best among the members of a library (equation U1)."""
    features = _library_of(task)
    weights = finite_array(theta, 'theta', (task.size,))
    rewards = features @ weights
    learned = int(np.argmax(features @ np.asarray(estimate)))
    return float(rewards.max() - rewards[learned])


def person_seed(
    seed: int, task: str, beta: float, human: int
) -> tuple[np.random.SeedSequence, ...]:
    """Return the seeds of a person's θ, of what they do, and of the inference."""
    # Python's own hash of a word differs from process to process.
    key = (seed, zlib.crc32(task.encode()), round(beta * 1e6), human)
    return tuple(np.random.SeedSequence(key).spawn(3))


def _library_of(task: Task) -> np.ndarray:
    if task.library is None:
        raise InvalidInputError(
            f'task {task.name!r} has no library of trajectories; allowed: {", ".join(TASKS)}'
        )
    return np.asarray(task.library.features)


@lru_cache(maxsize=4)
def _task(name: str, library_size: int | None) -> Task:
    return load_task(name) if library_size is None else load_task(name, library_size=library_size)


@lru_cache(maxsize=8)
def _exact(name: str, library_size: int | None, domain: str, beta: float) -> ExactPosterior:
    task = _task(name, library_size)
    assert task.library is not None
    return ExactPosterior(task.library, theta_domain(task, domain), beta)


def theta_domain(task: Task, domain: str) -> ThetaDomain:
    """Return where θ may be: as the task says (`task`), or in a domain of this kind."""
    return ThetaDomain.parse(task.theta if domain == 'task' else domain, task.size)
