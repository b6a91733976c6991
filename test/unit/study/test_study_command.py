"""`reward_learning study`: from the first line of a protocol to the report of the analysis."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from helpers.study_fixtures import read_page, small_protocol

from reward_learning_ros import core
from reward_learning_ros.cli.main import main, make_parser
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import from_arguments
from reward_learning_ros.parameters.sources import from_texts
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.study.ledger import DONE, EXCLUDED, RUNNING, Ledger
from reward_learning_ros.study.tidy import session_path, theta_rows, trial_rows, wanted_theta
from reward_learning_ros.study.trial_analysis import analyse_trials

PARTICIPANTS = 6
# What the dependent condition is better by, far beyond what participants differ in.
GAIN = 0.2


def finish(ledger: Ledger, participant: str, number: int, *, told: bool) -> None:
    """Do a trial: mark it, and leave the summary of a session as a person's or a program's."""
    record = ledger.mark(participant, number, RUNNING)
    rng = np.random.default_rng(record.trial.seed)
    worse = 0.0 if record.trial.condition.name == 'dependent' else GAIN
    task = core.load_task(record.trial.goal.task)
    theta = wanted_theta(record.trial.goal)
    summary = {
        'end': 'accepted',
        'corrections': int(rng.integers(2, 6)),
        'passes': 3,
        'duration_sec': float(rng.uniform(60.0, 120.0)),
        'beta': 5.0,
        'initial_regret': 0.4,
        'latency_sec': [0.8, 1.2, 0.9],
        'error': float(0.3 + worse + rng.normal(0.0, 0.02)) if told else None,
        'regret': float(0.1 + rng.uniform(0.0, 0.02)) if told else None,
        'theta': {
            name: {'mean': float(weight) + 0.1, 'sd': 0.05, 'interval': [0.0, 1.0]}
            for name, weight in zip(task.feature_names, theta, strict=True)
        },
    }
    folder = session_path(ledger, record)
    folder.mkdir(parents=True)
    (folder / 'summary.json').write_text(json.dumps(summary), encoding='utf-8')
    ledger.mark(participant, number, DONE)


@pytest.fixture(scope='module')
def finished(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """Return a study that is done but for one trial, which is excluded."""
    ledger = Ledger.create(
        small_protocol(PARTICIPANTS), tmp_path_factory.mktemp('sessions') / 'pilot'
    )
    for participant, records in ledger.records().items():
        for record in records:
            if (participant, record.trial.number) == ('p06', 4):
                ledger.mark('p06', 4, EXCLUDED, 'a <break> & a pause')
            else:
                finish(ledger, participant, record.trial.number, told=True)
    return ledger


def study(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(['study', *words]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_a_study_is_planned_run_and_looked_at(tmp_path: Path, capsys) -> None:
    sessions = ('--sessions', str(tmp_path))
    made = json.loads(
        study(
            capsys, *sessions, 'new', 'pilot', '--json', '--tasks', 'press/goal', 'reach',
            '--participants', '3', '--conditions', 'a=double_mh/dependent',
            'b=ignore/independent/after_pass',
        )
    )  # fmt: skip
    assert made['participants'] == ['p01', 'p02', 'p03']
    assert (made['trials_each'], made['balanced_participants']) == (4, 4)
    first = json.loads(study(capsys, *sessions, 'next', 'pilot', '--start', '--json'))
    assert (first['participant'], first['trial'], first['state']) == ('p01', 1, RUNNING)
    assert 'is running' in study(capsys, *sessions, 'next', 'pilot', 'p01', code=2)
    assert 'reason' in study(capsys, *sessions, 'mark', 'pilot', 'p01', '1', 'aborted', code=2)
    study(capsys, *sessions, 'mark', 'pilot', 'p01', '1', 'aborted', '--reason', 'a reflex')
    study(capsys, *sessions, 'enrol', 'pilot', 'guest')
    status = study(capsys, *sessions, 'status', 'pilot')
    assert 'guest' in status
    assert 'aborted: a reflex' in status
    assert '15 planned, 1 aborted' in status
    assert 'nothing to analyse' in study(capsys, *sessions, 'analyse', 'pilot', code=2)
    assert 'already' in study(capsys, *sessions, 'new', 'pilot', code=2)


def test_a_session_that_has_ended_is_pointed_out(tmp_path: Path, capsys) -> None:
    ledger = Ledger.create(small_protocol(), tmp_path / 'pilot')
    record = ledger.start('p01')
    folder = session_path(ledger, record)
    folder.mkdir(parents=True)
    assert 'note' not in study(capsys, '--sessions', str(tmp_path), 'status', 'pilot')
    (folder / 'summary.json').write_text('{}', encoding='utf-8')
    text = study(capsys, '--sessions', str(tmp_path), 'status', 'pilot')
    assert 'trial 1 of p01 has ended; mark it done' in text


def test_both_commands_start_the_session_of_the_trial(tmp_path: Path, capsys) -> None:
    ledger = Ledger.create(small_protocol(), tmp_path / 'pilot')
    ledger.start('p02')
    ledger.mark('p02', 1, 'aborted', 'a reflex')
    shown = json.loads(
        study(capsys, '--sessions', str(tmp_path), 'next', 'pilot', 'p02', '--json')
    )
    words = shlex.split(shown['command'])
    assert words[:2] == ['reward_learning', 'session']
    options = make_parser(words[1:]).parse_args(words[1:])
    config = from_arguments(SessionParameters, options)
    launched = shlex.split(shown['launch'])
    assert launched[:4] == ['ros2', 'launch', 'reward_learning_ros', 'session.launch.py']
    assert config == from_texts(
        SessionParameters, dict(word.split(':=', 1) for word in launched[4:])
    )
    trial = ledger.record('p02', 1).trial
    # The second attempt has a folder of its own.
    assert (config.study, config.participant, config.trial) == ('pilot', 'p02', 101)
    assert (config.task, config.seed) == (trial.goal.task, trial.seed)
    assert config.dependence == trial.condition.dependence
    np.testing.assert_array_equal(config.participant_theta, wanted_theta(trial.goal))


@pytest.mark.parametrize(
    'words',
    [
        ['new', '../pilot'],
        ['new', 'pilot', '--tasks', 'press/gaol'],
        ['new', 'pilot', '--tasks', 'prss'],
        ['new', 'pilot', '--conditions', 'x'],
        ['new', 'pilot', '--conditions', 'x=best/dependent'],
        ['new', 'pilot', '--arm', 'franka'],
        ['new', 'pilot', '--participants', '0'],
        ['new', 'pilot', '--participants', '9999999999999'],
        ['new', 'pilot', '--participants', '9' * 5000],
        ['next', 'nowhere'],
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(words, tmp_path: Path, capsys) -> None:
    study(capsys, '--sessions', str(tmp_path), *words, code=2)
    assert not list(tmp_path.rglob('study.yaml'))


def test_the_table_has_a_row_for_each_trial_whatever_became_of_it(finished: Ledger) -> None:
    rows = trial_rows(finished)
    assert len(rows) == 4 * PARTICIPANTS
    assert len({(row['participant'], row['task'], row['condition']) for row in rows}) == len(rows)
    (excluded,) = (row for row in rows if row['state'] != DONE)
    assert excluded['reason'] == 'a <break> & a pause'
    assert excluded['error'] is excluded['corrections'] is None
    assert all(row['latency_sec'] == 0.9 for row in rows if row['state'] == DONE)
    weights = theta_rows(finished)
    for row in weights:
        assert row['mean'] == pytest.approx(row['wanted'] + 0.1)


def test_error_and_regret_of_people_are_those_of_what_they_were_asked(tmp_path: Path) -> None:
    ledger = Ledger.create(small_protocol(), tmp_path / 'pilot')
    finish(ledger, 'p01', 1, told=False)
    row = trial_rows(ledger)[0]
    task = core.load_task(row['task'])
    theta = wanted_theta(ledger.record('p01', 1).trial.goal)
    assert row['error'] == pytest.approx(np.linalg.norm(np.full(task.size, 0.1)))
    assert row['regret'] == core.regret(task, theta, theta + 0.1, seed=row['seed'])


def test_a_trial_without_its_summary_is_no_silent_gap(tmp_path: Path) -> None:
    ledger = Ledger.create(small_protocol(), tmp_path / 'pilot')
    ledger.start('p01')
    ledger.mark('p01', 1, DONE)
    with pytest.raises(InvalidInputError, match='trial 1 of p01 is done, but'):
        trial_rows(ledger)


def test_a_trial_without_a_session_cannot_be_done(tmp_path: Path, capsys) -> None:
    ledger = Ledger.create(small_protocol(), tmp_path / 'pilot')
    record = ledger.start('p01')
    words = ('--sessions', str(tmp_path), 'mark', 'pilot', 'p01', '1', 'done')
    assert 'there is no session' in study(capsys, *words, code=2)
    folder = session_path(ledger, record)
    folder.mkdir(parents=True)
    assert 'reward_learning conclude' in study(capsys, *words, code=2)
    (folder / 'summary.json').write_text('[' * 100_000, encoding='utf-8')
    assert 'cannot be read' in study(capsys, *words, code=2)
    assert ledger.record('p01', 1).state == RUNNING
    (folder / 'summary.json').write_text('{"theta": {}}', encoding='utf-8')
    study(capsys, *words)
    assert ledger.record('p01', 1).state == DONE


def test_where_sessions_are_can_be_said_before_and_after_the_action(
    tmp_path: Path, capsys
) -> None:
    study(capsys, 'new', 'pilot', '--sessions', str(tmp_path / 'after'))
    study(capsys, '--sessions', str(tmp_path / 'before'), 'new', 'pilot')
    for place in ('before', 'after'):
        assert (tmp_path / place / 'pilot' / 'study.yaml').is_file()


def test_one_of_something_is_not_said_in_the_plural(tmp_path: Path, capsys) -> None:
    made = study(
        capsys, 'new', 'pilot', '--sessions', str(tmp_path), '--participants', '1', '--tasks',
        'press', '--conditions', 'a=double_mh/dependent',
    )  # fmt: skip
    assert '1 participant, 1 trial each' in made


def test_the_difference_that_is_there_is_found_and_no_other(finished: Ledger) -> None:
    error, *_ = analyse_trials(finished.protocol, trial_rows(finished))
    assert error.column == 'error'
    # One did not do all trials; the mixed model has those that they did.
    assert error.participants == ('p01', 'p02', 'p03', 'p04', 'p05')
    assert error.model is not None
    assert error.model.observations == 4 * PARTICIPANTS - 1
    effects = {effect.name: effect for effect in error.effects}
    assert effects['condition'].p_corrected < 0.001
    assert effects['task'].p_corrected > 0.01
    (comparison,) = error.comparisons
    low, high = comparison.interval
    assert low < -GAIN < high
    by_hand = [
        row['error']
        for row in trial_rows(finished)
        if (row['task'], row['condition']) == ('press', 'dependent') and row['error'] is not None
    ]
    (cell,) = (
        cell for cell in error.cells if (cell.goal, cell.condition) == ('press/goal', 'dependent')
    )
    assert (cell.count, cell.mean) == (len(by_hand), pytest.approx(np.mean(by_hand)))


def test_the_analysis_is_written_and_can_be_opened(finished: Ledger, tmp_path, capsys) -> None:
    import pandas

    text = study(
        capsys, '--sessions', str(finished.folder.parent), 'analyse', 'pilot', '--json',
        '--output', str(tmp_path),
    )  # fmt: skip
    results = json.loads(text)['measures']
    assert results == json.loads((tmp_path / 'results.json').read_text(encoding='utf-8'))
    page = read_page((tmp_path / 'report.html').read_text(encoding='utf-8'))
    assert page.tags.count('svg') == len(results) == 4
    for words in ('a <break> & a pause', 'dependent − independent', 'Holm', 'Mixed model', '±'):
        assert words in page.text
    for name in ('trials', 'theta'):
        with (tmp_path / f'{name}.csv').open(encoding='utf-8') as file:
            lines = list(csv.DictReader(file))
        assert len(lines) == len(pandas.read_parquet(tmp_path / f'{name}.parquet'))
    for column in ('error', 'regret', 'corrections', 'duration-sec'):
        assert (tmp_path / 'figures' / f'{column}.svg').read_text(encoding='utf-8').count('<svg')
        assert (tmp_path / 'figures' / f'{column}.pdf').read_bytes().startswith(b'%PDF')


def test_few_participants_get_means_and_the_reason_why_there_is_no_test(tmp_path: Path) -> None:
    ledger = Ledger.create(small_protocol(), tmp_path / 'pilot')
    finish(ledger, 'p01', 1, told=True)
    error, *_ = analyse_trials(ledger.protocol, trial_rows(ledger))
    assert error.effects == error.comparisons == ()
    assert error.model is None
    assert any('too few' in remark for remark in error.remarks)
    json.dumps(error.to_mapping(), allow_nan=False)
