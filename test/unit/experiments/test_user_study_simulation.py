"""Simulated participants of the user study: dependent corrections, both kinds of inference."""

from dataclasses import replace

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core import simulated_human
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.experiments.rows import Job
from reward_learning_ros.experiments.simulations import Setup
from reward_learning_ros.experiments.user_study import (
    CONDITIONS,
    GOALS,
    goals_of,
    simulate_study,
    simulate_trial,
    taught_theta,
)

SETUP = Setup(budget='printed', seed=1)
JOB = Job(task='reach', beta=25.0, human=0, goal='prior 1')


@pytest.fixture(scope='module', autouse=True)
def hasty_people():
    """Nothing here depends on how exactly people are drawn."""
    with pytest.MonkeyPatch.context() as patch:
        hasty = core.EnsembleSize(seeds=2048, members=32, anneal_steps=8)
        patch.setattr(simulated_human, 'SIZE', hasty)
        yield


@pytest.fixture(scope='module')
def trial():
    return simulate_trial(SETUP, JOB)


def test_every_condition_judges_the_same_trial(trial):
    rows, timings = trial
    assert [(row.method, row.dependence) for row in rows] == list(CONDITIONS)
    assert len(timings) == len(rows)
    expected = taught_theta(SETUP, JOB)
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
    again, _ = simulate_trial(SETUP, JOB)
    assert again == trial[0]


def test_participants_teach_the_first_presets():
    assert len(goals_of(core.load_task('push_study'))) == GOALS
    task = core.load_task('reach')
    for goal in goals_of(task):
        np.testing.assert_array_equal(
            taught_theta(SETUP, replace(JOB, goal=goal)), task.presets[goal]
        )
    with pytest.raises(InvalidInputError, match='presets'):
        goals_of(core.load_task('cup'))


def test_or_everybody_something_else():
    task = core.load_task('reach')
    goals = goals_of(task, 'prior')
    assert len(set(goals)) == GOALS
    thetas = [
        taught_theta(SETUP, replace(JOB, human=human, goal=goal))
        for human in (0, 1)
        for goal in goals
    ]
    assert len(set(map(tuple, thetas))) == 2 * GOALS
    assert all(task.theta.contains(theta) for theta in thetas)
    with pytest.raises(UnknownNameError, match='prior'):
        goals_of(task, 'anything')


def test_a_library_is_not_corrected():
    with pytest.raises(InvalidInputError, match='nobody corrects'):
        simulate_study(['push'], participants=1)
