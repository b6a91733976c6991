"""A sweep over recorded sessions: what `learn` says about them, one row each."""

import csv
import shutil

import numpy as np
import pytest

from reward_learning_ros.cli.main import EXIT_FAILURE, EXIT_USAGE, main
from reward_learning_ros.interface import Correction
from reward_learning_ros.learning import Learner, LearningParameters, learn
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.recording.bag_making import write_corrections
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.session_parameters import SessionParameters

THETA = np.array([0.0, 0.6, 0.8, 0.0])
LEARNING = {'task': 'press', 'max_draws': 40, 'seed': 4}


@pytest.fixture(scope='module')
def paths():
    return tool_paths_of(LearningParameters(**LEARNING))


def corrected(paths, seed):
    """Return the initial plan and two corrections of it."""
    rng = np.random.default_rng(seed)
    plan = paths.initial_plan(1_000_000_000)
    corrections = []
    for onset in (2, 4):
        deltas = np.zeros_like(plan.positions)
        deltas[onset:] = rng.normal(scale=0.03, size=3)
        corrections.append(
            Correction(
                stamp_ns=plan.stamp_ns + onset * 1_000_000_000,
                frame_id=plan.frame_id,
                tool_frame='fr3_hand_tcp',
                plan_stamp_ns=plan.stamp_ns,
                delta_positions=deltas,
                delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(deltas), 1)),
                times_sec=plan.times_sec,
                onset_waypoint=onset,
                onset_time_sec=1.0,
                duration_sec=0.5,
                peak_force=10.0,
                confidence=0.9,
            )
        )
    return plan, corrections


def write_session(study, participant, plan, corrections):
    folder = SessionFolder(path=study / participant / '001')
    folder.path.mkdir(parents=True)
    folder.write_configuration(
        SessionParameters(study=study.name, participant=participant, trial=1),
        {'reward_inference': {'parameters': {**LEARNING, 'beta': None, 'use_sim_time': True}}},
    )
    write_corrections(folder.bag, [plan], corrections, theta_star=THETA)


def test_rows_are_what_learning_says_of_each_session(paths, tmp_path):
    study = tmp_path / 'taste'
    made = {name: corrected(paths, seed) for seed, name in enumerate(('p01', 'p02'))}
    for name, (plan, corrections) in made.items():
        write_session(study, name, plan, corrections)
    output = tmp_path / 'rows.csv'
    grid = ['--grid', 'method=ignore,sampling', 'beta=2,infer']
    command = ['sweep', str(study), *grid, '--output', str(output), '--workers', '1']
    assert main(command) == 0
    with output.open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert [row['participant'] for row in rows] == ['p01'] * 4 + ['p02'] * 4
    row = rows[5]
    assert (row['method'], row['beta'], row['seed']) == ('ignore', '', '4')
    plan, corrections = made['p02']
    learner = Learner(paths)
    learner.add_plan(plan)
    for correction in corrections:
        learner.add_corrections(correction)
    # The session says nothing of the human model: it was the paper's.
    parameters = LearningParameters(**LEARNING, method='ignore', human_model='paper')
    mean = learn(parameters, learner.sequences(), threads=1).posterior.mean
    # To the last digit.
    assert [float(row[f'theta_{name}']) for name in paths.task.feature_names] == mean.tolist()
    assert float(row['error']) == np.linalg.norm(mean - THETA)


def test_a_session_that_cannot_be_used_is_a_row_that_says_why(paths, tmp_path, capsys):
    study = tmp_path / 'taste'
    write_session(study, 'p01', corrected(paths, 1)[0], [])
    damaged = study / 'p02' / '001' / 'session.yaml'
    damaged.parent.mkdir(parents=True)
    damaged.write_text('format: [')
    write_session(study, 'p03', *corrected(paths, 3))
    shutil.rmtree(study / 'p03' / '001' / 'bag')
    options = ['--output', str(tmp_path / 'rows.csv'), '--workers', '1']
    assert main(['sweep', str(study), *options]) == EXIT_FAILURE
    complaints = capsys.readouterr().err
    assert 'p03/001: its recording cannot be read' in complaints
    assert 'no correction' in complaints
    assert str(damaged.parent) in complaints
    assert main(['sweep', str(study), '--grid', 'on_torque_nm=1', *options]) == EXIT_USAGE
    assert main(['sweep', str(tmp_path / 'nothing'), *options]) == EXIT_USAGE
