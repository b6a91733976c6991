"""The paper's propositions, checked numerically on exact normalizers."""

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.compiled import features_kernel
from reward_learning_ros.core.reference import TrajectoryQuadrature, belief

HORIZONTAL_OR_VERTICAL = np.array([[1.0, 0.0], [0.0, 1.0]])
ANGLES = np.linspace(0.0, np.pi / 2, 101)


@features_kernel
def circle(trajectory, out):
    out[0] = np.cos(trajectory[0, 0])
    out[1] = np.sin(trajectory[0, 0])


@pytest.fixture(scope='module')
def cup():
    task = core.load_task('cup')
    return task, TrajectoryQuadrature.of(task)


def beliefs(task, beta, log_normalizers):
    """Return the belief in a horizontal cup for each demonstrated angle (equation M1)."""
    return np.array(
        [
            belief(task, [[[angle]]], HORIZONTAL_OR_VERTICAL, beta, log_normalizers)[0]
            for angle in ANGLES
        ]
    )


def error(cup, beta, log_normalizers):
    task, nodes = cup
    exact = beliefs(task, beta, nodes.log_normalizer(HORIZONTAL_OR_VERTICAL, beta))
    return np.abs(beliefs(task, beta, log_normalizers) - exact).mean()


def log_mean(task, beta, count, rng):
    angles = rng.uniform(0.0, np.pi / 2, (count, 1, 1))
    exponents = beta * HORIZONTAL_OR_VERTICAL @ task.evaluate(angles).T
    return np.log(np.exp(exponents).mean(axis=1))


def log_maximum(cup, beta):
    return (beta * HORIZONTAL_OR_VERTICAL @ cup[1].features.T).max(axis=1)


def test_proposition_1_and_2_ignoring_is_right_where_features_fill_a_sphere():
    task = core.Task(
        name='circle',
        feature_names=('cosine', 'sine'),
        features=circle,
        plan=np.array([[0.0]]),
        space=core.TrajectorySpace(delta_low=[-np.pi], delta_high=[np.pi], fixed_waypoints=0),
        theta='unit',
        axis_names=('angle',),
    )
    nodes = TrajectoryQuadrature.of(task)
    thetas = task.theta.quasi_random(64)
    for beta in (0.5, 5.0, 20.0):
        log_z = nodes.log_normalizer(thetas, beta)
        np.testing.assert_allclose(log_z, log_z[0], atol=1e-9)
        ideal = belief(task, [[[0.7]]], thetas, beta, log_z)
        ignored = belief(task, [[[0.7]]], thetas, beta, np.zeros(len(thetas)))
        np.testing.assert_allclose(ignored, ideal, atol=1e-9)


def test_proposition_2_ignoring_is_wrong_where_they_do_not(cup):
    assert error(cup, 1.0, np.zeros(2)) > 0.3
    # The paper's figure 2, left: the cup is then always held vertically.
    task, _ = cup
    assert beliefs(task, 5.0, np.zeros(2)).max() < 1e-3


def test_sampling_converges_with_the_number_of_samples(cup):
    rng = np.random.default_rng(0)
    errors = [
        np.mean([error(cup, 1.0, log_mean(cup[0], 1.0, count, rng)) for _ in range(30)])
        for count in (1, 10, 100, 1000)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.01


def test_proposition_3_the_maximum_converges_as_beta_grows(cup):
    errors = [error(cup, beta, log_maximum(cup, beta)) for beta in (0.5, 2.0, 8.0, 32.0, 128.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.005


def test_proposition_4_sampling_is_better_for_small_beta_and_the_maximum_for_large(cup):
    rng = np.random.default_rng(0)

    def sampling_error(beta):
        return np.mean([error(cup, beta, log_mean(cup[0], beta, 10, rng)) for _ in range(50)])

    assert sampling_error(0.5) < error(cup, 0.5, log_maximum(cup, 0.5))
    assert sampling_error(20.0) > error(cup, 20.0, log_maximum(cup, 20.0))
