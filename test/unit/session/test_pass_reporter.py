"""One line after each pass, and none before it is over."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.interface import InferenceStatus, ParticipantStatus, SessionStatus
from reward_learning_ros.learning import ToolPaths
from reward_learning_ros.session.session_data import LatestStatuses, PassReporter, SessionData
from reward_learning_ros.session.understanding import prior_of

THETA = np.array([0.1, 0.1, 0.98, 0.1])


@pytest.fixture(scope='module')
def paths():
    return ToolPaths(task=core.load_task('press').softened(core.MOTOR_NOISE_M))


def heard_of(paths, *, passes, pushes, state='ready', learned='a', considered='a', **changes):
    prior = prior_of(paths.task)
    quantiles = np.array(prior.quantiles)
    quantiles[:, 3] = 0.01, 0.02, 0.03
    mean = np.array(prior.mean)
    mean[3] = 0.02
    theta = dataclasses.replace(prior, mean=mean, quantiles=quantiles)
    inference = InferenceStatus(
        state='waiting',
        corrections_ns=(1,),
        considered_ns=(1,),
        learned_from_ns=(1,) if learned else (),
        data='a',
        considered_data=considered,
        pushes=pushes,
    )
    return LatestStatuses(
        session=SessionStatus(state=state, passes=passes),
        inference=inference,
        theta=theta,
        plan=paths.initial_plan(5),
        **changes,
    )


def test_a_pass_is_told_once_and_only_when_it_is_over(paths):
    reporter = PassReporter(paths)
    assert reporter.update(LatestStatuses()) == ''
    assert reporter.update(heard_of(paths, passes=0, pushes=0)) == ''
    for state in ('playing', 'holding', 'inferring', 'concluding'):
        assert reporter.update(heard_of(paths, passes=1, pushes=3, state=state)) == ''
    # What was told last of the pass is not learned from yet.
    assert reporter.update(heard_of(paths, passes=1, pushes=3, considered='b')) == ''
    line = reporter.update(heard_of(paths, passes=1, pushes=3))
    assert line.startswith('pass 1: 3 pushes, understood: ')
    assert 'Regret' not in line
    assert reporter.update(heard_of(paths, passes=1, pushes=3)) == ''
    # Pushes are those of the pass, also after others were undone.
    assert 'pass 2: 1 push,' in reporter.update(heard_of(paths, passes=2, pushes=4))
    undone = heard_of(paths, passes=3, pushes=3, learned='')
    assert reporter.update(undone) == 'pass 3: 0 pushes, understood: nothing yet'


def test_regret_is_told_where_it_is_known(paths):
    participant = ParticipantStatus(state='watching', theta=THETA, beta=10.0)
    reporter = PassReporter(paths)
    line = reporter.update(heard_of(paths, passes=1, pushes=3, participant=participant))
    data = SessionData(task=paths.task, theta_star=THETA)
    assert line.endswith(f'Regret {data.initial_regret:.4f} (unasked {data.unasked_regret:.4f})')
    assert 'length matters much less than before' in line or 'takes a longer way' in line
