"""The best trajectory for a given θ, and what a wrong θ costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array, whole_number
from reward_learning_ros.core.compiled import (
    Features,
)
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.human_model import (
    INDEPENDENT,
    HumanModel,
    InadmissibleCorrectionWarning,
    gather_evidence,
)
from reward_learning_ros.core.planner_kernels import MAX_STEP, MIN_STEP, SLACK, polish, refine
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform
from reward_learning_ros.core.samplers.kernels import (
    Space,
    make_scratch,
)
from reward_learning_ros.core.samplers.optimum import THOROUGH, good_corrections
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence

# Sweeps of the refinement over all coordinates: of one among many trajectories, and of the last.
FEW_SWEEPS, MANY_SWEEPS = 30, 1000
# Where steps towards a straighter trajectory end.
STRAIGHT_STEP = 1e-3
# Random steps in all coordinates at once after the pattern search, which stops on ridges: where
# several waypoints are equally near an obstacle, no single coordinate improves anything.
# How many trajectories go on with how many of them: the best of those before, so that what needs
# a few steps to be good is not left out.
POLISHING = ((24, 300), (8, 1_000), (2, 6_000))
# How often the way is tried with a waypoint elsewhere on it, for as long as that helps.
RETIMED = 2
# Random trajectories, and then steps from the best of them, that are tried where the arm cannot
# follow the optimum.
FALLBACK_STARTS = 4096
FALLBACK_ROUNDS = 24
FALLBACK_BATCH = 16

Admissible = Callable[[np.ndarray], np.ndarray]


def plan(
    task: Task,
    theta: Any,
    *,
    seed: int = 0,
    admissible: Admissible | None = None,
    near: Sequence[np.ndarray] = (),
) -> np.ndarray:
    """Return ξ̂ = argmax R(ξ, θ) over the task's trajectories (equation U1), (n, m).

    Where the trajectory space is a library, that is a look-up. Elsewhere it is a global search by
    annealing from many random trajectories and a local one by pattern search, inside the bounds of
    the corrections and the workspace.

    Args:
        task: The task.
        theta: (d,) reward weights.
        seed: Of all random numbers: the same gives the same plan.
        admissible: Tells which of some trajectories (N, n, m) can be driven, (N,); for a plan that
            must also keep the joint limits, pass what checks them.
        near: Trajectories (n, m) near which the best one is known to be: then only the hills that
            they are on are climbed, in a fraction of the time.
    """
    # A copy: kernels take no read-only arrays.
    weights = np.array(finite_array(theta, 'theta', (task.size,)))
    stream = np.random.SeedSequence(whole_number(seed, 'seed', 0))
    if task.library is not None:
        return _best_member(task, weights, admissible)
    space = trajectory_space(task)
    features = task.compiled_features
    search_seed, fallback_seed, polish_seed = stream.spawn(3)
    if len(near):
        found = _deltas_of(space, np.array(near, dtype=np.float64))
    else:
        searched = _searched_weights(weights)
        with ThreadPoolExecutor(min(available_cores(), len(searched))) as executor:
            found = good_corrections(features, space, searched, search_seed, executor, THOROUGH)
    # The initial plan first: where nothing is better, it stays.
    starts = np.concatenate([np.zeros_like(found[:1]), found])
    rng = np.random.default_rng(polish_seed)
    reward, deltas, best = _climbed(features, space, weights, starts, rng)
    for _ in range(0 if len(near) else RETIMED):
        again = _climbed(features, space, weights, _retimed(space, best), rng)
        if not again[0] > reward + SLACK:
            break
        reward, deltas, best = again
    refine(features, space, weights, deltas, best, MIN_STEP, False, MANY_SWEEPS)
    refine(features, space, weights, deltas, best, STRAIGHT_STEP, True, MANY_SWEEPS)
    if admissible is not None and not admissible(best[None])[0]:
        return _best_admissible(
            task, space, weights, best, admissible, np.random.default_rng(fallback_seed)
        )
    return best


def _climbed(
    features: Features,
    space: Space,
    theta: np.ndarray,
    starts: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return reward, deltas (K, m) and trajectory (n, m) of the best that starts (N, K, m) reach.

    The starts are changed.
    """
    fixed = len(space.plan) - starts.shape[1]
    ends = np.tile(space.plan, (len(starts), 1, 1))
    ends[:, fixed:] += np.cumsum(starts, axis=1)
    rewards = [
        refine(features, space, theta, deltas, trajectory, MIN_STEP, False, FEW_SWEEPS)
        for deltas, trajectory in zip(starts, ends, strict=True)
    ]
    for count, steps in POLISHING:
        for index in np.argsort(np.negative(rewards), kind='stable')[:count]:
            if np.isfinite(rewards[index]):
                rewards[index] = polish(
                    features, space, theta, starts[index], ends[index], steps, rng
                )
    chosen = int(np.argmax(rewards))
    return rewards[chosen], starts[chosen], ends[chosen]


def _retimed(space: Space, trajectory: np.ndarray) -> np.ndarray:
    """Return deltas (N, K, m) of the same way with one waypoint elsewhere on it.

    Which waypoint it is that presses a button or passes an obstacle is a mode of its own, and no
    small step leads from one to another.
    """
    fixed = len(space.plan) - len(space.profiles)
    variants = [trajectory]
    for left in range(fixed, len(trajectory)):
        rest = np.delete(trajectory, left, axis=0)
        for after in range(max(fixed - 1, 0), len(rest) - 1):
            between = 0.5 * (rest[after] + rest[after + 1])
            variants.append(np.insert(rest, after + 1, between, axis=0))
    return _deltas_of(space, np.array(variants))


def _deltas_of(space: Space, trajectories: np.ndarray) -> np.ndarray:
    """Return the deltas (N, K, m) of trajectories (N, n, m), as far as the bounds allow."""
    fixed = len(space.plan) - len(space.profiles)
    moved = trajectories[:, fixed:] - space.plan[fixed:]
    deltas: np.ndarray = np.zeros_like(moved)
    before = np.zeros((len(moved), moved.shape[2]))
    for row in range(moved.shape[1]):
        deltas[:, row] = np.clip(
            moved[:, row] - before, space.delta_low[row], space.delta_high[row]
        )
        before = before + deltas[:, row]
    return deltas


def regret(task: Task, theta: Any, theta_hat: Any, *, seed: int = 0) -> float:
    """Return R(ξ, θ) − R(ξ̂, θ), ξ and ξ̂ the best trajectories for θ and θ̂ (equation U1)."""
    weights = finite_array(theta, 'theta', (task.size,))
    both = np.stack([plan(task, weights, seed=seed), plan(task, theta_hat, seed=seed)])
    ideal, learned = task.evaluate(both) @ weights
    # Should the search for θ̂ have found a better trajectory for θ, then that one is ideal.
    return float(max(0.0, ideal - learned))


def trajectory_space(task: Task) -> Space:
    """Return the space of single trajectories of a task, one correction at each free waypoint."""
    with warnings.catch_warnings():
        # The initial plan only stands for its space here.
        warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
        sequence = CorrectionSequence(plan=task.plan, corrected=task.plan[None])
        return gather_evidence(task, sequence, HumanModel(dependence=INDEPENDENT)).spaces[0]


def _searched_weights(theta: np.ndarray) -> np.ndarray:
    """Return the weights (1 + d, d) to search for: θ, and θ with one feature favoured.

    Where a feature is all or nothing, the best trajectory may be far from all that seem good at
    first; who favours the feature finds it.
    """
    favoured = theta + np.linalg.norm(theta) * np.eye(len(theta))
    return np.concatenate([theta[None], favoured])


def _best_member(task: Task, theta: np.ndarray, admissible: Admissible | None) -> np.ndarray:
    assert task.library is not None
    order = np.argsort(-(task.library.features @ theta), kind='stable')
    if admissible is None:
        return np.array(task.library.trajectories[order[0]])
    for first in range(0, len(order), FALLBACK_BATCH):
        some = task.library.trajectories[order[first : first + FALLBACK_BATCH]]
        can = np.flatnonzero(admissible(some))
        if len(can):
            return np.array(some[can[0]])
    raise InvalidInputError(f'no trajectory of task {task.name!r} is admissible')


def _best_admissible(
    task: Task,
    space: Space,
    theta: np.ndarray,
    best: np.ndarray,
    admissible: Admissible,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return a good trajectory that can be driven, where the best one cannot."""
    candidates, rewards = _candidates(task, space, theta, best, rng)
    chosen = None
    for first in range(0, len(candidates), FALLBACK_BATCH):
        can = np.flatnonzero(admissible(candidates[first : first + FALLBACK_BATCH]))
        if len(can):
            chosen = first + int(can[0])
            break
    if chosen is None:
        raise InvalidInputError(f'no trajectory of task {task.name!r} was found to be admissible')
    current, reward = candidates[chosen], float(rewards[chosen])
    width = task.space.delta_high - task.space.delta_low
    scale = MAX_STEP
    free = slice(task.space.fixed_waypoints, None)
    for _ in range(FALLBACK_ROUNDS):
        steps = scale * width * rng.standard_normal((4 * FALLBACK_BATCH, *best[free].shape))
        # Some move all waypoints a little, some only one.
        single = rng.random(steps.shape[:2]) < 1.0 / steps.shape[1]
        steps[::2] *= single[::2, :, None]
        tried = np.repeat(current[None], len(steps), axis=0)
        tried[:, free] += steps
        values = _rewards(task, space, theta, tried)
        order = np.argsort(-values, kind='stable')
        better = order[values[order] > reward][:FALLBACK_BATCH]
        can = better[admissible(tried[better])] if len(better) else better
        if len(can):
            current, reward = tried[can[0]], float(values[can[0]])
        else:
            scale *= 0.6
    return np.array(current)


def _candidates(
    task: Task, space: Space, theta: np.ndarray, best: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return trajectories (N, n, m) to begin with and their rewards (N,), the best first."""
    deltas = np.zeros((FALLBACK_STARTS, *space.delta_low.shape))
    statistics = np.zeros((FALLBACK_STARTS, task.size + 1))
    scratch = make_scratch(space, task.size)
    fill_uniform(task.compiled_features, space, scratch, deltas, statistics, rng)
    random = np.tile(space.plan, (len(deltas), 1, 1))
    random[:, task.space.fixed_waypoints :] += np.cumsum(deltas, axis=1)
    # Also on the way from the initial plan to the best trajectory.
    shares = np.linspace(0.0, 1.0, 41)[:-1, None, None]
    between = task.plan + shares * (best - task.plan)
    trajectories = np.concatenate([between, random])
    rewards = _rewards(task, space, theta, trajectories)
    order = np.argsort(-rewards, kind='stable')
    order = order[np.isfinite(rewards[order])]
    return trajectories[order], rewards[order]


def _rewards(task: Task, space: Space, theta: np.ndarray, trajectories: np.ndarray) -> np.ndarray:
    """Return R(ξ, θ) (N,) of trajectories (N, n, m), −∞ outside the space."""
    fixed = task.space.fixed_waypoints
    later = trajectories[:, fixed:]
    moved = later - task.plan[fixed:]
    deltas = np.diff(moved, axis=1, prepend=np.zeros((len(moved), 1, moved.shape[2])))
    inside = ((deltas >= space.delta_low) & (deltas <= space.delta_high)).all(axis=(1, 2))
    inside &= ((later >= space.workspace_low) & (later <= space.workspace_high)).all(axis=(1, 2))
    rewards = np.full(len(trajectories), -np.inf)
    values = np.empty(task.size)
    for index in np.flatnonzero(inside):
        task.compiled_features(np.ascontiguousarray(trajectories[index]), values)
        reward = float(values @ theta)
        rewards[index] = reward if np.isfinite(reward) else -np.inf
    return rewards
