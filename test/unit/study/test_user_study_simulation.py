"""Simulated participants of the user study: dependent corrections, both kinds of inference."""

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.study.rows import Job
from reward_learning_ros.study.simulations import Setup
from reward_learning_ros.study.user_study import (
    CONDITIONS,
    GOALS,
    goals_of,
    simulate_study,
    simulate_trial,
)

SETUP = Setup(budget='printed', seed=1)


@pytest.fixture(scope='module')
def trial():
    return simulate_trial(SETUP, Job(task='reach', beta=25.0, human=0, goal='away'))


def test_every_condition_judges_the_same_trial(trial):
    rows, timings = trial
    assert [(row.method, row.dependence) for row in rows] == list(CONDITIONS)
    assert len(timings) == len(rows)
    expected = core.load_task('reach').presets['away']
    for row in rows:
        np.testing.assert_array_equal(row.theta, expected)
        assert row.error == pytest.approx(np.linalg.norm(expected - row.estimate))
        assert row.regret >= 0.0


def test_ignoring_the_normalizer_knows_no_dependence(trial):
    estimates = [row.estimate for row in trial[0] if row.method == 'ignore']
    np.testing.assert_allclose(estimates[0], estimates[1], atol=1e-9)


def test_the_others_do(trial):
    for method in ('sampling', 'maximum', 'double_mh'):
        independent, dependent = (row.estimate for row in trial[0] if row.method == method)
        assert independent != dependent


def test_the_same_seed_gives_the_same_digits(trial):
    again, _ = simulate_trial(SETUP, Job(task='reach', beta=25.0, human=0, goal='away'))
    assert again == trial[0]


def test_participants_teach_the_first_presets():
    assert len(goals_of(core.load_task('push_study'))) == GOALS
    with pytest.raises(InvalidInputError, match='presets'):
        goals_of(core.load_task('cup'))


def test_or_everybody_something_else():
    task = core.load_task('reach')
    goals = goals_of(task, 'prior')
    assert len(set(goals)) == GOALS
    thetas = [
        simulate_trial(SETUP, Job(task='reach', beta=25.0, human=human, goal=goal))[0][0].theta
        for human in (0, 1)
        for goal in goals[:2]
    ]
    assert len(set(thetas)) == 4
    assert all(task.theta.contains(np.array(theta)) for theta in thetas)
    with pytest.raises(UnknownNameError, match='prior'):
        goals_of(task, 'anything')


def test_a_library_is_not_corrected():
    with pytest.raises(InvalidInputError, match='nobody corrects'):
        simulate_study(['push'], participants=1)
