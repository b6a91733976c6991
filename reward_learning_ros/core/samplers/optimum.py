"""The best corrections of a space, for every θ at once."""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np

from reward_learning_ros.core.compiled import Features
from reward_learning_ros.core.domain import ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.samplers import kernels
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform, move_members
from reward_learning_ros.core.samplers.kernels import Space, make_scratch

# Uniform corrections that a search starts from.
STARTS = 8192
# Searches side by side for each θ, and how they cool: β grows from where rewards begin to matter
# until differences of a thousandth do.
SEARCHERS = 12
STAGES = 14
STAGE_STEPS = 80
HOTTEST, COLDEST = 2.0, 3000.0
# For how many θ the best corrections are found, for each feature.
SEARCHED_PER_FEATURE = 16


def best_corrections(
    features: Features,
    space: Space,
    thetas: np.ndarray,
    seed: np.random.SeedSequence,
    executor: Executor | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return deltas (J, K, m) and statistics (J, d + 1) of the best corrections for each θ (J, d).

    Simulated annealing from the best of many uniform corrections, with the moves of the inner
    sampler, so that indicator features are found too.
    """
    count, size = thetas.shape
    start_seed, *seeds = seed.spawn(1 + count)
    scratch = make_scratch(space, size)
    deltas = np.zeros((STARTS, *space.delta_low.shape))
    statistics = np.zeros((STARTS, size + 1))
    if not fill_uniform(
        features, space, scratch, deltas, statistics, np.random.default_rng(start_seed)
    ):
        raise InvalidInputError('no admissible corrections were found in the trajectory space')
    spread = max(float(statistics[:, :-1].std(axis=0).max()), 1e-9)

    def search(index: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seeds[index])
        eta = np.append(thetas[index], 1.0)
        order = np.argsort(-(statistics @ eta), kind='stable')[:SEARCHERS]
        members, found = deltas[order].copy(), statistics[order].copy()
        best, best_found = members[0].copy(), found[0].copy()
        memory = make_scratch(space, size)
        counts = np.zeros((kernels.KINDS, 2), dtype=np.int64)
        scale = 0.3
        for beta in np.geomspace(HOTTEST, COLDEST, STAGES) / spread:
            counts[:] = 0
            move_members(
                features,
                space,
                memory,
                beta * eta,
                members,
                found,
                STAGE_STEPS,
                scale,
                rng,
                counts,
            )
            acceptance = counts[kernels.LOCAL, 1] / max(1, counts[kernels.LOCAL, 0])
            scale = float(np.clip(scale * np.exp(2.0 * (acceptance - 0.3)), 1e-4, 1.0))
            leader = int(np.argmax(found @ eta))
            if found[leader] @ eta > best_found @ eta:
                best, best_found = members[leader].copy(), found[leader].copy()
        return best, best_found

    results = list(
        map(search, range(count)) if executor is None else executor.map(search, range(count))
    )
    return np.array([d for d, _ in results]), np.array([s for _, s in results])


def best_statistics(
    features: Features,
    space: Space,
    domain: ThetaDomain,
    seed: np.random.SeedSequence,
    executor: Executor | None = None,
) -> np.ndarray:
    """Return statistics (J, d + 1) among which the best for any θ of the domain is found.

    The largest reward is a convex function of θ, so the corrections that are best for some θ,
    spread evenly, bound it from below and closely.
    """
    thetas = domain.quasi_random(SEARCHED_PER_FEATURE * domain.size)
    corners = np.eye(domain.size)
    if domain.kind == 'unit':
        corners = np.concatenate([corners, -corners])
    thetas = np.concatenate([thetas, corners])
    return np.unique(best_corrections(features, space, thetas, seed, executor)[1], axis=0)
