"""What a session came to, from its recording."""

from __future__ import annotations

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.interface import Correction, InferenceStatus
from reward_learning_ros.learning import ToolPaths
from reward_learning_ros.session.outcome import heard_by_learner
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


def test_a_correction_that_the_inference_did_not_live_to_count_still_counts():
    paths = ToolPaths(task=core.load_task('press'))
    plan = paths.initial_plan(1)
    undone, counted, late = (correction_of(plan, stamp_ns) for stamp_ns in (10, 20, 30))
    status = InferenceStatus(state='inferring', corrections_ns=(20,), heard=2)
    recording = SessionRecording(
        plans=(Heard(time_ns=1, record=plan),),
        corrections=tuple(
            Heard(time_ns=each.stamp_ns, record=each) for each in (undone, counted, late)
        ),
        thetas=(),
        playback=(),
        inference=(Heard(time_ns=25, record=status),),
        session=(),
        participant=(),
    )
    learner = heard_by_learner(paths, recording)
    assert [each.stamp_ns for each in learner.corrections] == [20, 30]
