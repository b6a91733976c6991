"""Reports of sessions: whole pages on their own, with whatever there is to report."""

from __future__ import annotations

import dataclasses
import datetime
import subprocess
import sys

import numpy as np
import pytest
from helpers.study_fixtures import Page, made_up_posterior, read_page

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError, install_command
from reward_learning_ros.figures.figure_style import publication_style
from reward_learning_ros.interface import (
    ContactReport,
    Correction,
    PassCorrections,
    ThetaSummary,
)
from reward_learning_ros.session.session_data import ABORTED, Fault, PassOutcome, SessionData
from reward_learning_ros.session.session_figures import timeline_figure
from reward_learning_ros.session.session_report import session_report


@pytest.fixture(scope='module')
def press() -> core.Task:
    return core.load_task('press')


def sensed(task: core.Task, index: int, confidence: float = 0.9) -> Correction:
    waypoints = len(task.plan)
    deltas = np.zeros((waypoints, 3))
    deltas[index:] = (0.0, 0.05, 0.0)
    return Correction(
        stamp_ns=index,
        frame_id='fr3_link0',
        tool_frame='fr3_hand_tcp',
        plan_stamp_ns=1,
        delta_positions=deltas,
        delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (waypoints, 1)),
        times_sec=np.linspace(0.0, 20.0, waypoints),
        onset_waypoint=index,
        onset_time_sec=2.5 * index,
        duration_sec=1.25,
        peak_force=17.3,
        confidence=confidence,
    )


def whole_session(task: core.Task, **changes) -> SessionData:
    """Return a session with something of everything."""
    posterior = made_up_posterior(task)
    table = posterior.table()[:, :-1]
    theta = ThetaSummary(
        features=task.feature_names, mean=table[0], sd=table[1], quantiles=table[2:]
    )
    first, second = task.plan + 0.01, task.plan + 0.02
    sequence = core.CorrectionSequence.from_deltas(
        task.plan, np.full((2, task.plan.shape[1]), 0.03), [1, 2]
    )
    return SessionData(
        **{
            'task': task,
            'study': 'pilot',
            'participant': 'p01',
            'trial': 3,
            'started': datetime.datetime(2026, 3, 1, 9, 30, tzinfo=datetime.timezone.utc),
            'duration_sec': 192.0,
            'seed': 17,
            'versions': {'numpy': '2.0'},
            'configuration': {'method': 'double_mh', 'mode': 'online'},
            'final_plan': second,
            'sequences': (sequence,),
            'posterior': posterior,
            'passes': (
                PassOutcome(pushes=1, theta=theta, trajectory=first, latency_sec=0.8),
                PassOutcome(pushes=2, theta=theta, reasons=('the chains disagree',)),
                PassOutcome(pushes=0, is_active=False),
            ),
            'theta_star': np.array(next(iter(task.presets.values()))),
            'beta_star': 10.0,
            'ideal': task.plan + 0.05,
            'faults': (Fault(source='simulated_arm', text='no state for 0.3 s', time_sec=4.0),),
            **changes,
        }
    )


@pytest.fixture(scope='module')
def session(press: core.Task) -> SessionData:
    return whole_session(press, corrections=(sensed(press, 1), sensed(press, 2, confidence=0.3)))


@pytest.fixture(scope='module')
def text(session: SessionData) -> str:
    return session_report(session)


@pytest.fixture(scope='module')
def page(text: str) -> Page:
    return read_page(text)


@pytest.mark.parametrize(
    'words',
    [
        'trial 3',
        '2026-03-01 09:30:00 UTC',
        '3 min 12 s',
        'plan after',
        '17.3',
        '0.30 (unsure)',
        'the chains disagree',
        'no state for 0.3 s',
        'inner moves accepted',
        'largest R̂',
        'log₁₀ β',
        'double_mh',
        '0.80 s',
    ],
)
def test_a_whole_session_is_told(page: Page, words: str) -> None:
    assert words in page.text


def test_numbers_and_figures_are_those_of_the_session(page: Page, session: SessionData) -> None:
    assert page.tags.count('svg') == 4
    assert session.posterior is not None
    mean, sd = session.posterior.table()[:2, 0]
    assert f'{mean:.3f} {sd:.3f}' in page.text
    assert f'Error of θ {session.error:.3f}' in page.text
    assert f'Regret of the plan shown last {session.regret:.4f}' in page.text
    assert f'unasked {session.unasked_regret:.4f}' in page.text


@pytest.mark.parametrize('outcome', ['done', ABORTED])
def test_a_session_without_anything_has_a_report(press: core.Task, outcome: str) -> None:
    data = SessionData(task=press, outcome=outcome, reason='the arm stopped')
    page = read_page(session_report(data))
    assert ('aborted' in page.text) == (outcome == ABORTED)
    assert 'the arm stopped' in page.text
    assert 'Nobody corrected the arm' in page.text
    assert 'plan before' in page.text
    assert 'Regret' not in page.text


def recorded_pass(task: core.Task, told: list[int], pushed: list[int]) -> PassCorrections:
    deltas = np.zeros((len(told), 3))
    deltas[[told.index(waypoint) for waypoint in pushed], 1] = 0.0321
    return PassCorrections(
        plan_stamp_ns=1,
        frame_id='fr3_link0',
        tool_frame='fr3_hand_tcp',
        times_sec=np.linspace(0.0, 20.0, len(task.plan))[told],
        delta_positions=deltas,
        delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(told), 1)),
    )


def test_pushes_silence_and_what_is_not_known_are_told_apart(press: core.Task) -> None:
    first = recorded_pass(press, told=[1, 2, 3, 5], pushed=[2, 5])
    second = dataclasses.replace(recorded_pass(press, told=[1, 4], pushed=[4]), plan_stamp_ns=2)
    contact = ContactReport(
        plan_stamp_ns=2,
        onset_ns=5,
        onset_plan_sec=11.25,
        duration_sec=1.5,
        displacement_m=[0.0, 0.0321, 0.0],
        peak_force_n=17.3,
        confidence=0.4,
        source='measured',
    )
    passes = tuple(PassOutcome(pushes=each.pushes, plan_stamp_ns=n + 1)
                   for n, each in enumerate((first, second)))  # fmt: skip
    data = whole_session(
        press, corrections=(first, second), contacts=(contact,), passes=passes, posterior=None
    )
    text = read_page(session_report(data)).text
    assert 'pass 1 · 3.2 · ? 3.2' in text
    assert 'pass 2 · ? ? 3.2 ?' in text
    assert '1 2 11.25 1.50 17.3 3.2 0.40 (unsure)' in text


def test_intervals_stand_beside_those_of_the_prior(page: Page, session: SessionData) -> None:
    low, _, high = session.prior.quantiles
    assert f'prior {low[0]:.2f} to {high[0]:.2f}' in page.text
    theta = session.passes[0].theta
    assert theta is not None
    low, _, high = theta.quantiles
    assert f'pass 1 {low[0]:.2f} to {high[0]:.2f}' in page.text
    assert f'{session.learned_share_of(theta):.0%}' in page.text
    assert 'nothing yet (undone)' in page.text


def test_what_people_wrote_is_no_markup(press: core.Task) -> None:
    evil = '<script>alert("x")</script> & \'co\''
    data = whole_session(
        press,
        posterior=None,
        study=evil,
        participant=evil,
        reason=evil,
        configuration={evil: evil},
        versions={evil: evil},
        faults=(Fault(source=evil, text=evil),),
    )
    text = session_report(data)
    assert evil in read_page(text).text
    assert '<script' not in text


@pytest.mark.parametrize('name', ['cup', 'serve'])
def test_tasks_of_all_kinds_are_drawn(name: str) -> None:
    task = core.load_task(name)
    posterior = made_up_posterior(task, beta=5.0)
    data = SessionData(
        task=task, posterior=posterior, final_plan=task.plan, theta_star=posterior.mean,
        ideal=task.plan,
    )  # fmt: skip
    page = read_page(session_report(data))
    assert page.tags.count('svg') == 3
    assert 'β was given: 5' in page.text


def test_without_theta_star_nothing_is_said_about_error(press: core.Task) -> None:
    data = whole_session(press, posterior=None, theta_star=None, beta_star=None, ideal=None)
    assert data.error is data.regret is data.initial_regret is None
    page = read_page(session_report(data))
    assert 'Error' not in page.text
    assert 'wanted' not in page.text.replace('wanted)', '')


def test_what_was_not_given_is_said_in_words(press: core.Task) -> None:
    data = whole_session(press, configuration={'beta': None, 'gains': None, 'mode': 'online'})
    page = read_page(session_report(data))
    assert 'inferred' in page.text
    assert 'None' not in page.text


@pytest.mark.parametrize('count', [1, 3])
def test_an_axis_of_passes_shows_whole_numbers(press: core.Task, count: int) -> None:
    data = whole_session(press, theta_star=None, beta_star=None, ideal=None)
    passes = (data.passes[0],) * count
    with publication_style():
        figure = timeline_figure(dataclasses.replace(data, passes=passes))
        ticks = figure.axes[0].get_xticks()
    assert {0, count} <= set(ticks)
    assert all(tick == round(tick) for tick in ticks)


def test_the_regret_of_the_ideal_plan_is_zero(press: core.Task) -> None:
    theta = np.array(press.presets['goal'])
    data = SessionData(task=press, theta_star=theta)
    assert data.ideal is not None
    assert data.regret_of(data.ideal) == 0.0
    assert data.initial_regret >= 0.0
    assert data.error_of(theta) == 0.0


def test_the_same_session_gives_the_same_page(session: SessionData, text: str) -> None:
    assert session_report(session) == text


def test_arrays_that_do_not_fit_are_refused(press: core.Task) -> None:
    with pytest.raises(InvalidInputError, match='final_plan has shape'):
        SessionData(task=press, final_plan=np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match='theta_star has shape'):
        SessionData(task=press, theta_star=np.zeros(2))
    with pytest.raises(UnknownNameError, match='aborted, done'):
        SessionData(task=press, outcome='lost')


def test_without_matplotlib_the_report_has_its_tables() -> None:
    code = (
        'import sys; sys.modules["matplotlib"] = None\n'
        'from reward_learning_ros import core\n'
        'from reward_learning_ros.session.session_report import session_report\n'
        'from reward_learning_ros.session.session_data import SessionData\n'
        'print(session_report(SessionData(task=core.load_task("press"))))\n'
    )
    output = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    ).stdout
    page = read_page(output)
    assert install_command('study') in page.text
    assert 'svg' not in page.tags
