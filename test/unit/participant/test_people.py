"""Simulated people of four kinds, and sessions without an arm."""

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.experiments.armless_sessions import (
    Estimate,
    GradientStep,
    prior_mean,
    run_session,
)
from reward_learning_ros.participant.people import KINDS, Person

THETA = np.array([0.8, 0.5, 0.33])


@pytest.fixture(scope='module')
def reach() -> core.Task:
    return core.load_task('reach').softened(0.01)


@pytest.fixture(scope='module')
def ideal(reach) -> np.ndarray:
    return core.plan(reach, THETA)


@pytest.mark.parametrize('kind', KINDS)
def test_a_pass_keeps_to_the_trajectory_space_and_is_the_same_for_a_seed(reach, kind):
    passes = []
    for _ in range(2):
        person = Person(kind=kind, task=reach, theta=THETA, motor_noise_m=0.01, seed=4)
        passes.append([person.correct(reach.plan).corrected for _ in range(2)])
    np.testing.assert_array_equal(passes[0], passes[1])
    first, second = passes[0]
    assert not np.array_equal(first, second)
    for corrected in passes[0]:
        deltas = np.diff(corrected, axis=0, prepend=reach.plan[None])[
            np.arange(7), np.arange(1, 8)
        ]
        assert (np.abs(deltas) <= 0.15 + 1e-9).all()
        driven = corrected[-1][1:]
        assert (driven >= reach.space.workspace_low - 1e-9).all()
        assert (driven <= reach.space.workspace_high + 1e-9).all()


def test_a_purposeful_person_brings_the_arm_to_their_ideal(reach, ideal):
    person = Person(kind='purposeful', task=reach, theta=THETA, motor_noise_m=0.003, seed=0)
    corrected = person.correct(reach.plan).corrected[-1]
    assert np.linalg.norm(corrected - ideal, axis=1).max() < 0.15
    assert person.regret_of(corrected) < 0.1 * person.regret_of(reach.plan)


@pytest.mark.parametrize('kind', ['purposeful', 'lazy', 'content'])
def test_who_has_nothing_to_correct_is_silent(reach, ideal, kind):
    person = Person(kind=kind, task=reach, theta=THETA, seed=0)
    sequence = person.correct(ideal)
    assert not sequence.is_push.any()
    assert len(sequence) == len(ideal) - 1


def test_a_lazy_person_pushes_once_and_gains_by_it(reach):
    person = Person(kind='lazy', task=reach, theta=THETA, motor_noise_m=0.0, seed=0)
    sequence = person.correct(reach.plan)
    assert sequence.is_push.sum() == 1
    assert person.regret_of(sequence.corrected[-1]) < person.regret_of(reach.plan)


def test_a_content_person_puts_up_with_what_a_purposeful_one_does_not(reach, ideal):
    shown = ideal.copy()
    shown[-2:] += np.array([0.0, 0.0, -0.03])
    content = Person(kind='content', task=reach, theta=THETA, content_share=0.3, seed=0)
    purposeful = Person(kind='purposeful', task=reach, theta=THETA, seed=0)
    assert not content.correct(shown).is_push.any()
    assert purposeful.correct(shown).is_push.any()


def test_an_unknown_kind_is_refused(reach):
    with pytest.raises(UnknownNameError, match='angry'):
        Person(kind='angry', task=reach, theta=THETA)


def test_a_session_shows_the_plan_of_what_was_learned(reach):
    seen = []

    def know(task, passes, seed):
        seen.append(passes[-1].plan)
        return Estimate(theta=THETA, interval=np.stack([THETA - 0.1, THETA + 0.1]))

    person = Person(kind='purposeful', task=reach, theta=THETA, seed=0)
    story = run_session(person, know, passes=2)
    assert [after.pushes for after in story[1:]] == [seen_pushes(person, seen[0]), 0]
    np.testing.assert_array_equal(seen[0], reach.plan)
    np.testing.assert_allclose(seen[1], person.ideal)
    assert story[0].error == pytest.approx(np.linalg.norm(THETA - prior_mean(reach)))
    assert story[-1].error == 0.0
    assert story[-1].regret == pytest.approx(0.0, abs=1e-9)
    assert story[-1].covered == 1.0


def seen_pushes(person, plan):
    again = Person(kind=person.kind, task=person.task, theta=person.theta, seed=person.seed)
    return int(again.correct(plan).is_push.sum())


def test_a_gradient_step_follows_the_features_that_grew(reach, ideal):
    sequence = core.CorrectionSequence(plan=reach.plan, corrected=ideal[None])
    before = prior_mean(reach)
    after = GradientStep(step=1.0)(reach, [sequence], 0).theta
    change = reach.evaluate(ideal) - reach.evaluate(reach.plan)
    assert (after - before) @ change > 0.0
    assert np.linalg.norm(after) == pytest.approx(1.0)
