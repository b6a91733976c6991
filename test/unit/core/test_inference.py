"""One call, or a run that can be watched, stopped and continued."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.compiled import JIT_ENABLED, SlowFunctionWarning
from reward_learning_ros.core.errors import (
    CancelledError,
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
)
from reward_learning_ros.core.posterior import MAX_R_HAT, MIN_ESS


def own_task(features, **changes):
    """Return a task as a user would write it, with features in ordinary Python."""
    options = {
        'name': 'own',
        'feature_names': ('far', 'low'),
        'features': features,
        'plan': np.linspace((0.0, 0.0), (0.5, 0.5), 4),
        'space': core.TrajectorySpace(delta_low=[-0.1, -0.1], delta_high=[0.1, 0.1]),
        'axis_names': ('x', 'z'),
        **changes,
    }
    return core.Task(**options)


def far_and_low(trajectory):
    highest = 0.0
    for waypoint in range(trajectory.shape[0]):
        if trajectory[waypoint, 1] > highest:
            highest = trajectory[waypoint, 1]
    return trajectory[-1, 0], -highest


def test_the_call_of_the_documentation_works(quick, corrections_of):
    task = core.load_task('press')
    posterior = core.infer(
        task,
        corrections_of(task),
        method='double_mh',
        dependence='dependent',
        beta='infer',
        seed=0,
        settings=quick,
    )
    assert posterior.mean.shape == (4,)
    assert posterior.samples.shape[1] == 4
    assert 'button' in posterior.summary()
    for key in ('r_hat', 'ess_bulk', 'inner_acceptance', 'stuck_auxiliaries'):
        assert key in posterior.diagnostics
    assert posterior.configuration['seed'] == 0


def test_progress_is_told_and_never_goes_back(quick, corrections_of):
    task = core.load_task('cup')
    told = []
    core.infer(task, corrections_of(task), settings=quick, on_progress=told.append)
    assert told[0].stage == 'preparing'
    assert told[-1].stage == 'sampling'
    fractions = [step.fraction for step in told if step.stage != 'sampling']
    assert fractions == sorted(fractions)
    assert [step.draws for step in told] == sorted(step.draws for step in told)


def test_a_run_gives_a_posterior_after_every_batch(quick, corrections_of):
    task = core.load_task('cup')
    settings = replace(quick, target_ess=1e9)
    inference = core.Inference(task, corrections_of(task), settings=settings)
    sizes = []
    for progress in inference.iterate():
        if progress.stage == 'sampling':
            sizes.append(inference.posterior().chains.shape[1])
    assert sizes == list(range(settings.batch, settings.max_draws + 1, settings.batch))


def test_stopping_early_keeps_what_there_is(quick, corrections_of):
    task = core.load_task('cup')
    settings = replace(quick, target_ess=1e9, max_draws=1000 * quick.batch)
    drawn = []

    def told(progress):
        if progress.stage == 'sampling':
            drawn.append(progress.draws)

    posterior = core.infer(
        task,
        corrections_of(task),
        settings=settings,
        on_progress=told,
        should_stop=lambda: len(drawn) >= 2,
    )
    assert posterior.chains.shape[1] == 2 * settings.batch


def test_enough_draws_end_a_run_once_they_are_trusted(quick, corrections_of):
    task = core.load_task('cup')
    # More effective draws than there can be: without `enough_draws` only the last draw ends it.
    settings = replace(quick, batch=40, thin=8, target_ess=1e9, max_draws=4000, enough_draws=80)
    seen = []

    def told(progress):
        if progress.stage == 'sampling':
            seen.append((progress.draws, progress.ess >= MIN_ESS and progress.r_hat <= MAX_R_HAT))

    given = {'method': 'ignore', 'seed': 1}
    posterior = core.infer(
        task, corrections_of(task), settings=settings, on_progress=told, **given
    )
    trusted = [draws for draws, is_trusted in seen if is_trusted and draws >= 80]
    assert posterior.chains.shape[1] == trusted[0] == seen[-1][0] < settings.max_draws
    # Untrusted ones go on to the end.
    few = replace(settings, batch=8, enough_draws=8, max_draws=16)
    untrusted = core.infer(task, corrections_of(task), settings=few, **given)
    assert untrusted.sampling_warnings
    assert untrusted.chains.shape[1] == 16


def test_stopping_before_the_first_draw_is_said(quick, corrections_of):
    task = core.load_task('cup')
    with pytest.raises(CancelledError):
        core.infer(task, corrections_of(task), settings=quick, should_stop=lambda: True)


def test_watching_does_not_change_the_numbers(quick, corrections_of):
    task = core.load_task('cup')
    quiet = core.infer(task, corrections_of(task), settings=quick, seed=5)
    watched = core.Inference(task, corrections_of(task), settings=quick, seed=5)
    for progress in watched.iterate():
        if progress.stage == 'sampling':
            assert watched.posterior().mean.shape == (2,)
    np.testing.assert_array_equal(watched.posterior().chains, quiet.chains)


def test_a_run_goes_on_with_one_more_correction_from_where_it_was(quick, corrections_of):
    task = core.load_task('press')
    sequence = corrections_of(task, 2)
    inference = core.Inference(task, sequence, settings=quick)
    first = inference.run()
    scale = inference._chains[0].outer.scale.copy()
    last = first.chains[0, -1].copy()
    more = sequence.appended(sequence.corrected[-1] + 0.02)
    inference.extend(more)
    np.testing.assert_array_equal(inference._chains[0].outer.position[:-1], last)
    np.testing.assert_array_equal(inference._chains[0].outer.scale, scale)
    second = inference.run()
    assert second.sampling['corrections'] == 3
    assert not np.array_equal(first.chains, second.chains)


def test_a_users_own_features_take_the_fast_path(quick, corrections_of):
    task = own_task(far_and_low)
    with warnings.catch_warnings():
        warnings.simplefilter('error', SlowFunctionWarning)
        posterior = core.infer(task, corrections_of(task), settings=quick)
    np.testing.assert_allclose(task.evaluate(task.plan), far_and_low(task.plan))
    assert posterior.feature_names == ('far', 'low')


def test_features_as_an_array_work_too(quick, corrections_of):
    task = own_task(lambda trajectory: np.array([trajectory[-1, 0], -trajectory[:, 1].max()]))
    np.testing.assert_allclose(task.evaluate(task.plan), far_and_low(task.plan))
    core.infer(task, corrections_of(task), settings=quick)


@pytest.mark.skipif(not JIT_ENABLED, reason='nothing is compiled with NUMBA_DISABLE_JIT=1')
def test_features_that_cannot_be_compiled_work_slower_with_a_warning(corrections_of):
    def with_an_object(trajectory):
        class Point:
            x = trajectory[-1, 0]

        return Point.x, -max(trajectory[:, 1])

    tiny = core.Settings(
        chains=2,
        warmup=8,
        batch=8,
        max_draws=8,
        thin=1,
        inner_steps=2,
        candidates=8,
        ensemble=core.EnsembleSize(seeds=30, members=2, anneal_steps=1),
    )
    slow = own_task(with_an_object)
    sequence = corrections_of(slow)
    with pytest.warns(SlowFunctionWarning, match='with_an_object'):
        posterior = core.infer(slow, sequence, settings=tiny)
    same = core.infer(own_task(far_and_low), sequence, settings=tiny)
    np.testing.assert_allclose(posterior.chains, same.chains, atol=1e-9)


def test_features_of_another_number_than_named_are_refused(corrections_of):
    task = own_task(far_and_low, feature_names=('far', 'low', 'third'))
    with pytest.raises((RewardLearningError, IndexError)):
        task.evaluate(task.plan)


def test_learning_from_state_action_pairs_goes_through_the_same_call(corrections_of):
    """The paper's remark: R becomes Q, and only the action was the person's to choose."""
    from helpers.sizes import sized

    def q_values(pair):
        state, action = pair[0, 0], pair[0, 1]
        return -abs(state + action), -abs(action)

    task = core.Task(
        name='pairs',
        feature_names=('reach', 'rest'),
        features=q_values,
        plan=np.array([[0.0, 0.0]]),
        space=core.TrajectorySpace(
            delta_low=[-1.0, -1.0],
            delta_high=[1.0, 1.0],
            fixed_waypoints=0,
            given_axes=(0,),
        ),
        axis_names=('state', 'action'),
    )
    states = np.array([0.8, -0.6, 0.7, -0.9])
    settings = core.Settings(
        warmup=sized(400, 40),
        batch=sized(400, 40),
        max_draws=sized(400, 80),
        inner_steps=sized(20, 4),
        ensemble=core.EnsembleSize(
            seeds=sized(2000, 60), members=sized(64, 4), anneal_steps=sized(8, 1)
        ),
    )

    def learned(actions):
        pairs = np.column_stack([states, actions])[:, None, :]
        sequence = core.CorrectionSequence(plan=task.plan, corrected=pairs)
        return core.infer(
            task, sequence, dependence='independent', beta=8.0, settings=settings
        ).mean

    reaching, resting = learned(-states), learned(np.zeros(4))
    assert reaching[0] > 0.85 > resting[0]
    assert resting[1] > 0.85 > reaching[1]


@pytest.mark.parametrize(
    ('options', 'error', 'said'),
    [
        ({'method': 'exact'}, UnknownNameError, 'double_mh, ignore, maximum, sampling'),
        ({'dependence': 'mutual'}, UnknownNameError, 'dependent, independent'),
        ({'beta': 0.0}, InvalidInputError, 'beta'),
        ({'beta': float('nan')}, InvalidInputError, 'beta'),
        ({'gamma': 2.0}, InvalidInputError, 'gamma'),
        ({'seed': -1}, InvalidInputError, 'seed'),
        ({'seed': 1.5}, InvalidInputError, 'seed'),
        ({'theta': 'sphere'}, UnknownNameError, 'unit'),
        ({'theta': core.ThetaDomain(kind='box', size=3)}, InvalidInputError, '3'),
        ({'threads': 0}, InvalidInputError, 'threads'),
    ],
)
def test_bad_options_are_refused_before_anything_runs(options, error, said, corrections_of):
    task = core.load_task('press')
    with pytest.raises(error, match=said):
        core.Inference(task, corrections_of(task), **options)


@pytest.mark.parametrize('name', ['chains', 'batch', 'thin', 'samples', 'candidates'])
def test_settings_below_their_bounds_are_refused(name):
    with pytest.raises(InvalidInputError, match=name):
        core.Settings(**{name: 0})


@pytest.mark.parametrize(
    'changes',
    [
        {'space': {'delta_low': [0.1, 0.0], 'delta_high': [0.1, 1.0]}},
        {'space': {'delta_low': [-1.0, -1.0], 'delta_high': [1.0, np.inf]}},
        {'feature_names': ()},
        {'features': 'far'},
        {'plan': np.zeros((4, 3))},
        {'plan': np.full((4, 2), np.nan)},
        {'duration_sec': 0.0},
        {'presets': {'bad': [1.0]}},
    ],
)
def test_a_task_that_cannot_be_is_refused(changes):
    def make():
        options = dict(changes)
        if 'space' in options:
            options['space'] = core.TrajectorySpace(**options['space'])
        return own_task(options.pop('features', far_and_low), **options)

    with pytest.raises(InvalidInputError):
        make()


def test_an_unknown_task_lists_those_that_exist():
    with pytest.raises(UnknownNameError, match='press'):
        core.load_task('juggle')
