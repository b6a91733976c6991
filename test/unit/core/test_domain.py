"""Where θ and β may be."""

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError

DOMAINS = [
    core.ThetaDomain(kind='box', size=3),
    core.ThetaDomain(kind='box', size=2, low=np.array([-1.0, 2.0]), high=np.array([1.0, 5.0])),
    core.ThetaDomain(kind='unit', size=4),
    core.ThetaDomain(kind='unit_nonnegative', size=3),
]


@pytest.mark.parametrize('domain', DOMAINS, ids=lambda domain: f'{domain.kind}{domain.size}')
def test_samples_and_quasi_random_points_lie_in_the_domain(domain):
    points = np.concatenate(
        [domain.sample(200, np.random.default_rng(0)), domain.quasi_random(100)]
    )
    assert points.shape == (300, domain.size)
    assert all(domain.contains(theta) for theta in points)
    assert np.linalg.norm(points, axis=1).max() <= domain.largest_length + 1e-12


def test_samples_on_the_sphere_have_no_preferred_direction():
    points = core.ThetaDomain(kind='unit', size=3).sample(20000, np.random.default_rng(1))
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(np.cov(points, rowvar=False), np.eye(3) / 3, atol=0.02)


def test_quasi_random_points_are_the_same_every_time():
    domain = core.ThetaDomain(kind='unit_nonnegative', size=3)
    np.testing.assert_array_equal(domain.quasi_random(17), domain.quasi_random(17))


def test_a_domain_contains_nothing_else():
    assert not core.ThetaDomain(kind='box', size=2).contains(np.array([0.5, 1.1]))
    assert not core.ThetaDomain(kind='unit', size=2).contains(np.array([0.5, 0.5]))
    assert not core.ThetaDomain(kind='unit_nonnegative', size=2).contains(np.array([-0.6, 0.8]))


def test_an_unknown_kind_lists_those_that_exist():
    with pytest.raises(UnknownNameError, match='box, unit, unit_nonnegative'):
        core.ThetaDomain(kind='ball', size=2)


@pytest.mark.parametrize(
    'arguments',
    [
        {'kind': 'box', 'size': 2, 'low': [0.0, 1.0], 'high': [1.0, 1.0]},
        {'kind': 'box', 'size': 2, 'low': [0.0, np.nan]},
        {'kind': 'unit', 'size': 1},
        {'kind': 'unit', 'size': 2, 'low': [0.0, 0.0]},
    ],
)
def test_bounds_without_width_are_refused(arguments):
    with pytest.raises(InvalidInputError):
        core.ThetaDomain(**arguments)


@pytest.mark.parametrize('beta', [0.0, -1.0, np.nan, np.inf, 'guess', True, None])
def test_a_beta_that_is_no_rationality_is_refused(beta):
    with pytest.raises(InvalidInputError, match=r'(?i)beta|β'):
        core.BetaPrior.parse(beta)


def test_a_number_fixes_beta():
    assert core.BetaPrior.parse(5).is_fixed
    assert not core.BetaPrior.parse('infer').is_fixed
