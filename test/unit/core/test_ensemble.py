"""The ensemble that auxiliaries jump to."""

import numpy as np
import pytest
from helpers.sizes import sized
from scipy import stats

from reward_learning_ros import core
from reward_learning_ros.core.errors import CancelledError, InvalidInputError
from reward_learning_ros.core.human_model import (
    HumanModel,
    InadmissibleCorrectionWarning,
    gather_evidence,
)
from reward_learning_ros.core.reference import TrajectoryQuadrature
from reward_learning_ros.core.samplers.ensemble import Ensemble, EnsembleSize, log_mixture
from reward_learning_ros.core.samplers.ensemble_kernels import choose_member, fill_uniform
from reward_learning_ros.core.samplers.kernels import make_scratch

SIZE = EnsembleSize(seeds=sized(8000, 400), members=sized(128, 12), anneal_steps=sized(16, 2))


def ensemble_of(task, sequence, largest, directions=None, seed=0, **options):
    space = gather_evidence(task, sequence, HumanModel(**options)).spaces[0]
    if directions is None:
        directions = core.ThetaDomain(kind='unit_nonnegative', size=task.size).quasi_random(8)
    seeds = np.random.SeedSequence(seed)
    ensemble = Ensemble(task.compiled_features, space, directions, largest, 1.0, SIZE, seeds)
    return ensemble, space


def test_normalizers_agree_with_quadrature(corrections_of):
    task = core.load_task('cup')
    ensemble, _ = ensemble_of(task, corrections_of(task, 1), 5.0, dependence='independent')
    members = ensemble.members
    nodes = TrajectoryQuadrature.of(task)
    for anchor, log_z in zip(members.anchors[1:], ensemble.log_normalizers[1:], strict=True):
        beta = anchor[-1]
        exact = nodes.log_normalizer(anchor[:-1] / beta, beta)[0]
        assert log_z == pytest.approx(exact, abs=sized(15, 60) / 100)


def test_reweighted_members_agree_with_uniform_corrections(corrections_of):
    task = core.load_task('press')
    ensemble, space = ensemble_of(task, corrections_of(task, 3), 6.0, gamma=0.9, effort=0.0)
    count = sized(100_000, 500)
    statistics = np.zeros((count, 5))
    fill_uniform(
        task.compiled_features,
        space,
        make_scratch(space, 4),
        np.zeros((count, 3, 3)),
        statistics,
        np.random.default_rng(1),
    )
    members = ensemble.members
    eta = 4.0 * np.array([0.5, 0.5, 0.5, 0.5, 1.0])

    def mean_and_spread(values, exponents):
        weights = np.exp(exponents - exponents.max())
        mean = weights @ values / weights.sum()
        return mean, np.sqrt(weights @ (values - mean) ** 2 / weights.sum())

    expected, spread = mean_and_spread(statistics, statistics @ eta)
    found, _ = mean_and_spread(members.statistics, members.statistics @ eta - members.log_mixture)
    np.testing.assert_allclose(found[:4], expected[:4], atol=sized(1, 5) / 10 * spread[:4].max())


def test_jumps_leave_the_human_model_invariant(corrections_of):
    """Jumps alone, among few members, must not drift away from P(D | η)."""
    task = core.load_task('cup')
    ensemble, _ = ensemble_of(task, corrections_of(task, 1), 5.0, dependence='independent')
    members = ensemble.members
    rng = np.random.default_rng(0)
    eta = np.array([1.0, 2.0, 2.0])
    nodes = TrajectoryQuadrature.of(task)
    weights = np.exp(nodes.features @ eta[:2] + nodes.log_weights)
    mean = weights @ nodes.features[:, 0] / weights.sum()
    spread = np.sqrt(weights @ (nodes.features[:, 0] - mean) ** 2 / weights.sum())
    current = members.statistics[0].copy()
    visited = []
    for _ in range(sized(20_000, 600)):
        member = choose_member(eta, members, current, np.empty(4), rng)
        if member >= 0:
            current = members.statistics[member].copy()
        visited.append(current[0])
    assert np.mean(visited) == pytest.approx(mean, abs=sized(1, 4) / 10 * spread)


def test_the_same_seed_gives_the_same_members_on_any_number_of_threads(corrections_of):
    from concurrent.futures import ThreadPoolExecutor

    task = core.load_task('cup')
    space = gather_evidence(task, corrections_of(task), HumanModel()).spaces[0]
    directions = np.eye(2)
    results = []
    for workers in (None, 2):
        executor = None if workers is None else ThreadPoolExecutor(workers)
        made = Ensemble(
            task.compiled_features,
            space,
            directions,
            3.0,
            1.0,
            EnsembleSize(seeds=50, members=8, anneal_steps=4),
            np.random.SeedSequence(5),
            executor,
        )
        results.append(made.members)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_building_can_be_cancelled(corrections_of):
    task = core.load_task('cup')
    space = gather_evidence(task, corrections_of(task), HumanModel()).spaces[0]
    with pytest.raises(CancelledError):
        Ensemble(
            task.compiled_features,
            space,
            np.eye(2),
            3.0,
            1.0,
            EnsembleSize(seeds=50, members=8, anneal_steps=4),
            np.random.SeedSequence(5),
            should_stop=lambda: True,
        )


def test_refined_members_are_weighed_by_old_and_new_anchors(corrections_of):
    task = core.load_task('press')
    ensemble, _ = ensemble_of(task, corrections_of(task, 2), 10.0)
    etas = 40.0 * np.array([[0.9, 0.3, 0.3, 0.1, 1.0], [0.3, 0.9, 0.1, 0.3, 1.0]])
    refined = ensemble.refined(etas, np.random.SeedSequence(4))
    members = refined.members
    assert len(members.anchors) == len(ensemble.members.anchors) + len(etas)
    np.testing.assert_allclose(
        members.log_mixture,
        log_mixture(members.statistics, members.anchors, members.log_shares),
        rtol=0.0,
        atol=1e-9,
    )
    # Beyond the old anchors few members counted.
    before, after = ensemble.effective_shares(etas), refined.effective_shares(etas)
    assert (after * len(members.deltas) > before * len(ensemble.members.deltas)).all()


def test_all_uniform_members_count_where_nothing_is_rewarded(corrections_of):
    task = core.load_task('cup')
    ensemble, _ = ensemble_of(task, corrections_of(task, 1), 1e-9, dependence='independent')
    shares = ensemble.effective_shares(np.array([[0.0, 0.0, 0.0], [0.0, 500.0, 1.0]]))
    assert shares[0] == pytest.approx(1.0)
    assert shares[1] < 0.5


def test_a_workspace_that_leaves_nothing_is_said():
    task = core.Task(
        name='walled',
        feature_names=('x', 'y'),
        features=lambda trajectory: (trajectory[1, 0], trajectory[1, 1]),
        plan=np.array([[0.0, 0.0], [0.0, 0.0]]),
        space=core.TrajectorySpace(
            delta_low=[-0.1, -0.1], delta_high=[0.1, 0.1], workspace_low=[5.0, 5.0]
        ),
        axis_names=('x', 'y'),
    )
    sequence = core.CorrectionSequence.from_deltas(task.plan, [[0.1, 0.1]])
    with (
        pytest.warns(InadmissibleCorrectionWarning, match='outside'),
        pytest.raises(InvalidInputError, match='no admissible'),
    ):
        core.infer(task, sequence)


def only_on_a_strip(trajectory):
    """A reward only where the second waypoint is less than a hundredth off the plan."""
    return trajectory[1, 0], 1.0 if abs(trajectory[1, 0]) < 0.01 else np.nan


def test_a_space_of_which_little_is_admissible_is_drawn_from_evenly():
    task = core.Task(
        name='strip',
        feature_names=('x', 'on'),
        features=only_on_a_strip,
        plan=np.zeros((2, 1)),
        space=core.TrajectorySpace(delta_low=-np.ones(1), delta_high=np.ones(1)),
        axis_names=('x',),
    )
    sequence = core.CorrectionSequence.from_deltas(task.plan, [[0.001], [0.001]], [1, 1])
    space = gather_evidence(task, sequence, HumanModel()).spaces[0]
    count = sized(2000, 100)
    deltas, statistics = np.zeros((count, 2, 1)), np.zeros((count, 3))
    scratch = make_scratch(space, 2)
    assert fill_uniform(
        task.compiled_features, space, scratch, deltas, statistics, np.random.default_rng(3)
    )
    ends = deltas.cumsum(axis=1)[:, :, 0]
    for column in ends.T:
        assert stats.kstest(column, stats.uniform(-0.01, 0.02).cdf).pvalue > 1e-3
    assert abs(stats.pearsonr(ends[:, 0], ends[:, 1])[0]) < sized(0.1, 0.4)


def test_sizes_below_one_are_refused():
    with pytest.raises(InvalidInputError, match='members'):
        EnsembleSize(members=0)
