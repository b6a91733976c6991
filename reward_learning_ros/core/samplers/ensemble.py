"""An ensemble of random corrections, from which auxiliaries take global moves.

Local moves alone do not cross an indicator feature (a button pressed or not) at a large β. So a
population of corrections is drawn once for each of many *anchors*, weights η spread over the
prior of θ and β: rung by rung from β = 0, each anchor's members resampled from all corrections
drawn so far and then moved. The whole is a sample of one known mixture over the anchors,

    q(D) ∝ Σ_k n_k exp(η_k · T(D)) / Z(η_k),

whose normalizers are estimated on the way (adaptive multiple importance sampling). It is about the
space of corrections and knows nothing of the data. An auxiliary at new weights η' jumps by
iterated importance resampling among members drawn from q, which leaves P(D | θ', β') invariant,
and goes on from there with local moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from reward_learning_ros.core.compiled import (
    Features,
)
from reward_learning_ros.core.errors import CancelledError, InvalidInputError
from reward_learning_ros.core.samplers import kernels
from reward_learning_ros.core.samplers.ensemble_kernels import (
    Members,
    fill_aimless,
    move_members,
    nearest_anchor,
)
from reward_learning_ros.core.samplers.kernels import (
    Space,
    make_scratch,
)
from reward_learning_ros.core.samplers.space import statistics_size

# Acceptance of local moves that the warm-up steers to; near the optimum of a random walk in the
# three to thirty dimensions of a space of corrections.
TARGET_ACCEPTANCE = 0.35
# However long the sequences of corrections, there are at least this many.
MIN_SEEDS, MIN_MEMBERS = 1024, 32
# The first rung stands where the log weight of uniform corrections varies by this much, and each
# next one this much further out: near enough that corrections of one still matter at the next.
FIRST_RUNG = 1.0
RUNG_RATIO = 1.8
# In which normalizers of anchors without wishes are found.
ROUNDS = 200
# Corrections that a thread works on at a time.
PART = 2048

# Rung, radius and how many anchors → the weights (anchors, S − d) of what is no feature.
Tails = Callable[[int, float, int], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class EnsembleSize:
    """How large an ensemble is and how long its members are moved."""

    seeds: int = 24576  # uniform corrections that everything is drawn from
    members: int = 64  # of each anchor
    anneal_steps: int = 20  # moves of each member on its rung
    # Seeds, and members in all, hold at most this many numbers: of long sequences there are fewer.
    numbers: int = 2_500_000
    rung_ratio: float = RUNG_RATIO  # how much further out each rung stands
    tunings: int = 4  # of the moves, on each rung

    def __post_init__(self) -> None:
        if not self.rung_ratio > 1.0:
            raise InvalidInputError(f'rung_ratio is {self.rung_ratio}; it must be above 1')
        for name in ('seeds', 'members', 'anneal_steps', 'numbers', 'tunings'):
            if getattr(self, name) < 1:
                raise InvalidInputError(f'{name} is {getattr(self, name)}; it must be at least 1')


class Ensemble:
    """Corrections drawn from a mixture over anchors, in one space."""

    def __init__(
        self,
        features: Features,
        space: Space,
        directions: np.ndarray,
        largest_radius: float,
        tails: Tails | float,
        size: EnsembleSize,
        seed: np.random.SeedSequence,
        executor: Executor | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        bothers: Sequence[float] = (0.0,),
    ) -> None:
        """Draw the ensemble.

        Args:
            features: Compiled features of one trajectory.
            space: The space of corrections.
            directions: (J, d) unit vectors along which anchors stand.
            largest_radius: The largest length of β θ that there may be.
            tails: What the weights of effort, … are at the anchors of a radius; a number is what β
                is, on average, of the length of β θ.
            size: How many corrections are drawn and moved.
            seed: Of all random numbers; threads do not change them.
            executor: Where anchors of one rung are drawn at the same time.
            should_stop: Asked between rungs; a true answer ends in `CancelledError`.
            bothers: The costs of a push at which everything is drawn first, β = 0, where silence
                is an atom: with one alone, hardly any would be of a person who always pushes.
        """
        self._features = features
        self._space = space
        self._size = size
        count, dimensions = directions.shape
        seed_of_seeds, seed_of_shuffle, *streams = seed.spawn(2 + count)
        rngs = [np.random.default_rng(stream) for stream in streams]
        costs = np.array(bothers) if space.atom[0] else np.zeros(1)
        deltas, statistics = self._draw_aimless(dimensions, costs, seed_of_seeds, executor)
        each = len(deltas) // len(costs)
        origins = np.zeros((len(costs), statistics.shape[1]))
        if space.atom[0]:
            origins[:, -1] = costs
        log_z = _aimless_normalizers(statistics, origins)
        anchors = list(origins)
        log_shares = list(np.log(each) - log_z)
        scales = [1.0] * len(costs)
        pool = _Pool(deltas, statistics, log_mixture(statistics, origins, np.array(log_shares)))
        rung_scales = np.full(count, 0.5)
        radii = _radii(statistics, directions, largest_radius, size.rung_ratio)
        most = size.numbers // (len(radii) * count * deltas[0].size)
        members = self._members_each = min(size.members, max(MIN_MEMBERS, most))
        for rung, radius in enumerate(radii):
            if should_stop():
                raise CancelledError('cancelled while drawing the ensemble of corrections')
            if callable(tails):
                rest = tails(rung, radius, count)
            else:
                rest = np.full((count, 1), radius * tails)
            etas = np.append(directions * radius, rest, axis=1)
            climb = partial(self._climb, pool, members)
            found: list[Any] = list(_map(executor, climb, etas, rung_scales, rngs))
            anchors.extend(etas)
            log_shares.extend(np.log(members) - log_z for _, _, log_z, _ in found)
            rung_scales = np.array([scale for *_, scale in found])
            scales.extend(rung_scales)
            pool = pool.extended(
                np.concatenate([new for new, *_ in found]),
                np.concatenate([new for _, new, *_ in found]),
                np.array(anchors),
                np.array(log_shares),
                count,
                executor,
            )
        # The seeds have served: what the auxiliaries jump to are the anchors' members, with just
        # as many of the seeds as of any other anchor.
        seeds_kept = min(members, each)
        first = (each * np.arange(len(costs))[:, None] + np.arange(seeds_kept)).reshape(-1)
        kept = np.append(first, np.arange(len(deltas), len(pool.deltas)))
        counts = np.full(len(anchors), np.log(members))
        counts[: len(costs)] = np.log(seeds_kept)
        self._log_counts = counts
        log_shares[: len(costs)] = list(np.log(seeds_kept) - log_z)
        self.members = _shuffled(
            pool,
            kept,
            np.array(anchors),
            np.array(log_shares),
            np.array(scales),
            np.random.default_rng(seed_of_shuffle),
            executor,
        )

    @property
    def log_normalizers(self) -> np.ndarray:
        """The estimates (A,) of log Z(η) at the anchors, relative to η = 0."""
        return np.asarray(self._log_counts - self.members.log_shares)

    def effective_shares(self, etas: np.ndarray) -> np.ndarray:
        """Return which share (J,) of the members counts for an auxiliary at weights (J, d + 1)."""
        exponents = self.members.statistics @ etas.T - self.members.log_mixture[:, None]
        weights = np.exp(exponents - exponents.max(axis=0))
        return np.asarray(weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0) / len(weights))

    def refined(
        self,
        etas: np.ndarray,
        seed: np.random.SeedSequence,
        executor: Executor | None = None,
        members_each: int | None = None,
    ) -> Ensemble:
        """Return an ensemble with more anchors (J, d + 1), where chains of θ are found to be.

        Args:
            etas: The anchors.
            seed: Of all random numbers.
            executor: Where they are drawn at the same time.
            members_each: Members of each; as many as the others have by default.
        """
        members = self.members
        count = len(etas)
        each = self._members_each if members_each is None else members_each
        own_seed, *streams = seed.spawn(1 + count)
        pool = _Pool(members.deltas, members.statistics, members.log_mixture)

        scales = [members.scales[nearest_anchor(eta, members)] for eta in etas]
        rngs = [np.random.default_rng(stream) for stream in streams]
        climb = partial(self._climb, pool, each)
        found: list[Any] = list(_map(executor, climb, etas, scales, rngs))
        deltas = np.concatenate([pool.deltas, *(new for new, *_ in found)])
        added = np.concatenate([new for _, new, *_ in found])
        statistics = np.concatenate([pool.statistics, added])
        of_old_anchors = np.concatenate(
            [
                members.log_mixture,
                log_mixture(added, members.anchors, members.log_shares, executor),
            ]
        )

        def mixture(log_shares: np.ndarray) -> np.ndarray:
            return np.logaddexp(
                of_old_anchors, log_mixture(statistics, etas, log_shares, executor)
            )

        log_count = np.log(each)
        log_shares = np.array([log_count - log_z for _, _, log_z, _ in found])
        # The new anchors were estimated from few members; now they have members of their own.
        exponents = statistics @ etas.T - mixture(log_shares)[:, None]
        largest = exponents.max(axis=0)
        log_shares = log_count - largest - np.log(np.exp(exponents - largest).sum(axis=0))
        order = np.random.default_rng(own_seed).permutation(len(deltas))
        result = copy(self)
        result._log_counts = np.append(self._log_counts, np.full(count, log_count))
        result.members = Members(
            deltas[order],
            statistics[order],
            mixture(log_shares)[order],
            np.concatenate([members.anchors, etas]),
            np.append(members.log_shares, log_shares),
            np.append(members.scales, [scale for *_, scale in found]),
        )
        return result

    def _draw_aimless(
        self,
        dimensions: int,
        bothers: np.ndarray,
        seed: np.random.SeedSequence,
        executor: Executor | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return corrections without wishes, as many for each cost of a push."""
        rows, axes = self._space.delta_low.shape
        count = min(self._size.seeds, max(MIN_SEEDS, self._size.numbers // (rows * axes)))
        each = -(-count // len(bothers))
        count = each * len(bothers)
        deltas = np.zeros((count, rows, axes))
        statistics = np.zeros((count, statistics_size(self._space, dimensions)))

        def fill(bother: float, part: slice, stream: np.random.SeedSequence) -> bool:
            return fill_aimless(
                self._features,
                self._space,
                make_scratch(self._space, dimensions),
                bother,
                deltas[part],
                statistics[part],
                np.random.default_rng(stream),
            )

        parts = [
            (bother, slice(index * each + part.start, index * each + part.stop))
            for index, bother in enumerate(bothers.tolist())
            for part in _parts(each)
        ]
        costs, slices = zip(*parts, strict=True)
        if not all(_map(executor, fill, costs, slices, seed.spawn(len(parts)))):
            raise InvalidInputError(
                'no admissible corrections were found: the workspace and the bounds of the '
                'corrections leave next to nothing of the trajectory space'
            )
        return deltas, statistics

    def _climb(
        self,
        pool: _Pool,
        members: int,
        eta: np.ndarray,
        scale: float,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray, float, float]:
        """Draw the members of one anchor; also return log Z(η) and the tuned scale of moves."""
        exponents = pool.statistics @ eta - pool.log_mixture
        largest = exponents.max()
        edges = np.cumsum(np.exp(exponents - largest))
        log_z = float(largest + np.log(edges[-1]))
        # Systematic resampling: the least noise that one uniform number can give.
        marks = (np.arange(members) + rng.random()) / members * edges[-1]
        chosen = np.minimum(np.searchsorted(edges, marks), len(edges) - 1)
        deltas, statistics = pool.deltas[chosen], pool.statistics[chosen]
        scratch = make_scratch(self._space, len(eta) - statistics_size(self._space, 0))
        counts = np.zeros((kernels.KINDS, 2), dtype=np.int64)
        parts = min(self._size.tunings, self._size.anneal_steps)
        for _ in range(parts):
            counts[:] = 0
            move_members(
                self._features,
                self._space,
                scratch,
                eta,
                deltas,
                statistics,
                self._size.anneal_steps // parts,
                scale,
                rng,
                counts,
            )
            acceptance = counts[kernels.LOCAL, 1] / max(1, counts[kernels.LOCAL, 0])
            scale = float(np.clip(scale * np.exp(acceptance - TARGET_ACCEPTANCE), 1e-3, 1.0))
        return deltas, statistics, log_z, scale


class _Pool(NamedTuple):
    """All corrections drawn so far, with the log of the mixture that they were drawn from."""

    deltas: np.ndarray
    statistics: np.ndarray
    log_mixture: np.ndarray

    def extended(
        self,
        deltas: np.ndarray,
        statistics: np.ndarray,
        anchors: np.ndarray,
        log_shares: np.ndarray,
        count: int,
        executor: Executor | None,
    ) -> _Pool:
        """Add the corrections of the last `count` anchors."""
        grown = np.logaddexp(
            self.log_mixture,
            log_mixture(self.statistics, anchors[-count:], log_shares[-count:], executor),
        )
        return _Pool(
            np.concatenate([self.deltas, deltas]),
            np.concatenate([self.statistics, statistics]),
            np.concatenate([grown, log_mixture(statistics, anchors, log_shares, executor)]),
        )


def _shuffled(
    pool: _Pool,
    kept: np.ndarray,
    anchors: np.ndarray,
    log_shares: np.ndarray,
    scales: np.ndarray,
    rng: np.random.Generator,
    executor: Executor | None,
) -> Members:
    """Return members in random order, so that any stretch of them is a sample of the mixture."""
    order = kept[rng.permutation(len(kept))]
    statistics = pool.statistics[order]
    return Members(
        pool.deltas[order],
        statistics,
        log_mixture(statistics, anchors, log_shares, executor),
        anchors,
        log_shares,
        scales,
    )


def log_mixture(
    statistics: np.ndarray,
    anchors: np.ndarray,
    log_shares: np.ndarray,
    executor: Executor | None = None,
) -> np.ndarray:
    """Return log q (N,) of statistics (N, d + 1), given anchors (A, d + 1) and shares (A,)."""

    def of_part(part: slice) -> np.ndarray:
        exponents = statistics[part] @ anchors.T + log_shares
        largest = exponents.max(axis=1)
        exponents -= largest[:, None]
        return largest + np.log(np.exp(exponents, out=exponents).sum(axis=1))

    # In parts, so that the memory does not grow with the number of anchors.
    return np.concatenate(list(_map(executor, of_part, _parts(len(statistics)))))


def _aimless_normalizers(statistics: np.ndarray, origins: np.ndarray) -> np.ndarray:
    """Return log Z (J,) at anchors (J, S) without wishes, with as many of the statistics (N, S).

    Relative to the first. Where the workspace binds there is no formula, so they are those under
    which all anchors together agree with what was drawn.
    """
    log_z = np.zeros(len(origins))
    if len(origins) == 1:
        return log_z
    log_each = np.log(len(statistics) // len(origins))
    # Only the number of pushes counts.
    pushes, numbers = np.unique(statistics[:, -1], return_counts=True)
    exponents = np.outer(pushes, origins[:, -1])
    for _ in range(ROUNDS):
        joint = exponents + log_each - log_z
        largest = joint.max(axis=1)
        log_q = largest + np.log(np.exp(joint - largest[:, None]).sum(axis=1))
        terms = exponents + (np.log(numbers) - log_q)[:, None]
        largest = terms.max(axis=0)
        found = largest + np.log(np.exp(terms - largest).sum(axis=0))
        log_z = found - found[0]
    return np.asarray(log_z)


def _parts(count: int) -> list[slice]:
    """Divide a range into parts to be worked on at the same time, the same on every machine."""
    return [slice(start, min(start + PART, count)) for start in range(0, count, PART)]


def _radii(
    statistics: np.ndarray, directions: np.ndarray, largest: float, ratio: float
) -> np.ndarray:
    """Return the rungs: from where rewards begin to matter up to the largest, evenly in ratio."""
    spread = float((statistics[:, : directions.shape[1]] @ directions.T).std(axis=0).max())
    smallest = FIRST_RUNG / spread if spread > 0.0 else largest
    if smallest >= largest:
        return np.array([largest])
    count = 1 + int(np.ceil(np.log(largest / smallest) / np.log(ratio)))
    return np.geomspace(smallest, largest, count)


def _map(
    executor: Executor | None, function: Callable[..., Any], *arguments: Iterable[Any]
) -> Iterable[Any]:
    return map(function, *arguments) if executor is None else executor.map(function, *arguments)
