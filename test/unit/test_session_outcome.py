"""What a session came to, from its recording."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.interface import (
    Correction,
    InferenceStatus,
    ParticipantStatus,
    PlaybackStatus,
)
from reward_learning_ros.learning import ToolPaths
from reward_learning_ros.session.outcome import (
    corrections_without_push,
    heard_by_learner,
    playback_faults,
)
from reward_learning_ros.session.recording import Heard, SessionRecording


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
    assert [each.stamp_ns for each in learner.corrections] == [20, 30]
