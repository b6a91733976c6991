"""Features of what a hand can mean."""

import dataclasses

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.motor_noise import reached_probability
from reward_learning_ros.tasks import press

NOISE_M = 0.01


def at_distance(metres):
    """Return a way with one waypoint that far from the button's middle, the rest far away."""
    trajectory = np.array(core.load_task('press').plan) + np.array([0.0, 0.3, 0.3])
    trajectory[4] = np.array(press.BUTTON) + np.array([metres, 0.0, 0.0])
    return trajectory


def test_without_motor_noise_nothing_changes():
    task = core.load_task('press')
    assert task.motor_noise_m == 0.0
    np.testing.assert_array_equal(task.softened(0.0).evaluate(task.plan), task.evaluate(task.plan))


def test_a_switch_becomes_a_slope_of_the_width_of_the_noise():
    task = core.load_task('press').softened(NOISE_M)
    distances = np.linspace(0.0, 0.1, 41)
    pressed = task.evaluate(np.stack([at_distance(d) for d in distances]))[:, 1]
    assert (np.diff(pressed) <= 1e-12).all()
    assert pressed[0] == pytest.approx(0.25, abs=1e-3)
    assert pressed[-1] == pytest.approx(-0.25, abs=1e-3)
    edge = np.abs(distances - press.BUTTON_RADIUS) < 0.0051
    assert (np.abs(pressed[edge]) < 0.2).all()


def test_the_formula_is_about_what_random_hands_make_of_it():
    rng = np.random.default_rng(0)
    count = sized(200_000, 20_000)
    for axes, distance in ((2, 0.0), (2, 0.04), (2, 0.055), (3, 0.03), (3, 0.05)):
        missed = NOISE_M * rng.standard_normal((count, axes))
        missed[:, 0] += distance
        found = ((missed**2).sum(axis=1) < 0.05**2).mean()
        assert reached_probability(distance**2, 0.05, NOISE_M, axes) == pytest.approx(
            found, abs=0.02
        )


@pytest.mark.parametrize('name', ['press', 'reach', 'serve'])
def test_a_task_without_a_formula_is_averaged_to_the_same(name):
    task = core.load_task(name).softened(NOISE_M)
    averaged = dataclasses.replace(task, soft_features=None)
    trajectories = [
        task.plan,
        core.plan(task, np.ones(task.size)) if sized(1, 0) else task.plan,
    ]
    for trajectory in trajectories:
        exact, about = task.evaluate(trajectory), averaged.evaluate(trajectory)
        np.testing.assert_allclose(about, exact, atol=0.08)


def test_the_plan_keeps_a_margin_that_the_sharp_one_does_not():
    if sized(1, 0) == 0:
        pytest.skip('takes compiled code')
    task = core.load_task('press')
    theta = np.array([0.4, 0.8, 0.3, 0.3])

    def depth(trajectory):
        nearest = np.linalg.norm(trajectory - np.array(press.BUTTON), axis=1).min()
        return press.BUTTON_RADIUS - nearest

    assert depth(core.plan(task.softened(NOISE_M), theta)) > NOISE_M
    assert 0.0 <= depth(core.plan(task, theta)) < 0.1 * NOISE_M


@pytest.mark.parametrize('noise', [-0.01, 0.2, float('nan')])
def test_what_is_no_noise_of_a_hand_is_refused(noise):
    with pytest.raises(InvalidInputError, match='motor_noise_m'):
        core.load_task('press').softened(noise)
