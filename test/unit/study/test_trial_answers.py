"""What participants and operators said comes into tables, tests and the report of a study."""

from __future__ import annotations

import csv
import json
import time

import numpy as np
import pytest
from helpers.study_fixtures import read_page, small_protocol

from reward_learning_ros import core
from reward_learning_ros.cli.main import main
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface import OperatorMark, Plan
from reward_learning_ros.recording.bag_making import write_corrections
from reward_learning_ros.study.answering import answer, due_questionnaires, mark_moment
from reward_learning_ros.study.ledger import DONE, RUNNING, Ledger
from reward_learning_ros.study.tidy import session_path, wanted_theta
from reward_learning_ros.study.trial_answers import read_trial_answers, score_rows

QUESTIONNAIRES = (
    ('nasa_tlx_raw', 'after_trial'),
    ('sus', 'after_condition'),
    ('umux_lite', 'at_end'),
)
PARTICIPANTS = 4
PLAN = Plan(
    stamp_ns=1_700_000_000_000_000_000,
    frame_id='fr3_link0',
    positions=np.linspace((0.3, 0.0, 0.5), (0.6, 0.3, 0.2), 5),
    orientations=np.tile([1.0, 0.0, 0.0, 0.0], (5, 1)),
    times_sec=np.arange(5.0),
)
# By how much the independent condition is more work, far beyond what participants differ in.
MORE_WORK = 30


def finish(ledger, record):
    record = ledger.mark(record.trial.participant, record.trial.number, RUNNING)
    folder = session_path(ledger, record)
    folder.mkdir(parents=True)
    write_corrections(folder / 'bag', [PLAN], [])
    rng = np.random.default_rng(record.trial.seed)
    task = core.load_task(record.trial.goal.task)
    summary = {
        'end': 'accepted',
        'corrections': 3,
        'passes': 3,
        'duration_sec': float(rng.uniform(60.0, 120.0)),
        'latency_sec': [],
        'error': float(rng.uniform(0.2, 0.4)),
        'regret': float(rng.uniform(0.1, 0.2)),
        'theta': {
            name: {'mean': float(weight), 'sd': 0.05, 'interval': [0.0, 1.0]}
            for name, weight in zip(
                task.feature_names, wanted_theta(record.trial.goal), strict=True
            )
        },
    }
    (folder / 'summary.json').write_text(json.dumps(summary))
    return ledger.mark(record.trial.participant, record.trial.number, DONE)


def answers_of(questionnaire, record, rng):
    """Return answers that differ a little between people, and much between conditions."""
    is_worse = record.trial.condition.name == 'independent'
    if questionnaire.name == 'nasa_tlx_raw':
        level = 30 + 5 * int(rng.integers(0, 2)) + MORE_WORK * is_worse
        return {item.key: level for item in questionnaire.items}
    if questionnaire.name == 'sus':
        # All agree with all: 50; everybody who is pleased says 4 and 2 in turn: 75.
        return {
            item.key: 3 if is_worse else 2 if item.is_reversed else 4
            for item in questionnaire.items
        }
    return {'requirements': 6, 'ease': int(rng.integers(4, 7))}


@pytest.fixture(scope='module')
def ledger(tmp_path_factory):
    """Return a study that is done, answered and marked."""
    folder = tmp_path_factory.mktemp('sessions') / 'pilot'
    ledger = Ledger.create(small_protocol(PARTICIPANTS, questionnaires=QUESTIONNAIRES), folder)
    rng = np.random.default_rng(3)
    for records in ledger.records().values():
        for record in records:
            done = finish(ledger, record)
            for due in due_questionnaires(ledger, record.trial.participant):
                answers = answers_of(due.questionnaire, due.record, rng)
                answer(ledger, due.record, due.questionnaire.name, answers)
        now_ns = time.time_ns()
        mark = OperatorMark(
            stamp_ns=now_ns - 10**9, machine_ns=now_ns, key='spilled', note='=1+1, <b>'
        )
        mark_moment(session_path(ledger, done), mark)
    return ledger


@pytest.fixture(scope='module')
def analysis(ledger):
    """Return the folder of the analysis by the command."""
    assert main(['study', '--sessions', str(ledger.folder.parent), 'analyse', 'pilot']) == 0
    return ledger.folder / 'analysis'


def rows_of(path):
    with path.open(encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def test_everything_that_was_said_is_in_a_tidy_table(analysis):
    scores, answers, marks = (
        rows_of(analysis / f'{name}.csv') for name in ('scores', 'answers', 'marks')
    )
    trials = 4 * PARTICIPANTS
    by_questionnaire = {
        'nasa_tlx_raw': trials,
        'sus': 2 * PARTICIPANTS,
        # Two scores.
        'umux_lite': 2 * PARTICIPANTS,
    }
    for name, count in by_questionnaire.items():
        assert sum(row['questionnaire'] == name for row in scores) == count
    assert len(answers) == 6 * trials + 10 * 2 * PARTICIPANTS + 2 * PARTICIPANTS
    assert {row['condition'] for row in answers} == {'dependent', 'independent'}
    assert [row['note'] for row in marks] == ['=1+1, <b>'] * PARTICIPANTS
    assert {float(row['ago_sec']) for row in marks} == {1.0}
    assert (analysis / 'scores.parquet').is_file()


def test_scores_stand_beside_the_measures_of_their_trials(analysis):
    rows = rows_of(analysis / 'trials.csv')
    for row in rows:
        level = float(row['nasa_tlx_raw_workload'])
        assert (level > 40) == (row['condition'] == 'independent')
    assert sum(bool(row['sus_usability']) for row in rows) == 2 * PARTICIPANTS
    assert sum(bool(row['umux_lite_usability']) for row in rows) == PARTICIPANTS


def test_scores_are_tested_as_often_as_they_were_asked(analysis):
    results = json.loads((analysis / 'results.json').read_text())
    workload = results['nasa_tlx_raw_workload']
    assert {effect['name'] for effect in workload['effects']} >= {'task', 'condition'}
    (pair,) = workload['comparisons']
    assert pair['p_holm'] < 0.01
    usability = results['sus_usability']
    assert usability['better'] == 'higher'
    means = {cell['condition']: cell['mean'] for cell in usability['cells']}
    assert means == {'dependent': pytest.approx(75.0), 'independent': pytest.approx(50.0)}
    at_end = results['umux_lite_usability']
    assert [cell['count'] for cell in at_end['cells']] == [PARTICIPANTS]
    assert at_end['comparisons'] == []
    assert at_end['remarks'] == ['Asked once of each participant: nothing to compare.']


def test_the_report_shows_them_and_says_which_way_is_better(analysis):
    page = read_page((analysis / 'report.html').read_text(encoding='utf-8'))
    assert 'SUS: means with 95 % intervals; dots are participants. Higher is better.' in page.text
    assert 'NASA-TLX raw workload' in page.text


def test_a_questionnaire_that_was_changed_since_is_refused(ledger):
    own = ledger.folder / 'questionnaires'
    own.mkdir()
    path = own / 'umux_lite.yaml'
    try:
        from reward_learning_ros.study.questionnaire_files import questionnaire_files

        text = questionnaire_files()['umux_lite'].read_text()
        path.write_text(text.replace('is easy to use', 'is nice to use'))
        with pytest.raises(InvalidInputError, match=r"'umux_lite' was changed after p01"):
            score_rows(ledger, read_trial_answers(ledger))
    finally:
        path.unlink()
        own.rmdir()


def test_answers_that_got_lost_are_missed(ledger, tmp_path):
    broken = tmp_path / 'pilot'
    broken.mkdir()
    for entry in ledger.folder.iterdir():
        (broken / entry.name).symlink_to(entry)
    (broken / 'p01').unlink()
    for record in ledger.participant_records('p01'):
        write_corrections(broken / 'p01' / f'{record.session_number:03d}' / 'bag', [PLAN], [])
    with pytest.raises(InvalidInputError, match="p01 answered 'nasa_tlx_raw' after trial 1"):
        read_trial_answers(Ledger(broken))


def test_the_table_of_one_session_is_converted(ledger, tmp_path, capsys):
    record = ledger.participant_records('p01')[-1]
    folder = session_path(ledger, record)
    target = tmp_path / 'answers.csv'
    assert main(['convert', str(folder), str(target), '--table', 'answers']) == 0
    rows = rows_of(target)
    assert {row['questionnaire'] for row in rows} == {'nasa_tlx_raw', 'sus', 'umux_lite'}
    assert {row['item'] for row in rows if row['questionnaire'] == 'umux_lite'} == {
        'requirements',
        'ease',
    }
    target = tmp_path / 'marks.parquet'
    assert main(['convert', str(folder), str(target), '--table', 'marks']) == 0
    capsys.readouterr()
    first = session_path(ledger, ledger.participant_records('p01')[0])
    for words, said in (
        ((str(first), str(tmp_path / 'none.csv'), '--table', 'marks'), 'has no marks'),
        ((str(folder), str(tmp_path / 'a.npz'), '--table', 'marks'), '.csv or .parquet'),
    ):
        assert main(['convert', *words]) == 2
        assert said in capsys.readouterr().err
