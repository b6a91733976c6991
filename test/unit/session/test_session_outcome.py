"""What a session came to, from its recording."""

from __future__ import annotations

import dataclasses
import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import without_override
from helpers.recorded_sessions import (
    LATENCY_SEC,
    SECOND_NS,
    contacts_of,
    pass_corrections,
    write_session,
)

from reward_learning_ros import core
from reward_learning_ros.interface import (
    Correction,
    InferenceStatus,
    ParticipantStatus,
    PlaybackStatus,
    data_digest,
)
from reward_learning_ros.learning import LearningParameters, ToolPaths
from reward_learning_ros.recording.session_records import Heard, SessionRecording, read_session
from reward_learning_ros.session.folder import FolderWriteError, SessionFolder
from reward_learning_ros.session.outcome import (
    conclude,
    heard_by_learner,
    playback_faults,
)
from reward_learning_ros.session.pass_outcomes import corrections_without_push, pass_outcomes
from reward_learning_ros.session.understanding import SIZE_NAMES, meant_and_recorded, prior_of

LEGACY = Path(__file__).parents[1] / 'recording' / 'data' / 'legacy_session'
THETA = np.array([0.5, 0.1, 0.8, 0.32])


def correction_of(plan, stamp_ns):
    count = len(plan.positions)
    return Correction(
        stamp_ns=stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='fr3_hand_tcp',
        plan_stamp_ns=plan.stamp_ns,
        delta_positions=np.full((count, 3), 0.01),
        delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        times_sec=plan.times_sec,
        onset_waypoint=1,
        onset_time_sec=float(plan.times_sec[1]),
        duration_sec=1.0,
        peak_force=10.0,
        confidence=1.0,
    )


def recording_of(plan, *corrections, **told):
    empty = dict.fromkeys(('thetas', 'playback', 'inference', 'session', 'participant'), ())
    return SessionRecording(
        plans=(Heard(time_ns=1, record=plan),),
        corrections=tuple(Heard(time_ns=each.end_ns, record=each) for each in corrections),
        **(empty | told),
    )


def heard(*records, start_ns=0):
    return tuple(Heard(time_ns=start_ns + n, record=each) for n, each in enumerate(records, 1))


def participant_of(*told):
    return tuple(
        Heard(
            time_ns=round(seconds * 1e9),
            record=ParticipantStatus(state=state, theta=[1.0], beta=10.0, pushes=1),
        )
        for seconds, state in told
    )


def test_corrections_are_told_that_nobody_made():
    paths = ToolPaths(task=core.load_task('press'))
    plan = paths.initial_plan(1)
    corrections = [correction_of(plan, seconds * 10**9) for seconds in (10, 20, 30)]
    pushing = participant_of((5.0, 'watching'), (20.5, 'pushing'), (21.0, 'watching'))
    assert corrections_without_push(recording_of(plan, *corrections, participant=pushing)) == 2
    until_the_end = participant_of((5.0, 'watching'), (9.5, 'pushing'))
    assert (
        corrections_without_push(recording_of(plan, *corrections, participant=until_the_end)) == 0
    )
    assert corrections_without_push(recording_of(plan, *corrections)) is None


def playback_of(*told):
    return tuple(
        Heard(
            time_ns=(1 + index) * 10**9,
            record=PlaybackStatus(
                state=state,
                fault=fault if state == 'fault' else '',
                faults=faults,
                last_fault=fault,
            ),
        )
        for index, (state, faults, fault) in enumerate(told)
    )


@pytest.mark.parametrize(
    ('told', 'expected'),
    [
        ([('playing', 0, ''), ('fault', 1, 'late'), ('fault', 1, 'late')], ['late']),
        ([('playing', 0, ''), ('playing', 1, 'late')], ['late']),
        ([('fault', 1, 'late'), ('fault', 2, 'away')], ['late', 'away']),
        ([('playing', 0, ''), ('idle', 3, 'away')], ['away (2 more before it, not recorded)']),
        # Another process of playback counts anew.
        ([('fault', 1, 'late'), ('idle', 0, ''), ('playing', 1, 'away')], ['late', 'away']),
        # As it was recorded before faults were counted.
        ([('playing', 0, ''), ('fault', 0, 'late'), ('fault', 0, 'late')], ['late']),
    ],
)
def test_a_fault_is_told_once_also_if_nobody_recorded_it(told, expected):
    paths = ToolPaths(task=core.load_task('press'))
    recording = recording_of(paths.initial_plan(1), playback=playback_of(*told))
    assert [fault.text for fault in playback_faults(recording)] == expected


def test_a_correction_that_the_inference_did_not_live_to_count_still_counts():
    paths = ToolPaths(task=core.load_task('press'))
    plan = paths.initial_plan(1)
    undone, counted, late = (correction_of(plan, stamp_ns) for stamp_ns in (10, 20, 30))
    status = InferenceStatus(state='inferring', corrections_ns=(20,), heard=2)
    recording = recording_of(
        plan, undone, counted, late, inference=(Heard(time_ns=25, record=status),)
    )
    learner = heard_by_learner(paths, recording)
    assert [each.stamp_ns for each in learner.active] == [20, 30]


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """A session of two passes of Press, by a person who guides the arm."""
    parameters = LearningParameters(task='press', max_draws=60)
    path = tmp_path_factory.mktemp('sessions') / '001'
    return write_session(path, parameters, theta=THETA / np.linalg.norm(THETA), passes=2)


@pytest.fixture(scope='module')
def summary(folder):
    return conclude(folder)


def test_a_session_of_passes_is_told_pass_by_pass(folder, summary):
    recording = read_session(folder.bag, namespace='')
    last = recording.latest_corrections
    # Each pass was told twice; what was told last is used.
    assert len(recording.corrections) == 4
    assert [each['pushes'] for each in summary['by_pass']] == [each.pushes for each in last]
    assert [each['plan_stamp_ns'] for each in summary['by_pass']] == [
        each.plan_stamp_ns for each in last
    ]
    assert summary['passes'] == 2
    assert summary['corrections'] == sum(each.pushes for each in last) > 0
    assert summary['agrees_with_live'] is True
    assert summary['corrections_without_push'] == 0
    assert all(each['active'] for each in summary['by_pass'])
    assert summary['by_pass'][-1]['theta'] == summary['theta']
    assert summary['by_pass'][-1]['regret'] == summary['regret']
    assert summary['by_pass'][-1]['error'] == summary['error']
    assert json.loads(folder.summary.read_text()) == summary


def conclude_in_process(folder, prepare):
    """Run the command as a process that is prepared in some way; return its code and errors."""
    done = subprocess.run(
        [sys.executable, '-m', 'reward_learning_ros.cli', 'conclude', str(folder.path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=prepare,
    )
    return done.returncode, done.stderr


def test_a_folder_that_is_read_only_is_told_in_a_sentence_before_anything_is_computed(
    folder, tmp_path
):
    copy = SessionFolder(path=tmp_path / 'copy')
    copy.path.mkdir()
    shutil.copytree(folder.bag, copy.bag)
    shutil.copy(folder.configuration, copy.configuration)
    copy.path.chmod(0o555)
    code, errors = conclude_in_process(copy, without_override)
    copy.path.chmod(0o755)
    assert code == 1
    assert f'cannot write {copy.path}: Permission denied' in errors
    assert f'then: reward_learning conclude {copy.path}' in errors
    assert 'Traceback' not in errors
    assert sorted(path.name for path in copy.path.iterdir()) == ['bag', 'session.yaml']


def test_a_file_that_cannot_be_written_is_told_in_a_sentence(tmp_path):
    parameters = LearningParameters(task='press')
    empty = write_session(tmp_path / '001', parameters, theta=THETA, passes=0)
    code, errors = conclude_in_process(
        empty, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
    )
    assert code == 1
    assert 'Traceback' not in errors
    assert f'cannot write {empty.path}: File too large. What was recorded is kept' in errors
    assert not empty.is_complete
    assert not list(empty.path.glob('.*'))


def test_a_disk_without_room_is_told_before_anything_is_computed(folder, monkeypatch):
    monkeypatch.setattr('reward_learning_ros.session.folder._MIN_ROOM_BYTES', 2**62)
    with pytest.raises(FolderWriteError, match='MiB left'):
        conclude(folder)


def test_regret_and_error_stand_beside_those_of_who_asks_nobody(summary):
    task = core.load_task('press').softened(core.MOTOR_NOISE_M)
    theta = np.array(summary['theta_star'])
    mean = np.array([weight['mean'] for weight in summary['prior'].values()])
    assert summary['unasked_error'] == np.linalg.norm(theta - mean)
    assert summary['unasked_regret'] == pytest.approx(core.regret(task, theta, mean), abs=1e-9)
    assert summary['initial_regret'] > summary['unasked_regret'] > 0.0
    assert type(summary['trusted']) is bool
    assert summary['trusted'] == (not summary['warnings'])


def test_latency_is_from_the_last_push_and_waiting_from_the_end_of_the_pass(folder, summary):
    recording = read_session(folder.bag, namespace='')
    plans = [each.record.stamp_ns for each in recording.plans]
    for index, outcome in enumerate(summary['by_pass']):
        ends = [
            each.record.end_ns
            for each in recording.contacts
            if each.record.plan_stamp_ns == plans[index]
        ]
        expected = (plans[index + 1] - max(ends)) / SECOND_NS if ends else None
        assert outcome['latency_sec'] == expected
        assert outcome['wait_sec'] == pytest.approx(LATENCY_SEC)


def test_without_contacts_a_push_ends_when_it_is_first_told():
    paths = ToolPaths(task=core.load_task('press'))
    first, second = paths.initial_plan(SECOND_NS), paths.initial_plan(50 * SECOND_NS)
    deltas = np.zeros((7, 3))
    deltas[:3] = 0.03
    told = [pass_corrections(first, deltas[:k], list(range(1, k + 1))) for k in (2, 3, 7)]
    recording = dataclasses.replace(
        recording_of(first),
        plans=heard(first, second),
        corrections=tuple(
            Heard(time_ns=(10 + 10 * n) * SECOND_NS, record=each) for n, each in enumerate(told)
        ),
    )
    [outcome] = pass_outcomes(recording, paths, speed=2.0)
    assert outcome.latency_sec == (50 - 20) / 2.0
    assert (outcome.pushes, outcome.told) == (3, 7)


def test_the_theta_of_a_pass_is_the_last_that_was_learned_from_it():
    """Also if the inference says more, without having learned more, until the next θ comes."""
    paths = ToolPaths(task=core.load_task('press'))
    plans = [paths.initial_plan(stamp_ns) for stamp_ns in (10, 20)]
    told = [
        pass_corrections(plans[0], np.full((1, 3), 0.02), [3]),
        pass_corrections(plans[0], np.full((2, 3), 0.02), [3, 4]),
        pass_corrections(plans[1], np.full((1, 3), 0.02), [3]),
    ]
    thetas = [
        dataclasses.replace(prior_of(paths.task), sd=np.full(4, sd)) for sd in (0.3, 0.2, 0.1)
    ]
    statuses = []
    for time_ns, learned in (
        (100, told[:1]),
        (200, told[1:2]),
        (210, told[1:2]),
        (299, told[1:2]),
        (300, told[1:]),
    ):
        stamps = tuple(each.plan_stamp_ns for each in learned)
        status = InferenceStatus(
            state='waiting',
            event='learned',
            corrections_ns=stamps,
            learned_from_ns=stamps,
            learned_data=data_digest(learned),
            heard=len(stamps),
        )
        statuses.append(Heard(time_ns=time_ns, record=status))
    recording = dataclasses.replace(
        recording_of(plans[0]),
        plans=heard(*plans),
        corrections=heard(*told),
        inference=tuple(statuses),
        thetas=tuple(
            Heard(time_ns=100 * n + 1, record=theta) for n, theta in enumerate(thetas, 1)
        ),
    )
    assert [each.theta for each in pass_outcomes(recording, paths)] == thetas[1:]


def test_a_pass_that_was_undone_is_told_as_that_and_not_learned_from():
    paths = ToolPaths(task=core.load_task('press'))
    plans = [paths.initial_plan(stamp_ns) for stamp_ns in (10, 20)]
    passes = [pass_corrections(plan, np.full((1, 3), 0.02), [3]) for plan in plans]
    status = InferenceStatus(
        state='waiting',
        corrections_ns=(10,),
        learned_from_ns=(10,),
        learned_data=data_digest(passes[:1]),
        heard=2,
    )
    recording = dataclasses.replace(
        recording_of(plans[0]),
        plans=heard(*plans),
        corrections=heard(*passes),
        inference=heard(status),
    )
    assert [each.is_active for each in pass_outcomes(recording, paths)] == [True, False]
    assert heard_by_learner(paths, recording).active == (passes[0],)


def test_a_session_of_before_there_were_passes_is_concluded(tmp_path):
    shutil.copytree(LEGACY, tmp_path / 'old')
    summary = conclude(SessionFolder(path=tmp_path / 'old'))
    assert summary['agrees_with_live'] is True
    assert [each['pushes'] for each in summary['by_pass']] == [2, 1]
    assert summary['corrections'] == 3
    assert summary['meant_and_recorded'] is None
    assert summary['by_pass'][1]['theta'] == summary['theta']


@pytest.mark.parametrize('seed', range(10))
def test_what_was_meant_is_compared_waypoint_by_waypoint(seed):
    rng = np.random.default_rng(seed)
    paths = ToolPaths(task=core.load_task('press'))
    plan = paths.initial_plan(SECOND_NS)
    count = len(plan.positions)
    meant_push, felt_push = rng.random(count) < 0.6, rng.random(count) < 0.6
    known = rng.random(count) < 0.8
    size = rng.choice([0.01, 0.03, 0.07], (count, 1))
    meant = np.where(meant_push[:, None], size * np.array([0.0, 1.0, 0.0]), 0.0)
    felt = np.where(felt_push[:, None], meant + np.array([0.002, 0.0, 0.0]), 0.0)
    recording = dataclasses.replace(
        recording_of(plan),
        # What was told before does not count.
        corrections=heard(
            pass_corrections(plan, felt[:1] + 1.0, [0]),
            pass_corrections(plan, felt[known], np.flatnonzero(known).tolist()),
        ),
        meant=heard(pass_corrections(plan, meant, list(range(count)))),
    )
    compared = meant_and_recorded(recording)
    assert len(compared.waypoints) == len(compared.rows()) == count
    assert compared.lost == (meant_push & ~felt_push & known).sum()
    assert compared.invented == (~meant_push & felt_push & known).sum()
    assert compared.unrecorded == (meant_push & ~known).sum()
    for waypoint, row in enumerate(compared.rows()):
        assert row['meant'] == ('pushed' if meant_push[waypoint] else 'silent')
        told = 'pushed' if felt_push[waypoint] else 'silent'
        assert row['recorded'] == (told if known[waypoint] else 'unknown')
        expected = np.linalg.norm(felt[waypoint] * known[waypoint] - meant[waypoint])
        assert row['delta_difference_m'] == pytest.approx(expected)
    summary = compared.summary()
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert (
        sum(summary['by_size'][name]['pushes'] for name in SIZE_NAMES)
        == (meant_push & known).sum()
    )
    for name, length in zip(SIZE_NAMES, (0.01, 0.03, 0.07), strict=True):
        chosen = meant_push & known & (size[:, 0] == length)
        missing = np.where(felt_push[chosen], 0.002, length)
        found = summary['by_size'][name]['delta_difference_m']
        assert (
            found is None
            if not chosen.any()
            else found['median'] == pytest.approx(np.median(missing))
        )


def test_who_does_not_say_what_they_mean_is_not_compared(folder, summary):
    recording = read_session(folder.bag, namespace='')
    assert meant_and_recorded(dataclasses.replace(recording, meant=())) is None
    # Without noise, and with a recorder that loses nothing, all is as it was meant.
    compared = summary['meant_and_recorded']
    assert compared['meant_pushes'] == compared['recorded_pushes'] == summary['corrections']
    assert compared['lost_pushes'] == compared['invented_pushes'] == 0
    for size in compared['by_size'].values():
        assert size['delta_difference_m'] is None or size['delta_difference_m']['q95'] == 0.0


def test_contacts_are_told_that_nobody_made():
    paths = ToolPaths(task=core.load_task('press'))
    plan = paths.initial_plan(SECOND_NS)
    record = pass_corrections(plan, np.full((2, 3), 0.02), [1, 6])
    first, second = contacts_of(record)
    told = participant_of((0.5, 'watching'), (first.onset_ns / 1e9, 'pushing'))
    told = (*told, *participant_of((first.end_ns / 1e9, 'watching')))
    recording = dataclasses.replace(
        recording_of(plan, participant=told),
        corrections=heard(record),
        # Told once more by a recorder that was started again.
        contacts=heard(first, second, first),
    )
    assert corrections_without_push(recording) == 1
