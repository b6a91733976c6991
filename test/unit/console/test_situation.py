"""What a snapshot means: one state, what is possible and why not, how well it goes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reward_learning_ros.console.control import ControlDesk
from reward_learning_ros.console.meaning import sentences
from reward_learning_ros.console.situation import (
    CONDUCTOR,
    Act,
    Grade,
    Light,
    headline,
    inference_judgements,
    node_judgements,
    possibilities,
)
from reward_learning_ros.console.snapshot import (
    MAX_EVENTS,
    LearnedTheta,
    LogEvent,
    SessionFacts,
    Snapshot,
)
from reward_learning_ros.interface import (
    Diagnostic,
    InferenceState,
    InferenceStatus,
    Level,
    Plan,
    PlaybackState,
    PlaybackStatus,
    RecorderStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
    ThetaSummary,
)


def session(state, **values):
    if state is SessionState.ENDED:
        values.setdefault('end', SessionEnd.FINISHED)
    return SessionStatus(state=state, **values)


def snapshot(state, playback=PlaybackState.IDLE, **values):
    fault = 'too hard' if playback is PlaybackState.FAULT else ''
    return Snapshot(
        session=session(state), playback=PlaybackStatus(state=playback, fault=fault), **values
    )


def theta(mean, sd=0.1):
    mean = np.asarray(mean)
    return ThetaSummary(
        features=('goal', 'length'),
        mean=mean,
        sd=np.full(2, sd),
        quantiles=np.stack([mean - 1.6 * sd, mean, mean + 1.6 * sd]),
    )


def learned(count, data, **values):
    return InferenceStatus(
        state=InferenceState.WAITING,
        learned_from_ns=tuple(range(1, count + 1)),
        learned_data=data,
        **values,
    )


def possible(found):
    return {act for act, each in possibilities(found, 0.0).items() if not each.obstacle}


@pytest.mark.parametrize(
    ('state', 'light'),
    [
        (SessionState.WAITING, Light.WAITING),
        (SessionState.READY, Light.READY),
        (SessionState.STARTING, Light.WAITING),
        (SessionState.DEPARTING, Light.MOVING),
        (SessionState.PLAYING, Light.MOVING),
        (SessionState.HOMING, Light.MOVING),
        (SessionState.HOLDING, Light.HELD),
        (SessionState.INFERRING, Light.INFERRING),
        (SessionState.AWAY, Light.WAITING),
        (SessionState.ENDED, Light.ENDED),
    ],
)
def test_each_state_has_its_light(state, light):
    assert headline(snapshot(state), 0.0).light is light


def test_without_a_session_nothing_is_possible():
    assert headline(Snapshot(), 0.0).light is Light.SILENT
    assert possible(Snapshot()) == set()


def test_a_push_shows_while_the_arm_moves_but_not_over_a_hold():
    pushed = RecorderStatus(in_contact=True)
    moving = snapshot(SessionState.PLAYING, PlaybackState.PLAYING, recorder=pushed)
    assert headline(moving, 0.0).light is Light.PUSHED
    held = snapshot(SessionState.HOLDING, PlaybackState.FAULT, recorder=pushed)
    assert headline(held, 0.0).light is Light.HELD


def test_why_it_holds_is_told():
    held = Snapshot(session=session(SessionState.HOLDING, reason='pushed too hard'))
    assert headline(held, 0.0).detail == 'pushed too hard'


def test_an_arm_in_a_reflex_is_told_whatever_the_session_says():
    arm = Diagnostic(name='arm', level=Level.ERROR, message='reflex')
    found = snapshot(SessionState.WAITING, arm=arm)
    assert headline(found, 0.0).light is Light.HELD
    assert Act.RECOVER in possible(found)
    assert Act.RECOVER not in possible(snapshot(SessionState.WAITING))


def test_a_conductor_that_died_is_told_and_takes_no_consent():
    found = snapshot(SessionState.READY).with_beat(CONDUCTOR, '1', 10.0)
    assert headline(found, 11.0).light is Light.READY
    assert headline(found, 20.0).light is Light.HELD
    assert possibilities(found, 20.0)[Act.BEGIN].obstacle == 'the session is silent'


@pytest.mark.parametrize(
    ('state', 'playback', 'wanted'),
    [
        (SessionState.READY, PlaybackState.IDLE, {Act.BEGIN}),
        (SessionState.PLAYING, PlaybackState.PLAYING, {Act.PAUSE, Act.STOP}),
        (SessionState.HOLDING, PlaybackState.PAUSED, {Act.CONTINUE, Act.HOME, Act.STOP}),
        (SessionState.HOLDING, PlaybackState.FAULT, {Act.CONTINUE, Act.HOME}),
        (SessionState.AWAY, PlaybackState.IDLE, {Act.HOME}),
        (SessionState.WAITING, PlaybackState.IDLE, set()),
    ],
)
def test_what_is_possible_follows_from_the_state(state, playback, wanted):
    assert possible(snapshot(state, playback)) == wanted | {Act.FINISH, Act.HAND_OVER}


def test_accept_needs_a_pass_and_undo_something_learned():
    found = snapshot(SessionState.READY)
    assert not {Act.ACCEPT, Act.UNDO} & possible(found)
    status = InferenceStatus(state=InferenceState.WAITING, corrections_ns=(5,))
    found = replace(found, session=session(SessionState.READY, passes=1), inference=status)
    assert {Act.ACCEPT, Act.UNDO} <= possible(found)


def test_theta_grows_pass_by_pass_and_shrinks_with_undo():
    def after(found, mean, count, data):
        return replace(found, theta=theta([mean, 0.2])).with_inference(learned(count, data))

    found = after(after(Snapshot(), 0.1, 1, 'a'), 0.3, 1, 'b')
    assert [(each.passes, each.theta.mean[0]) for each in found.learned] == [(1, 0.3)]
    found = after(found, 0.4, 2, 'c')
    assert [each.passes for each in found.learned] == [1, 2]
    found = after(found, 0.3, 1, 'b')
    assert [each.passes for each in found.learned] == [1]
    assert after(found, 0.0, 0, '').learned == ()


def test_the_plan_before_stays_when_another_is_shown():
    first, second = (
        Plan(
            stamp_ns=stamp_ns,
            frame_id='base',
            positions=np.zeros((2, 3)),
            orientations=np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)),
            times_sec=np.array([0.0, 1.0]),
        )
        for stamp_ns in (1, 2)
    )
    found = Snapshot().with_plan(first).with_plan(first)
    assert found.previous_plan is None
    assert found.with_plan(second).previous_plan is first


def test_of_another_session_nothing_learned_stays():
    found = replace(Snapshot(), theta=theta([0.1, 0.2])).with_facts(SessionFacts(bag='a'))
    assert found.theta is not None
    assert found.with_facts(SessionFacts(bag='b')).theta is None


def test_the_log_forgets_its_oldest_lines():
    found = Snapshot()
    for number in range(MAX_EVENTS + 5):
        event = LogEvent(time_sec=0.0, level=Level.OK, node='n', text=str(number))
        found = found.with_event(event)
    assert len(found.events) == MAX_EVENTS
    assert found.events[-1].text == str(MAX_EVENTS + 4)


def test_a_node_that_falls_silent_is_told_and_later_forgotten():
    found = Snapshot().with_beat('a', '1', 0.0).with_beat('b', '1', 10.0)
    grades = {each.name: each.grade for each in node_judgements(found, 10.0)}
    assert grades == {'a': Grade.BAD, 'b': Grade.GOOD}
    assert {each.name for each in node_judgements(found, 65.0)} == {'b'}


def test_a_push_that_nobody_does_can_be_denied_while_the_arm_is_at_rest():
    felt = RecorderStatus(in_contact=True)
    assert Act.ZERO in possible(snapshot(SessionState.INFERRING, recorder=felt))
    assert Act.ZERO not in possible(snapshot(SessionState.INFERRING))
    moving = snapshot(SessionState.PLAYING, PlaybackState.PLAYING, recorder=felt)
    assert Act.ZERO not in possible(moving)


def test_which_node_died_is_told_and_whether_it_comes_back():
    found = snapshot(SessionState.PLAYING).with_beat(CONDUCTOR, '1', 100.0)
    found = found.with_beat('reward_inference', '1', 96.0)
    told = headline(found, 100.0)
    assert (told.light, told.title) == (Light.HELD, 'reward_inference died or hangs')
    assert 'starts again' in told.detail
    found = found.with_beat(CONDUCTOR, '1', 130.0)
    assert 'does not come back' in headline(found, 130.0).detail
    # The arm has no heartbeat, but it says all the time where it is.
    assert headline(replace(found, arm_heard_sec=128.5), 130.0).title.startswith('arm and ')


def test_a_session_of_which_nothing_is_heard_is_told_to_be_gone_however_long_ago():
    found = snapshot(SessionState.PLAYING).with_beat(CONDUCTOR, '1', 0.0).with_beat('a', '1', 0.0)
    for now_sec in (10.0, 1000.0):
        told = headline(found, now_sec)
        assert (told.light, told.title) == (Light.HELD, 'The session is silent')
        assert '--resume' in told.detail


def test_a_node_of_the_session_before_is_not_missed():
    found = snapshot(SessionState.READY).with_facts(SessionFacts(bag='a'))
    found = found.with_beat('simulated_participant', '1', 0.0).with_beat(CONDUCTOR, '2', 5.0)
    found = found.with_facts(SessionFacts(bag='b'))
    assert headline(found, 6.0).light is Light.READY


def test_what_was_learned_before_the_console_was_there_is_read_from_the_recording():
    plans = [
        Plan(
            stamp_ns=stamp_ns,
            frame_id='base',
            positions=np.zeros((2, 3)),
            orientations=np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)),
            times_sec=np.array([0.0, 1.0]),
        )
        for stamp_ns in (1, 2, 3)
    ]
    read = [LearnedTheta(passes=count, theta=theta([0.1 * count, 0.2])) for count in (1, 2, 3)]
    heard = replace(Snapshot(), theta=theta([0.9, 0.2])).with_facts(SessionFacts(bag='a'))
    heard = heard.with_inference(learned(2, 'x')).with_plan(plans[2])
    found = heard.with_history('a', read, plans)
    assert [(each.passes, each.theta.mean[0]) for each in found.learned] == [(1, 0.1), (2, 0.9)]
    assert found.previous_plan is plans[1]
    # The recording of another session says nothing of this one.
    assert heard.with_history('b', read, plans) is heard


@pytest.mark.parametrize(
    ('values', 'grade'),
    [
        ({'max_r_hat': '1.01', 'min_ess_bulk': '500'}, Grade.GOOD),
        ({'max_r_hat': '1.2', 'min_ess_bulk': '500'}, Grade.FAIR),
        ({'max_r_hat': '1.01', 'min_ess_bulk': '20'}, Grade.FAIR),
    ],
)
def test_a_posterior_is_judged_by_its_diagnostics(values, grade):
    assert (
        inference_judgements(Snapshot().with_inference(learned(1, 'a', quality=values)))[0].grade
        is grade
    )


def test_a_plan_that_is_not_shown_is_a_bad_light_with_its_reason():
    status = learned(1, 'a', quality={'max_r_hat': '1.0'}, reasons=('not reachable',))
    judgement = inference_judgements(Snapshot().with_inference(status))[0]
    assert judgement.grade is Grade.BAD
    assert 'not reachable' in judgement.text


def test_there_is_one_sentence_for_each_feature():
    prior = theta([0.5, 0.5], sd=0.3)
    goal, length = sentences(prior, theta([1.5, 0.5], sd=0.05))
    assert goal.startswith('goal matters')
    assert 'more' in goal
    assert 'surer' in length
    assert 'nothing learned' in sentences(prior, prior)[0]
    assert sentences(prior, None) == ()


def test_one_of_several_operators_is_in_control():
    desk = ControlDesk()
    for page in 'abc':
        desk.join(page)
    assert not desk.obstacle('a')
    assert 'operator 1' in desk.obstacle('b')
    assert desk.take('b')
    assert 'operator 2' in desk.obstacle('a')
    desk.leave('b')
    # Of two that are left, one must take it; the last one has it.
    assert desk.obstacle('a')
    assert not desk.take('a')
    desk.leave('a')
    assert not desk.obstacle('c')


def test_a_page_that_has_left_takes_no_control():
    desk = ControlDesk()
    desk.join('a')
    desk.leave('a')
    desk.take('a')
    assert desk.obstacle('a')
