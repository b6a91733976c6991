"""What every sampler is given, what it keeps for each chain, and what it must do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from reward_learning_ros.core.checks import positive_number, whole_number
from reward_learning_ros.core.compiled import Features, LogPrior
from reward_learning_ros.core.domain import (
    BOX,
    UNIT,
    UNIT_NONNEGATIVE,
    BetaPrior,
    BotherPrior,
    ThetaDomain,
)
from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.human_model import Evidence
from reward_learning_ros.core.samplers import outer as outer_module
from reward_learning_ros.core.samplers.ensemble import EnsembleSize, Tails
from reward_learning_ros.core.samplers.outer import Outer

_KINDS = {
    BOX: outer_module.BOX,
    UNIT: outer_module.SPHERE,
    UNIT_NONNEGATIVE: outer_module.POSITIVE_SPHERE,
}
STARTS = ('data', 'carried', 'ensemble')
# Costs of a push, over their prior, at which an ensemble is drawn first: near enough that what one
# draws also matters at the next.
FIRST_BOTHERS = 5


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a run of inference: numbers of chains, steps and draws, and when to stop.

    Attributes:
        chains: How many chains of θ run side by side.
        warmup: Outer steps of each chain in which proposals are tuned; not kept.
        batch: Draws of each chain between two looks at the caller and at convergence.
        thin: Outer steps for each draw that is kept.
        max_draws: Draws of each chain at which a run ends, converged or not.
        enough_draws: Draws of each chain at which a run ends if its R̂ and effective draws are such
            that they are trusted, though not on target; None asks for the target.
        target_ess: Effective draws of every component at which a run ends.
        target_r_hat: R̂ of every component at which a run may end.
        auxiliary_start: Where an auxiliary starts: `ensemble` (jumps), `carried` (where the one
            before ended) or `data` (Algorithm 3 as printed).
        one_auxiliary: Use one auxiliary for all independent trajectories, as printed in the paper;
            biased for more than one.
        inner_steps: Steps of the inner sampler for each auxiliary.
        screening_steps: Steps on a posterior with a table of log Z before each exchange of
            `double_mh` (delayed acceptance, exact as without); 0 for none. Not for libraries.
        candidates: Members of the ensemble that each auxiliary looks at.
        samples: Corrections N of the `sampling` method (equation M3).
        points: Points of the prior at which the `tabulated` method knows log Z first.
        ensemble: Size of the ensemble.
    """

    chains: int = 4
    warmup: int = 800
    batch: int = 250
    thin: int = 4
    max_draws: int = 20000
    enough_draws: int | None = None
    target_ess: float = 400.0
    target_r_hat: float = 1.01
    auxiliary_start: str = 'ensemble'
    one_auxiliary: bool = False
    inner_steps: int = 24
    screening_steps: int = 0
    candidates: int = 128
    samples: int = 1000
    points: int = 2048
    ensemble: EnsembleSize = field(default_factory=EnsembleSize)

    def __post_init__(self) -> None:
        for name in ('chains', 'thin', 'candidates', 'samples', 'points'):
            whole_number(getattr(self, name), name, 1)
        for name in ('warmup', 'inner_steps', 'screening_steps'):
            whole_number(getattr(self, name), name, 0)
        for name in ('batch', 'max_draws'):
            whole_number(getattr(self, name), name, 8)
        if self.enough_draws is not None:
            whole_number(self.enough_draws, 'enough_draws', 8)
        positive_number(self.target_ess, 'target_ess')
        positive_number(self.target_r_hat, 'target_r_hat')
        if self.auxiliary_start not in STARTS:
            raise UnknownNameError('auxiliary start', self.auxiliary_start, STARTS)


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """The inference problem that a sampler is given: evidence, priors and settings."""

    size: int  # d
    features: Features
    log_prior: LogPrior
    domain: ThetaDomain
    beta: BetaPrior
    alpha: BetaPrior | None  # None: β is also the scale of effort
    bother: BotherPrior | None  # None: silence is no atom
    evidence: Evidence
    settings: Settings
    seed: np.random.SeedSequence
    executor: Executor | None = None
    should_stop: Callable[[], bool] = lambda: False

    @property
    def weights(self) -> int:
        """The number S of weights η, and of statistics."""
        return self.size + 1 + (self.bother is not None)

    @property
    def unknowns(self) -> int:
        """The number P of what a draw consists of: θ, β, and α and κ where they are apart."""
        return self.weights + (self.alpha is not None)

    def stream(self, *key: int) -> np.random.SeedSequence:
        """Return the seed of one stream of random numbers, the same whatever else is drawn."""
        return np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, *key))


@dataclass(kw_only=True, eq=False)
class Chain:
    """One Markov chain: its position, proposal, random numbers and counters."""

    outer: Outer
    rng: np.random.Generator
    counters: np.ndarray
    state: Any = None

    @classmethod
    def start(cls, problem: Problem, index: int, counters: int) -> Chain:
        """Start a chain at a draw from the prior."""
        rng = np.random.default_rng(problem.stream(0, index))
        low = [np.log(problem.beta.low)]
        high = [np.log(problem.beta.high)]
        if problem.alpha is not None:
            low.append(np.log(problem.alpha.low))
            high.append(np.log(problem.alpha.high))
        if problem.bother is not None:
            low.append(problem.bother.low)
            high.append(problem.bother.high)
        theta = problem.domain.sample(1, rng)[0]
        position = np.append(theta, rng.uniform(low, high))
        width = np.ones(problem.size)
        if problem.domain.kind == BOX:
            width = problem.domain.high - problem.domain.low
        outer = Outer(
            position,
            np.array([_KINDS[problem.domain.kind]]),
            np.append(problem.domain.low, low),
            np.append(problem.domain.high, high),
            np.array([0.3, *[0.5] * len(low)]),
            np.diag(width),
        )
        return cls(outer=outer, rng=rng, counters=np.zeros(counters))


def natural_anchors(problem: Problem, recent: np.ndarray, count: int) -> np.ndarray:
    """Return weights η (count, S) evenly out of draws (C, N, P) of θ, β, …."""
    draws = recent.reshape(-1, recent.shape[2])
    chosen = draws[np.linspace(0, len(draws) - 1, count).astype(int)]
    size = problem.size
    beta = chosen[:, size]
    rest = [beta if problem.alpha is None else chosen[:, size + 1]]
    if problem.bother is not None:
        rest.append(chosen[:, -1])
    return np.column_stack([chosen[:, :size] * beta[:, None], *rest])


def anchor_tails(problem: Problem) -> Tails | float:
    """Return which weights of effort and of bothering the anchors of an ensemble have."""
    beta_share = 1.0 / problem.domain.largest_length
    if problem.alpha is None and problem.bother is None:
        return beta_share
    alpha, bother = problem.alpha, problem.bother

    def tails(rung: int, radius: float, count: int) -> np.ndarray:
        # Two sequences that fill a square evenly, going on from rung to rung.
        place = rung * count + np.arange(count)
        first, second = (0.5 + place * 0.7548776662) % 1.0, (0.5 + place * 0.5698402910) % 1.0
        if alpha is None:
            efforts = np.full(count, radius * beta_share)
        else:
            efforts = alpha.low * (alpha.high / alpha.low) ** first
        if bother is None:
            return efforts[:, None]
        return np.column_stack([efforts, bother.low + (bother.high - bother.low) * second])

    return tails


def first_bothers(problem: Problem) -> tuple[float, ...]:
    """Return the costs of a push at which an ensemble is drawn first."""
    if problem.bother is None:
        return (0.0,)
    low, high = problem.bother.low, problem.bother.high
    if low == high:
        return (low,)
    return tuple(np.linspace(low, high, FIRST_BOTHERS).tolist())


class Sampler(Protocol):
    """Protocol of the samplers: start, run, adapt and diagnose chains.

    The constructor takes the problem and does all the work that the chains share. One whose draws
    cost nothing may say in `min_batch` how many it gives at a time at least.
    """

    counters: int

    def start(self, index: int) -> Chain:
        """Return a new chain."""

    def run(self, chain: Chain, thin: int, draws: np.ndarray) -> None:
        """Run a chain on, `thin` steps for each of the draws (N, P) of θ, β, …."""

    def adapt(self, recent: np.ndarray) -> None:
        """Prepare for where the chains have come: their last draws (C, N, P) of θ, β, …."""

    def diagnostics(self, chains: list[Chain]) -> dict[str, float]:
        """Return what the method has to say about its own work."""
