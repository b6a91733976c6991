"""When the inference infers, and which plan it shows; the inference itself is done in place."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reward_learning_ros import core
from reward_learning_ros.core.belief_tables import TableMaker
from reward_learning_ros.interface import (
    Correction,
    InferenceEvent,
    InferenceState,
    PassCorrections,
    PlaybackState,
    PlaybackStatus,
    RecorderStatus,
)
from reward_learning_ros.learning import learn, stamp_of
from reward_learning_ros.learning.inference_result import model_options
from reward_learning_ros.learning.inference_worker import LearningWorker, Outcome
from reward_learning_ros.learning.learning_parameters import (
    RewardInferenceParameters,
)
from reward_learning_ros.learning.table_worker import TableAnswer, TableWorker
from reward_learning_ros.session.inference_manager import (
    RECORDER_TIMEOUT_SEC,
    InferenceManager,
    InferenceRefusedError,
    SessionHistory,
)

QUICK = {'target_ess': 100.0, 'max_draws': 10_000, 'min_relevance': 0.0, 'method': 'ignore'}
SILENCE = (0.0, 0.0, 0.0)
PUSH = (0.0, 0.05, 0.0)


INFERRED = {}


def infer_once(parameters, sequences):
    """Infer, or take what was inferred from the same before: it would be the same."""
    key = pickle.dumps((parameters, sequences))
    if key not in INFERRED:
        INFERRED[key] = learn(parameters, sequences)
    return INFERRED[key]


class InferenceInPlace(LearningWorker):
    """Infers when it is asked for the outcome, unless it is told to take its time."""

    is_ready = True

    def __init__(self, parameters, infer=infer_once):
        super().__init__(parameters)
        self._infer = infer
        self.inferred = []
        self.error = ''
        self.takes_its_time = False

    def poll(self):
        if self._job is None or self.takes_its_time:
            return None
        number, sequences = self._job
        self._job = None
        self.inferred.append(sequences)
        if self.error:
            return Outcome(job=number, error=self.error)
        return Outcome(job=number, result=self._infer(self._parameters, sequences))


class Desk:
    """An inference with clocks of its own, and all that happens around it."""

    def __init__(self, *, infer=infer_once, **parameters):
        self.time_ns, self.now_sec = 0, 0.0
        self.config = RewardInferenceParameters(**{**QUICK, 'infers_ahead': False, **parameters})
        self.manager = InferenceManager(self.config, lambda: self.time_ns, lambda: self.now_sec)
        self.manager.worker = self.worker = InferenceInPlace(self.config, infer)
        self.plans, self.results = [], []
        self.told = []
        self.playback = PlaybackState.IDLE

    def start(self):
        self.time_ns = 1_000
        self.advance()
        return self

    def advance(self, after_sec=0.0):
        self.now_sec += after_sec
        for _ in range(3):
            self.time_ns += 10
            self.publish(self.manager.advance())

    def publish(self, update):
        if update is not None and update.plan is not None:
            self.plans.append(update.plan)
        if update is not None and update.result is not None:
            self.results.append(update.result)

    def play(self, state='playing', plan=None):
        """Let playback do something with the plan that is shown."""
        stamp_ns = (plan or self.plans[-1]).stamp_ns
        fault = 'broken' if state == 'fault' else ''
        self.manager.on_playback(
            PlaybackStatus(state=PlaybackState(state), plan_stamp_ns=stamp_ns, fault=fault)
        )
        self.advance()

    def corrections(self, deltas, plan=None):
        """Return what is told of a pass: deltas of its first waypoints."""
        plan = plan or self.plans[-1]
        return PassCorrections(
            plan_stamp_ns=plan.stamp_ns,
            frame_id=plan.frame_id,
            tool_frame='fr3_hand_tcp',
            times_sec=plan.times_sec[: len(deltas)],
            delta_positions=np.array(deltas, dtype=float).reshape(-1, 3),
            delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(deltas), 1)),
        )

    def tell(self, *deltas, plan=None, in_contact=False, is_complete=False):
        """Let the recorder tell what it knows of the pass."""
        corrections = self.corrections(deltas, plan)
        self.told.append(corrections)
        self.manager.on_corrections(corrections)
        self.say(corrections, in_contact=in_contact, is_complete=is_complete)
        self.advance()
        return corrections

    def say(self, corrections, **status):
        digest = '' if corrections is None else corrections.digest
        stamp_ns = self.plans[-1].stamp_ns if corrections is None else corrections.plan_stamp_ns
        self.manager.on_recorder(RecorderStatus(plan_stamp_ns=stamp_ns, digest=digest, **status))

    def finish(self, corrections, state='finished'):
        """Let the pass end, and the recorder say that nothing more will come."""
        self.play(state)
        self.say(corrections, is_complete=True)
        self.advance()

    def whole_pass(self, *deltas):
        """Let a pass be played in which somebody pushed."""
        self.play()
        corrections = self.tell(*deltas)
        self.finish(corrections)
        return corrections

    @property
    def status(self):
        return self.manager.status

    @property
    def learned_lengths(self):
        return [len(sequence) for sequence in self.worker.inferred[-1]]

    def contact(self, onset, delta=PUSH, plan=None):
        """Return a contact as recordings of before hold it."""
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


def test_there_is_no_plan_before_the_clock_runs():
    desk = Desk()
    desk.publish(desk.manager.advance())
    assert desk.plans == []
    assert desk.status.state is InferenceState.STARTING
    desk.start()
    assert len(desk.plans) == 1
    assert desk.plans[0].stamp_ns > 0
    assert desk.status.is_settled


def test_in_the_middle_of_a_pass_pushes_are_inferred_from_and_silence_is_not():
    desk = Desk().start()
    desk.play()
    desk.tell(SILENCE)
    desk.tell(SILENCE, SILENCE)
    assert desk.results == []
    desk.tell(SILENCE, SILENCE, PUSH)
    assert [result.pushes for result in desk.results] == [1]
    desk.tell(SILENCE, SILENCE, PUSH, SILENCE)
    assert len(desk.results) == 1
    desk.tell(SILENCE, SILENCE, PUSH, SILENCE, PUSH)
    assert [result.pushes for result in desk.results] == [1, 2]
    # All that was published is θ.
    assert len(desk.plans) == 1
    assert (desk.status.pushes, desk.status.heard) == (2, 1)


def test_at_the_end_of_a_pass_silence_is_inferred_from_and_the_plan_replaced():
    desk = Desk().start()
    desk.play()
    desk.tell(SILENCE, SILENCE, PUSH)
    told = desk.tell(SILENCE, SILENCE, PUSH, *[SILENCE] * 5)
    assert not desk.status.is_settled
    desk.play('finished')
    # What playback says alone ends no pass: the recorder may have more to tell.
    assert len(desk.plans) == 1
    desk.finish(told)
    assert [result.corrections for result in desk.results] == [2, 7]
    assert len(desk.plans) == 2
    assert desk.status.is_settled
    assert desk.status.learned_data == desk.status.data == desk.manager.learner.digest
    np.testing.assert_array_equal(desk.plans[1].positions, desk.results[-1].plan.positions)
    desk.whole_pass(SILENCE, PUSH)
    assert desk.learned_lengths == [7, 1]
    assert len(desk.plans) == 3


def test_a_pass_in_which_nobody_pushed_says_something():
    desk = Desk().start()
    desk.whole_pass(*[SILENCE] * 8)
    assert [(result.corrections, result.pushes) for result in desk.results] == [(7, 0)]
    assert len(desk.plans) == 2


@pytest.mark.parametrize('told', [None, ()])
def test_a_pass_of_which_nothing_is_known_is_followed_by_another_stamp(told):
    desk = Desk().start()
    desk.play()
    corrections = None if told is None else desk.tell()
    desk.finish(corrections)
    assert desk.results == []
    assert len(desk.plans) == 2
    np.testing.assert_array_equal(desk.plans[1].positions, desk.plans[0].positions)
    assert desk.status.is_settled


def test_what_was_heard_of_a_pass_counts_if_the_recorder_can_tell_nothing_more():
    desk = Desk().start()
    desk.play()
    desk.tell(SILENCE, PUSH, SILENCE)
    desk.play('finished')
    desk.say(None, is_complete=True)
    desk.advance()
    assert desk.learned_lengths == [2]
    assert len(desk.plans) == 2


@pytest.mark.parametrize('is_done', [True, False])
def test_what_is_inferred_already_is_not_inferred_again_when_the_pass_ends(is_done):
    desk = Desk().start()
    desk.play()
    desk.worker.takes_its_time = not is_done
    told = desk.tell(SILENCE, SILENCE, PUSH)
    desk.finish(told)
    desk.worker.takes_its_time = False
    desk.advance()
    assert len(desk.worker.inferred) == len(desk.results) == 1
    assert len(desk.plans) == 2
    np.testing.assert_array_equal(desk.plans[1].positions, desk.results[0].plan.positions)


def test_when_a_pass_ends_in_silence_what_follows_is_known_already():
    desk = Desk(infers_ahead=True).start()
    desk.play()
    told = [SILENCE, SILENCE, PUSH]
    desk.tell(*told)
    # From what was told, and from what will be told if nobody pushes any more.
    assert [len(s) for (s,) in desk.worker.inferred] == [2, 7]
    assert [result.corrections for result in desk.results] == [2]
    assert desk.status.state is InferenceState.WAITING
    for _ in range(5):
        told.append(SILENCE)
        corrections = desk.tell(*told)
    assert (len(desk.worker.inferred), len(desk.results)) == (2, 1)
    desk.finish(corrections)
    assert len(desk.worker.inferred) == 2
    assert [result.corrections for result in desk.results] == [2, 7]
    assert desk.status.learned_data == desk.status.data
    assert len(desk.plans) == 2
    np.testing.assert_array_equal(desk.plans[1].positions, desk.results[-1].plan.positions)


def test_what_was_foreseen_is_dropped_if_somebody_pushes_after_all():
    desk = Desk(infers_ahead=True).start()
    desk.play()
    desk.tell(SILENCE, SILENCE, PUSH)
    told = desk.tell(SILENCE, SILENCE, PUSH, SILENCE, PUSH)
    # The pass is cut off: what was foreseen of its end does not come.
    desk.finish(told, state='stopped')
    assert [result.corrections for result in desk.results] == [2, 4]
    assert desk.status.learned_data == desk.status.data
    assert len(desk.plans) == 2


@pytest.mark.parametrize('ends', [8, 5, 3])
def test_a_pass_that_ends_while_the_inference_is_ahead_waits_for_nothing_else(ends):
    desk = Desk(infers_ahead=True).start()
    desk.play()
    desk.tell(SILENCE, SILENCE, PUSH)
    desk.tell(SILENCE, SILENCE, PUSH, PUSH)
    desk.publish(desk.manager.undo())
    desk.finish(None)
    desk.play()
    desk.worker.takes_its_time = True
    desk.tell(SILENCE, SILENCE, PUSH)
    desk.worker.takes_its_time = False
    desk.publish(desk.manager.advance())
    desk.worker.takes_its_time = True
    desk.advance()
    told = desk.tell(SILENCE, SILENCE, PUSH, *[SILENCE] * (ends - 3))
    shown, inferred = len(desk.plans), len(desk.worker.inferred)
    desk.finish(told)
    if ends == 3:
        # All that was told was inferred from before: nobody waits for what was ahead.
        assert len(desk.plans) == shown + 1
        assert len(desk.worker.inferred) == inferred
        return
    assert desk.status.state is InferenceState.INFERRING
    desk.worker.takes_its_time = False
    desk.advance()
    assert len(desk.worker.inferred) == inferred + 1
    assert desk.learned_lengths == [ends - 1]
    assert len(desk.plans) == shown + 1
    assert desk.status.is_settled


@pytest.mark.parametrize('replan', ['between_passes', 'at_once'])
def test_no_plan_changes_under_a_hand_that_pushes(replan):
    desk = Desk(replan=replan).start()
    desk.play()
    told = desk.tell(SILENCE, PUSH, in_contact=True)
    assert (len(desk.plans), len(desk.results)) == (1, 1)
    desk.play('finished')
    desk.say(told, in_contact=True, is_complete=True)
    desk.advance(after_sec=60.0)
    assert len(desk.plans) == 1
    # That it is over may be heard before what came of it.
    more = desk.corrections([SILENCE, PUSH, PUSH])
    desk.say(more, is_complete=True)
    desk.advance()
    assert len(desk.plans) == 1
    desk.manager.on_corrections(more)
    desk.advance()
    assert [result.pushes for result in desk.results] == [1, 2]
    assert len(desk.plans) == 2


def test_at_once_the_plan_is_replaced_in_the_middle_of_a_pass():
    desk = Desk(replan='at_once').start()
    desk.play()
    for count in (1, 2):
        desk.tell(SILENCE, SILENCE, PUSH)
        assert len(desk.results) == count
        assert len(desk.plans) == count + 1
    # The second one was of the second plan.
    assert desk.learned_lengths == [2, 2]
    told = desk.tell(SILENCE, SILENCE)
    assert len(desk.plans) == 3
    desk.finish(told)
    assert len(desk.plans) == 4


@pytest.mark.parametrize('state', ['finished', 'stopped', 'idle'])
def test_a_pass_ends_without_the_recorder_after_a_while(state):
    desk = Desk().start()
    desk.play()
    desk.tell(SILENCE, PUSH)
    desk.play(state)
    desk.advance(after_sec=0.9 * RECORDER_TIMEOUT_SEC)
    assert len(desk.plans) == 1
    desk.advance(after_sec=0.2 * RECORDER_TIMEOUT_SEC)
    assert len(desk.plans) == 2
    # Playback says so of the next plan too, until that one is played.
    desk.play(state)
    desk.advance(after_sec=60.0)
    assert len(desk.plans) == 2


def test_what_is_told_before_playback_says_that_it_plays_is_no_end_of_a_pass():
    desk = Desk().start()
    desk.advance(after_sec=60.0)
    desk.manager.on_corrections(desk.corrections([SILENCE]))
    desk.advance()
    assert len(desk.plans) == 1
    desk.play()
    desk.advance(after_sec=60.0)
    assert len(desk.plans) == 1


def test_a_pass_that_cannot_be_heard_keeps_nobody_waiting():
    desk = Desk().start()
    desk.play()
    desk.play('finished')
    desk.say(desk.corrections([SILENCE, PUSH]), is_complete=True)
    desk.advance()
    assert len(desk.plans) == 1
    desk.advance(after_sec=RECORDER_TIMEOUT_SEC)
    assert len(desk.plans) == 2


@pytest.mark.parametrize('state', ['paused', 'fault', 'playing', 'approaching'])
def test_a_pass_that_is_held_is_not_over(state):
    desk = Desk().start()
    desk.play()
    told = desk.tell(SILENCE, PUSH)
    desk.play(state)
    desk.say(told, is_complete=True)
    desk.advance(after_sec=60.0)
    assert len(desk.plans) == 1
    desk.play('stopped')
    assert len(desk.plans) == 2
    assert desk.learned_lengths == [1]


def test_what_is_not_trusted_is_not_shown_and_the_next_pass_has_another_stamp():
    desk = Desk(method='double_mh', min_relevance=1.0).start()
    desk.whole_pass(SILENCE, SILENCE, PUSH)
    assert any('hardly explain' in reason for reason in desk.status.reasons)
    assert len(desk.results) == 1
    assert len(desk.plans) == 2
    np.testing.assert_array_equal(desk.plans[1].positions, desk.plans[0].positions)
    assert desk.status.is_settled


def test_an_inference_that_fails_is_followed_by_another_stamp():
    desk = Desk().start()
    desk.worker.error = 'nothing works'
    desk.whole_pass(SILENCE, SILENCE, PUSH)
    assert (desk.status.event, desk.status.fault) == (InferenceEvent.FAILED, 'nothing works')
    assert len(desk.plans) == 2
    np.testing.assert_array_equal(desk.plans[1].positions, desk.plans[0].positions)
    assert desk.status.is_settled
    desk.worker.error = ''
    desk.whole_pass(SILENCE, PUSH)
    assert desk.status.fault == ''
    assert desk.learned_lengths == [2, 1]


def test_corrections_that_come_late_change_the_next_plan_before_it_is_played():
    desk = Desk().start()
    desk.whole_pass(SILENCE, SILENCE, PUSH)
    desk.tell(SILENCE, SILENCE, PUSH, (0.0, -0.1, 0.05), plan=desk.plans[0])
    assert len(desk.plans) == 3
    np.testing.assert_array_equal(desk.plans[2].positions, desk.results[-1].plan.positions)
    desk.play()
    desk.tell(SILENCE, SILENCE, PUSH, plan=desk.plans[0])
    assert len(desk.plans) == 3


def test_undo_shows_what_was_corrected_and_reset_the_initial_plan():
    desk = Desk().start()
    first = desk.whole_pass(SILENCE, PUSH, SILENCE)
    desk.whole_pass(SILENCE, SILENCE, (0.05, 0.0, 0.0))
    desk.publish(desk.manager.undo())
    np.testing.assert_array_equal(desk.plans[-1].positions, desk.plans[1].positions)
    assert desk.status.corrections_ns == (first.plan_stamp_ns,)
    assert not desk.status.is_settled
    desk.advance()
    assert desk.status.learned_from_ns == (first.plan_stamp_ns,)
    # It is shown already.
    assert len(desk.plans) == 4
    desk.publish(desk.manager.reset())
    np.testing.assert_array_equal(desk.plans[-1].positions, desk.plans[0].positions)
    assert desk.status.is_settled
    with pytest.raises(InferenceRefusedError, match='no correction to undo'):
        desk.manager.undo()
    stamps = [plan.stamp_ns for plan in desk.plans]
    assert stamps == sorted(set(stamps))


def test_undo_in_the_middle_of_a_pass_waits_for_its_end():
    desk = Desk().start()
    desk.whole_pass(SILENCE, PUSH, SILENCE)
    desk.play()
    desk.publish(desk.manager.undo())
    desk.advance()
    assert len(desk.plans) == 2
    desk.finish(None)
    assert len(desk.plans) == 3
    np.testing.assert_array_equal(desk.plans[2].positions, desk.plans[0].positions)


def test_a_pass_that_was_undone_stays_undone_whatever_is_told_of_it():
    desk = Desk().start()
    desk.play()
    desk.tell(SILENCE, PUSH)
    desk.publish(desk.manager.undo())
    told = desk.tell(SILENCE, PUSH, PUSH)
    assert desk.status.corrections_ns == ()
    assert (desk.status.heard, desk.status.pushes) == (1, 0)
    desk.finish(told)
    assert len(desk.results) == 1
    assert len(desk.plans) == 2


def test_corrections_of_an_unknown_plan_are_said_and_wait_for_it():
    desk = Desk().start()
    stranger = desk.manager.paths.initial_plan(7)
    with pytest.raises(InferenceRefusedError, match='plan 7 that they correct is not known'):
        desk.manager.on_corrections(desk.corrections([SILENCE, PUSH], plan=stranger))
    assert desk.status.corrections_ns == ()
    desk.manager.on_recorded_plan(stranger)
    desk.advance()
    assert desk.status.learned_from_ns == (7,)


def test_corrections_of_older_recordings_are_learned_from_one_by_one():
    desk = Desk(replan='at_once', human_model='paper').start()
    plan = desk.plans[0]
    for onset in (2, 4):
        desk.manager.on_corrections(desk.contact(onset, plan=plan))
        desk.advance()
    assert desk.learned_lengths == [2]
    assert desk.status.pushes == 2
    assert len(desk.results) == 2
    desk.publish(desk.manager.undo())
    desk.advance()
    assert desk.learned_lengths == [1]


def history_of(desk, status=None):
    """Return what a recording holds of a session."""
    told = {each.plan_stamp_ns: each for each in desk.told}
    return SessionHistory(
        plans=tuple(desk.plans), corrections=tuple(told.values()), status=status or desk.status
    )


def successor_of(desk, status=None):
    other = Desk()
    other.time_ns = desk.time_ns
    other.manager.resume(history_of(desk, status))
    return other


def test_another_inference_goes_on_where_one_ended():
    desk = Desk().start()
    kept = desk.whole_pass(SILENCE, PUSH)
    desk.whole_pass(SILENCE, SILENCE, (0.05, 0.0, 0.0))
    desk.publish(desk.manager.undo())
    desk.advance()
    status = desk.status
    desk.play()
    late = desk.tell(SILENCE, SILENCE, SILENCE, PUSH)

    other = successor_of(desk, status)
    assert other.manager.plan == desk.plans[-1]
    stamps = (kept.plan_stamp_ns, late.plan_stamp_ns)
    assert other.status.corrections_ns == stamps
    # Latched, all are heard once more.
    for corrections in desk.told:
        other.manager.on_corrections(corrections)
    other.play(plan=desk.plans[-1])
    other.advance()
    assert other.status.learned_from_ns == stamps
    assert other.results[-1].theta == desk.results[-1].theta
    assert other.status.data == desk.status.data
    for each in (desk, other):
        each.play('finished', plan=desk.plans[-1])
        each.say(late, is_complete=True)
        each.advance()
    np.testing.assert_array_equal(other.plans[-1].positions, desk.plans[-1].positions)


def test_what_is_inferred_again_is_not_shown_again():
    desk = Desk().start()
    told = desk.whole_pass(SILENCE, PUSH)
    other = successor_of(desk)
    other.play('finished', plan=desk.plans[-1])
    other.say(told, is_complete=True)
    other.advance(after_sec=60.0)
    assert len(other.results) == 1
    assert other.plans == []
    assert other.manager.plan == desk.plans[-1]


def test_a_pass_that_ended_while_nobody_inferred_is_followed_by_a_plan():
    desk = Desk().start()
    desk.play()
    told = desk.tell(SILENCE, PUSH)
    other = successor_of(desk)
    other.play('finished', plan=desk.plans[-1])
    other.say(told, is_complete=True)
    other.advance()
    assert len(other.plans) == 1
    np.testing.assert_array_equal(other.plans[0].positions, other.results[0].plan.positions)


def test_the_task_decides_what_is_shown_first():
    task = core.load_task('reach')
    desk = Desk(task='reach').start()
    np.testing.assert_array_equal(desk.plans[0].positions, task.plan)
    assert desk.plans[0].duration_sec == task.duration_sec


@pytest.fixture(scope='module')
def template():
    """A result that stands for any other."""
    desk = Desk().start()
    desk.whole_pass(SILENCE, PUSH)
    return desk.results[0]


@pytest.mark.parametrize('infers_ahead', [True, False])
@pytest.mark.parametrize('replan', ['between_passes', 'at_once'])
def test_any_session_keeps_its_rules(template, replan, infers_ahead):
    """Whatever happens in whatever order: a pass has a stamp of its own, and ends in a plan."""

    class Machine(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.desk = Desk(infer=self.infer, replan=replan, infers_ahead=infers_ahead).start()
            self.deltas, self.state, self.in_contact = [], 'idle', False
            self.trust = True

        def infer(self, parameters, sequences):
            reasons = () if self.trust else ('no',)
            return dataclasses.replace(
                template, reasons=reasons, pushes=sum(int(s.is_push.sum()) for s in sequences)
            )

        def act(self, call):
            shown = len(self.desk.plans)
            was_pushed, was_moving = self.in_contact, self.state in ('playing', 'paused')
            call()
            if len(self.desk.plans) > shown:
                assert len(self.desk.plans) == shown + 1
                assert not (was_pushed and self.in_contact)
                assert replan == 'at_once' or not (was_moving and self.state == 'playing')
                self.deltas = []

        @rule(trust=st.booleans(), late=st.booleans())
        def turn(self, trust, late):
            self.trust, self.desk.worker.takes_its_time = trust, late

        @rule(push=st.booleans())
        def cross_a_waypoint(self, push):
            if self.state == 'playing' and len(self.deltas) < 8:
                self.deltas.append(PUSH if push else SILENCE)
                self.act(lambda: self.desk.tell(*self.deltas, in_contact=self.in_contact))

        @rule()
        def play(self):
            if self.state != 'playing' and self.desk.status.is_settled:
                self.state = 'playing'
                self.act(self.desk.play)

        @rule()
        def pause(self):
            if self.state == 'playing':
                self.state = 'paused'
                self.act(lambda: self.desk.play('paused'))

        @rule()
        def touch(self):
            self.in_contact = not self.in_contact
            self.act(self.say)

        def say(self, **status):
            told = self.desk.corrections(self.deltas) if self.deltas else None
            self.desk.say(told, in_contact=self.in_contact, **status)
            self.desk.advance()

        @rule(state=st.sampled_from(['finished', 'stopped']))
        def finish(self, state):
            if self.state not in ('playing', 'paused'):
                return
            stamp_ns = self.desk.plans[-1].stamp_ns
            self.state, self.in_contact = state, False
            self.desk.worker.takes_its_time = False

            def end():
                self.desk.play(state)
                self.say(is_complete=True)

            self.act(end)
            assert self.desk.plans[-1].stamp_ns > stamp_ns
            assert self.desk.status.is_settled

        @rule()
        def undo(self):
            if self.desk.status.corrections_ns:
                self.act(lambda: self.desk.publish(self.desk.manager.undo()))

        @invariant()
        def stamps_increase_and_counts_are_those_of_the_learner(self):
            stamps = [plan.stamp_ns for plan in self.desk.plans]
            assert stamps == sorted(set(stamps))
            status = self.desk.status
            assert status.plan_stamp_ns == stamps[-1]
            assert status.pushes == self.desk.manager.learner.pushes
            assert set(status.learned_from_ns) <= set(stamps)

    Machine.TestCase.settings = settings(
        max_examples=40,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    Machine.TestCase().runTest()


class TablesInPlace(TableWorker):
    """Makes tables when it is asked for them, as many at a time as it is told to."""

    def __init__(self, parameters, task):
        super().__init__(parameters)
        self._task = task
        self._answers = None
        self.wishes = []
        self.allowed = 0

    def submit(self, wish):
        self.wishes.append(wish)
        number = super().submit(wish)
        self._answers = self._made(number, wish)
        return number

    def poll(self):
        if self._answers is None or not self.allowed:
            return None
        self.allowed -= 1
        return next(self._answers, None)

    def _made(self, number, wish):
        settings = core.Settings(
            points=512, ensemble=core.EnsembleSize(seeds=512, members=4, anneal_steps=4)
        )
        options = model_options(self._parameters, self._task)
        maker = TableMaker(self._task, options, seed=0, settings=settings)
        points, tables = maker.points(wish.earlier, wish.silent)
        yield TableAnswer(job=number, points=points, tables=tables)
        for key, table in maker.tables(points, wish.silent):
            yield TableAnswer(job=number, tables={key: table})


def desk_with_tables(**parameters):
    desk = Desk(**parameters)
    live = desk.manager.live
    live.worker = TablesInPlace(desk.config, live.task)
    return desk.start()


def live_of(desk):
    """Return what the node would publish now, after a while."""
    desk.now_sec += 0.1
    return desk.manager.live_theta()


def test_a_live_belief_needs_the_table_for_as_many_waypoints():
    desk = desk_with_tables()
    desk.worker.takes_its_time = True
    desk.play()
    # Of three waypoints, the first of which nobody can correct.
    desk.tell(SILENCE, SILENCE, PUSH)
    assert live_of(desk) is None
    assert (desk.status.tables_ready, desk.status.tables_wanted) == (0, 7)
    # The points, and the table for one waypoint.
    desk.manager.live.worker.allowed = 2
    desk.advance()
    assert live_of(desk) is None
    desk.manager.live.worker.allowed = 1
    desk.advance()
    assert desk.status.tables_ready == 2
    assert live_of(desk) is not None


def test_what_was_kept_for_the_same_corrections_is_not_believed_again():
    desk = desk_with_tables()
    desk.manager.live.worker.allowed = 100
    desk.advance()
    desk.play()
    desk.worker.takes_its_time = True
    desk.tell(SILENCE, SILENCE, PUSH)
    assert live_of(desk) is not None
    # Said once.
    assert live_of(desk) is None
    desk.tell(SILENCE, SILENCE, PUSH, PUSH)
    desk.worker.takes_its_time = False
    desk.advance()
    # The inference was there first.
    assert live_of(desk) is None
    assert float(desk.status.quality['live_distance']) > 0.0


def test_at_most_twenty_beliefs_are_told_in_a_second():
    desk = desk_with_tables()
    desk.manager.live.worker.allowed = 100
    desk.advance()
    desk.play()
    desk.say(None, in_contact=True)
    told = 0
    for step in range(200):
        desk.now_sec += 0.005
        desk.manager.on_shift(np.array([0.0, 0.0005 * step, 0.0]))
        told += desk.manager.live_theta() is not None
    assert 10 <= told <= 20


def test_without_contact_a_shift_is_no_push():
    desk = desk_with_tables()
    desk.manager.live.worker.allowed = 100
    desk.advance()
    desk.play()
    desk.manager.on_shift(np.array([0.0, 0.05, 0.0]))
    assert live_of(desk) is None
    desk.say(None, in_contact=True)
    assert live_of(desk) is not None


def test_the_tables_of_a_plan_are_not_those_of_the_plan_before():
    desk = desk_with_tables()
    desk.manager.live.worker.allowed = 8
    desk.advance()
    desk.advance()
    assert desk.status.tables_ready == 7
    stamps = []

    def watch(publish=desk.publish):
        def published(update):
            publish(update)
            stamps.append((desk.status.plan_stamp_ns, desk.status.tables_ready))

        return published

    desk.publish = watch()
    desk.whole_pass(SILENCE, PUSH)
    assert len(desk.plans) == 2
    assert {ready for stamp_ns, ready in stamps if stamp_ns == desk.plans[1].stamp_ns} == {0}


def test_each_plan_has_tables_that_know_the_passes_before():
    desk = desk_with_tables()
    desk.manager.live.worker.allowed = 1000
    first = desk.whole_pass(SILENCE, PUSH)
    assert [len(wish.earlier) for wish in desk.manager.live.worker.wishes] == [0, 1]
    desk.play()
    desk.worker.takes_its_time = True
    desk.tell(SILENCE, SILENCE, PUSH)
    assert live_of(desk) is not None
    desk.manager.undo()
    desk.worker.takes_its_time = False
    desk.finish(None, 'finished')
    desk.advance(RECORDER_TIMEOUT_SEC)
    # Of another plan again; the pass before that is still there.
    assert len(desk.manager.live.worker.wishes) == 3
    assert stamp_of(first) in desk.status.corrections_ns


def test_a_live_belief_changes_nothing_of_what_is_kept():
    believed = []

    def taught(desk):
        desk.manager.on_shift(np.array([0.0, 0.02, 0.0]))
        for count in (1, 2, 3):
            desk.play()
            desk.tell(*[SILENCE] * count, PUSH, in_contact=True)
            believed.append(live_of(desk))
        desk.finish(desk.told[-1])
        return desk

    without = taught(Desk(live_belief=False).start())
    assert without.manager.live is None
    assert not any(believed)
    desk = desk_with_tables()
    desk.manager.live.worker.allowed = 100
    desk.advance()
    with_belief = taught(desk)
    assert any(believed)
    assert len(with_belief.results) == len(without.results) > 0
    for one, other in zip(with_belief.results, without.results, strict=True):
        np.testing.assert_array_equal(one.posterior.samples, other.posterior.samples)
        np.testing.assert_array_equal(one.plan.positions, other.plan.positions)
