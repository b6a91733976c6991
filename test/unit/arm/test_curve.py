"""The curve through waypoints and the law of time along it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reward_learning_ros.arm.curve import curve, progress, time_fractions, travel
from reward_learning_ros.core.errors import InvalidInputError

FINE = np.linspace(0.0, 1.0, 2001)


def random_waypoints(seed, count=8, width=3):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (count, width))


@pytest.mark.parametrize('count', [2, 3, 8])
def test_curve_meets_every_waypoint(count):
    waypoints = random_waypoints(0, count)
    knots = np.linspace(0.0, 1.0, count)
    np.testing.assert_allclose(curve(waypoints, knots).value, waypoints, atol=1e-12)


@settings(max_examples=50)
@given(waypoints=arrays(float, (8, 3), elements=st.floats(-1.0, 1.0)))
def test_curve_never_leaves_the_range_of_neighbouring_waypoints(waypoints):
    value = curve(waypoints, FINE).value
    segment = np.minimum((FINE * 7).astype(int), 6)
    lower = np.minimum(waypoints[:-1], waypoints[1:])[segment]
    upper = np.maximum(waypoints[:-1], waypoints[1:])[segment]
    assert (value >= lower - 1e-12).all()
    assert (value <= upper + 1e-12).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_derivatives_are_those_of_the_curve_and_continuous(seed):
    waypoints = random_waypoints(seed)
    samples = curve(waypoints, FINE)
    step = FINE[1] - FINE[0]
    np.testing.assert_allclose(
        np.gradient(samples.value, step, axis=0)[1:-1], samples.first[1:-1], atol=5e-3
    )
    # The second derivative of a quintic segment changes by at most its third derivative per step.
    assert np.abs(np.diff(samples.second, axis=0)).max() < 7**3 * 200 * step
    knots = np.linspace(0.0, 1.0, 8)
    before, after = curve(waypoints, knots[1:-1] - 1e-9), curve(waypoints, knots[1:-1] + 1e-9)
    np.testing.assert_allclose(before.first, after.first, atol=1e-5)
    np.testing.assert_allclose(before.second, after.second, atol=1e-4)


def test_moving_a_waypoint_leaves_far_segments_alone():
    waypoints = random_waypoints(3)
    moved = waypoints.copy()
    moved[1] += 0.3
    far = FINE[FINE >= 3 / 7]
    np.testing.assert_array_equal(curve(waypoints, far).value, curve(moved, far).value)


def test_many_trajectories_at_once_are_each_alone():
    many = np.random.default_rng(4).uniform(-1.0, 1.0, (5, 2, 6, 3))
    together = curve(many, FINE[::100])
    for index in np.ndindex(5, 2):
        np.testing.assert_array_equal(together.value[index], curve(many[index], FINE[::100]).value)


def test_progress_starts_and_ends_at_rest_and_always_goes_forward():
    samples = progress(FINE)
    assert samples.value[0, 0] == 0.0
    assert samples.value[-1, 0] == pytest.approx(1.0)
    for end in (0, -1):
        assert samples.first[end, 0] == 0.0
        assert samples.second[end, 0] == 0.0
    assert (np.diff(samples.value[:, 0]) > 0.0).all()
    assert np.abs(np.diff(samples.second[:, 0])).max() < 0.1
    step = FINE[1] - FINE[0]
    np.testing.assert_allclose(
        np.gradient(samples.value[:, 0], step)[1:-1], samples.first[1:-1, 0], atol=1e-4
    )
    np.testing.assert_allclose(
        np.gradient(samples.first[:, 0], step)[1:-1], samples.second[1:-1, 0], atol=5e-2
    )


@pytest.mark.parametrize('start_rate', [0.5, 1.0, 1.25, 3.0, 9.0])
def test_progress_may_start_in_motion(start_rate):
    samples = progress(FINE, start_rate=start_rate)
    assert samples.value[0, 0] == 0.0
    assert samples.value[-1, 0] == pytest.approx(1.0)
    assert samples.first[0, 0] == pytest.approx(start_rate)
    assert samples.first[-1, 0] == 0.0
    assert (np.diff(samples.value[:, 0]) > 0.0).all()
    step = FINE[1] - FINE[0]
    for integrand, integral in (
        (samples.first, samples.value),
        (samples.second, samples.first),
    ):
        steps = step * (integrand[1:] + integrand[:-1]) / 2
        np.testing.assert_allclose(integral[0] + np.cumsum(steps, axis=0), integral[1:], atol=1e-3)


def test_progress_refuses_a_start_that_overshoots_the_curve():
    with pytest.raises(InvalidInputError, match='start_rate'):
        progress(FINE, start_rate=10.0)


def test_travel_is_at_the_waypoints_when_it_says():
    waypoints = random_waypoints(5)
    fractions = time_fractions(np.linspace(0.0, 1.0, 8))
    np.testing.assert_allclose(travel(waypoints, fractions).value, waypoints, atol=1e-5)
    assert (fractions[0], fractions[-1]) == (0.0, 1.0)


def test_travel_derivatives_are_by_time():
    samples = travel(random_waypoints(6), FINE)
    step = FINE[1] - FINE[0]
    for integrand, integral in (
        (samples.first, samples.value),
        (samples.second, samples.first),
    ):
        steps = step * (integrand[1:] + integrand[:-1]) / 2
        np.testing.assert_allclose(integral[0] + np.cumsum(steps, axis=0), integral[1:], atol=1e-2)


@pytest.mark.parametrize(
    'bad', [np.zeros(3), np.zeros((1, 3)), np.zeros((3, 0)), [[0.0, np.nan], [1.0, 1.0]]]
)
def test_bad_waypoints_are_refused(bad):
    with pytest.raises(InvalidInputError, match='allowed'):
        curve(bad, [0.0])
