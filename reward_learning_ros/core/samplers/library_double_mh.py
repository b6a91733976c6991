"""Double Metropolis–Hastings where the trajectory space is a library of simulated trajectories.

Auxiliaries move from member to member: along a symmetric graph of nearest neighbours in trajectory
space, by uniform jumps to any member, and by importance resampling among members drawn beforehand
from a mixture over weights η. All are look-ups in a table. Because the set is finite, sums over it
are exact, the mixture's normalizers too.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import (
    GENERATOR_TYPE,
    LOG_PRIOR_TYPE,
    LogPrior,
    copy_vector,
)
from reward_learning_ros.core.samplers.base import (
    STARTS,
    Chain,
    Problem,
    natural_anchors,
)
from reward_learning_ros.core.samplers.double_mh import (
    ADAPTED_ANCHORS,
    START_DATA,
    START_ENSEMBLE,
)
from reward_learning_ros.core.samplers.ensemble import FIRST_RUNG, RUNG_RATIO, log_mixture
from reward_learning_ros.core.samplers.ensemble_kernels import MEMBERS_TYPE, Members, choose_member
from reward_learning_ros.core.samplers.exchange import (
    AUXILIARIES,
    COUNTERS,
    EFFECTIVE_MEMBERS,
    JUMPS,
    NOT_FINITE,
    OUTER_ACCEPTED,
    OUTER_TRIED,
    STUCK,
    auxiliary_diagnostics,
    effective_number,
    log_exchange,
)
from reward_learning_ros.core.samplers.library_evidence import library_evidence
from reward_learning_ros.core.samplers.outer import (
    OUTER_TYPE,
    Outer,
    natural_parameters,
    propose_outer,
)

# How often an auxiliary tries any member instead of a neighbour: often enough to leave a part of
# the graph that is not linked to the rest.
JUMP_SHARE = 0.2
# Anchors of the mixture stand along this many directions for each feature.
DIRECTIONS_PER_FEATURE = 8


class Graph(NamedTuple):
    """Statistics of a library's members and the graph of their neighbours, for the kernel."""

    statistics: np.ndarray  # (N, d + 1)
    offsets: np.ndarray  # (N + 1,) where the neighbours of each member begin
    neighbours: np.ndarray  # (E,)
    log_degrees: np.ndarray  # (N,) of the number of neighbours


class Auxiliaries(NamedTuple):
    """The members that are one chain's auxiliary corrections, one for each block of data."""

    copies: np.ndarray  # (B,) how many trajectories it stands for: 1, or K in the paper's form
    data: np.ndarray  # (B, d + 1) statistics of the data
    nearest: np.ndarray  # (B,) the member nearest to the data
    carried: np.ndarray  # (B,) the member that the auxiliary is at


_VECTOR = types.Array(types.float64, 1, 'C')
_MATRIX = types.Array(types.float64, 2, 'C')
_INDICES = types.Array(types.int64, 1, 'C')
GRAPH_TYPE = types.NamedTuple([_MATRIX, _INDICES, _INDICES, _VECTOR], Graph)
AUXILIARIES_TYPE = types.NamedTuple([_VECTOR, _MATRIX, _INDICES, _INDICES], Auxiliaries)


@numba.njit(
    types.int64(GRAPH_TYPE, _VECTOR, types.int64, types.int64, GENERATOR_TYPE, _INDICES),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def walk(
    graph: Graph,
    eta: np.ndarray,
    member: int,
    steps: int,
    rng: np.random.Generator,
    counts: np.ndarray,
) -> int:
    """Run Metropolis–Hastings steps over the members (Algorithm 3); return where they end.

    Args:
        graph: The members and who is near to whom.
        eta: (d + 1,) the weights η of the statistics.
        member: Where the walk begins.
        steps: How many steps.
        rng: Of all random numbers.
        counts: (2,) tried and accepted steps, added to.
    """
    total, size = graph.statistics.shape
    for _ in range(steps):
        if rng.random() < JUMP_SHARE:
            other = int(rng.random() * total)
            change = 0.0
        else:
            first = graph.offsets[member]
            degree = graph.offsets[member + 1] - first
            if degree == 0:
                continue
            other = graph.neighbours[first + int(rng.random() * degree)]
            # A member with many neighbours is proposed more often than it proposes.
            change = graph.log_degrees[member] - graph.log_degrees[other]
        for index in range(size):
            change += eta[index] * (
                graph.statistics[other, index] - graph.statistics[member, index]
            )
        if change >= 0.0 or np.log(rng.random()) < change:
            member = other
            counts[1] += 1
    counts[0] += steps
    return member


@numba.njit(
    types.void(
        LOG_PRIOR_TYPE,
        GRAPH_TYPE,
        MEMBERS_TYPE,
        _INDICES,
        OUTER_TYPE,
        AUXILIARIES_TYPE,
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        _MATRIX,
        _VECTOR,
        _INDICES,
        GENERATOR_TYPE,
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def library_chain(
    log_prior: LogPrior,
    graph: Graph,
    members: Members,
    indices: np.ndarray,
    outer: Outer,
    auxiliaries: Auxiliaries,
    start: int,
    candidates: int,
    inner_steps: int,
    thin: int,
    draws: np.ndarray,
    counters: np.ndarray,
    counts: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Run one chain on from where it is, `thin` outer steps for each row of `draws`.

    Args:
        log_prior: Log density of the prior of θ.
        graph: The library.
        members: Sample of the mixture that auxiliaries may jump to.
        indices: (M,) which member of the library each of them is.
        outer: Position, domain and proposal of (θ, log β); the position is changed.
        auxiliaries: What the data are and where the auxiliaries are; the latter is changed.
        start: Where an auxiliary starts.
        candidates: How many of the sample each auxiliary looks at.
        inner_steps: Steps of the inner sampler for each auxiliary.
        thin: Outer steps for each draw.
        draws: (N, d + 1) receives θ and β.
        counters: (COUNTERS,) added to.
        counts: (2,) inner steps tried and accepted; added to.
        rng: Of all random numbers.
    """
    dimensions = draws.shape[1] - 1
    proposed = np.empty(dimensions + 1)
    eta = np.empty(dimensions + 1)
    eta_proposed = np.empty(dimensions + 1)
    weights = np.empty(candidates + 1)
    natural_parameters(outer.position, dimensions, eta)
    log_density = log_prior(outer.position[:dimensions])
    for row in range(draws.shape[0]):
        for _ in range(thin):
            counters[OUTER_TRIED] += 1
            if not propose_outer(outer, proposed, rng):
                continue
            natural_parameters(proposed, dimensions, eta_proposed)
            log_density_proposed = log_prior(proposed[:dimensions])
            log_ratio = log_density_proposed - log_density
            for block in range(auxiliaries.copies.shape[0]):
                member = auxiliaries.carried[block]
                if start == START_DATA:
                    member = auxiliaries.nearest[block]
                jumped = False
                if start == START_ENSEMBLE:
                    chosen = choose_member(
                        eta_proposed, members, graph.statistics[member], weights, rng
                    )
                    counters[EFFECTIVE_MEMBERS] += effective_number(weights)
                    jumped = chosen >= 0
                    if jumped:
                        member = indices[chosen]
                        counters[JUMPS] += 1
                accepted = counts[1]
                member = walk(graph, eta_proposed, member, inner_steps, rng, counts)
                counters[AUXILIARIES] += 1
                if counts[1] == accepted and not jumped:
                    counters[STUCK] += 1
                auxiliaries.carried[block] = member
                log_ratio += log_exchange(
                    eta,
                    eta_proposed,
                    auxiliaries.data[block],
                    auxiliaries.copies[block],
                    graph.statistics[member],
                )
            if not np.isfinite(log_ratio):
                counters[NOT_FINITE] += 1
            if log_ratio >= 0.0 or np.log(rng.random()) < log_ratio:
                counters[OUTER_ACCEPTED] += 1
                copy_vector(outer.position, proposed)
                copy_vector(eta, eta_proposed)
                log_density = log_density_proposed
        for index in range(dimensions):
            draws[row, index] = outer.position[index]
        draws[row, dimensions] = np.exp(outer.position[dimensions])


class LibraryDoubleMH:
    """Double Metropolis–Hastings with an auxiliary in the library for each demonstration."""

    counters = COUNTERS

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        evidence = library_evidence(problem)
        arrays = evidence.library.arrays
        # Copies: kernels take no read-only arrays.
        offsets = np.array(arrays['offsets'], dtype=np.int64)
        self._graph = Graph(
            np.array(evidence.library.statistics),
            offsets,
            np.array(arrays['neighbours'], dtype=np.int64),
            np.log(np.maximum(np.diff(offsets), 1).astype(np.float64)),
        )
        self._anchors = _anchors(problem, self._graph.statistics)
        self._adaptations = 0
        self._draw_members()

    def start(self, index: int) -> Chain:
        """Return a new chain, its auxiliaries at random members of the mixture."""
        chain = Chain.start(self._problem, index, self.counters)
        evidence = library_evidence(self._problem)
        data = np.array([block.statistics for block in evidence.blocks])
        copies, nearest = np.ones(len(data)), np.array(evidence.members, dtype=np.int64)
        if self._problem.settings.one_auxiliary:
            copies, data = np.array([float(len(data))]), data.sum(axis=0, keepdims=True)
            nearest = nearest[:1].copy()
        carried = chain.rng.choice(self._indices, size=len(data))
        chain.state = _State(
            auxiliaries=Auxiliaries(copies, data, nearest, carried),
            counts=np.zeros(2, dtype=np.int64),
        )
        return chain

    def run(self, chain: Chain, thin: int, draws: np.ndarray) -> None:
        """Run a chain on."""
        settings = self._problem.settings
        library_chain(
            self._problem.log_prior,
            self._graph,
            self._members,
            self._indices,
            chain.outer,
            chain.state.auxiliaries,
            STARTS.index(settings.auxiliary_start),
            settings.candidates,
            settings.inner_steps,
            thin,
            draws,
            chain.counters,
            chain.state.counts,
            chain.rng,
        )

    def adapt(self, recent: np.ndarray) -> None:
        """Give the mixture anchors where the chains are."""
        self._adaptations += 1
        self._anchors = np.concatenate(
            [self._anchors, natural_anchors(self._problem, recent, ADAPTED_ANCHORS)]
        )
        self._draw_members()

    def diagnostics(self, chains: list[Chain]) -> dict[str, float]:
        """Return how well the auxiliaries moved."""
        counters = np.sum([chain.counters for chain in chains], axis=0)
        counts = np.sum([chain.state.counts for chain in chains], axis=0)
        return auxiliary_diagnostics(counters, counts)

    def _draw_members(self) -> None:
        """Draw the sample of the mixture over the anchors, its normalizers summed exactly."""
        rng = np.random.default_rng(self._problem.stream(1, self._adaptations))
        statistics = self._graph.statistics
        count = self._problem.settings.ensemble.members
        log_shares, drawn = [], []
        for anchor in self._anchors:
            exponents = statistics @ anchor
            largest = exponents.max()
            edges = np.cumsum(np.exp(exponents - largest))
            log_shares.append(np.log(count) - largest - np.log(edges[-1]))
            drawn.append(np.searchsorted(edges, rng.random(count) * edges[-1], side='right'))
        indices = np.minimum(rng.permutation(np.concatenate(drawn)), len(statistics) - 1)
        shares = np.array(log_shares)
        members = np.ascontiguousarray(statistics[indices])
        self._indices = indices.astype(np.int64)
        self._members = Members(
            # What they are is in the library.
            np.zeros((0, 0, 0)),
            members,
            log_mixture(members, self._anchors, shares),
            self._anchors,
            shares,
            np.ones(len(self._anchors)),
        )


class _State(NamedTuple):
    """What one chain keeps besides θ and β."""

    auxiliaries: Auxiliaries
    counts: np.ndarray


def _anchors(problem: Problem, statistics: np.ndarray) -> np.ndarray:
    """Return weights η (A, d + 1), spread over the prior of θ and β; the first is 0."""
    domain = problem.domain
    assert domain.low is not None
    assert domain.high is not None
    axes = np.eye(problem.size)
    # Evenly spread directions leave out the corners, where one feature is all that matters.
    corners = np.concatenate([axes[domain.high > 0.0], -axes[domain.low < 0.0]])
    points = domain.quasi_random(DIRECTIONS_PER_FEATURE * problem.size)
    directions = np.concatenate([points, corners])
    directions /= np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-12)
    largest = problem.beta.high * domain.largest_length
    spread = max(float((statistics[:, :-1] @ directions.T).std(axis=0).max()), 1e-12)
    rungs = 1 + int(np.ceil(max(0.0, np.log(largest * spread / FIRST_RUNG) / np.log(RUNG_RATIO))))
    radii = np.geomspace(min(FIRST_RUNG / spread, largest), largest, rungs)
    etas = (radii[:, None, None] * directions).reshape(-1, problem.size)
    effort = np.repeat(radii, len(directions))[:, None]
    return np.concatenate([np.zeros((1, problem.size + 1)), np.append(etas, effort, axis=1)])
