"""When the inference learns, and which plan it shows; the learning itself is done in place."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.interface import (
    Correction,
    InferenceState,
    PlaybackState,
    RecorderStatus,
)
from reward_learning_ros.learning import learn
from reward_learning_ros.learning.worker import LearningWorker, Outcome
from reward_learning_ros.nodes.inferring import InferenceRefusedError, Inferring, Past
from reward_learning_ros.nodes.reward_inference_parameters import RewardInferenceParameters

QUICK = {'target_ess': 100.0, 'max_draws': 10_000, 'min_relevance': 0.0, 'method': 'ignore'}


class LearningInPlace(LearningWorker):
    """Learns when it is asked for the outcome."""

    is_ready = True

    def __init__(self, parameters):
        super().__init__(parameters)
        self.learned = []

    def poll(self):
        if self._job is None:
            return None
        number, sequences = self._job
        self._job = None
        self.learned.append(sequences)
        return Outcome(job=number, lesson=learn(self._parameters, sequences))


class Desk:
    """An inference with a clock of its own."""

    def __init__(self, **parameters):
        self.time_ns = 0
        config = RewardInferenceParameters(**{**QUICK, **parameters})
        self.inferring = Inferring(config, lambda: self.time_ns)
        self.inferring.worker = LearningInPlace(config)
        self.plans, self.lessons = [], []

    def start(self):
        self.time_ns = 1_000
        self.advance()
        return self

    def advance(self):
        for _ in range(3):
            self.time_ns += 10
            self.publish(self.inferring.advance())

    def publish(self, news):
        if news is not None and news.plan is not None:
            self.plans.append(news.plan)
        if news is not None and news.lesson is not None:
            self.lessons.append(news.lesson)

    def correction(self, onset, delta=(0.0, 0.05, 0.0), plan=None):
        plan = plan or self.plans[-1]
        self.time_ns += 10
        moved = np.arange(len(plan.positions)) >= onset
        return Correction(
            stamp_ns=self.time_ns,
            frame_id=plan.frame_id,
            tool_frame='fr3_hand_tcp',
            plan_stamp_ns=plan.stamp_ns,
            delta_positions=moved[:, None] * np.asarray(delta, dtype=float),
            delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(moved), 1)),
            times_sec=plan.times_sec,
            onset_waypoint=onset,
            onset_time_sec=float(plan.times_sec[onset]),
            duration_sec=1.0,
            peak_force=10.0,
            confidence=1.0,
        )

    def correct(self, *arguments, **options):
        correction = self.correction(*arguments, **options)
        self.inferring.hear(correction.stamp_ns)
        self.inferring.correct(correction)
        return correction


def test_there_is_no_plan_before_the_clock_runs():
    desk = Desk()
    desk.publish(desk.inferring.advance())
    assert desk.plans == []
    assert desk.inferring.status.state is InferenceState.STARTING
    desk.start()
    assert len(desk.plans) == 1
    assert desk.plans[0].stamp_ns > 0
    assert desk.inferring.status.is_settled


def test_online_it_learns_after_every_correction():
    desk = Desk().start()
    desk.inferring.watch(PlaybackState.PLAYING)
    for count in (1, 2):
        desk.correct(2)
        assert not desk.inferring.status.is_settled
        desk.advance()
        assert desk.inferring.status.is_settled
        assert len(desk.lessons) == count
    assert len(desk.plans) == 3
    # The second one was of the second plan.
    assert [len(sequence) for sequence in desk.inferring.worker.learned[-1]] == [1, 1]


def test_no_plan_changes_under_a_hand_that_pushes():
    desk = Desk().start()
    desk.inferring.watch(PlaybackState.PLAYING)
    first = desk.correct(2)
    desk.inferring.feel(RecorderStatus(in_contact=True, last_correction_ns=first.stamp_ns))
    desk.advance()
    assert (len(desk.plans), desk.lessons) == (1, [])
    second = desk.correction(4)
    # That it is over may be heard before what came of it.
    desk.inferring.feel(RecorderStatus(last_correction_ns=second.stamp_ns))
    desk.advance()
    assert len(desk.plans) == 1
    desk.inferring.hear(second.stamp_ns)
    desk.inferring.correct(second)
    desk.advance()
    assert [lesson.corrections for lesson in desk.lessons] == [2]
    assert len(desk.plans) == 2


def test_what_was_learned_is_shown_after_a_touch_that_was_no_correction():
    desk = Desk().start()
    desk.inferring.watch(PlaybackState.PLAYING)
    first = desk.correct(2)
    desk.inferring.feel(RecorderStatus(in_contact=True, last_correction_ns=first.stamp_ns))
    desk.advance()
    desk.inferring.feel(RecorderStatus(last_correction_ns=first.stamp_ns))
    desk.advance()
    assert (len(desk.plans), len(desk.lessons)) == (2, 1)


def test_after_a_pass_it_learns_from_all_of_its_corrections():
    desk = Desk(mode='after_pass').start()
    desk.inferring.watch(PlaybackState.PLAYING)
    for onset in (2, 4):
        desk.correct(onset)
        desk.advance()
    assert desk.lessons == []
    assert not desk.inferring.status.is_settled
    desk.inferring.watch(PlaybackState.FINISHED)
    desk.advance()
    assert [lesson.corrections for lesson in desk.lessons] == [2]
    assert len(desk.plans) == 2
    # One that is recognised a little late still belongs to the pass.
    desk.correct(6, plan=desk.plans[0])
    desk.advance()
    assert [lesson.corrections for lesson in desk.lessons] == [2, 3]
    assert [len(sequence) for sequence in desk.inferring.worker.learned[-1]] == [3]


def test_what_is_not_trusted_is_not_shown():
    desk = Desk(method='double_mh', min_relevance=1.0).start()
    desk.inferring.watch(PlaybackState.PLAYING)
    desk.correct(2)
    desk.advance()
    status = desk.inferring.status
    assert any('hardly explain' in reason for reason in status.reasons)
    assert status.plan_stamp_ns == desk.plans[0].stamp_ns
    assert len(desk.lessons) == 1
    assert len(desk.plans) == 1
    # The next pass begins at the same plan; what is corrected then builds on nothing.
    desk.inferring.watch(PlaybackState.FINISHED)
    desk.advance()
    assert len(desk.plans) == 2
    np.testing.assert_array_equal(desk.plans[1].positions, desk.plans[0].positions)
    desk.correct(3)
    desk.advance()
    assert [len(sequence) for sequence in desk.inferring.worker.learned[-1]] == [1, 1]


def test_undo_shows_what_was_corrected_and_reset_the_initial_plan():
    desk = Desk().start()
    first = desk.correct(2)
    desk.advance()
    desk.correct(3, (0.05, 0.0, 0.0))
    desk.advance()
    desk.publish(desk.inferring.undo())
    np.testing.assert_array_equal(desk.plans[-1].positions, desk.plans[1].positions)
    assert desk.inferring.status.corrections_ns == (first.stamp_ns,)
    desk.advance()
    assert desk.inferring.status.learned_from_ns == (first.stamp_ns,)
    desk.publish(desk.inferring.reset())
    np.testing.assert_array_equal(desk.plans[-1].positions, desk.plans[0].positions)
    assert desk.inferring.status.is_settled
    with pytest.raises(InferenceRefusedError, match='no correction to undo'):
        desk.inferring.undo()
    stamps = [plan.stamp_ns for plan in desk.plans]
    assert stamps == sorted(set(stamps))


def test_an_undone_correction_that_is_heard_again_stays_undone():
    desk = Desk().start()
    correction = desk.correct(2)
    desk.inferring.undo()
    desk.inferring.correct(correction)
    assert desk.inferring.status.corrections_ns == ()
    assert desk.inferring.status.heard == 1


def test_a_correction_of_an_unknown_plan_is_said():
    desk = Desk().start()
    stranger = Desk().start()
    stranger.plans[0] = stranger.inferring.paths.initial_plan(7)
    with pytest.raises(InferenceRefusedError, match='plan 7 that it corrects is not known'):
        desk.inferring.correct(stranger.correction(2))


def test_another_inference_goes_on_where_one_ended():
    desk = Desk().start()
    kept = desk.correct(2)
    desk.advance()
    undone = desk.correct(3, (0.05, 0.0, 0.0))
    desk.publish(desk.inferring.undo())
    desk.advance()
    status = desk.inferring.status
    late = desk.correction(4)

    other = Desk()
    other.time_ns = desk.time_ns
    other.inferring.resume(
        Past(plans=tuple(desk.plans), corrections=(kept, undone, late), status=status)
    )
    assert other.inferring.plan == desk.plans[-1]
    assert other.inferring.status.corrections_ns == (kept.stamp_ns, late.stamp_ns)
    # Latched, all are heard once more.
    for correction in (kept, undone, late):
        other.inferring.correct(correction)
    other.advance()
    assert other.inferring.status.learned_from_ns == (kept.stamp_ns, late.stamp_ns)
    desk.inferring.correct(late)
    desk.advance()
    assert other.lessons[-1].theta == desk.lessons[-1].theta


def test_what_is_learned_again_is_not_shown_again():
    desk = Desk().start()
    correction = desk.correct(2)
    desk.advance()
    other = Desk()
    other.time_ns = desk.time_ns
    other.inferring.resume(
        Past(
            plans=tuple(desk.plans),
            corrections=(correction,),
            status=desk.inferring.status,
        )
    )
    other.advance()
    assert len(other.lessons) == 1
    assert other.plans == []
    assert other.inferring.plan == desk.plans[-1]


def test_the_task_decides_what_is_shown_first():
    task = core.load_task('reach')
    desk = Desk(task='reach').start()
    np.testing.assert_array_equal(desk.plans[0].positions, task.plan)
    assert desk.plans[0].duration_sec == task.duration_sec
