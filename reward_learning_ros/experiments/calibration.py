"""Simulation-based calibration: is the posterior right on average over the prior?

A θ is drawn from the prior, a person with that θ is simulated, θ is inferred, and the rank of the
true θ among the draws is noted. If inference is exact, ranks are uniform (Talts et al. 2018).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from reward_learning_ros.core.domain import BetaPrior, ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.human_model import InadmissibleCorrectionWarning
from reward_learning_ros.core.inference import infer
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.simulated_human import simulate_corrections
from reward_learning_ros.experiments.parameter_sweep import Cell, sweep
from reward_learning_ros.tasks import load_task

# Draws of each posterior that the true value is ranked among, one less than a round number.
RANKED = 99
BINS = 10
PROBABILITY = 0.9
# β of simulated people where it is inferred: the prior that the inference is given too.
BETA_PRIOR = BetaPrior(low=1.0, high=20.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """Result of simulation-based calibration: ranks of true values in their posteriors.

    Attributes:
        names: (Q,) what was ranked: the components of θ and, if inferred, β.
        ranks: (H, Q) for each simulated person.
        covered: (H, Q) whether the 90 % interval held the true value.
        refused: Of how many more people the method refused to infer θ.
    """

    names: tuple[str, ...]
    ranks: np.ndarray
    covered: np.ndarray
    refused: int = 0

    @property
    def p_values(self) -> np.ndarray:
        """The p-value (Q,) of a χ² test of uniform ranks, for each quantity."""
        result = []
        for column in self.ranks.T:
            counts, _ = np.histogram(column, bins=BINS, range=(0, RANKED + 1))
            result.append(stats.chisquare(counts).pvalue)
        return np.array(result)

    @property
    def expected_coverage(self) -> tuple[float, float]:
        """Between which shares 95 % of exact inferences of so many people have their coverage."""
        low, high = stats.binom.ppf([0.025, 0.975], len(self.covered), PROBABILITY)
        return float(low / len(self.covered)), float(high / len(self.covered))

    @property
    def coverage(self) -> np.ndarray:
        """The share (Q,) of 90 % intervals that hold the true value."""
        return np.asarray(self.covered.mean(axis=0))


def calibrate(
    task: str,
    *,
    humans: int = 200,
    count: int = 7,
    beta: float | str = 'infer',
    method: str = 'double_mh',
    dependence: str = 'dependent',
    gamma: float = 1.0,
    effort: float = 1.0,
    settings: Settings | None = None,
    seed: int = 0,
    journal: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> Calibration:
    """Calibrate a method on simulated people.

    Args:
        task: Name of the task.
        humans: How many people.
        count: Corrections of each.
        beta: A number, or `infer` for a log-uniform prior from 1 to 20.
        method: The sampler.
        dependence: Of the people and of the inference alike.
        gamma: Discount of the rewards of earlier trajectories.
        effort: Weight of the squared length of a correction.
        settings: Of each inference.
        seed: Of all random numbers.
        journal: Where people who are finished are kept; a run that was interrupted, or is to have
            more people, goes on from there. None keeps them in memory.
        workers: Processes; all cores by default.
        scheduler: Address of a Dask scheduler to work on in place of processes.
        on_done: Called after each person.
    """
    options = {
        'dependence': dependence,
        'gamma': gamma,
        'effort': effort,
    }
    prior = BETA_PRIOR if beta == 'infer' else BetaPrior.parse(beta)
    names = load_task(task).feature_names + (() if prior.is_fixed else ('β',))
    chosen = settings or Settings()
    cells = [
        Cell(
            choices={
                'task': task,
                'corrections': count,
                'beta': [prior.low, prior.high],
                'method': method,
                **options,
                'seed': seed,
                'human': human,
            },
            # Nothing was recorded: the people are made.
            data=repr(asdict(chosen)),
            infer=partial(
                _calibrate_one, task, count, prior, method, options, chosen, seed, human
            ),
        )
        for human in range(humans)
    ]
    rows = sweep(cells, journal=journal, workers=workers, scheduler=scheduler, on_done=on_done)
    found = [row for row in rows if not row['failure']]
    if not found:
        raise InvalidInputError(f'nobody could be inferred from: {rows[0]["failure"]}')
    return Calibration(
        names=names,
        ranks=np.array([row['ranks'] for row in found]),
        covered=np.array([row['covered'] for row in found]),
        refused=len(rows) - len(found),
    )


def _calibrate_one(
    task_name: str,
    count: int,
    prior: BetaPrior,
    method: str,
    options: dict[str, Any],
    settings: Settings,
    seed: int,
    human: int,
) -> dict[str, Any]:
    """Return ranks (Q,) and coverage (Q,) for one simulated person, as columns of a row."""
    task = load_task(task_name)
    truth_seed, human_seed, infer_seed = np.random.SeedSequence((seed, human)).spawn(3)
    rng = np.random.default_rng(truth_seed)
    domain = task.theta
    assert isinstance(domain, ThetaDomain)
    theta = domain.sample(1, rng)[0]
    beta = float(np.exp(rng.uniform(np.log(prior.low), np.log(prior.high))))
    corrections = simulate_corrections(
        task, theta, beta=beta, count=count, seed=human_seed, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
        posterior = infer(
            task,
            corrections,
            method=method,
            beta=prior,
            seed=int(infer_seed.generate_state(1)[0]),
            settings=settings,
            threads=1,
            **options,
        )
    truth, draws = theta, posterior.samples
    if not prior.is_fixed:
        truth = np.append(theta, beta)
        draws = np.column_stack([draws, posterior.beta_samples])
    low, high = np.quantile(draws, [(1 - PROBABILITY) / 2, (1 + PROBABILITY) / 2], axis=0)
    chosen = np.linspace(0, len(draws) - 1, RANKED).astype(int)
    return {
        'ranks': (draws[chosen] < truth).sum(axis=0).tolist(),
        'covered': ((low <= truth) & (truth <= high)).tolist(),
    }
