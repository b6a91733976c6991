"""Double Metropolis–Hastings (Algorithms 2 and 3), compiled: one chain of θ and β.

With `screening_steps`, proposals are screened before auxiliaries are drawn for them: a few steps
on the posterior that a small table of log Z gives, then one exchange that corrects for the table
(delayed acceptance). It is as exact as without, whatever the table; docs/inference.md says why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from reward_learning_ros.core.compiled import (
    FEATURES_TYPE,
    GENERATOR_TYPE,
    LOG_PRIOR_TYPE,
    Features,
    LogPrior,
    copy_matrix,
    copy_vector,
)
from reward_learning_ros.core.samplers.base import (
    STARTS,
    Chain,
    Problem,
    anchor_tails,
    first_bothers,
    natural_anchors,
)
from reward_learning_ros.core.samplers.ensemble import Ensemble, EnsembleSize
from reward_learning_ros.core.samplers.ensemble_kernels import (
    MEMBERS_TYPE,
    choose_member,
    nearest_anchor,
)
from reward_learning_ros.core.samplers.exchange import (
    AUXILIARIES,
    AUXILIARIES_TYPE,
    COUNTERS,
    EFFECTIVE_MEMBERS,
    JUMPS,
    NOT_FINITE,
    OUTER_ACCEPTED,
    OUTER_TRIED,
    STUCK,
    Auxiliaries,
    auxiliary_diagnostics,
    effective_number,
    log_exchange,
)
from reward_learning_ros.core.samplers.kernels import (
    KINDS,
    SPACE_TYPE,
    advance,
    load,
    make_scratch,
)
from reward_learning_ros.core.samplers.lists import list_maker
from reward_learning_ros.core.samplers.normalizer import TABLE_TYPE
from reward_learning_ros.core.samplers.outer import (
    OUTER_TYPE,
    Outer,
    natural_parameters,
    propose_outer,
    record_position,
)
from reward_learning_ros.core.samplers.recent import Recent
from reward_learning_ros.core.samplers.screening import first_screen, log_screened, screen_at

# Anchors of the ensemble stand along this many directions for each feature.
DIRECTIONS_PER_FEATURE = 3
# Anchors that may be added where the chains are, at each adaptation; where this share of the
# members counts for an auxiliary, they would add nothing.
ADAPTED_ANCHORS = 12
ENOUGH_MEMBERS = 0.25
# Kept for the next problem with the same space.
_ENSEMBLES: Recent[Ensemble] = Recent(32)
# Where an auxiliary starts: from the data as Algorithm 3 prints it, from the auxiliary of the
# step before, or from there with a jump into the ensemble.
START_DATA, START_CARRIED, START_ENSEMBLE = range(len(STARTS))


_DELTAS = types.Array(types.float64, 2, 'C')
_list_spaces = list_maker(SPACE_TYPE)
_list_members = list_maker(MEMBERS_TYPE)
_list_deltas = list_maker(_DELTAS)
_list_tables = list_maker(TABLE_TYPE)


@numba.njit(
    types.void(
        FEATURES_TYPE,
        LOG_PRIOR_TYPE,
        types.ListType(SPACE_TYPE),
        types.ListType(MEMBERS_TYPE),
        OUTER_TYPE,
        AUXILIARIES_TYPE,
        types.ListType(_DELTAS),
        types.ListType(_DELTAS),
        types.int64,
        types.int64,
        types.int64,
        types.int64,
        types.Array(types.float64, 2, 'C'),
        types.Array(types.float64, 1, 'C'),
        types.Array(types.int64, 2, 'C'),
        types.ListType(TABLE_TYPE),
        types.int64,
        GENERATOR_TYPE,
    ),
    cache=True,
    nogil=True,
    error_model='numpy',
)
def double_mh_chain(
    features: Features,
    log_prior: LogPrior,
    spaces: Any,
    ensembles: Any,
    outer: Outer,
    auxiliaries: Auxiliaries,
    data_deltas: Any,
    carried_deltas: Any,
    start: int,
    candidates: int,
    inner_steps: int,
    thin: int,
    draws: np.ndarray,
    counters: np.ndarray,
    counts: np.ndarray,
    screens: Any,
    screening_steps: int,
    rng: np.random.Generator,
) -> None:
    """Run one chain on from where it is, `thin` outer steps for each row of `draws`.

    Args:
        spaces: Where the auxiliaries live.
        ensembles: The members that they may jump to, one ensemble for each space.
        outer: Position, domain and proposal of θ, β, …; the position is changed.
        auxiliaries: What the data are and where the auxiliaries are; the latter is changed.
        data_deltas: For each block, the admissible corrections (K, m) nearest to the data.
        carried_deltas: For each block, the auxiliary (K, m) carried on; changed.
        start: Where an auxiliary starts.
        candidates: How many members of the ensemble each auxiliary looks at.
        inner_steps: Steps of the inner sampler for each auxiliary.
        draws: (N, P) receives θ, β, ….
        counters: (COUNTERS,) added to.
        counts: (4, 2) inner moves tried and accepted, by kind; added to.
        screens: A table of log Z for each space.
        screening_steps: Steps on the posterior that they give, for each proposal; 0 for none.
    """
    dimensions = outer.factor.shape[0]
    blocks = auxiliaries.space.shape[0]
    proposed = np.empty(draws.shape[1])
    eta = np.empty(auxiliaries.data.shape[1])
    eta_proposed = np.empty(auxiliaries.data.shape[1])
    weights = np.empty(candidates + 1)
    natural_parameters(outer.position, dimensions, eta)
    log_density = log_prior(outer.position[:dimensions])
    before = np.empty_like(proposed)
    screened = screened_after = 0.0
    if screening_steps > 0:
        screened = log_screened(eta, log_density, auxiliaries, screens)
    for row in range(draws.shape[0]):
        for _ in range(thin):
            counters[OUTER_TRIED] += 1
            if screening_steps > 0:
                # The same kernel several times is reversible as it is once.
                copy_vector(before, outer.position)
                screened_after = screened
                moved = False
                for _ in range(screening_steps):
                    if not propose_outer(outer, proposed, rng):
                        continue
                    natural_parameters(proposed, dimensions, eta_proposed)
                    value = log_screened(
                        eta_proposed, log_prior(proposed[:dimensions]), auxiliaries, screens
                    )
                    # A comparison with NaN is false, so a NaN is a rejection.
                    if value >= screened_after or np.log(rng.random()) < value - screened_after:
                        copy_vector(outer.position, proposed)
                        screened_after = value
                        moved = True
                copy_vector(proposed, outer.position)
                copy_vector(outer.position, before)
                if not moved:
                    continue
            elif not propose_outer(outer, proposed, rng):
                continue
            natural_parameters(proposed, dimensions, eta_proposed)
            log_density_proposed = log_prior(proposed[:dimensions])
            log_ratio = log_density_proposed - log_density
            for block in range(blocks):
                space = spaces[auxiliaries.space[block]]
                members = ensembles[auxiliaries.space[block]]
                anchor = nearest_anchor(eta_proposed, members)
                scratch = make_scratch(space, dimensions)
                jumped = False
                if start == START_ENSEMBLE:
                    member = choose_member(
                        eta_proposed, members, auxiliaries.statistics[block], weights, rng
                    )
                    counters[EFFECTIVE_MEMBERS] += effective_number(weights)
                    jumped = member >= 0
                    if jumped:
                        load(features, space, scratch, members.deltas[member])
                        counters[JUMPS] += 1
                    else:
                        load(features, space, scratch, carried_deltas[block])
                elif start == START_CARRIED:
                    load(features, space, scratch, carried_deltas[block])
                else:
                    load(features, space, scratch, data_deltas[block])
                accepted = advance(
                    features,
                    space,
                    scratch,
                    eta_proposed,
                    inner_steps,
                    members.scales[anchor],
                    rng,
                    counts,
                )
                counters[AUXILIARIES] += 1
                if accepted == 0 and not jumped:
                    counters[STUCK] += 1
                copy_matrix(carried_deltas[block], scratch.deltas)
                copy_vector(auxiliaries.statistics[block], scratch.statistics)
                log_ratio += log_exchange(
                    eta,
                    eta_proposed,
                    auxiliaries.data[block],
                    auxiliaries.copies[block],
                    scratch.statistics,
                )
            log_ratio -= screened_after - screened
            if not np.isfinite(log_ratio):
                counters[NOT_FINITE] += 1
            if log_ratio >= 0.0 or np.log(rng.random()) < log_ratio:
                counters[OUTER_ACCEPTED] += 1
                copy_vector(outer.position, proposed)
                copy_vector(eta, eta_proposed)
                log_density = log_density_proposed
                screened = screened_after
            screened_after = screened
        record_position(outer.position, dimensions, eta.shape[0], draws[row])


class DoubleMH:
    """Double Metropolis–Hastings with an auxiliary for each block of data."""

    counters = COUNTERS

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        settings = problem.settings
        self._ensembles = [
            draw_ensemble(problem, index, settings.ensemble)
            for index in range(len(problem.evidence.spaces))
        ]
        self._spaces = _list_spaces(problem.evidence.spaces)
        self._members = _list_members(ensemble.members for ensemble in self._ensembles)
        self._adaptations = 0
        self._screens = _list_tables(map(first_screen, self._ensembles))

    def start(self, index: int) -> Chain:
        """Return a new chain, its auxiliaries at random members of the ensemble."""
        chain = Chain.start(self._problem, index, self.counters)
        blocks = self._problem.evidence.blocks
        if self._problem.settings.one_auxiliary:
            spaces = sorted({block.space for block in blocks})
            groups = [[block for block in blocks if block.space == space] for space in spaces]
        else:
            groups = [[block] for block in blocks]
        carried, statistics = [], []
        width = self._problem.weights
        for group in groups:
            members = self._ensembles[group[0].space].members
            member = int(chain.rng.integers(len(members.deltas)))
            carried.append(members.deltas[member].copy())
            statistics.append(members.statistics[member])
        chain.state = _State(
            auxiliaries=Auxiliaries(
                np.array([group[0].space for group in groups], dtype=np.int64),
                np.array([float(len(group)) for group in groups]),
                np.reshape(
                    [sum(block.statistics for block in group) for group in groups], (-1, width)
                ),
                np.reshape(statistics, (-1, width)),
            ),
            data=_list_deltas(group[0].deltas for group in groups),
            carried=_list_deltas(carried),
            counts=np.zeros((KINDS, 2), dtype=np.int64),
        )
        return chain

    def run(self, chain: Chain, thin: int, draws: np.ndarray) -> None:
        """Run a chain on."""
        settings = self._problem.settings
        double_mh_chain(
            self._problem.features,
            self._problem.log_prior,
            self._spaces,
            self._members,
            chain.outer,
            chain.state.auxiliaries,
            chain.state.data,
            chain.state.carried,
            STARTS.index(settings.auxiliary_start),
            settings.candidates,
            settings.inner_steps,
            thin,
            draws,
            chain.counters,
            chain.state.counts,
            self._screens,
            settings.screening_steps,
            chain.rng,
        )

    def adapt(self, recent: np.ndarray) -> None:
        """Give the ensembles anchors where the chains are and few members count."""
        etas = natural_anchors(self._problem, recent, ADAPTED_ANCHORS)
        self._adaptations += 1
        for index, ensemble in enumerate(self._ensembles):
            wanted = etas[ensemble.effective_shares(etas) < ENOUGH_MEMBERS]
            if len(wanted):
                stream = self._problem.stream(3, self._adaptations, index)
                self._ensembles[index] = ensemble.refined(wanted, stream, self._problem.executor)
        self._members = _list_members(ensemble.members for ensemble in self._ensembles)
        if self._problem.settings.screening_steps:
            self._screens = _list_tables(
                screen_at(ensemble, etas, self._problem.stream(5, self._adaptations, index))
                for index, ensemble in enumerate(self._ensembles)
            )

    def diagnostics(self, chains: list[Chain]) -> dict[str, float]:
        """Return how well the auxiliaries moved."""
        counters = np.sum([chain.counters for chain in chains], axis=0)
        counts = np.sum([chain.state.counts for chain in chains], axis=(0, 1))
        return auxiliary_diagnostics(counters, counts)


class _State(NamedTuple):
    """What one chain keeps besides θ and β."""

    auxiliaries: Auxiliaries
    data: Any
    carried: Any
    counts: np.ndarray


def draw_ensemble(problem: Problem, index: int, size: EnsembleSize, *part: int) -> Ensemble:
    """Return the ensemble of one of the problem's spaces, spread over the prior of θ and β.

    It depends on nothing that a person did, so the last ones are kept: a study's recordings of one
    task share theirs.

    Args:
        problem: What is to be inferred.
        index: Of the space.
        size: How large it is.
        part: Tells one of several independent ensembles from the others.
    """
    space = problem.evidence.spaces[index]
    directions = _directions(problem)
    largest = problem.beta.high * problem.domain.largest_length
    seed = problem.stream(1, index, *part)
    key = (
        problem.features,
        *(array.tobytes() for array in (*space, directions)),
        largest,
        problem.alpha,
        problem.bother,
        size,
        seed.entropy,
        seed.spawn_key,
    )
    return _ENSEMBLES.get(
        key,
        lambda: Ensemble(
            problem.features,
            space,
            directions,
            largest,
            anchor_tails(problem),
            size,
            seed,
            problem.executor,
            problem.should_stop,
            first_bothers(problem),
        ),
    )


def _directions(problem: Problem) -> np.ndarray:
    """Return unit vectors (J, d) that fill the directions of θ evenly."""
    size = problem.size
    count = DIRECTIONS_PER_FEATURE * size * (2 if problem.domain.kind == 'unit' else 1)
    points = problem.domain.quasi_random(count)
    # Evenly spread directions leave out the corners, where one feature is all that matters.
    corners = [np.eye(size)] if (problem.domain.high > 0.0).all() else []
    if (problem.domain.low < 0.0).all():
        corners.append(-np.eye(size))
    points = np.concatenate([points, *corners])
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0.0, lengths, 1.0)
