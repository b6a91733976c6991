"""θ from a bag is θ from its corrections, whatever the bag went through; and tables of it."""

from __future__ import annotations

import csv
import dataclasses
import json
import pickle
from pathlib import Path

import numpy as np
import pandas
import pytest
from helpers.bag_making import topic_name
from test_bag_writer import TOPICS as TEXT_TOPICS
from test_bag_writer import read_by_rosbags, text, write_numbers

from reward_learning_ros.cli.main import main
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface import (
    Correction,
    InferenceState,
    InferenceStatus,
    PassCorrections,
    data_digest,
)
from reward_learning_ros.interface.theta import inference_diagnostic_of
from reward_learning_ros.learning import Learner, LearningParameters, learn
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.recording.bag_making import (
    serialized_correction,
    serialized_diagnostic,
    serialized_pass_corrections,
    serialized_plan,
    serialized_theta,
    write_corrections,
)
from reward_learning_ros.recording.bag_writer import BagWriter
from reward_learning_ros.recording.correction_table import read_csv, table_of, write_csv
from reward_learning_ros.recording.message_types import describe_topic
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.recording.reinference import read_recorded, reinfer
from reward_learning_ros.recording.session_topics import (
    CORRECTIONS,
    INFERENCE,
    PARTICIPANT_CORRECTIONS,
    PARTS,
    PLAN,
    THETA,
)

PARAMETERS = LearningParameters(task='press', beta=5.0, max_draws=60)
SETTINGS = ('--task', 'press', '--beta', '5', '--set', 'max_draws=60')
STEP_NS = 1_000_000_000
# A session of before there were passes, with the θ that was inferred then.
LEGACY = Path(__file__).parent / 'data' / 'legacy_session'


@pytest.fixture(scope='module')
def paths():
    return tool_paths_of(PARAMETERS)


def made_session(paths):
    """Two plans, of which the first is corrected twice and the second once."""
    rng = np.random.default_rng(8)
    first, second = paths.initial_plan(STEP_NS), paths.initial_plan(20 * STEP_NS)
    corrections = []
    for index, plan in enumerate((first, first, second)):
        deltas = np.zeros_like(plan.positions)
        deltas[2 + index :] = rng.normal(scale=0.05, size=3)
        corrections.append(
            Correction(
                stamp_ns=plan.stamp_ns + (index + 1) * STEP_NS,
                frame_id=plan.frame_id,
                tool_frame='fr3_hand_tcp',
                plan_stamp_ns=plan.stamp_ns,
                delta_positions=deltas,
                delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(deltas), 1)),
                times_sec=plan.times_sec,
                onset_waypoint=2 + index,
                onset_time_sec=1.0 / 3.0,
                duration_sec=0.7,
                peak_force=10.0 / 3.0,
                confidence=0.9,
            )
        )
    return [first, second], corrections


def inferred_of(paths, plans, corrections):
    learner = Learner(paths)
    for plan in plans:
        learner.add_plan(plan)
    for correction in corrections:
        learner.add_corrections(correction)
    return learn(PARAMETERS, learner.sequences(), task=paths.task, threads=1)


def pass_of(plan, seed, told=range(1, 8)):
    """Every other waypoint is pushed, the others are silent; some are not told of."""
    rng = np.random.default_rng(seed)
    told = list(told)
    deltas = rng.normal(scale=0.03, size=(len(told), 3))
    deltas[1::2] = 0.0
    return PassCorrections(
        plan_stamp_ns=plan.stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='fr3_hand_tcp',
        times_sec=plan.times_sec[told],
        delta_positions=deltas,
        delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(told), 1)),
    )


def made_passes(paths):
    """Two passes; of the second one waypoint is unknown and the last were never reached."""
    plans = [paths.initial_plan(STEP_NS), paths.initial_plan(20 * STEP_NS)]
    return plans, [pass_of(plans[0], 1), pass_of(plans[1], 2, told=(1, 2, 4, 5))]


def write_told(path, plans, told, status, theta, meant=()):
    """Write a bag in which corrections were told one after the other."""
    parts = (PLAN, CORRECTIONS, INFERENCE, THETA, PARTICIPANT_CORRECTIONS)
    names = {part: topic_name(part) for part in parts}
    writer = BagWriter(
        path, [describe_topic(name, PARTS[part].type_name) for part, name in names.items()]
    )
    for plan in plans:
        writer.write(names[PLAN], plan.stamp_ns, serialized_plan(plan))
    for time_ns, record in enumerate(told, start=30 * STEP_NS):
        writer.write(names[CORRECTIONS], time_ns, serialized_pass_corrections(record))
    for record in meant:
        data = serialized_pass_corrections(record)
        writer.write(names[PARTICIPANT_CORRECTIONS], 35 * STEP_NS, data)
    data = serialized_diagnostic(inference_diagnostic_of(status))
    writer.write(names[INFERENCE], 40 * STEP_NS, data)
    writer.write(names[THETA], 41 * STEP_NS, serialized_theta(theta))
    writer.close()


def status_of(active, learned, heard):
    stamps = tuple(record.plan_stamp_ns for record in active)
    return InferenceStatus(
        state=InferenceState.WAITING,
        corrections_ns=stamps,
        considered_ns=stamps,
        learned_from_ns=tuple(record.plan_stamp_ns for record in learned),
        learned_data=data_digest(learned),
        heard=heard,
    )


def beginning_of(record, count):
    return dataclasses.replace(
        record,
        times_sec=record.times_sec[:count],
        delta_positions=record.delta_positions[:count],
        delta_orientations=record.delta_orientations[:count],
    )


@pytest.mark.parametrize('undone', [False, True])
def test_the_last_that_was_told_of_each_pass_gives_the_theta_of_the_session(
    paths, tmp_path, undone
):
    plans, passes = made_passes(paths)
    active = passes[1:] if undone else passes
    inferred = inferred_of(paths, plans, active)
    # The first pass is told once more after the second one began: it keeps its place.
    told = [beginning_of(passes[0], 3), beginning_of(passes[1], 2), *passes]
    # What the participant meant is not what was felt.
    meant = [pass_of(plan, 7) for plan in plans]
    write_told(tmp_path / 'bag', plans, told, status_of(active, active, 2), inferred.theta, meant)
    recorded = read_recorded(tmp_path)
    assert recorded.corrections == tuple(active)
    result = reinfer(recorded, PARAMETERS, threads=2)
    assert result.equals_published is True
    assert result.problems == ()
    assert result.pushes == sum(record.pushes for record in active)
    np.testing.assert_array_equal(result.inferred.posterior.chains, inferred.posterior.chains)


def test_a_theta_of_less_of_the_pass_is_not_compared(paths, tmp_path):
    plans, passes = made_passes(paths)
    early = [passes[0], beginning_of(passes[1], 2)]
    inferred = inferred_of(paths, plans, early)
    # Nothing but the digest tells: the stamps are the same.
    write_told(tmp_path / 'bag', plans, passes, status_of(passes, early, 2), inferred.theta)
    recorded = read_recorded(tmp_path)
    assert recorded.corrections == tuple(passes)
    assert recorded.published is None


def test_a_pass_that_came_after_the_inference_had_spoken_last_is_active(paths, tmp_path):
    plans, passes = made_passes(paths)
    inferred = inferred_of(paths, plans, passes[:1])
    status = status_of(passes[:1], passes[:1], 1)
    write_told(tmp_path / 'bag', plans, passes, status, inferred.theta)
    recorded = read_recorded(tmp_path)
    assert recorded.corrections == tuple(passes)
    assert recorded.published is None


def test_an_old_session_still_gives_its_theta_bit_for_bit(capsys):
    recorded = read_recorded(LEGACY)
    assert [type(record) for record in recorded.corrections] == [Correction] * 3
    assert len({record.plan_stamp_ns for record in recorded.corrections}) == 2
    assert recorded.published is not None
    # The session says nothing of silence and motor noise: it had the paper's model.
    assert main(['reinfer', str(LEGACY), '--json']) == 0
    [row] = json.loads(capsys.readouterr().out)['recordings']
    assert row['equals_published'] is True
    assert row['parameters']['silence'] == 'zero'
    assert row['parameters']['motor_noise_m'] == 0.0
    assert (row['passes'], row['corrections']) == (2, 3)
    means = [row['theta'][name]['mean'] for name in ('goal', 'button', 'obstacle', 'length')]
    assert means == recorded.published.mean.tolist()


@pytest.mark.parametrize('seed', range(4))
def test_passes_survive_a_bag_and_a_table_to_the_last_digit(paths, tmp_path, seed):
    rng = np.random.default_rng(seed)
    plans = [paths.initial_plan(STEP_NS), paths.initial_plan(20 * STEP_NS)]
    passes = [
        pass_of(plan, seed, np.flatnonzero(rng.random(len(plan.times_sec)) < 0.6) if seed else [3])
        for plan in plans
    ]
    passes = [record for record in passes if len(record.times_sec)]
    write_corrections(tmp_path / 'bag', plans, passes)
    recorded = read_recorded(tmp_path / 'bag')
    assert recorded.corrections == tuple(passes)
    table = table_of(recorded.plans, recorded.corrections)
    blocks = len(table['pushed']) // len(paths.task.plan)
    assert blocks == sum(len(record.times_sec) for record in passes)
    assert sum(table['pushed']) == sum(each.pushes for each in passes) * len(paths.task.plan)
    write_csv(tmp_path / 'table.csv', table)
    assert read_csv(tmp_path / 'table.csv', None) == (plans, passes)
    assert data_digest(read_csv(tmp_path / 'table.csv', None)[1]) == data_digest(passes)


def test_a_table_of_passes_becomes_a_session_that_knows_silence(paths, tmp_path, capsys):
    plans, passes = made_passes(paths)
    write_csv(tmp_path / 'table.csv', table_of(plans, passes))
    folder = tmp_path / 'session'
    assert main(['convert', str(tmp_path / 'table.csv'), str(folder), '--task', 'press']) == 0
    capsys.readouterr()
    assert main(['reinfer', str(folder), '--json', '--beta', '5', '--set', 'max_draws=60']) == 0
    [row] = json.loads(capsys.readouterr().out)['recordings']
    expected = inferred_of(paths, plans, passes).theta
    means = [row['theta'][name]['mean'] for name in expected.features]
    assert means == expected.mean.tolist()
    assert (row['passes'], row['corrections']) == (2, sum(each.pushes for each in passes))


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'pushed': 2}, 'pushed is 2; it must be 0 or 1'),
        ({'pushed': 0}, 'pushed is 0, but its deltas are not all zero'),
        ({'delta_y': 0}, 'pushed is 1, but its deltas are all zero'),
        ({'onset_waypoint': 3}, 'must be the same from onset_waypoint on'),
        ({'onset_waypoint': ''}, None),
        ({'pushed': 0, 'delta_y': 0, 'onset_waypoint': ''}, 'where the silence is'),
    ],
)
def test_a_table_of_passes_that_cannot_be_used_is_refused(paths, tmp_path, changes, reason):
    table = tmp_path / 'table.csv'
    row = {'correction': 0, 'onset_waypoint': 4, 'pushed': 1, 'delta_y': 0.1, **changes}
    with table.open('w', newline='') as stream:
        writer = csv.writer(stream)
        writer.writerow([*row, 'waypoint', 'delta_x', 'delta_z'])
        for waypoint in range(len(paths.task.plan)):
            delta = row['delta_y'] if waypoint >= 4 else 0
            writer.writerow([*{**row, 'delta_y': delta}.values(), waypoint, 0, 0])
    plan = paths.initial_plan(1)
    if reason is None:
        [record] = read_csv(table, plan)[1]
        assert record.times_sec.tolist() == [plan.times_sec[4]]
    else:
        with pytest.raises(InvalidInputError, match=reason):
            read_csv(table, plan)


def test_undone_corrections_are_left_out_and_theta_is_that_of_the_session(paths, tmp_path):
    plans, corrections = made_session(paths)
    kept = [corrections[0], corrections[2]]
    stamps = tuple(correction.stamp_ns for correction in kept)
    inferred = inferred_of(paths, plans, kept)
    status = InferenceStatus(
        state=InferenceState.WAITING,
        corrections_ns=stamps,
        considered_ns=stamps,
        learned_from_ns=stamps,
        heard=3,
    )
    names = {part: topic_name(part) for part in (PLAN, CORRECTIONS, INFERENCE, THETA)}
    writer = BagWriter(
        tmp_path / 'bag',
        [describe_topic(name, PARTS[part].type_name) for part, name in names.items()],
    )
    for plan in plans:
        writer.write(names[PLAN], plan.stamp_ns, serialized_plan(plan))
    for time_ns, correction in enumerate([*corrections, corrections[0]], start=30 * STEP_NS):
        # Heard once more by a recorder that was started again.
        writer.write(names[CORRECTIONS], time_ns, serialized_correction(correction))
    told = serialized_diagnostic(inference_diagnostic_of(status))
    writer.write(names[INFERENCE], 40 * STEP_NS, told)
    writer.write(names[THETA], 41 * STEP_NS, serialized_theta(inferred.theta))
    writer.close()
    recorded = read_recorded(tmp_path)
    assert recorded.corrections == tuple(kept)
    assert recorded.plans == tuple(plans)
    for threads in (1, 2):
        result = reinfer(recorded, PARAMETERS, threads=threads)
        assert result.equals_published is True
        np.testing.assert_array_equal(result.inferred.posterior.chains, inferred.posterior.chains)
    other = LearningParameters(task='press', beta=5.0, max_draws=60, seed=1)
    assert reinfer(recorded, other).equals_published is False


def test_a_made_bag_teaches_what_its_corrections_teach(paths, tmp_path):
    plans, corrections = made_session(paths)
    write_corrections(tmp_path / 'bag', plans, corrections)
    result = reinfer(read_recorded(tmp_path / 'bag'), PARAMETERS)
    expected = inferred_of(paths, plans, corrections)
    np.testing.assert_array_equal(result.inferred.posterior.chains, expected.posterior.chains)
    assert result.equals_published is None
    assert result.problems == ()
    with pytest.raises(BagError, match='already'):
        write_corrections(tmp_path / 'bag', plans, corrections)


def test_a_correction_without_its_plan_is_said_and_the_rest_is_used(paths, tmp_path):
    plans, corrections = made_session(paths)
    write_corrections(tmp_path / 'bag', plans[:1], corrections)
    result = reinfer(read_recorded(tmp_path / 'bag'), PARAMETERS)
    assert result.pushes == 2
    assert f'correction {corrections[2].stamp_ns}: its plan' in result.problems[0]


def test_nothing_to_learn_from_is_said_by_name(paths, tmp_path):
    plans, _ = made_session(paths)
    write_corrections(tmp_path / 'bag', plans, [])
    with pytest.raises(BagError, match='bag: holds no correction'):
        read_recorded(tmp_path / 'bag')


def test_the_command_prints_json_writes_reports_and_goes_on_after_a_failure(
    paths, tmp_path, capsys
):
    plans, corrections = made_session(paths)
    write_corrections(tmp_path / 'bag', plans, corrections, np.array([0.5, 0.5, 0.5, 0.5]))
    (tmp_path / 'empty').mkdir()
    arguments = [str(tmp_path / 'bag'), str(tmp_path / 'empty'), '--json']
    code = main(['reinfer', *arguments, '--report', str(tmp_path / 'pages'), *SETTINGS])
    assert code == 1
    printed = json.loads(capsys.readouterr().out)
    [row] = printed['recordings']
    expected = inferred_of(paths, plans, corrections).theta
    means = [row['theta'][name]['mean'] for name in expected.features]
    assert means == expected.mean.tolist()
    assert row['corrections'] == 3
    assert 'no bag' in printed['failures'][str(tmp_path / 'empty')]
    assert 'θ' in (tmp_path / 'pages' / row['report'].split('/')[-1]).read_text()


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ((), 'name its --task'),
        ((*SETTINGS, '--set', 'on_threshold=6'), 'nothing without --from-streams'),
        ((*SETTINGS, '--set', 'threshold=6'), "unknown parameter 'threshold'"),
        ((*SETTINGS, '--set', 'max_draws'), 'must be NAME=VALUE'),
        ((*SETTINGS, '--topic', 'plan'), 'must be PART=NAME'),
        ((*SETTINGS, '--topic', 'plans=/plan'), 'unknown part'),
        ((*SETTINGS, '--from-streams'), 'there is no topic franka_robot_state_broadcaster'),
    ],
)
def test_options_that_cannot_be_used_are_refused_with_the_reason(
    paths, tmp_path, capsys, options, reason
):
    plans, corrections = made_session(paths)
    write_corrections(tmp_path / 'bag', plans, corrections)
    assert main(['reinfer', str(tmp_path / 'bag'), *options]) == 2
    assert reason in capsys.readouterr().err


def test_a_recording_that_is_not_there_is_said_before_anything_else(tmp_path, capsys):
    assert main(['reinfer', str(tmp_path / 'nope')]) == 2
    assert 'nope: there is no such file or folder' in capsys.readouterr().err


@pytest.mark.parametrize('name', ['table.xlsx', 'bag.mcap', 'out.txt'])
def test_a_target_that_looks_like_another_file_is_refused(paths, tmp_path, capsys, name):
    plans, corrections = made_session(paths)
    write_corrections(tmp_path / 'bag', plans, corrections)
    assert main(['convert', str(tmp_path / 'bag'), str(tmp_path / name)]) == 2
    assert 'a table must end in .csv, .parquet, .npz' in capsys.readouterr().err
    assert not (tmp_path / name).exists()


def test_corrections_survive_a_table_to_the_last_digit(paths, tmp_path):
    plans, corrections = made_session(paths)
    write_csv(tmp_path / 'table.csv', table_of(plans, corrections))
    assert read_csv(tmp_path / 'table.csv', None) == (plans, corrections)


@pytest.mark.parametrize('suffix', ['csv', 'parquet', 'npz'])
def test_a_session_becomes_a_table_and_nothing_is_overwritten(paths, tmp_path, suffix, capsys):
    plans, corrections = made_session(paths)
    write_corrections(tmp_path / 'bag', plans, corrections)
    target = tmp_path / f'table.{suffix}'
    assert main(['convert', str(tmp_path / 'bag'), str(target)]) == 0
    if suffix == 'npz':
        with np.load(target) as arrays:
            deltas = arrays['delta_positions']
            assert arrays['correction'][-1] == 2
    else:
        frame = (
            # Without being asked to, pandas reads numbers of CSV files to the last digit but one.
            pandas.read_csv(target, float_precision='round_trip')
            if suffix == 'csv'
            else pandas.read_parquet(target)
        )
        deltas = frame[['delta_x', 'delta_y', 'delta_z']].to_numpy().reshape(3, -1, 3)
    np.testing.assert_array_equal(deltas, [c.delta_positions for c in corrections])
    content = target.read_bytes()
    assert main(['convert', str(tmp_path / 'bag'), str(target)]) == 2
    assert 'nothing is overwritten' in capsys.readouterr().err
    assert target.read_bytes() == content


def test_a_table_of_a_few_columns_becomes_a_session(paths, tmp_path, capsys):
    count = len(paths.task.plan)
    table = tmp_path / 'my corrections.csv'
    with table.open('w', newline='') as stream:
        writer = csv.writer(stream)
        writer.writerow(['correction', 'waypoint', 'delta_x', 'delta_y', 'delta_z', 'note'])
        for number in range(2):
            for waypoint in range(count):
                writer.writerow([number, waypoint, 0.0, 0.1 * (waypoint > 3), 0.0, 'hm'])
    folder = tmp_path / 'session'
    assert main(['convert', str(table), str(folder), '--task', 'press']) == 0
    capsys.readouterr()
    # The session says itself which task it was.
    assert main(['reinfer', str(folder), '--json', '--beta', '5', '--set', 'max_draws=60']) == 0
    [row] = json.loads(capsys.readouterr().out)['recordings']
    assert row['corrections'] == 2
    assert row['parameters']['task'] == 'press'


@pytest.mark.parametrize(
    ('content', 'reason'),
    [
        ('correction,waypoint\n0,0\n', 'lacks the columns or rows of delta_x'),
        ('correction,waypoint,delta_x,delta_y,delta_z\n0,0,0,much,0\n', 'line 2: delta_y'),
        ('correction,waypoint,delta_x,delta_y,delta_z\n0,1,0,0,0\n', 'waypoint must go from 0'),
        ('correction,waypoint,delta_x,delta_y,delta_z\n0,0,0,0,0\n', 'has 1 waypoints'),
        (
            'correction,waypoint,delta_x,delta_y,delta_z\n'
            + ''.join(f'0,{row},0,{1e12 if row == 2 else 0},0\n' for row in range(8)),
            'correction 0, waypoint 2: delta_positions .* must be at most 100 m',
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_its_place(paths, tmp_path, content, reason):
    table = tmp_path / 'table.csv'
    table.write_text(content)
    with pytest.raises(InvalidInputError, match=reason):
        read_csv(table, paths.initial_plan(1))


def test_a_published_recording_becomes_a_session(tmp_path, capsys):
    data = tmp_path / 'study' / 'Task1' / 'data' / 'user3'
    data.mkdir(parents=True)
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.linspace(0.0, 20.0, 200), rng.normal(size=(200, 3)).cumsum(0) / 99])
    theta = np.array([0.1, 0.2, 0.3, 0.4])
    (data / 'demo2.pkl').write_bytes(pickle.dumps(rows))
    (data / 'theta2.pkl').write_bytes(pickle.dumps(theta))
    folder = tmp_path / 'session'
    assert main(['convert', str(data / 'demo2.pkl'), str(folder)]) == 0
    capsys.readouterr()
    recorded = read_recorded(folder)
    np.testing.assert_array_equal(recorded.theta_star, theta)
    moved = sum(correction.delta_positions for correction in recorded.corrections)
    np.testing.assert_allclose(moved[-1], rows[-1, 1:], atol=1e-12)
    assert main(['convert', str(data / 'demo1.pkl'), str(tmp_path / 'other')]) == 2
    assert 'no such recording' in capsys.readouterr().err


def test_a_damaged_bag_is_copied_into_a_whole_one(paths, tmp_path, capsys):
    writer = BagWriter(tmp_path / 'bag', TEXT_TOPICS)
    expected = write_numbers(writer, range(50))
    writer.flush()
    writer.write('/text', 10**12, text('last'))
    writer.close()
    file = tmp_path / 'bag' / 'bag_0.mcap'
    file.write_bytes(file.read_bytes()[:-2500])
    assert main(['convert', str(tmp_path / 'bag'), str(tmp_path / 'copy')]) == 0
    assert str(file) in capsys.readouterr().err
    assert read_by_rosbags(tmp_path / 'copy')[:50] == expected
