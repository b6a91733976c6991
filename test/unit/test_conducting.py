"""What the conductor of a session decides, given what is known."""

from __future__ import annotations

import pytest

from reward_learning_ros.interface import (
    PlaybackState,
    PlaybackStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
)
from reward_learning_ros.nodes.conducting import (
    Action,
    Conductor,
    ConductorRefusedError,
    SessionView,
)
from reward_learning_ros.nodes.session_conductor_parameters import SessionConductorParameters


def view(state, **known):
    fault = known.pop('fault', 'broken' if state == 'fault' else '')
    return SessionView(
        playback=PlaybackStatus(state=PlaybackState(state), plan_stamp_ns=1, fault=fault), **known
    )


def conductor(**settings):
    return Conductor(SessionConductorParameters(**settings))


def play(one, *, corrections=0):
    """Let a pass begin, and the arm be seen moving."""
    assert one.decide(view('finished' if one.status.passes else 'idle')) is Action.START
    one.started()
    assert one.decide(view('playing', corrections=corrections)) is None
    assert one.status.state is SessionState.PLAYING


@pytest.mark.parametrize(
    ('known', 'reason'),
    [
        (SessionView(), 'waiting for playback'),
        (SessionView(playback=PlaybackStatus(state='idle')), 'waiting for a plan'),
        (view('idle', missing=('recorder',)), 'waiting for recorder'),
    ],
)
def test_nothing_begins_before_all_are_there(known, reason):
    one = conductor(recovers=True)
    assert one.decide(known) is None
    assert (one.status.state, one.status.reason) == (SessionState.WAITING, reason)


def test_a_quiet_pass_is_accepted_only_if_it_may_be():
    for accepts in (True, False):
        one = conductor(quiet_pass_accepts=accepts)
        play(one)
        action = one.decide(view('finished'))
        assert (action, one.status.end) == (
            (None, SessionEnd.ACCEPTED) if accepts else (Action.START, None)
        )


def test_a_pass_with_a_correction_is_followed_by_another():
    one = conductor(quiet_pass_accepts=True)
    play(one, corrections=1)
    assert one.decide(view('finished', corrections=1)) is Action.START
    one.started()
    assert one.decide(view('playing', corrections=1)) is None
    assert one.decide(view('finished', corrections=1)) is None
    assert one.status.end is SessionEnd.ACCEPTED
    assert one.status.passes == 2


def test_what_playback_said_before_the_start_does_not_end_the_pass():
    one = conductor(quiet_pass_accepts=True)
    play(one, corrections=1)
    assert one.decide(view('finished', corrections=1)) is Action.START
    one.started()
    assert one.decide(view('finished', corrections=1)) is None
    assert one.status.state is SessionState.PLAYING


def test_the_next_pass_waits_for_what_is_being_learned():
    one = conductor()
    play(one)
    assert one.decide(view('finished', is_inferring=True)) is None
    assert one.status.state is SessionState.INFERRING
    assert one.decide(view('finished')) is Action.START


def test_a_push_at_the_end_of_the_plan_is_waited_for():
    one = conductor(quiet_pass_accepts=True)
    play(one)
    assert one.decide(view('finished', is_pushing=True)) is None
    assert one.status.state is SessionState.PLAYING
    assert one.decide(view('finished', corrections=1, is_inferring=True)) is None
    assert one.decide(view('finished', corrections=1)) is Action.START
    assert one.status.end is None


def test_a_pass_in_which_somebody_pushed_is_not_accepted_though_no_correction_came_of_it():
    one = conductor(quiet_pass_accepts=True)
    play(one)
    assert one.decide(view('playing', is_pushing=True)) is None
    assert one.decide(view('finished')) is Action.START
    one.started()
    assert one.decide(view('playing')) is None
    assert one.decide(view('finished')) is None
    assert one.status.end is SessionEnd.ACCEPTED


def test_an_arm_too_far_from_the_plan_goes_home_first_and_that_is_no_pass():
    one = conductor()
    play(one, corrections=1)
    assert one.decide(view('finished', corrections=1)) is Action.START
    one.is_too_far()
    assert one.decide(view('finished', corrections=1)) is Action.HOME
    one.went_home()
    # Not heard yet, on the way, held there, and on the way again.
    for state, action in (('finished', None), ('homing', None), ('homing', None)):
        assert one.decide(view(state, corrections=1)) is action
    assert (one.status.state, one.status.reason) == (SessionState.WAITING, 'the arm goes home')
    one.decide(view('fault', corrections=1))
    one.started()
    assert one.decide(view('homing', corrections=1)) is None
    assert one.status.passes == 1
    assert one.decide(view('idle', corrections=1)) is Action.START
    one.started()
    one.decide(view('homing', corrections=1))
    assert (one.status.state, one.status.passes) == (SessionState.PLAYING, 2)


def test_an_arm_that_is_home_already_is_started_after_a_while():
    one = conductor()
    assert one.decide(view('idle')) is Action.START
    one.is_too_far()
    assert one.decide(view('idle')) is Action.HOME
    one.went_home()
    actions = [one.decide(view('idle')) for _ in range(30)]
    assert Action.START in actions
    assert one.status.passes == 0


def test_it_ends_after_the_last_pass():
    one = conductor(max_passes=2)
    play(one)
    assert one.decide(view('finished')) is Action.START
    one.started()
    one.decide(view('playing'))
    assert one.decide(view('finished')) is None
    assert one.status.end is SessionEnd.MAX_PASSES


def test_at_the_last_correction_it_stops_the_arm_then_learns_then_ends():
    one = conductor(max_corrections=2)
    play(one)
    assert one.decide(view('playing', corrections=2, is_inferring=True)) is Action.STOP
    assert one.decide(view('stopped', corrections=2, is_inferring=True)) is None
    assert one.status.state is SessionState.INFERRING
    assert one.decide(view('stopped', corrections=2)) is None
    assert one.status.end is SessionEnd.MAX_CORRECTIONS


def test_after_a_fault_it_waits_to_be_told_unless_it_recovers():
    one = conductor()
    play(one)
    assert one.decide(view('fault')) is None
    assert (one.status.state, one.status.reason) == (SessionState.HOLDING, 'broken')
    one.go_on()
    assert one.decide(view('fault')) is Action.RESUME
    one.started()
    assert one.decide(view('playing')) is None
    # Once told is not told forever.
    assert one.decide(view('fault')) is None

    recovering = conductor(recovers=True)
    play(recovering)
    assert recovering.decide(view('fault', missing=('inference',))) is None
    assert recovering.status.reason == 'waiting for inference'
    assert recovering.decide(view('fault')) is Action.RESUME


def test_playback_that_comes_back_begins_the_same_pass_again():
    one = conductor(recovers=True)
    play(one)
    assert one.decide(view('idle')) is Action.START
    one.started()
    assert one.decide(view('playing')) is None
    assert one.status.passes == 1


def test_a_second_conductor_goes_on_where_the_first_was():
    before = SessionStatus(state=SessionState.PLAYING, passes=3, corrections=4)
    one = Conductor(SessionConductorParameters(recovers=True, quiet_pass_accepts=True), before)
    assert one.decide(view('fault', corrections=4)) is Action.RESUME
    one.started()
    one.decide(view('playing', corrections=4))
    # Whether the first saw a correction in this pass is not known.
    assert one.decide(view('finished', corrections=4)) is Action.START
    assert one.status.passes == 3


def test_accept_and_finish_end_it_with_the_arm_at_rest():
    one = conductor()
    with pytest.raises(ConductorRefusedError, match='nothing to accept'):
        one.accept()
    with pytest.raises(ConductorRefusedError, match='waiting, not holding'):
        one.go_on()
    play(one)
    one.accept()
    assert one.decide(view('playing')) is Action.STOP
    one.decide(view('stopped'))
    assert one.status.end is SessionEnd.ACCEPTED
    assert one.decide(view('idle')) is None

    other = conductor()
    other.finish()
    other.decide(SessionView())
    assert other.status.end is SessionEnd.FINISHED


def test_one_who_pauses_also_resumes():
    one = conductor(recovers=True)
    play(one)
    assert one.decide(view('paused')) is None
    assert one.status.state is SessionState.HOLDING
