"""Inference of θ from corrections: one call, or a run to be watched, stopped and continued."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.compiled import LogPrior, compile_log_prior, flat_log_prior
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.core.domain import BOX, ThetaDomain
from reward_learning_ros.core.errors import CancelledError, UnknownNameError
from reward_learning_ros.core.human_model import ZERO, Evidence, HumanModel, gather_evidence
from reward_learning_ros.core.posterior import (
    MAX_R_HAT,
    MIN_ESS,
    Posterior,
    bulk_sample_size,
    rank_r_hat,
)
from reward_learning_ros.core.samplers.base import Chain, Problem, Sampler, Settings
from reward_learning_ros.core.samplers.double_mh import DoubleMH
from reward_learning_ros.core.samplers.library_evidence import gather_library_evidence
from reward_learning_ros.core.samplers.library_sampling import find_library_method
from reward_learning_ros.core.samplers.normalizer import (
    Ignore,
    Maximum,
    Sampling,
    uniform_statistics,
)
from reward_learning_ros.core.samplers.tabulated import Tabulated
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence

# The samplers by name: the paper's four, and summation over a table of log Z.
METHODS: dict[str, Callable[[Problem], Sampler]] = {
    'ignore': Ignore,
    'sampling': Sampling,
    'maximum': Maximum,
    'double_mh': DoubleMH,
    'tabulated': Tabulated,
}
# Acceptance of outer steps that the warm-up steers to. The noise of the auxiliaries takes its
# share, so it is below that of an ordinary random walk.
TARGET_ACCEPTANCE = 0.3
WARMUP_ROUNDS = 8
# Rounds after which a sampler prepares for where the chains have come.
ADAPTED_AFTER = (1, 4)
# Random corrections that the spread of rewards is measured on.
SPREAD_SAMPLES = 2048


def find_method(name: str) -> Callable[[Problem], Sampler]:
    """Return the sampler of a method's name."""
    if name not in METHODS:
        raise UnknownNameError('method', name, METHODS)
    return METHODS[name]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a run of inference: stage, draws, ESS and R̂.

    Attributes:
        stage: `preparing`, `warm-up` or `sampling`.
        draws: Draws kept of each chain so far.
        ess: The smallest effective number of draws of a component, about.
        r_hat: The largest R̂ of a component, about.
        fraction: Of the work, about, from 0 to 1.
    """

    stage: str
    draws: int = 0
    ess: float = 0.0
    r_hat: float = math.inf
    fraction: float = 0.0


class Inference:
    """A run of inference that gives a posterior at any time.

    The same seed gives the same numbers, on one thread or more.
    """

    def __init__(
        self,
        task: Task,
        corrections: Any,
        *,
        method: str = 'double_mh',
        dependence: str = 'dependent',
        beta: Any = 'infer',
        gamma: float = 1.0,
        effort: float = 1.0,
        alpha: Any = None,
        silence: str = 'zero',
        bother: Any = 'infer',
        theta: ThetaDomain | str | None = None,
        log_prior: Callable[[np.ndarray], float] | None = None,
        seed: int = 0,
        settings: Settings | None = None,
        threads: int | None = None,
        sampler: Callable[[Problem], Sampler] | None = None,
    ) -> None:
        """Check everything and gather the evidence; nothing is sampled yet.

        Args:
            task: What is corrected.
            corrections: One `CorrectionSequence` or several.
            method: `double_mh`, `tabulated`, `ignore`, `sampling` or `maximum`.
            dependence: `dependent` or `independent` corrections.
            beta: A number, `infer`, or a `BetaPrior`.
            gamma: Discount of the rewards of earlier trajectories.
            effort: Weight λ of the squared length of a correction.
            alpha: Scale of the effort: None for β, as in the paper; a number, `infer`, or a
                `BetaPrior`.
            silence: What a waypoint without a push says: `zero` (as in the paper), `left_out` or
                `atom`.
            bother: What a push costs besides its length, where silence is an atom: a number,
                `infer`, or a `BotherPrior`.
            theta: Another domain of θ than the task's.
            log_prior: Log density of the prior of θ on the domain; uniform by default.
            seed: Of all random numbers.
            settings: How long and how hard to work.
            threads: How many threads; all cores by default.
            sampler: A sampler that is not one of the methods by name.
        """
        find = find_method if task.library is None else find_library_method
        self._make_sampler = find(method) if sampler is None else sampler
        self._model = HumanModel(
            dependence=dependence,
            beta=beta,
            gamma=gamma,
            effort=effort,
            alpha=alpha,
            silence=silence,
            bother=bother,
        )
        self.task = task
        self.method = method
        self.seed = whole_number(seed, 'seed', 0)
        self.settings = Settings() if settings is None else settings
        self._domain = ThetaDomain.parse(task.theta if theta is None else theta, task.size)
        self._log_prior: LogPrior = (
            flat_log_prior if log_prior is None else compile_log_prior(log_prior)
        )
        cores = available_cores() if threads is None else whole_number(threads, 'threads', 1)
        self._threads = min(cores, self.settings.chains)
        self._sequences = self._checked(corrections)
        self._evidence = self._gather()
        self._generation = 0
        self._chains: list[Chain] = []
        self._draws: list[np.ndarray] = []
        self._sampler: Sampler | None = None
        self._reward_spread: np.ndarray | None = None
        self._unknowns = task.size + 1

    @property
    def corrections(self) -> tuple[CorrectionSequence, ...]:
        """What θ is inferred from."""
        return self._sequences

    @property
    def sampler(self) -> Sampler | None:
        """The sampler at work; None before the first step."""
        return self._sampler

    @property
    def outside(self) -> int:
        """How many corrections lie outside the trajectory space."""
        return self._evidence.outside

    def extend(self, corrections: Any) -> None:
        """Go on with more corrections: θ and the tuned proposals are kept, draws are not.

        Args:
            corrections: All of them, as in the constructor.
        """
        self._sequences = self._checked(corrections)
        self._evidence = self._gather()
        self._generation += 1
        self._draws = []
        self._sampler = None

    def run(
        self,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> Posterior:
        """Run until converged, or stopped, and return the posterior.

        Args:
            on_progress: Told between batches how far the run is.
            should_stop: Asked between batches; a true answer ends the run with what there is.

        Raises:
            CancelledError: The run was stopped before the first draw.
        """
        for progress in self.iterate(should_stop=should_stop):
            if on_progress is not None:
                on_progress(progress)
        return self.posterior()

    def iterate(self, *, should_stop: Callable[[], bool] | None = None) -> Iterator[Progress]:
        """Run batch by batch; `posterior()` gives what there is after each in stage `sampling`."""
        stopped = should_stop if should_stop is not None else lambda: False
        settings = self.settings
        with ThreadPoolExecutor(max_workers=self._threads) as executor:
            if self._sampler is None:
                yield Progress(stage='preparing')
                yield from self._prepare(executor, stopped)
            at_once = min(getattr(self._sampler, 'min_batch', 1), settings.max_draws)
            while not stopped():
                self._advance(executor, max(settings.batch, at_once))
                progress = self._progress()
                yield progress
                if self._is_enough(progress) or progress.draws >= settings.max_draws:
                    break

    def _is_enough(self, progress: Progress) -> bool:
        settings = self.settings
        if progress.ess >= settings.target_ess and progress.r_hat <= settings.target_r_hat:
            return True
        is_trusted = progress.ess >= MIN_ESS and progress.r_hat <= MAX_R_HAT
        enough_draws = settings.enough_draws
        return is_trusted and enough_draws is not None and progress.draws >= enough_draws

    def posterior(self) -> Posterior:
        """Return the posterior as it is now."""
        if not self._draws:
            raise CancelledError('the inference was stopped before the first draw')
        draws = np.concatenate(self._draws, axis=1)
        assert self._sampler is not None
        size = self.task.size
        return Posterior(
            chains=draws[:, :, :size].copy(),
            beta_chains=draws[:, :, size].copy(),
            feature_names=self.task.feature_names,
            method=self.method,
            sampling={
                **self._sampler.diagnostics(self._chains),
                'outer_acceptance': self._acceptance(),
                'corrections': float(self._evidence.corrections),
                'corrections_outside': float(self._evidence.outside),
            },
            configuration={
                'task': self.task.name,
                'method': self.method,
                'dependence': self._model.dependence,
                'beta': asdict(self._model.beta),
                'gamma': self._model.gamma,
                'effort': self._model.effort,
                **self._rest_configuration(),
                'theta': self._domain.kind,
                'seed': self.seed,
                'settings': asdict(self.settings),
            },
            reward_spread=self._reward_spread,
            others={
                name: draws[:, :, size + 1 + index].copy()
                for index, name in enumerate(self._model.others)
            },
        )

    def problem(
        self, executor: Executor | None = None, should_stop: Callable[[], bool] = lambda: False
    ) -> Problem:
        """Return what is to be inferred from what, as samplers are given it.

        Args:
            executor: Where they may work on several things at the same time.
            should_stop: What they ask between two pieces of work.
        """
        return Problem(
            size=self.task.size,
            features=self.task.compiled_features,
            log_prior=self._log_prior,
            domain=self._domain,
            beta=self._model.beta,
            alpha=self._model.alpha,
            bother=self._model.bother if self._model.has_atom else None,
            evidence=self._evidence,
            settings=self.settings,
            seed=np.random.SeedSequence(self.seed, spawn_key=(self._generation,)),
            executor=executor,
            should_stop=should_stop,
        )

    def _checked(self, corrections: Any) -> tuple[CorrectionSequence, ...]:
        if isinstance(corrections, CorrectionSequence):
            return (corrections,)
        return tuple(corrections) if isinstance(corrections, (list, tuple)) else corrections

    def _gather(self) -> Evidence:
        gather = gather_evidence if self.task.library is None else gather_library_evidence
        return gather(self.task, self._sequences, self._model)

    def _prepare(
        self, executor: ThreadPoolExecutor, stopped: Callable[[], bool]
    ) -> Iterator[Progress]:
        """Build what the chains share, start them and tune them."""
        # One thread would only be handed its own work again, piece by piece.
        problem = self.problem(executor if self._threads > 1 else None, stopped)
        self._sampler = self._make_sampler(problem)
        if self.task.library is None:
            first = problem.evidence.spaces[0]
            statistics = uniform_statistics(problem, first, SPREAD_SAMPLES, problem.stream(2))
        else:
            statistics = self.task.library.statistics
        self._unknowns = problem.unknowns
        self._reward_spread = np.cov(statistics[:, : self.task.size + 1], rowvar=False)
        before = self._chains
        self._chains = [self._sampler.start(index) for index in range(self.settings.chains)]
        for old, chain in zip(before, self._chains, strict=False):
            # θ, β and the tuned proposal of the run before.
            chain.outer = old.outer
        rounds = WARMUP_ROUNDS if not before else WARMUP_ROUNDS // 2
        length = self.settings.warmup // WARMUP_ROUNDS
        for index in range(rounds if length else 0):
            if stopped():
                return
            for chain in self._chains:
                chain.counters[:] = 0.0
            recent = self._run_chains(executor, length, thin=1)
            self._tune(recent)
            if index in ADAPTED_AFTER:
                self._sampler.adapt(recent)
            yield Progress(stage='warm-up', fraction=0.1 * (index + 1) / rounds)

    def _run_chains(self, executor: ThreadPoolExecutor, count: int, thin: int) -> np.ndarray:
        """Run all chains on for `count` draws; return them (C, count, P)."""
        assert self._sampler is not None
        draws = np.empty((len(self._chains), count, self._unknowns))
        sampler = self._sampler
        jobs = [
            executor.submit(sampler.run, chain, thin, rows)
            for chain, rows in zip(self._chains, draws, strict=True)
        ]
        for job in jobs:
            job.result()
        return draws

    def _advance(self, executor: ThreadPoolExecutor, count: int) -> None:
        self._draws.append(self._run_chains(executor, count, self.settings.thin))

    def _tune(self, recent: np.ndarray) -> None:
        """Fit the proposals of all chains to what they did together."""
        acceptance = self._acceptance()
        factor = float(np.exp(np.clip(2.0 * (acceptance - TARGET_ACCEPTANCE), -0.7, 0.7)))
        positions = recent[:, recent.shape[1] // 2 :].reshape(-1, recent.shape[2])
        size = self.task.size
        scales = size + 1 + (self._model.alpha is not None)
        rest = np.column_stack([np.log(positions[:, size:scales]), positions[:, scales:]])
        spreads = rest.std(axis=0)
        for chain in self._chains:
            outer = chain.outer
            outer.scale[0] = min(outer.scale[0] * factor, 2.0)
            for index, spread in enumerate(spreads, start=1):
                if spread > 0.0:
                    outer.scale[index] = 0.5 * outer.scale[index] + 0.5 * max(2.0 * spread, 0.05)
            if self._domain.kind == BOX:
                width = self._domain.high - self._domain.low
                covariance = np.cov(positions[:, :size], rowvar=False).reshape(len(width), -1)
                outer.factor[:] = np.linalg.cholesky(covariance + np.diag((0.05 * width) ** 2))

    def _rest_configuration(self) -> dict[str, Any]:
        """Return what the model has besides the paper's, if anything."""
        model = self._model
        rest: dict[str, Any] = {}
        if self.task.motor_noise_m > 0.0:
            rest['motor_noise_m'] = self.task.motor_noise_m
        if model.alpha is not None:
            rest['alpha'] = asdict(model.alpha)
        if model.silence != ZERO:
            rest['silence'] = model.silence
        if model.has_atom:
            rest['bother'] = asdict(model.bother)
        return rest

    def _acceptance(self) -> float:
        tried = sum(chain.counters[0] for chain in self._chains)
        accepted = sum(chain.counters[1] for chain in self._chains)
        return float(accepted / max(1.0, tried))

    def _progress(self) -> Progress:
        draws = np.concatenate(self._draws, axis=1)
        components = self.task.size + (0 if self._model.beta.is_fixed else 1)
        ess = min(bulk_sample_size(draws[:, :, k]) for k in range(components))
        r_hat = max(rank_r_hat(draws[:, :, k]) for k in range(components))
        return Progress(
            stage='sampling',
            draws=draws.shape[1],
            ess=ess,
            r_hat=r_hat,
            fraction=0.1 + 0.9 * min(1.0, ess / self.settings.target_ess),
        )


def infer(
    task: Task,
    corrections: Any,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    **options: Any,
) -> Posterior:
    """Infer θ from corrections; see `Inference` for the options."""
    return Inference(task, corrections, **options).run(
        on_progress=on_progress, should_stop=should_stop
    )
