"""What is learned from corrections: θ, the plan that follows, and whether to show it."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.core.errors import CancelledError, InvalidInputError, RewardLearningError
from reward_learning_ros.core.human_model import InadmissibleCorrectionWarning
from reward_learning_ros.interface import Plan, ThetaSamples, ThetaSummary
from reward_learning_ros.learning.learning_parameters import LearningParameters
from reward_learning_ros.learning.tool_paths import ToolPaths
from reward_learning_ros.parameters.shared import PASS
from reward_learning_ros.playback.motion_planning import MotionPlanner

# A person waits, and the other nodes want the cores too: less work than the defaults of
# `core.Settings`, and the mean of θ some 0.01 from that of a long run.
WARMUP = 240
BATCH = 125
SEEDS = 4096
ANNEAL_STEPS = 12
# Of the inner sampler, which moves one correction at a time: of a long sequence it takes more.
MIN_INNER_STEPS = 12
INNER_STEPS_PER_CORRECTION = 4

# Trajectories that the arm cannot follow, after which the search for one is given up: a second's
# work.
MAX_FAILURES = 400


@dataclass(frozen=True, kw_only=True, eq=False)
class InferenceResult:
    """What one inference came to, with the plan that follows; can be pickled.

    Attributes:
        posterior: of θ and β.
        trajectory: (n, m) the one to be shown; None if the arm can follow none.
        plan: the same as tool poses, without a stamp.
        reasons: why the plan should not be shown, in words; empty if it may be.
        corrections: at how many waypoints it was known whether somebody pushed.
        pushes: at how many of them somebody did.
    """

    posterior: core.Posterior
    trajectory: np.ndarray | None
    plan: Plan | None
    reasons: tuple[str, ...]
    corrections: int
    pushes: int

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
    """Return how the arm follows the trajectories of the task, its features softened."""
    loaded = core.load_task(parameters.task) if task is None else task
    return ToolPaths(
        task=parameters.softened(loaded),
        description=franka_arm(prefix=parameters.prefix, hand=parameters.hand),
    )


def learn(
    parameters: LearningParameters,
    sequences: Sequence[core.CorrectionSequence],
    *,
    task: core.Task | None = None,
    on_progress: Callable[[core.Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    threads: int | None = None,
) -> InferenceResult:
    """Infer θ from corrections and plan by it: the same every time for the same arguments.

    Args:
        parameters: What is learned and how.
        sequences: What the person did, as `Learner.sequences` gives it.
        task: The task, if it is loaded already.
        on_progress: Told how far the inference is.
        should_stop: Asked between batches, and before planning, whether to give up.
        threads: How many; all cores by default. The result does not depend on it.

    Raises:
        CancelledError: It was stopped.
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
            **_options(parameters, paths.task),
            # The same whatever was corrected: what was drawn for earlier corrections serves again.
            seed=parameters.seed,
            settings=_settings(parameters, longest),
            threads=threads,
            on_progress=on_progress,
            should_stop=should_stop,
        )
    if should_stop is not None and should_stop():
        raise CancelledError('the inference was stopped before its end')
    trajectory, plan, refusals = _plan(parameters, paths, posterior, sequences)
    return InferenceResult(
        posterior=posterior,
        trajectory=trajectory,
        plan=plan,
        reasons=(
            *posterior.sampling_warnings,
            *posterior.relevance_warnings(parameters.min_relevance),
            *refusals,
        ),
        corrections=sum(lengths),
        pushes=int(sum(sequence.is_push.sum() for sequence in sequences)),
    )


def warm_up(parameters: LearningParameters, task: core.Task) -> None:
    """Load and compile all that `learn` needs, so that the first inference takes no longer."""
    free = len(task.plan) - task.space.fixed_waypoints
    deltas = np.zeros((free, task.plan.shape[1]))
    # Not silent: where silence says nothing, nothing would be sampled.
    nothing = core.CorrectionSequence.from_pass(task.plan, deltas, ['pushed'] * free)
    short = dataclasses.replace(parameters, max_draws=8, target_ess=100.0)
    learn(short, [nothing], task=task)


def model_options(parameters: LearningParameters, task: core.Task) -> dict[str, Any]:
    """Return what is assumed of the person: options of `HumanModel`."""
    options = _options(parameters, task)
    del options['method']
    return options


def _options(parameters: LearningParameters, task: core.Task) -> dict[str, Any]:
    """Return what `core.infer` is to assume of the person, and by which method."""
    options = parameters.inference_options()
    if parameters.human_model == PASS and task.library is not None:
        # A library of whole trajectories has none that builds on another.
        for name in ('silence', 'bother', 'alpha'):
            options.pop(name, None)
        options.update(core.pass_model(task))
        if parameters.beta is not None:
            options['beta'] = parameters.beta
    return options


def _settings(parameters: LearningParameters, longest: int) -> core.Settings:
    """Return how hard to work, given the length of the longest sequence."""
    wanted: dict[str, Any] = {
        'target_ess': parameters.target_ess,
        'target_r_hat': parameters.target_r_hat,
        'max_draws': parameters.max_draws,
        'enough_draws': core.PASS_SETTINGS.enough_draws,
    }
    if parameters.human_model == PASS:
        return dataclasses.replace(core.PASS_SETTINGS, **wanted)
    return core.Settings(
        warmup=WARMUP,
        batch=BATCH,
        inner_steps=max(MIN_INNER_STEPS, INNER_STEPS_PER_CORRECTION * longest),
        ensemble=core.EnsembleSize(seeds=SEEDS, anneal_steps=ANNEAL_STEPS),
        **wanted,
    )


def _plan(
    parameters: LearningParameters,
    paths: ToolPaths,
    posterior: core.Posterior,
    sequences: Sequence[core.CorrectionSequence],
) -> tuple[np.ndarray | None, Plan | None, tuple[str, ...]]:
    """Return the trajectory to be shown, as a plan too, or why the arm can follow none."""
    free = len(paths.task.plan) - paths.task.space.fixed_waypoints
    accepted = core.accepted_plan(sequences, free)
    if parameters.human_model == PASS and accepted is not None:
        # Whatever is inferred from it: what the person let pass is what they are shown.
        return accepted, paths.plan_of(accepted, 0), ()
    check = _playback_check(parameters)
    check.failures = 0
    try:
        if parameters.human_model == PASS and paths.task.library is None:
            trajectory = core.choose_plan(
                paths.task,
                posterior.samples,
                doubt=core.doubt_after(sequences),
                seed=parameters.seed,
                admissible=check,
            ).trajectory
        else:
            trajectory = core.plan(
                paths.task, posterior.mean, seed=parameters.seed, admissible=check
            )
    except RewardLearningError as error:
        return None, None, (f'there is no plan for the arm: {error}',)
    return trajectory, paths.plan_of(trajectory, 0), ()


@lru_cache(maxsize=4)
def _playback_check(parameters: LearningParameters) -> _PlaybackCheck:
    """Return the same check for the same parameters: what was planned with it is kept."""
    return _PlaybackCheck(parameters, tool_paths_of(parameters))


class _PlaybackCheck:
    """Tells which of some trajectories (N, n, m) playback would take, (N,)."""

    def __init__(self, parameters: LearningParameters, paths: ToolPaths) -> None:
        self._planner = MotionPlanner(config=parameters.playback())
        self._paths = paths
        self.failures = 0

    def __call__(self, trajectories: np.ndarray) -> np.ndarray:
        return np.array([self._takes(trajectory) for trajectory in trajectories], dtype=bool)

    def _takes(self, trajectory: np.ndarray) -> bool:
        try:
            self._planner.whole(self._paths.plan_of(trajectory, 0))
        except RewardLearningError as error:
            self.failures += 1
            if self.failures >= MAX_FAILURES:
                raise InvalidInputError(
                    f'none of {self.failures} trajectories can be played; the last: {error}'
                ) from error
            return False
        return True
