"""The best corrections of a space, for every θ at once."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.core.compiled import Features
from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.samplers import kernels
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform, move_members
from reward_learning_ros.core.samplers.kernels import Space, make_scratch
from reward_learning_ros.core.samplers.recent import Recent
from reward_learning_ros.core.samplers.space import statistics_size

# Uniform corrections that a search starts from.
STARTS = 8192
# Those of a few spaces are kept for the next search.
_STARTS_OF_SPACES: Recent[tuple[np.ndarray, np.ndarray]] = Recent(4)
# At the end of a search differences of a thousandth matter.
COLDEST = 3000.0
# For how many θ the best corrections are found, for each feature.
SEARCHED_PER_FEATURE = 16


@dataclass(frozen=True, kw_only=True)
class Search:
    """How hard the best corrections for a θ are looked for.

    Attributes:
        searchers: Searches side by side.
        stages: In which they cool: β grows from `hottest`, where rewards begin to matter.
        stage_steps: Of each searcher in each stage.
        hottest: β at the beginning, in units of the spread of the rewards.
        spread_out: Whether searchers begin where they would be at `hottest`, and so on both sides
            of an obstacle, or at the best of the uniform corrections.
    """

    searchers: int
    stages: int
    stage_steps: int
    hottest: float
    spread_out: bool


# For many θ, whose best corrections stand in for each other's; and for one θ that counts alone.
QUICK = Search(searchers=12, stages=14, stage_steps=80, hottest=2.0, spread_out=False)
THOROUGH = Search(searchers=12, stages=10, stage_steps=240, hottest=5.0, spread_out=True)


def best_corrections(
    features: Features,
    space: Space,
    thetas: np.ndarray,
    seed: np.random.SeedSequence,
    executor: Executor | None = None,
    how: Search | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return deltas (J, K, m) and statistics (J, S) of the best corrections for each θ (J, d).

    Simulated annealing from the best of many uniform corrections, with the moves of the inner
    sampler, so that indicator features are found too.
    """
    found = _searched(features, space, thetas, seed, executor, QUICK if how is None else how)
    return np.array([best[0] for best, _ in found]), np.array([best[1] for best, _ in found])


def good_corrections(
    features: Features,
    space: Space,
    thetas: np.ndarray,
    seed: np.random.SeedSequence,
    executor: Executor | None,
    how: Search,
) -> np.ndarray:
    """Return deltas (J (1 + searchers), K, m): the best for each θ (J, d), and where all ended."""
    found = _searched(features, space, thetas, seed, executor, how)
    return np.concatenate([np.concatenate([best[0][None], ends]) for best, ends in found])


def _searched(
    features: Features,
    space: Space,
    thetas: np.ndarray,
    seed: np.random.SeedSequence,
    executor: Executor | None,
    how: Search,
) -> list[tuple[tuple[np.ndarray, np.ndarray], np.ndarray]]:
    """Return for each θ the best deltas with their statistics, and all searchers' last deltas."""
    count, size = thetas.shape
    start_seed, *seeds = seed.spawn(1 + count)
    deltas, statistics = _uniform_corrections(features, space, size, start_seed)
    spread = max(float(statistics[:, :size].std(axis=0).max()), 1e-9)

    def search(index: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        rng = np.random.default_rng(seeds[index])
        # Who looks for the best does not mind the bother.
        eta = np.append(thetas[index], np.eye(statistics_size(space, 0))[0])
        order = _starts(statistics @ eta, how, spread, rng)
        members, found = deltas[order].copy(), statistics[order].copy()
        best, best_found = members[0].copy(), found[0].copy()
        memory = make_scratch(space, size)
        counts = np.zeros((kernels.KINDS, 2), dtype=np.int64)
        scale = 0.3
        for beta in np.geomspace(how.hottest, COLDEST, how.stages) / spread:
            counts[:] = 0
            move_members(
                features,
                space,
                memory,
                beta * eta,
                members,
                found,
                how.stage_steps,
                scale,
                rng,
                counts,
            )
            acceptance = counts[kernels.LOCAL, 1] / max(1, counts[kernels.LOCAL, 0])
            scale = float(np.clip(scale * np.exp(2.0 * (acceptance - 0.3)), 1e-4, 1.0))
            leader = int(np.argmax(found @ eta))
            if found[leader] @ eta > best_found @ eta:
                best, best_found = members[leader].copy(), found[leader].copy()
        return (best, best_found), members

    return list(
        map(search, range(count)) if executor is None else executor.map(search, range(count))
    )


def _uniform_corrections(
    features: Features, space: Space, size: int, seed: np.random.SeedSequence
) -> tuple[np.ndarray, np.ndarray]:
    """Return deltas (STARTS, K, m) and statistics (STARTS, d + 1); for each seed drawn once."""
    key = (features, *(array.tobytes() for array in space), seed.entropy, seed.spawn_key)

    def draw() -> tuple[np.ndarray, np.ndarray]:
        deltas = np.zeros((STARTS, *space.delta_low.shape))
        statistics = np.zeros((STARTS, statistics_size(space, size)))
        scratch = make_scratch(space, size)
        rng = np.random.default_rng(seed)
        if not fill_uniform(features, space, scratch, deltas, statistics, rng):
            raise InvalidInputError('no admissible corrections were found in the trajectory space')
        return deltas, statistics

    return _STARTS_OF_SPACES.get(key, draw)


def _starts(
    rewards: np.ndarray, how: Search, spread: float, rng: np.random.Generator
) -> np.ndarray:
    """Return which of some corrections (N,) the searchers begin at."""
    if not how.spread_out:
        return np.argsort(-rewards, kind='stable')[: how.searchers]
    edges = np.cumsum(np.exp(how.hottest / spread * (rewards - rewards.max())))
    marks = (np.arange(how.searchers) + rng.random()) / how.searchers * edges[-1]
    return np.minimum(np.searchsorted(edges, marks), len(edges) - 1)


def best_statistics(
    features: Features,
    space: Space,
    domain: ThetaDomain,
    seed: np.random.SeedSequence,
    executor: Executor | None = None,
) -> np.ndarray:
    """Return the statistics (J, d + 1) of the best corrections for θ spread over its domain.

    The largest reward is a convex function of θ, so the corrections that are best for some θ,
    spread evenly, bound it from below and closely.
    """
    thetas = domain.quasi_random(SEARCHED_PER_FEATURE * domain.size)
    corners = np.eye(domain.size)
    if domain.kind == 'unit':
        corners = np.concatenate([corners, -corners])
    thetas = np.concatenate([thetas, corners])
    return np.unique(best_corrections(features, space, thetas, seed, executor)[1], axis=0)
