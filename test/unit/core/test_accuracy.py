"""Posteriors against exact ones."""

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core import simulated_human
from reward_learning_ros.core.errors import InvalidInputError, NotCoveredError
from reward_learning_ros.core.reference import (
    TrajectoryQuadrature,
    quadrature_posterior,
    reference_posterior,
)
from reward_learning_ros.core.samplers import screening
from reward_learning_ros.core.simulated_human import simulate_corrections

# Angles of the cup as a person with θ = (cos 0.9, sin 0.9) would show them.
ANGLES = np.array([1.1, 0.3, 1.5, 0.9, 1.4, 1.2, 0.1, 1.55, 0.7, 1.3])


def cups(count):
    task = core.load_task('cup')
    return task, core.CorrectionSequence(
        plan=task.plan, corrected=ANGLES[:count].reshape(-1, 1, 1)
    )


def settings(**changes):
    return core.Settings(
        warmup=sized(600, 80),
        batch=sized(1000, 40),
        max_draws=sized(4000, 120),
        target_ess=sized(4000, 100),
        inner_steps=sized(24, 4),
        candidates=sized(128, 16),
        ensemble=core.EnsembleSize(
            seeds=sized(8192, 200), members=sized(128, 16), anneal_steps=sized(16, 2)
        ),
        **changes,
    )


@pytest.mark.parametrize(('count', 'beta'), [(1, 1.0), (1, 5.0), (3, 5.0)])
def test_double_mh_draws_from_the_exact_posterior_of_the_cup(count, beta):
    task, sequence = cups(count)
    exact = quadrature_posterior(task, sequence, beta=beta)
    posterior = core.infer(
        task, sequence, dependence='independent', beta=beta, seed=1, settings=settings()
    )
    bins = sized(20, 4)
    assert exact.total_variation(posterior, bins) < sized(5, 30) / 100
    np.testing.assert_allclose(posterior.mean, exact.mean, atol=sized(2, 20) / 100)


@pytest.mark.parametrize(('steps', 'members'), [(1, 256), (6, 256), (3, 3)])
def test_screened_double_mh_draws_from_the_exact_posterior_however_bad_the_screen(
    steps, members, monkeypatch
):
    monkeypatch.setattr(screening, 'SCREEN_MEMBERS', members)
    task, sequence = cups(3)
    exact = quadrature_posterior(task, sequence, beta=5.0)
    posterior = core.infer(
        task,
        sequence,
        dependence='independent',
        beta=5.0,
        seed=1,
        settings=settings(screening_steps=steps),
    )
    assert exact.total_variation(posterior, sized(20, 4)) < sized(5, 30) / 100
    np.testing.assert_allclose(posterior.mean, exact.mean, atol=sized(2, 20) / 100)
    assert 0.0 < posterior.sampling['outer_acceptance'] < 1.0


@pytest.mark.parametrize('method', ['sampling', 'maximum', 'ignore'])
def test_the_other_methods_sample_what_their_normalizer_says(method):
    task, sequence = cups(3)
    beta = 1.0
    exact = quadrature_posterior(task, sequence, beta=beta)
    log_likelihood = beta * exact.theta @ task.evaluate(sequence.corrected).sum(axis=0)
    nodes = TrajectoryQuadrature.of(task)
    log_z = {
        'ignore': np.zeros(len(exact.theta)),
        'maximum': (beta * exact.theta @ nodes.features.T).max(axis=1),
        'sampling': nodes.log_normalizer(exact.theta, beta),
    }[method]
    log_probability = log_likelihood - 3 * log_z
    probability = np.exp(log_probability - log_probability.max())
    expected = probability / probability.sum() @ exact.theta
    posterior = core.infer(
        task,
        sequence,
        method=method,
        dependence='independent',
        beta=beta,
        # Over seeds, so many put the mean off by 0.003, a seventh of what is allowed.
        settings=settings(samples=sized(4_000, 400)),
    )
    np.testing.assert_allclose(posterior.mean, expected, atol=sized(2, 20) / 100)


def test_one_auxiliary_for_many_trajectories_is_biased_and_many_are_not():
    task, sequence = cups(10)
    exact = quadrature_posterior(task, sequence, beta=5.0)
    options = {'dependence': 'independent', 'beta': 5.0, 'seed': 1}
    right = core.infer(task, sequence, settings=settings(), **options)
    printed = core.infer(task, sequence, settings=settings(one_auxiliary=True), **options)
    bins = sized(20, 4)
    assert exact.total_variation(right, bins) < sized(5, 40) / 100
    # So few draws as interpreted code affords do not show the bias.
    if sized(1, 0):
        assert exact.total_variation(printed, bins) > exact.total_variation(right, bins)


@pytest.mark.parametrize(('name', 'beta'), [('press', 5.0), ('reach', 20.0)])
def test_double_mh_agrees_with_the_reference_on_dependent_corrections(name, beta, monkeypatch):
    from reward_learning_ros.core.samplers import reference_sampling as reference

    pool = core.EnsembleSize(
        seeds=sized(60_000, 100), members=sized(128, 8), anneal_steps=sized(64, 1)
    )
    monkeypatch.setattr(reference, 'POOL', pool)
    monkeypatch.setattr(reference, 'MIN_POOL_ESS', sized(100, 0))
    task = core.load_task(name)
    fixed = task.space.fixed_waypoints
    rng = np.random.default_rng(4)
    deltas = rng.uniform(-0.08, 0.08, (sized(7, 2), 3)) * [1.0, 1.0, 0.2]
    sequence = core.CorrectionSequence.from_deltas(
        task.plan, deltas, range(fixed, fixed + len(deltas))
    )
    options = {'beta': beta, 'gamma': 0.9, 'effort': 0.0}
    slow = core.Settings(
        warmup=sized(600, 16),
        batch=sized(400, 8),
        max_draws=sized(800, 8),
        target_ess=800.0,
    )
    quick = core.Settings(
        warmup=sized(600, 16),
        batch=sized(400, 8),
        max_draws=sized(2000, 8),
        target_ess=800.0,
        inner_steps=sized(24, 2),
        ensemble=core.EnsembleSize() if sized(1, 0) else pool,
    )
    exact = reference_posterior(task, sequence, seed=9, settings=slow, **options)
    found = core.infer(task, sequence, seed=2, settings=quick, **options)
    assert np.abs(found.mean - exact.mean).mean() < sized(3, 100) / 100


def test_both_references_agree_where_both_may_be_asked(monkeypatch):
    from reward_learning_ros.core.samplers import reference_sampling as reference

    count = sized(60_000, 150)
    monkeypatch.setattr(reference, 'UNIFORM_POOL', count)
    monkeypatch.setattr(
        reference,
        'POOL',
        core.EnsembleSize(seeds=count, members=sized(128, 6), anneal_steps=sized(32, 1)),
    )
    monkeypatch.setattr(reference, 'MIN_POOL_ESS', sized(50, 0))
    task = core.load_task('press')
    sequence = core.CorrectionSequence.from_deltas(
        task.plan, [[0.05, -0.08, 0.0], [0.05, -0.08, 0.02]]
    )
    quick = core.Settings(
        warmup=sized(400, 16), batch=sized(300, 8), max_draws=sized(600, 8), target_ess=500.0
    )
    one = reference_posterior(task, sequence, beta=3.0, settings=quick)
    two = reference_posterior(task, sequence, beta=3.0, settings=quick, uniform=True)
    np.testing.assert_allclose(one.mean, two.mean, atol=sized(4, 50) / 100)


def test_a_pool_that_does_not_cover_theta_refuses_to_answer(monkeypatch):
    from reward_learning_ros.core.samplers import reference_sampling as reference

    monkeypatch.setattr(reference, 'UNIFORM_POOL', sized(2000, 100))
    task = core.load_task('press')
    sequence = core.CorrectionSequence.from_deltas(task.plan, np.full((sized(7, 3), 3), 0.05))
    quick = core.Settings(warmup=16, batch=8, max_draws=16)
    with pytest.raises(NotCoveredError, match='effective corrections'):
        reference_posterior(task, sequence, beta=50.0, settings=quick, uniform=True)


def test_quadrature_is_refused_where_the_space_is_large():
    with pytest.raises(InvalidInputError, match='too large'):
        TrajectoryQuadrature.of(core.load_task('press'))


def test_simulated_people_do_what_the_model_says():
    task = core.load_task('cup')
    theta = np.array([0.1, 0.995])
    shown = simulate_corrections(
        task,
        theta,
        beta=3.0,
        count=sized(600, 100),
        dependence='independent',
        seed=3,
    )
    nodes = TrajectoryQuadrature.of(task)
    weights = np.exp(3.0 * nodes.features @ theta + nodes.log_weights)
    mean = weights @ nodes.features[:, 0] / weights.sum()
    spread = np.sqrt(weights @ (nodes.features[:, 0] - mean) ** 2 / weights.sum())
    found = task.evaluate(shown.corrected)[:, 0].mean()
    assert abs(found - mean) < 5 * spread / np.sqrt(len(shown))


def test_simulated_corrections_are_admissible_and_reproducible(monkeypatch):
    small = core.EnsembleSize(
        seeds=sized(2048, 400), members=sized(32, 20), anneal_steps=sized(8, 4)
    )
    monkeypatch.setattr(simulated_human, 'SIZE', small)
    task = core.load_task('reach')
    theta = np.array([1.0, 0.0, 0.0])
    one, two, other = (
        simulate_corrections(task, theta, beta=10.0, count=sized(7, 2), seed=seed)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.corrected, two.corrected)
    assert not np.array_equal(one.corrected, other.corrected)
    assert np.abs(one.displacements).max() <= 0.15 + 1e-12
