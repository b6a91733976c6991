"""People who correct just as the model says: draws of corrections for a given θ and β."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array, positive_number, whole_number
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.human_model import (
    ATOM,
    DEPENDENT,
    ZERO,
    HumanModel,
    InadmissibleCorrectionWarning,
    gather_evidence,
)
from reward_learning_ros.core.samplers import kernels
from reward_learning_ros.core.samplers.ensemble import Ensemble, EnsembleSize
from reward_learning_ros.core.samplers.ensemble_kernels import move_members
from reward_learning_ros.core.samplers.kernels import Space, make_scratch
from reward_learning_ros.core.samplers.library_evidence import (
    draw_demonstrations,
    require_independent,
)
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence

SIZE = EnsembleSize(seeds=32768, members=256, anneal_steps=48)
# Moves after the ensemble, so that a draw is no copy of another.
FINAL_STEPS = 400


def simulate_corrections(
    task: Task,
    theta: Any,
    *,
    beta: float,
    count: int,
    dependence: str = DEPENDENT,
    gamma: float = 1.0,
    effort: float = 1.0,
    alpha: float | None = None,
    bother: float | None = None,
    onsets: Sequence[int] | None = None,
    plan: Any = None,
    seed: int | np.random.SeedSequence = 0,
) -> CorrectionSequence:
    """Draw what a noisily rational person with reward weights θ would do (equations P2, A4).

    Args:
        task: The task.
        theta: (d,) the person's reward weights.
        beta: The person's rationality.
        count: How many corrections (dependent) or demonstrations (independent).
        dependence: Whether each correction builds on the one before.
        gamma: Discount of the rewards of earlier trajectories.
        effort: Weight λ of the squared length of a correction.
        alpha: Scale of the effort; β by default.
        bother: What a push costs besides its length, for a person who could also do nothing at
            each waypoint; by default they correct at all.
        onsets: The waypoints at which a dependent person corrects; by default one after the other,
            from the first free one on and round again.
        plan: The plan that is corrected; the task's by default.
        seed: Of all random numbers.
    """
    weights = finite_array(theta, 'theta', (task.size,))
    positive_number(beta, 'beta')
    whole_number(count, 'count', 1)
    start = finite_array(task.plan if plan is None else plan, 'plan', task.plan.shape)
    silence = ZERO if bother is None else ATOM
    model = HumanModel(
        dependence=dependence,
        beta=beta,
        gamma=gamma,
        effort=effort,
        alpha=alpha,
        silence=silence,
        bother='infer' if bother is None else bother,
    )
    if task.library is not None:
        require_independent(task, dependence)
        rng = np.random.default_rng(seed)
        return draw_demonstrations(task, weights, beta=beta, count=count, rng=rng)
    fixed = task.space.fixed_waypoints
    if dependence == DEPENDENT:
        free = len(start) - fixed
        chosen = [fixed + i % free for i in range(count)] if onsets is None else list(onsets)
        if len(chosen) != count:
            raise InvalidInputError(f'{count} corrections but {len(chosen)} onsets')
        blank = CorrectionSequence.from_deltas(start, np.zeros((count, start.shape[1])), chosen)
    else:
        if onsets is not None:
            raise InvalidInputError('independent demonstrations have no onsets')
        blank = CorrectionSequence(plan=start, corrected=start[None])
    space = _space_of(task, blank, model)
    rest = np.array([beta if alpha is None else alpha, *([] if bother is None else [bother])])
    draws = _draw(task, space, weights, beta, rest, 1 if dependence == DEPENDENT else count, seed)
    # (draws, K, n, m) all trajectories that lead to each draw
    displacements = space.profiles[None, :, :, None] * draws[:, :, None, :]
    trajectories = space.plan + np.cumsum(displacements, axis=1)
    if dependence == DEPENDENT:
        return CorrectionSequence(
            plan=start,
            corrected=trajectories[0],
            profiles=blank.resolved_profiles(),
            pushed=None if bother is None else (draws[0] != 0.0).any(axis=1),
        )
    return CorrectionSequence(plan=start, corrected=trajectories[:, -1])


def _space_of(task: Task, sequence: CorrectionSequence, model: HumanModel) -> Space:
    with warnings.catch_warnings():
        # The uncorrected plan only stands for its space here.
        warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
        return gather_evidence(task, sequence, model).spaces[0]


def _draw(
    task: Task,
    space: Space,
    theta: np.ndarray,
    beta: float,
    rest: np.ndarray,
    count: int,
    seed: int | np.random.SeedSequence,
) -> np.ndarray:
    """Return deltas (count, K, m) drawn from P(D | θ, β), `rest` the weights of effort, …."""
    sequence = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    ensemble_seed, own_seed = sequence.spawn(2)
    rng = np.random.default_rng(own_seed)
    length = float(np.linalg.norm(theta))
    eta = np.append(beta * theta, rest)
    direction = theta / length if length > 0.0 else np.full(len(theta), len(theta) ** -0.5)
    radius = beta * (length if length > 0.0 else 1e-6)
    ensemble = Ensemble(
        task.compiled_features,
        space,
        direction[None],
        radius,
        lambda rung, length, anchors: np.tile(rest / radius * length, (anchors, 1)),
        SIZE,
        ensemble_seed,
        bothers=tuple(rest[1:]) or (0.0,),
    )
    members = ensemble.members
    exponents = members.statistics @ eta - members.log_mixture
    probability = np.exp(exponents - exponents.max())
    chosen = rng.choice(len(probability), size=count, p=probability / probability.sum())
    deltas, statistics = members.deltas[chosen], members.statistics[chosen]
    move_members(
        task.compiled_features,
        space,
        make_scratch(space, task.size),
        eta,
        deltas,
        statistics,
        FINAL_STEPS,
        float(members.scales[-1]),
        rng,
        np.zeros((kernels.KINDS, 2), dtype=np.int64),
    )
    return deltas
