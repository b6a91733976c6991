"""What is learned from corrections: θ, the plan that follows, and whether to show it."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.arm.playback.planning import MotionPlanner
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.core.human_model import InadmissibleCorrectionWarning
from reward_learning_ros.interface import Plan, ThetaSamples, ThetaSummary
from reward_learning_ros.learning.parameters import LearningParameters
from reward_learning_ros.learning.tool_paths import ToolPaths

# A person waits, and the other nodes want the cores too: less work than the defaults of
# `core.Settings`, and the mean of θ some 0.01 from that of a long run.
WARMUP = 240
BATCH = 125
SEEDS = 4096
ANNEAL_STEPS = 12
# Of the inner sampler, which moves one correction at a time: of a long sequence it takes more.
LEAST_INNER_STEPS = 12
INNER_STEPS_PER_CORRECTION = 4

# Trajectories that the arm cannot follow, after which the search for one is given up: a second's
# work.
MOST_FAILURES = 400


@dataclass(frozen=True, kw_only=True, eq=False)
class Lesson:
    """What was learned; can be pickled.

    Attributes:
        posterior: of θ and β.
        trajectory: (n, m) the best one for the posterior's mean; None if the arm can follow none.
        plan: the same as tool poses, without a stamp.
        reasons: why the plan should not be shown, in words; empty if it may be.
        corrections: how many it was learned from.
    """

    posterior: core.Posterior
    trajectory: np.ndarray | None
    plan: Plan | None
    reasons: tuple[str, ...]
    corrections: int

    @property
    def is_trusted(self) -> bool:
        """Whether the plan may be shown."""
        return not self.reasons

    def stamped_plan(self, stamp_ns: int) -> Plan:
        """Return the plan with the time at which it is shown first."""
        if self.plan is None:
            raise RewardLearningError(f'there is no plan: {"; ".join(self.reasons)}')
        return dataclasses.replace(self.plan, stamp_ns=stamp_ns)

    @property
    def theta(self) -> ThetaSummary:
        """The statistics of θ, as they are published."""
        table = self.posterior.table()[:, :-1]
        return ThetaSummary(
            features=self.posterior.feature_names, mean=table[0], sd=table[1], quantiles=table[2:]
        )

    @property
    def samples(self) -> ThetaSamples:
        """The draws of θ, as they are published."""
        return ThetaSamples(features=self.posterior.feature_names, samples=self.posterior.samples)


def tool_paths_of(parameters: LearningParameters, task: core.Task | None = None) -> ToolPaths:
    """Return how the arm follows the trajectories of the task."""
    return ToolPaths(
        task=core.load_task(parameters.task) if task is None else task,
        description=franka_arm(prefix=parameters.prefix),
    )


def learn(
    parameters: LearningParameters,
    sequences: Sequence[core.CorrectionSequence],
    *,
    task: core.Task | None = None,
    on_progress: Callable[[core.Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    threads: int | None = None,
) -> Lesson:
    """Infer θ from corrections and plan by it: the same every time for the same arguments.

    Args:
        parameters: What is learned and how.
        sequences: What the person did, as `Learner.sequences` gives it.
        task: The task, if it is loaded already.
        on_progress: Told how far the inference is.
        should_stop: Asked between batches whether to give up.
        threads: How many; all cores by default. The result does not depend on it.

    Raises:
        CancelledError: It was stopped before the first draw.
        RewardLearningError: Nothing can be inferred from these corrections; says why.
    """
    paths = tool_paths_of(parameters, task)
    lengths = [len(sequence) for sequence in sequences]
    longest = max(lengths, default=0)
    with warnings.catch_warnings():
        # The posterior counts them, in `corrections_outside`.
        warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
        posterior = core.infer(
            paths.task,
            tuple(sequences),
            method=parameters.method,
            dependence=parameters.dependence,
            beta='infer' if parameters.beta is None else parameters.beta,
            gamma=parameters.gamma,
            effort=parameters.effort,
            # The same whatever was corrected: what was drawn for earlier corrections serves again.
            seed=parameters.seed,
            settings=core.Settings(
                warmup=WARMUP,
                batch=BATCH,
                target_ess=parameters.target_ess,
                target_r_hat=parameters.target_r_hat,
                max_draws=parameters.max_draws,
                inner_steps=max(LEAST_INNER_STEPS, INNER_STEPS_PER_CORRECTION * longest),
                ensemble=core.EnsembleSize(seeds=SEEDS, anneal_steps=ANNEAL_STEPS),
            ),
            threads=threads,
            on_progress=on_progress,
            should_stop=should_stop,
        )
    trajectory, plan, refusals = _plan(parameters, paths, posterior.mean)
    return Lesson(
        posterior=posterior,
        trajectory=trajectory,
        plan=plan,
        reasons=(
            *posterior.sampling_warnings,
            *posterior.relevance_warnings(parameters.min_relevance),
            *refusals,
        ),
        corrections=sum(lengths),
    )


def warm_up(parameters: LearningParameters, task: core.Task) -> None:
    """Load and compile all that `learn` needs, so that the first lesson takes no longer."""
    nothing = core.CorrectionSequence.from_deltas(
        task.plan, np.zeros((1, task.plan.shape[1])), [len(task.plan) - 1]
    )
    short = dataclasses.replace(parameters, max_draws=8, target_ess=100.0)
    learn(short, [nothing], task=task)


def _plan(
    parameters: LearningParameters, paths: ToolPaths, theta: np.ndarray
) -> tuple[np.ndarray | None, Plan | None, tuple[str, ...]]:
    """Return the best trajectory that the arm can follow, as a plan too, or why there is none."""
    check = _PlaybackCheck(parameters, paths)
    try:
        trajectory = core.plan(paths.task, theta, seed=parameters.seed, admissible=check)
    except RewardLearningError as error:
        return None, None, (f'there is no plan for the arm: {error}',)
    return trajectory, paths.plan_of(trajectory, 0), ()


class _PlaybackCheck:
    """Tells which of some trajectories (N, n, m) playback would take, (N,)."""

    def __init__(self, parameters: LearningParameters, paths: ToolPaths) -> None:
        self._planner = MotionPlanner(config=parameters.playback())
        self._paths = paths
        self._failures = 0

    def __call__(self, trajectories: np.ndarray) -> np.ndarray:
        return np.array([self._takes(trajectory) for trajectory in trajectories], dtype=bool)

    def _takes(self, trajectory: np.ndarray) -> bool:
        try:
            self._planner.whole(self._paths.plan_of(trajectory, 0))
        except RewardLearningError as error:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                raise InvalidInputError(
                    f'none of {self._failures} trajectories can be played; the last: {error}'
                ) from error
            return False
        return True
