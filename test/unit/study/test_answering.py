"""Questionnaires are due when the protocol says; their answers are found in the trial's bag."""

from __future__ import annotations

import json
import os
import time

import numpy as np
import pytest
from helpers.study_fixtures import small_protocol

from reward_learning_ros.cli.main import main
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.interface import OperatorMark, Plan
from reward_learning_ros.recording.bag_making import write_corrections
from reward_learning_ros.recording.session_records import read_session, read_study_records
from reward_learning_ros.study.answering import answer, due_questionnaires, mark_moment
from reward_learning_ros.study.ledger import ABORTED, DONE, EXCLUDED, RUNNING, Ledger
from reward_learning_ros.study.questionnaires import AnswerError
from reward_learning_ros.study.tidy import session_path

QUESTIONNAIRES = (
    ('being_understood', 'after_trial'),
    ('sus', 'after_condition'),
    ('umux_lite', 'at_end'),
)
UNDERSTOOD = {'understood': 6, 'repeated': 3, 'predictable': 4, 'comment': 'a <script> & "é"'}
PLAN = Plan(
    stamp_ns=1_700_000_000_000_000_000,
    frame_id='fr3_link0',
    positions=np.linspace((0.3, 0.0, 0.5), (0.6, 0.3, 0.2), 5),
    orientations=np.tile([1.0, 0.0, 0.0, 0.0], (5, 1)),
    times_sec=np.arange(5.0),
)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(small_protocol(2, questionnaires=QUESTIONNAIRES), tmp_path / 'pilot')


def run_trial(ledger, participant, number, state=DONE):
    """Do a trial: begin it, leave the recording and the summary of a session, mark it."""
    record = ledger.mark(participant, number, RUNNING)
    folder = session_path(ledger, record)
    folder.mkdir(parents=True)
    write_corrections(folder / 'bag', [PLAN], [])
    (folder / 'summary.json').write_text(json.dumps({'theta': {}}))
    if state is not RUNNING:
        ledger.mark(participant, number, state, 'a reason' if state != DONE else '')
    return ledger.record(participant, number)


def due(ledger, participant='p01'):
    return [
        (each.record.trial.number, each.questionnaire.name)
        for each in due_questionnaires(ledger, participant)
    ]


def test_each_is_due_when_the_protocol_says(ledger):
    assert due(ledger) == []
    conditions = [record.trial.condition.name for record in ledger.participant_records('p01')]
    for number in (1, 2, 3, 4):
        run_trial(ledger, 'p01', number)
        found = due(ledger)
        assert found.count((number, 'being_understood')) == 1
        left = conditions[number:]
        is_condition_over = conditions[number - 1] not in left
        assert ((number, 'sus') in found) == is_condition_over
        assert ((number, 'umux_lite') in found) == (number == 4)
    assert len(due(ledger)) == 4 + 2 + 1
    assert due(ledger, 'p02') == []
    with pytest.raises(UnknownNameError, match='p01'):
        due(ledger, 'p03')


def test_it_is_due_as_soon_as_the_session_has_ended(ledger):
    run_trial(ledger, 'p01', 1, RUNNING)
    assert due(ledger) == [(1, 'being_understood')]


def test_an_excluded_trial_is_not_asked_about_and_does_not_hold_up_the_rest(ledger):
    for number in (1, 2, 3):
        run_trial(ledger, 'p01', number)
    ledger.mark('p01', 4, EXCLUDED, 'went home')
    found = due(ledger)
    assert (3, 'umux_lite') in found
    assert not [number for number, _ in found if number == 4]


def test_a_trial_that_is_done_again_is_asked_about_again(ledger):
    record = run_trial(ledger, 'p01', 1, RUNNING)
    answer(ledger, record, 'being_understood', UNDERSTOOD)
    ledger.mark('p01', 1, ABORTED, 'a reflex')
    assert due(ledger) == []
    run_trial(ledger, 'p01', 1)
    assert due(ledger) == [(1, 'being_understood')]


def test_answers_are_in_the_bag_and_what_was_there_stays(ledger):
    record = run_trial(ledger, 'p01', 1)
    folder = session_path(ledger, record)
    before = {path.name: path.read_bytes() for path in (folder / 'bag').glob('*.mcap')}
    started_ns = time.time_ns()
    answer(ledger, record, 'being_understood', UNDERSTOOD)
    assert due(ledger) == []
    records = read_study_records(folder)
    (said,) = records.answers
    assert records.problems == ()
    assert dict(said.answers) == {key: str(value) for key, value in UNDERSTOOD.items()}
    assert (said.participant, said.trial) == ('p01', 1)
    assert started_ns <= said.stamp_ns <= time.time_ns()
    for name, content in before.items():
        assert (folder / 'bag' / name).read_bytes() == content
    assert read_session(folder).distinct_plans == (PLAN,)


def test_answering_again_replaces_the_answers(ledger):
    record = run_trial(ledger, 'p01', 1)
    answer(ledger, record, 'being_understood', UNDERSTOOD)
    answer(ledger, record, 'being_understood', {**UNDERSTOOD, 'understood': 1})
    (said,) = read_study_records(session_path(ledger, record)).answers
    assert said.answers['understood'] == '1'


def test_answers_that_are_refused_leave_no_trace(ledger):
    record = run_trial(ledger, 'p01', 1)
    folder = session_path(ledger, record)
    with pytest.raises(AnswerError, match='understood'):
        answer(ledger, record, 'being_understood', {**UNDERSTOOD, 'understood': 8})
    assert read_study_records(folder).answers == ()
    assert ledger.answered() == ()


def test_while_a_session_is_recorded_answers_go_by_its_topic_only(ledger):
    record = ledger.mark('p01', 1, RUNNING)
    folder = session_path(ledger, record)
    write_corrections(folder / 'bag', [PLAN], [])
    with pytest.raises(InvalidInputError, match='still being recorded'):
        answer(ledger, record, 'being_understood', UNDERSTOOD)
    published = []
    said = answer(ledger, record, 'being_understood', UNDERSTOOD, publish=published.append)
    assert published == [said]
    assert read_study_records(folder).answers == ()
    assert len(ledger.answered()) == 1


def test_what_could_not_be_published_is_not_noted(ledger):
    record = ledger.mark('p01', 1, RUNNING)
    session_path(ledger, record).mkdir(parents=True)

    def fail(said):
        raise InvalidInputError('nobody records')

    with pytest.raises(InvalidInputError, match='nobody records'):
        answer(ledger, record, 'being_understood', UNDERSTOOD, publish=fail)
    assert ledger.answered() == ()


def test_a_trial_without_a_recording_takes_no_answers(ledger):
    with pytest.raises(InvalidInputError, match='no recording'):
        answer(ledger, ledger.record('p01', 1), 'being_understood', UNDERSTOOD)


def test_a_mark_keeps_the_moment_that_is_meant_and_when_it_was_noted(ledger):
    folder = session_path(ledger, run_trial(ledger, 'p01', 1))
    now_ns = time.time_ns()
    first = OperatorMark(stamp_ns=now_ns - 10**9, machine_ns=now_ns, key='looked', note='away')
    earlier = OperatorMark(stamp_ns=now_ns - 5 * 10**9, machine_ns=now_ns + 1, key='spilled')
    for mark in (first, earlier):
        mark_moment(folder, mark)
    records = read_study_records(folder)
    assert records.marks == (earlier, first)
    assert records.mark_times_ns[1] - records.mark_times_ns[0] == pytest.approx(4e9, abs=1e6)


def test_marks_and_answers_are_commands(tmp_path, ledger, capsys):
    record = run_trial(ledger, 'p01', 1)
    folder = session_path(ledger, record)
    study = ('study', '--sessions', str(tmp_path))
    assert (
        main(['mark', 'spilled', '--note', 'the cup', '--ago', '2.5', '--session', str(folder)])
        == 0
    )
    assert 'spilled, 2.5 s ago' in capsys.readouterr().out
    words = [f'{key}={value}' for key, value in UNDERSTOOD.items()]
    assert main([*study, 'due', 'pilot', 'p01']) == 0
    assert 'being_understood' in capsys.readouterr().out
    assert main([*study, 'answer', 'pilot', 'p01', '1', 'being_understood', *words, '--json']) == 0
    assert json.loads(capsys.readouterr().out)['scores'] == {'understanding': 5.0}
    records = read_study_records(folder)
    assert records.answers[0].answers['comment'] == UNDERSTOOD['comment']
    assert records.marks[0].ago_sec == pytest.approx(2.5)
    assert main([*study, 'due', 'pilot', 'p01', '--json']) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['two words'], 'letters'),
        (['k', '--at', 'yesterday'], '2026-11-18T20:15:30'),
        (['k', '--at', '2999-01-01'], 'in the future'),
        (['k', '--at', '2020-01-01', '--ago', '3'], 'two ways'),
        (['k', '--ago', '-1'], 'ago'),
        (['k', '--session', '.'], 'has not ended'),
    ],
)
def test_a_mark_that_is_refused_says_why(words, said, capsys):
    assert main(['mark', *words]) == 2
    assert said in capsys.readouterr().err


def test_a_terminal_is_asked_one_by_one(tmp_path, ledger, monkeypatch, capsys):
    record = run_trial(ledger, 'p01', 1)
    parent, child = os.openpty()
    os.write(parent, b'6\n3\n4\nfine\n')
    with os.fdopen(child, 'r') as terminal:
        monkeypatch.setattr('sys.stdin', terminal)
        words = ('answer', 'pilot', 'p01', '1', 'being_understood')
        assert main(['study', '--sessions', str(tmp_path), *words]) == 0
    os.close(parent)
    said = capsys.readouterr().out
    assert 'The arm understood what I wanted. [1 Not at all … 7 Completely]' in said
    assert read_study_records(session_path(ledger, record)).answers[0].answers['comment'] == 'fine'


def test_consent_is_kept_as_version_hash_and_time(tmp_path, capsys):
    ledger = Ledger.create(small_protocol(2, informed_consent='v2.1'), tmp_path / 'pilot')
    with pytest.raises(InvalidInputError, match=r"not consented to version 'v2\.1'"):
        ledger.start('p01')
    with pytest.raises(InvalidInputError, match='not consented'):
        ledger.mark('p01', 1, RUNNING)
    document = tmp_path / 'consent of Jane Doe.pdf'
    document.write_bytes(b'I agree')
    words = ['study', '--sessions', str(tmp_path), 'consent', 'pilot', 'p01']
    assert main([*words, 'v1', str(document)]) == 2
    assert "asks for 'v2.1'" in capsys.readouterr().err
    assert main([*words, 'v2.1', str(document)]) == 0
    given = ledger.consents()['p01']
    # sha256 of b'I agree', by sha256sum.
    assert given.sha256 == ('99955b75e054416577b88fcec811270c93bff6f1bc421f01e3da7c1b18ec61e3')
    assert ledger.start('p01').state == RUNNING
    journal = (tmp_path / 'pilot' / 'journal.jsonl').read_text()
    assert 'Jane' not in journal
    with pytest.raises(UnknownNameError, match='p02'):
        ledger.consent('p09', 'v2.1', b'')
    with pytest.raises(InvalidInputError, match='must not name anybody'):
        ledger.consent('p02', 'signed by Jane', b'')


def test_a_protocol_with_questionnaires_says_so_and_reads_back(tmp_path, capsys):
    words = ['study', '--sessions', str(tmp_path), 'new', 'pilot', '--tasks', 'press/goal']
    given = ['--questionnaires', 'nasa_tlx_raw', 'sus=at_end', '--informed-consent', 'v1']
    assert main([*words, '--participants', '2', *given]) == 0
    protocol = Ledger(tmp_path / 'pilot').protocol
    assert protocol.questionnaires == (('nasa_tlx_raw', 'after_trial'), ('sus', 'at_end'))
    assert protocol.informed_consent == 'v1'
    capsys.readouterr()
    for wrong, said in (('ssu', 'unknown questionnaire'), ('sus=later', 'after_trial')):
        assert main([*words[:4], 'other', *words[5:], '--questionnaires', wrong]) == 2
        assert said in capsys.readouterr().err
