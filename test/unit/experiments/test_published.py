"""The published study analysed anew: defects are told, and what is right is used."""

import json
import os
import pickle

import numpy as np
import pytest
from helpers import published_example
from helpers.published_example import pushed, write_study, write_trial

from reward_learning_ros.cli.main import EXIT_USAGE, main
from reward_learning_ros.core.inference import infer
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.trajectory import CorrectionSequence
from reward_learning_ros.experiments.parameter_sweep import sweep
from reward_learning_ros.experiments.published_analysis import (
    TASKS,
    SharedMaximum,
    published_cell,
    read_study,
    summarise,
)
from reward_learning_ros.experiments.published_parameters import METHODS, PublishedParameters
from reward_learning_ros.recording.published_recordings import survey_study
from reward_learning_ros.tasks import load_task


class Bomb:
    def __reduce__(self):
        return os.mkdir, ('exploded',)


def complaints(survey):
    return {(defect.place, defect.text): defect.used for defect in survey.defects}


def test_defects_are_told_and_the_rest_is_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_trial(tmp_path, participant=1, trial=1)
    write_trial(tmp_path, participant=1, trial=2, rows=pushed(0, 12.0))
    write_trial(tmp_path, participant=1, trial=3, rows=Bomb())
    write_trial(tmp_path, participant=2, trial=1, rows=pushed(11))
    write_trial(tmp_path, participant=2, trial=2, rows=np.zeros((5, 4)), theta=np.ones(4))
    write_trial(tmp_path, participant=2, trial=3, theta=np.ones(3))
    user = write_trial(tmp_path, participant=3, trial=1, rows=[[0.0, 1.0]])
    write_trial(tmp_path, participant=3, trial=2, rows=pushed(1) * [1, 100, 100, 100])
    (user / 'demo3.pkl').write_bytes(b'no pickle')
    (user / 'demo0.pkl').write_bytes(b'')
    survey = read_study(tmp_path)
    assert not (tmp_path / 'exploded').exists()
    used = [(one.recording.participant, one.recording.trial) for one in survey.taught]
    assert used == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2)]
    told = ' | '.join(f'{place}: {text}' for place, text in complaints(survey))
    for text in (
        'press, participant 1, 2: ends after 11.9 of 20 s',
        'posix.mkdir',
        'participant 2, 1: a copy of press, participant 1, 1',
        'participant 2, 2: time stands still or goes back after 0.0 s',
        'participant 2, 2: θ has length 2.00',
        'participant 2, 2: holds no correction at all',
        'participant 2, 3: θ has 3 components',
        'participant 3, 1: ',
        'participant 3, 2: 7 of 7 deltas lie outside',
        'participant 3, 3: missing: theta3.pkl',
        'user3/demo0.pkl: belongs to no trial',
        'Task2/data is missing',
    ):
        assert text in told


def test_a_folder_that_is_no_study_is_refused(tmp_path, capsys):
    assert main(['published-study', str(tmp_path)]) == EXIT_USAGE
    assert 'Task1/data' in capsys.readouterr().err
    assert main(['published-study', str(tmp_path), '--output', 'rows.xls']) == EXIT_USAGE
    assert '.parquet' in capsys.readouterr().err


def test_what_a_table_drifts_along_is_no_effort(tmp_path):
    task = load_task('published_push')
    rows = pushed(3)
    rows[:, 3] = np.linspace(0.0, 1.0, len(rows))
    write_trial(tmp_path, 'Task3', rows=rows, theta=np.array([0.6, 0.8]))
    survey = survey_study(tmp_path, {'push': task})
    assert 'z drifts by 1.00 m' in [defect.text for defect in survey.defects]
    moved = survey.taught[0].corrections.displacements
    np.testing.assert_array_equal(moved[:, :, 2], 0.0)
    assert np.abs(moved[:, :, :2]).max() > 0.001


def test_the_command_gives_every_method_and_its_rows(tmp_path, capsys):
    study = tmp_path / 'study'
    write_trial(study)
    table = tmp_path / 'rows.csv'
    options = ['--json', '--beta', '3', '--workers', '1', '--output', str(table)]
    assert main(['published-study', str(study), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found['recordings'] == 1
    lines = {(line['method'], line['dependence']): line for line in found['errors']}
    assert len(lines) == 2 * len(METHODS)
    assert lines['double_mh', 'dependent']['authors'] == 0.95
    assert lines['double_mh', 'independent']['authors'] is None
    assert lines['ignore', 'dependent']['constant'] == pytest.approx(1.0)
    rows = table.read_text().splitlines()
    assert len(rows) == 1 + 2 * len(METHODS)
    assert {'theta_goal', 'taught_goal', 'error', 'beta_median'} <= set(rows[0].split(','))


def test_sharing_a_normalizer_changes_no_number():
    task = load_task('cup')
    settings = Settings(warmup=40, batch=50, max_draws=50)
    options = {'method': 'maximum', 'seed': 3, 'settings': settings, 'threads': 1}
    sequences = [CorrectionSequence.from_deltas(task.plan, [[x]], [0]) for x in (0.2, 0.4)]
    for sequence in sequences:
        plain = infer(task, sequence, **options)
        for _ in range(2):
            shared = infer(task, sequence, sampler=SharedMaximum, **options)
            np.testing.assert_array_equal(plain.chains, shared.chains)


def test_errors_are_averaged_over_recordings_and_their_error_over_people():
    def row(participant, error, failure=''):
        return {
            'task': 'reach',
            'method': 'ignore',
            'dependence': 'dependent',
            'participant': participant,
            'failure': failure,
            'error': error,
            'taught_delivered': 0.5,
            'taught_away': 0.5 + error,
        }

    rows = [row(1, 0.1), row(1, 0.3), row(2, 0.6), row(2, 9.0, failure='nothing there')]
    (line,) = summarise(rows)
    assert (line.recordings, line.failures, line.authors) == (3, 1, 0.91)
    assert line.error == pytest.approx(1.0 / 3)
    assert line.constant == pytest.approx(1.0 / 3)
    assert line.standard_error == pytest.approx(0.2)


@pytest.mark.skipif(
    not published_example.REAL.is_dir(), reason=f'{published_example.REAL} is not here'
)
def test_the_published_recordings_are_read_and_their_known_defects_found():
    survey = survey_study(
        published_example.REAL, {name: load_task(task) for name, task in TASKS.items()}
    )
    participants = {one.recording.participant for one in survey.taught}
    assert len(survey.taught) == 9 * len(participants)
    told = complaints(survey)
    for known in (
        ('Task2/data/user1/demo0.pkl', 'belongs to no trial'),
        ('press, participant 5, 1', 'holds no correction at all'),
        ('press, participant 5, 2', 'holds no correction at all'),
        ('push, participant 2, 2', 'a copy of push, participant 1, 2'),
        ('push, participant 5, 3', 'a copy of push, participant 2, 3'),
    ):
        assert known in told
    assert not any(told[place, text] for place, text in told if 'belongs' in text)
    # What the most ambiguous recording says is the same every time.
    taught = survey.taught[0]
    cell = published_cell(taught, PublishedParameters(method='ignore', beta=5.0))
    one, two = (sweep([cell], workers=1) for _ in range(2))
    assert one == two
    assert 0.0 < one[0]['error'] < 1.5


def test_unsafe_pickles_are_refused_with_their_file(tmp_path):
    write_trial(tmp_path)
    (tmp_path / 'Task1/data/user1/theta1.pkl').write_bytes(pickle.dumps(Bomb()))
    survey = read_study(write_study(tmp_path / 'other', participants=1))
    assert len(survey.taught) == 3
    survey = read_study(tmp_path)
    assert not survey.taught
    assert 'theta1.pkl' in survey.defects[0].text


def test_the_command_says_why_a_pickle_was_refused(tmp_path, capsys):
    write_trial(tmp_path)
    (tmp_path / 'Task1/data/user1/theta1.pkl').write_bytes(pickle.dumps(Bomb()))
    assert main(['published-study', str(tmp_path)]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert 'holds no recording that can be used' in said
    assert 'theta1.pkl: a pickle of numbers does not need' in said
