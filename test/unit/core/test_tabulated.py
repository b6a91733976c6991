"""Posteriors from a table of log Z, against exact ones and against themselves."""

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core.errors import NotCoveredError
from reward_learning_ros.core.reference import (
    TrajectoryQuadrature,
    quadrature_posterior,
)
from reward_learning_ros.core.samplers import tabulated
from reward_learning_ros.core.samplers.log_normalizers import Sample, log_normalizers, moments
from reward_learning_ros.core.samplers.points import Kernels, systematic
from reward_learning_ros.core.samplers.tabulated import CONCENTRATION, PARTS

ANGLES = np.array([1.1, 0.3, 1.5, 0.9, 1.4, 1.2, 0.1, 1.55, 0.7, 1.3])


def cups(count):
    task = core.load_task('cup')
    return task, core.CorrectionSequence(
        plan=task.plan, corrected=ANGLES[:count].reshape(-1, 1, 1)
    )


def random_samples(count=4, size=200, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Sample(statistics=rng.normal(size=(size, 2)), log_mixture=rng.normal(size=size))
        for _ in range(count)
    ]


@pytest.mark.parametrize(('count', 'beta'), [(1, 1.0), (1, 5.0), (3, 5.0), (10, 5.0)])
def test_the_posterior_of_the_cup_is_that_of_quadrature(count, beta):
    task, sequence = cups(count)
    exact = quadrature_posterior(task, sequence, beta=beta)
    posterior = core.infer(
        task,
        sequence,
        method='tabulated',
        dependence='independent',
        beta=beta,
        seed=1,
        settings=core.Settings(
            batch=sized(1000, 40),
            max_draws=sized(1000, 40),
            target_ess=sized(1000, 10),
            points=sized(4096, 256),
            ensemble=core.EnsembleSize(
                seeds=sized(8192, 200), members=sized(128, 16), anneal_steps=sized(16, 2)
            ),
        ),
    )
    assert exact.total_variation(posterior, sized(20, 4)) < sized(3, 30) / 100
    np.testing.assert_allclose(posterior.mean, exact.mean, atol=sized(1, 20) / 100)


def test_log_normalizers_of_the_cup_are_those_of_quadrature():
    task, _ = cups(1)
    nodes = TrajectoryQuadrature.of(task)
    theta = core.ThetaDomain.parse(task.theta, 2).quasi_random(8)
    statistics = np.column_stack([nodes.features, np.zeros(len(nodes.features))])
    sample = Sample(statistics=statistics, log_mixture=-nodes.log_weights, is_complete=True)
    etas = np.column_stack([3.0 * theta, np.full(8, 3.0)])
    np.testing.assert_allclose(
        log_normalizers([sample], etas).values, nodes.log_normalizer(theta, 3.0), atol=1e-9
    )


def test_gradient_and_hessian_are_derivatives_of_the_values():
    (sample,) = random_samples(1)
    eta = np.array([[0.3, -0.8]])
    gradient, hessian = moments(sample, eta)
    step = 1e-4
    for axis in range(2):
        ahead, behind = eta.copy(), eta.copy()
        ahead[0, axis] += step
        behind[0, axis] -= step
        both = log_normalizers([sample], np.concatenate([ahead, behind])).values
        assert (both[0] - both[1]) / (2 * step) == pytest.approx(gradient[0, axis], abs=1e-6)
        slopes = [moments(sample, each)[0][0] for each in (ahead, behind)]
        np.testing.assert_allclose(
            (slopes[0] - slopes[1]) / (2 * step), hessian[0, axis], atol=1e-6
        )


def test_log_normalizers_are_convex():
    samples = random_samples()
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(2, 50, 2)) * 3.0
    at_ends = [log_normalizers(samples, etas).values for etas in (one, other)]
    between = log_normalizers(samples, (one + other) / 2.0).values
    assert (between <= np.mean(at_ends, axis=0) + 1e-12).all()


def test_factors_of_the_samples_are_aligned_and_replicates_scatter_like_their_mean():
    etas = np.random.default_rng(2).normal(size=(30, 2))
    table = log_normalizers(random_samples(PARTS), etas)
    weights = np.full(30, 1 / 30)
    logs = np.log(table.aligned(weights).sums)
    np.testing.assert_allclose(
        (logs - logs.mean(axis=1, keepdims=True)).mean(axis=0), 0.0, atol=0.1
    )
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.full(PARTS, CONCENTRATION), 4000)
    scatter = (shares @ table.sums.T).std(axis=0)
    of_mean = table.sums.std(axis=1, ddof=1) / np.sqrt(PARTS)
    np.testing.assert_allclose(scatter, of_mean, rtol=0.2)


def test_kernels_folded_at_the_faces_integrate_to_one():
    kernels = Kernels(
        centers=np.array([[0.02, 0.5], [0.9, 0.99]]), widths=np.array([0.1, 0.05]), count=500
    )
    middle = (np.arange(200) + 0.5) / 200
    grid = np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
    assert np.exp(kernels.log_density(grid)).mean() == pytest.approx(1.0, abs=1e-3)
    drawn = kernels.draw(np.random.default_rng(0))
    assert ((drawn >= 0.0) & (drawn <= 1.0)).all()


def test_systematic_draws_take_each_point_as_often_as_its_weight_says():
    weights = np.array([0.5, 0.25, 0.0, 0.25])
    counts = np.bincount(systematic(weights, 8, np.random.default_rng(0)), minlength=4)
    np.testing.assert_array_equal(counts, [4, 2, 0, 2])


def test_an_ensemble_that_does_not_cover_theta_refuses_to_answer(quick, monkeypatch):
    monkeypatch.setattr(tabulated, 'MIN_MEMBERS', 1e6)
    task, sequence = cups(2)
    with pytest.raises(NotCoveredError, match='effective members where'):
        core.infer(
            task,
            sequence,
            method='tabulated',
            dependence='independent',
            beta=5.0,
            settings=quick,
        )


def test_features_that_are_constant_leave_the_prior(quick):
    def nothing(trajectory):
        return 1.0, 2.0

    base = core.load_task('cup')
    task = core.Task(
        name='constant',
        feature_names=('one', 'two'),
        features=nothing,
        plan=base.plan,
        space=base.space,
        theta='box',
    )
    _, sequence = cups(2)
    posterior = core.infer(
        task, sequence, method='tabulated', dependence='independent', seed=1, settings=quick
    )
    np.testing.assert_allclose(posterior.mean, 0.5, atol=0.1)
    assert posterior.sampling['table_error'] < 1e-6


def test_a_posterior_at_the_bounds_of_beta_is_warned_about(quick):
    task, _ = cups(1)
    best = core.CorrectionSequence(plan=task.plan, corrected=np.zeros((10, 1, 1)))
    posterior = core.infer(
        task,
        best,
        method='tabulated',
        dependence='independent',
        beta=core.BetaPrior(low=1.0, high=1.5),
        theta=core.ThetaDomain(kind='box', size=2, low=[0.9, 0.0], high=[1.0, 0.1]),
        seed=1,
        settings=quick,
    )
    share = posterior.sampling['beta_at_edge']
    assert any('bounds of β' in text for text in posterior.warnings) == (share > 0.3)
    assert 0.0 < share < 1.0
