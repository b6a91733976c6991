"""The inner sampler."""

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core.human_model import HumanModel, gather_evidence
from reward_learning_ros.core.reference import TrajectoryQuadrature
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform
from reward_learning_ros.core.samplers.kernels import (
    KINDS,
    advance,
    draw_corrections,
    load,
    make_scratch,
    reflect,
)


def space_of(task, sequence, **model):
    return gather_evidence(task, sequence, HumanModel(**model)).spaces[0]


def current(scratch):
    rows = np.arange(1, len(scratch.slots))
    return scratch.trajectories[scratch.slots[1:], rows]


@pytest.mark.parametrize('value', [-3.7, -0.2, 0.0, 0.4, 1.0, 1.3, 9.1])
def test_reflection_folds_into_the_bounds_and_keeps_what_is_inside(value):
    folded = reflect(value, 0.0, 1.0)
    assert 0.0 <= folded <= 1.0
    if 0.0 <= value <= 1.0:
        assert folded == pytest.approx(value)
    assert reflect(-value, -1.0, 0.0) == pytest.approx(-folded)


@pytest.mark.parametrize('name', ['press', 'reach'])
@pytest.mark.parametrize('dependence', ['dependent', 'independent'])
def test_statistics_kept_step_by_step_equal_those_computed_afresh(
    name, dependence, corrections_of
):
    task = core.load_task(name)
    space = space_of(task, corrections_of(task, 5), dependence=dependence, gamma=0.9)
    rng = np.random.default_rng(0)
    scratch = make_scratch(space, task.size)
    deltas = np.zeros_like(space.delta_low)
    assert draw_corrections(
        task.compiled_features, space, deltas, np.zeros(task.size), False, 0.5, rng
    )
    load(task.compiled_features, space, scratch, deltas)
    eta = np.full(task.size + 1, 3.0)
    counts = np.zeros((KINDS, 2), dtype=np.int64)
    accepted = advance(
        task.compiled_features, space, scratch, eta, sized(2000, 60), 0.2, rng, counts
    )
    assert 0 < accepted == counts[:, 1].sum() <= counts[:, 0].sum() == sized(2000, 60)
    assert (scratch.deltas >= space.delta_low).all()
    assert (scratch.deltas <= space.delta_high).all()
    again = make_scratch(space, task.size)
    assert load(task.compiled_features, space, again, scratch.deltas)
    np.testing.assert_allclose(scratch.statistics, again.statistics, atol=1e-9)
    np.testing.assert_allclose(current(scratch), current(again), atol=1e-12)


@pytest.mark.parametrize('beta', [1.0, 5.0])
def test_the_inner_sampler_draws_from_the_human_model(beta, corrections_of):
    task = core.load_task('cup')
    space = space_of(task, corrections_of(task, 1), dependence='independent')
    rng = np.random.default_rng(0)
    theta = np.array([0.3, 0.954])
    scratch = make_scratch(space, 2)
    load(task.compiled_features, space, scratch, np.zeros((1, 1)))
    counts = np.zeros((KINDS, 2), dtype=np.int64)
    eta = np.append(beta * theta, beta)
    samples = []
    for _ in range(sized(4000, 1500)):
        advance(task.compiled_features, space, scratch, eta, sized(20, 4), 0.3, rng, counts)
        samples.append(scratch.statistics[:2].copy())
    nodes = TrajectoryQuadrature.of(task)
    weights = np.exp(beta * nodes.features @ theta + nodes.log_weights)
    mean = weights @ nodes.features / weights.sum()
    spread = np.sqrt(weights @ (nodes.features - mean) ** 2 / weights.sum())
    error = (np.mean(samples, axis=0) - mean) / spread
    assert np.abs(error).max() < sized(5, 8) / np.sqrt(len(samples) / 2)


def test_a_feature_that_is_not_a_number_is_never_accepted(corrections_of):
    task = core.Task(
        name='hole',
        feature_names=('x',),
        features=lambda trajectory: (np.log(trajectory[1, 0]),),
        plan=np.array([[0.0], [0.05]]),
        space=core.TrajectorySpace(delta_low=[-0.1], delta_high=[0.1]),
        theta=core.ThetaDomain(kind='box', size=1),
    )
    space = space_of(task, corrections_of(task, 1, seed=3))
    scratch = make_scratch(space, 1)
    load(task.compiled_features, space, scratch, np.zeros((1, 1)))
    counts = np.zeros((KINDS, 2), dtype=np.int64)
    rng = np.random.default_rng(0)
    with np.errstate(all='ignore'):
        for _ in range(200):
            advance(
                task.compiled_features, space, scratch, np.array([1.0, 1.0]), 1, 0.5, rng, counts
            )
            assert np.isfinite(scratch.statistics).all()
    assert counts[:, 1].sum() > 0


def test_uniform_corrections_stay_in_the_workspace_and_fill_it(corrections_of):
    task = core.load_task('reach')
    space = space_of(task, corrections_of(task, 7))
    count = sized(3000, 60)
    deltas = np.zeros((count, *space.delta_low.shape))
    statistics = np.zeros((count, task.size + 1))
    scratch = make_scratch(space, task.size)
    rng = np.random.default_rng(0)
    assert fill_uniform(task.compiled_features, space, scratch, deltas, statistics, rng)
    positions = task.plan[1:] + np.cumsum(deltas, axis=1)
    assert (positions >= task.space.workspace_low - 1e-12).all()
    assert (positions <= task.space.workspace_high + 1e-12).all()
    reached = positions.reshape(-1, 3)
    width = task.space.workspace_high - task.space.workspace_low
    assert (np.ptp(reached, axis=0) > 0.8 * width).all()
