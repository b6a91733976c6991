"""What a session does next, and that the arm never moves without a consent."""

from __future__ import annotations

import contextlib
import copy
import functools

import pytest

from reward_learning_ros.interface import (
    PlaybackState,
    PlaybackStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
)
from reward_learning_ros.parameters import ParameterError
from reward_learning_ros.session.node_parameters import (
    EVERY_PASS,
    FIRST_PASS,
    NO_CONSENT,
    SessionConductorParameters,
)
from reward_learning_ros.session.session_state_machine import (
    ANSWER_TIMEOUT_SEC,
    ASKING,
    Request,
    SessionMachine,
    SessionRefusedError,
    SessionView,
)
from reward_learning_ros.session.session_transitions import TRANSITIONS, Action, Event
from tools import session_diagram

PERIOD_SEC = 0.1


class Session:
    """A machine, and the time that passes for it."""

    def __init__(self, before=None, **settings):
        settings = {'consent': NO_CONSENT, **settings}
        self.machine = SessionMachine(SessionConductorParameters(**settings), before)
        self.now_sec = 0.0

    def look(self, state, *, after_sec=PERIOD_SEC, **known):
        """Show it what playback does, and return what it asks for."""
        of_playback = {
            name: known.pop(name) for name in ('not_ready', 'is_too_far') if name in known
        }
        fault = 'broken' if state == 'fault' else ''
        status = PlaybackStatus(
            state=PlaybackState(state), plan_stamp_ns=1, fault=fault, **of_playback
        )
        return self.see(SessionView(playback=status, **known), after_sec)

    def see(self, view, after_sec=PERIOD_SEC):
        self.now_sec += after_sec
        self.request = self.machine.look(view, self.now_sec)
        return None if self.request is None else self.request.action

    def answer(self, granted=True):
        return self.machine.answer(self.request, '' if granted else 'no', self.now_sec)

    def consent(self, event):
        self.request = self.machine.consent(event, self.now_sec)
        return self.request.action

    def play(self, *, corrections=0):
        """Let a pass begin, and the arm be seen moving."""
        at_rest = 'finished' if self.status.passes else 'idle'
        # A session that just asked for something waits a second before it does so again.
        assert self.look(at_rest, after_sec=1.0, corrections=corrections) is Action.START
        self.answer()
        assert self.look('playing', corrections=corrections) is None
        assert self.state is SessionState.PLAYING

    @property
    def state(self):
        return self.machine.state

    @property
    def status(self):
        return self.machine.status


@pytest.mark.parametrize(
    ('view', 'reason'),
    [
        (SessionView(), 'waiting for playback'),
        (SessionView(playback=PlaybackStatus(state='idle')), 'waiting for a plan'),
        (
            SessionView(playback=PlaybackStatus(state='idle', not_ready='there is no plan')),
            'waiting for a plan',
        ),
        (
            SessionView(playback=PlaybackStatus(state='idle', not_ready='waypoint 3 is too far')),
            'waiting for a plan: waypoint 3 is too far',
        ),
        (
            SessionView(
                playback=PlaybackStatus(state='idle', plan_stamp_ns=1), missing=('recorder',)
            ),
            'waiting for recorder',
        ),
        (
            SessionView(
                playback=PlaybackStatus(state='idle', plan_stamp_ns=1, not_ready='user stop')
            ),
            'user stop',
        ),
    ],
)
def test_nothing_begins_before_all_are_ready(view, reason):
    session = Session()
    assert session.see(view) is None
    assert (session.state, session.status.reason) == (SessionState.WAITING, reason)


def test_a_quiet_pass_is_accepted_only_if_it_may_be():
    for accepts in (True, False):
        session = Session(quiet_pass_accepts=accepts)
        session.play()
        session.look('finished')
        session.look('finished')
        assert session.status.end is (SessionEnd.ACCEPTED if accepts else None)


def test_a_pass_with_a_correction_is_followed_by_another():
    session = Session(quiet_pass_accepts=True)
    session.play(corrections=0)
    session.look('finished', corrections=1)
    session.look('finished', corrections=1)
    session.play(corrections=1)
    session.look('finished', corrections=1)
    session.look('finished', corrections=1)
    assert session.status.end is SessionEnd.ACCEPTED
    assert session.status.passes == 2


FAULT = 'messages are lost: no room'


def test_a_recording_that_fails_is_said_at_once_and_the_pass_is_judged_once_it_is_mended():
    session = Session(quiet_pass_accepts=True)
    session.play()
    session.look('playing', recording_fault=FAULT)
    assert session.state is SessionState.PLAYING
    assert FAULT in session.status.reason
    for _ in range(20):
        assert session.look('finished', recording_fault=FAULT) is None
    # Neither accepted nor followed by another pass.
    assert session.state is SessionState.INFERRING
    assert FAULT in session.status.reason
    session.look('finished')
    assert session.status.end is SessionEnd.ACCEPTED
    assert session.status.reason == ''


@pytest.mark.parametrize('state', ['idle', 'fault'])
def test_while_a_recording_fails_nothing_is_consented_to_but_the_session_can_be_ended(state):
    session = Session(consent=EVERY_PASS)
    session.look(state)
    session.look(state, recording_fault=FAULT)
    for event in CONSENTS.values():
        with pytest.raises(SessionRefusedError, match=FAULT):
            session.consent(event)
    assert FAULT in session.status.reason
    session.machine.finish()
    session.look(state, recording_fault=FAULT)
    assert session.status.end is SessionEnd.FINISHED


def test_what_playback_said_before_the_start_does_not_end_the_pass():
    session = Session(quiet_pass_accepts=True)
    session.play(corrections=0)
    session.look('finished', corrections=1)
    session.look('finished', corrections=1)
    assert session.look('finished', after_sec=1.0, corrections=1) is Action.START
    session.answer()
    assert session.look('finished', corrections=1) is None
    assert session.state is SessionState.DEPARTING


def test_the_next_pass_waits_for_what_is_being_learned():
    session = Session()
    session.play()
    assert session.look('finished', is_inferring=True) is None
    assert session.look('finished', is_inferring=True) is None
    assert session.state is SessionState.INFERRING
    session.look('finished')
    assert session.look('finished', after_sec=1.0) is Action.START


def test_a_pass_that_was_given_up_is_followed_by_one_with_another_plan():
    for consent in (NO_CONSENT, EVERY_PASS):
        session = Session(consent=consent)
        session.look('idle')
        if consent == EVERY_PASS:
            session.consent(Event.BEGIN)
        session.answer()
        session.look('playing')
        assert session.look('stopped', is_inferring=True, after_sec=1.0) is None
        assert session.state is SessionState.HOLDING
        with pytest.raises(SessionRefusedError, match='plan of the next pass is still to come'):
            session.consent(Event.CONTINUE)
        if consent == NO_CONSENT:
            assert session.look('stopped', after_sec=1.0) is Action.START
        else:
            assert session.look('stopped', after_sec=1.0) is None
            assert session.consent(Event.CONTINUE) is Action.START


def test_a_pass_that_is_held_goes_on_though_more_can_be_learned():
    session = Session()
    session.play()
    assert session.look('fault', is_inferring=True, after_sec=1.0) is Action.RESUME


def test_a_push_at_the_end_of_the_plan_is_waited_for():
    session = Session(quiet_pass_accepts=True)
    session.play()
    session.look('finished', is_pushing=True)
    session.look('finished', is_pushing=True)
    assert (session.state, session.status.reason) == (
        SessionState.INFERRING,
        'somebody pushes the arm',
    )
    session.look('finished', corrections=1, is_inferring=True)
    session.look('finished', corrections=1)
    assert session.look('finished', corrections=1, after_sec=1.0) is Action.START
    assert session.status.end is None


def test_a_pass_in_which_somebody_pushed_is_not_accepted_though_no_correction_came_of_it():
    session = Session(quiet_pass_accepts=True)
    session.play()
    session.look('playing', is_pushing=True)
    session.look('finished')
    session.look('finished')
    session.play()
    session.look('finished')
    session.look('finished')
    assert session.status.end is SessionEnd.ACCEPTED


def test_an_arm_too_far_from_the_plan_goes_home_first_and_that_is_no_pass():
    session = Session()
    session.play()
    session.look('finished')
    session.look('finished')
    session.look('finished', is_too_far=True, not_ready='far')
    assert session.look('finished', is_too_far=True, not_ready='far', after_sec=1.0) is Action.HOME
    session.answer()
    # Not heard yet, on the way, held there, and on the way again.
    assert session.look('finished', is_too_far=True, not_ready='far') is None
    assert session.look('homing') is None
    assert session.state is SessionState.HOMING
    session.look('fault')
    assert (session.state, session.status.reason) == (SessionState.HOLDING, 'broken')
    assert session.look('fault', after_sec=1.0) is Action.RESUME
    session.answer()
    session.look('homing')
    assert session.state is SessionState.HOMING
    session.look('idle')
    assert session.status.passes == 1
    session.play()
    assert session.status.passes == 2


def test_an_arm_that_is_home_already_is_started_after_a_while():
    session = Session()
    assert session.look('idle', is_too_far=True, not_ready='far') is Action.HOME
    session.answer()
    session.look('idle', after_sec=ANSWER_TIMEOUT_SEC)
    assert session.look('idle') is Action.START
    assert session.status.passes == 0


def test_it_ends_after_the_last_pass():
    session = Session(max_passes=2)
    session.play()
    session.look('finished')
    session.look('finished')
    session.play()
    session.look('finished')
    assert session.look('finished') is None
    assert session.status.end is SessionEnd.MAX_PASSES


def test_at_the_last_correction_it_stops_the_arm_then_learns_then_ends():
    session = Session(max_corrections=2)
    session.play()
    looked = session.look('playing', corrections=2, is_inferring=True, after_sec=1.0)
    assert looked is Action.STOP
    assert session.look('stopped', corrections=2, is_inferring=True) is None
    assert session.state is SessionState.CONCLUDING
    session.look('stopped', corrections=2)
    assert session.status.end is SessionEnd.MAX_CORRECTIONS


def test_a_person_consents_to_every_pass_and_after_every_hold():
    session = Session(consent=EVERY_PASS)
    session.look('idle')
    assert session.look('idle', after_sec=60.0) is None
    assert (session.state, 'session/begin' in session.status.reason) == (SessionState.READY, True)
    assert session.consent(Event.BEGIN) is Action.START
    session.answer()
    session.look('playing')
    session.look('fault')
    assert session.look('fault', after_sec=60.0) is None
    assert (session.state, session.status.reason) == (SessionState.HOLDING, 'broken')
    assert session.consent(Event.CONTINUE) is Action.RESUME
    session.answer()
    session.look('playing')
    session.look('finished')
    session.look('finished')
    assert session.look('finished', after_sec=60.0) is None
    assert session.state is SessionState.READY


def test_a_refused_consent_is_gone():
    session = Session(consent=EVERY_PASS)
    session.look('idle')
    session.consent(Event.BEGIN)
    session.answer(granted=False)
    for _ in range(100):
        assert session.look('idle') is None
    assert session.state is SessionState.READY
    assert session.status.reason.endswith('last time playback refused: no')


def test_a_consent_that_playback_never_answers_is_gone_and_nothing_is_stuck():
    session = Session(consent=EVERY_PASS)
    session.look('idle')
    session.consent(Event.BEGIN)
    asked = session.request
    session.look('idle', after_sec=ANSWER_TIMEOUT_SEC)
    assert session.state is SessionState.WAITING
    # The answer comes after all: nobody waits for this motion any more.
    stop = session.machine.answer(asked, '', session.now_sec + 2.0)
    assert stop.action is Action.STOP
    session.look('idle')
    assert session.consent(Event.BEGIN) is Action.START


@pytest.mark.parametrize('event', [Event.BEGIN, Event.CONTINUE])
def test_a_consent_of_before_a_stop_is_none_after_its_release(event):
    session = Session(consent=EVERY_PASS)
    state = 'idle' if event is Event.BEGIN else 'fault'
    session.look(state)
    asked_sec = session.now_sec + 0.05
    session.look(state, not_ready='the user stop is pressed')
    for _ in range(2):
        session.look(state)
    with pytest.raises(SessionRefusedError, match='ask again'):
        session.machine.consent(event, session.now_sec, asked_sec=asked_sec)
    assert session.consent(event)


def test_a_second_operator_is_refused_while_the_first_one_is_answered():
    session = Session(consent=EVERY_PASS)
    session.look('idle')
    session.consent(Event.BEGIN)
    with pytest.raises(SessionRefusedError, match='starting'):
        session.machine.consent(Event.BEGIN, session.now_sec)


@pytest.mark.parametrize('first', [Event.CONTINUE, Event.HOME])
@pytest.mark.parametrize('second', [Event.BEGIN, Event.CONTINUE, Event.HOME])
def test_two_operators_at_once_move_the_arm_once(first, second):
    session = Session(consent=EVERY_PASS)
    session.look('fault')
    assert session.state is SessionState.HOLDING
    session.consent(first)
    asked = session.request
    with pytest.raises(SessionRefusedError):
        session.machine.consent(second, session.now_sec)
    # The answer is to the first one, and the second has changed nothing of it.
    assert session.machine.answer(asked, '', session.now_sec) is None
    assert session.state in (SessionState.DEPARTING, SessionState.RETURNING)


@pytest.mark.parametrize('event', [Event.BEGIN, Event.CONTINUE, Event.HOME])
def test_another_operator_cancels_a_consent_that_is_being_used(event):
    session = Session(consent=EVERY_PASS)
    session.look('idle' if event is Event.BEGIN else 'fault')
    session.consent(event)
    asked = session.request
    session.machine.hand_over()
    assert session.state not in ASKING
    # Granted after all: the arm is not to move by it, not even for a second.
    stop = session.machine.answer(asked, '', session.now_sec + 0.01)
    assert stop.action is Action.STOP


def test_another_operator_consents_to_the_next_pass_anew():
    session = Session(consent=FIRST_PASS)
    session.look('idle')
    session.consent(Event.BEGIN)
    session.answer()
    session.look('playing')
    session.machine.hand_over()
    assert session.state is SessionState.PLAYING
    session.look('finished')
    for _ in range(100):
        assert session.look('finished') is None
    assert session.state is SessionState.READY
    assert session.consent(Event.BEGIN) is Action.START


def test_a_stop_that_is_never_answered_is_asked_for_again():
    session = Session()
    session.play()
    session.machine.finish()
    assert session.look('playing', after_sec=1.0) is Action.STOP
    assert session.look('playing') is None
    assert session.look('playing', after_sec=1.0) is Action.STOP
    session.look('stopped')
    assert session.status.end is SessionEnd.FINISHED


def test_a_consent_is_refused_where_something_forbids_the_motion():
    session = Session(consent=EVERY_PASS)
    with pytest.raises(SessionRefusedError, match='waiting for playback'):
        session.consent(Event.BEGIN)
    session.look('idle')
    with pytest.raises(SessionRefusedError, match='the session is ready'):
        session.consent(Event.CONTINUE)
    session.consent(Event.BEGIN)
    session.answer()
    session.look('playing')
    session.look('fault', not_ready='the user stop is pressed')
    with pytest.raises(SessionRefusedError, match='the user stop is pressed'):
        session.consent(Event.CONTINUE)
    session.look('fault', missing=('recorder',))
    with pytest.raises(SessionRefusedError, match='waiting for recorder'):
        session.consent(Event.CONTINUE)


@pytest.mark.parametrize(
    'interruption',
    [
        {'state': 'finished', 'not_ready': 'the user stop is pressed'},
        {'state': 'finished', 'missing': ('recorder',)},
        {'state': 'fault'},
    ],
)
def test_a_consent_to_the_first_pass_covers_the_next_until_something_stops_the_arm(interruption):
    session = Session(consent=FIRST_PASS)
    session.look('idle')
    assert session.look('idle', after_sec=60.0) is None
    session.consent(Event.BEGIN)
    session.answer()
    for _ in range(2):
        session.look('playing')
        session.look('finished')
        session.look('finished')
        assert session.look('finished', after_sec=1.0) is Action.START
        session.answer()
    session.look('playing')
    session.look('finished')
    session.look(**interruption)
    for _ in range(100):
        assert session.look('finished') is None


def test_a_session_that_consents_by_itself_goes_on_after_a_fault_when_it_may():
    session = Session()
    session.play()
    session.look('fault', missing=('inference',), after_sec=1.0)
    assert session.status.reason == 'waiting for inference'
    assert session.look('fault', not_ready='the user stop is pressed', after_sec=1.0) is None
    assert session.look('fault', after_sec=1.0) is Action.RESUME


def test_playback_that_comes_back_begins_the_same_pass_again():
    session = Session()
    session.play()
    session.look('idle')
    assert session.look('idle', after_sec=1.0) is Action.START
    session.answer()
    session.look('playing')
    assert session.status.passes == 1


def test_a_second_machine_goes_on_where_the_first_was_with_no_consent_of_it():
    before = SessionStatus(state=SessionState.PLAYING, passes=3, corrections=4)
    person = Session(before, consent=FIRST_PASS)
    assert person.look('fault', corrections=4, after_sec=60.0) is None
    assert person.state is SessionState.HOLDING
    session = Session(before, quiet_pass_accepts=True)
    assert session.look('fault', corrections=4) is Action.RESUME
    session.answer()
    session.look('playing', corrections=4)
    session.look('finished', corrections=4)
    # Whether the first saw a correction in this pass is not known.
    session.look('finished', corrections=4)
    assert session.look('finished', corrections=4, after_sec=1.0) is Action.START
    assert session.status.passes == 3


def test_accept_and_finish_end_it_with_the_arm_at_rest():
    session = Session()
    with pytest.raises(SessionRefusedError, match='nothing to accept'):
        session.machine.accept()
    session.play()
    session.machine.accept()
    assert session.look('playing', after_sec=1.0) is Action.STOP
    session.look('stopped')
    assert session.status.end is SessionEnd.ACCEPTED
    assert session.look('idle') is None

    other = Session()
    other.machine.finish()
    other.see(SessionView())
    assert other.status.end is SessionEnd.FINISHED


def test_who_pauses_also_resumes():
    session = Session()
    session.play()
    session.look('paused')
    assert session.look('paused', after_sec=60.0) is None
    assert (session.state, session.status.reason) == (SessionState.HOLDING, 'paused')


def test_a_missing_node_stops_the_arm_if_playback_does_not_hold_by_itself():
    session = Session(consent=EVERY_PASS)
    session.look('idle')
    session.consent(Event.BEGIN)
    session.answer()
    session.look('playing')
    # Playback holds by itself, which keeps the pass.
    assert session.look('playing', missing=('controller',)) is None
    assert session.machine.is_arm_moving
    session.look('fault', missing=('controller',))
    assert session.look('fault', missing=('controller',), after_sec=60.0) is None
    session.look('fault')
    session.consent(Event.CONTINUE)
    session.answer()
    session.look('playing')
    # It does not.
    assert session.look('playing', missing=('controller',)) is None
    assert session.look('playing', missing=('controller',), after_sec=0.5) is Action.STOP
    assert session.look('playing', missing=('controller',)) is None
    assert session.look('playing', missing=('controller',), after_sec=1.0) is Action.STOP
    session.look('stopped', missing=('controller',))
    assert not session.machine.is_arm_moving
    assert session.state is SessionState.HOLDING


def test_playback_that_is_missing_itself_has_brought_the_arm_to_rest():
    session = Session()
    session.play()
    assert session.look('playing', missing=('trajectory_playback',), after_sec=60.0) is None
    assert not session.machine.is_arm_moving
    session.machine.finish()
    session.look('playing', missing=('trajectory_playback',))
    assert session.state is SessionState.ENDED


def test_a_session_does_not_end_before_the_arm_is_stopped_though_a_node_is_missing():
    session = Session()
    session.play()
    session.machine.finish()
    assert session.look('playing', missing=('recorder',)) is Action.STOP
    assert session.state is SessionState.STOPPING
    session.look('stopped', missing=('recorder',))
    assert session.status.end is SessionEnd.FINISHED


@pytest.mark.parametrize('state', ['fault', 'paused', 'stopped'])
def test_what_is_learned_from_the_last_correction_is_waited_for_also_while_playback_holds(state):
    session = Session(max_corrections=2)
    session.play()
    session.look(state, corrections=2, is_inferring=True)
    session.look(state, corrections=2, is_inferring=True)
    assert session.state is SessionState.CONCLUDING
    session.look(state, corrections=2)
    assert session.status.end is SessionEnd.MAX_CORRECTIONS


@pytest.mark.parametrize('answer', ['refused', 'lost'])
def test_a_refused_way_home_keeps_the_pass(answer):
    session = Session(consent=EVERY_PASS)
    session.look('idle')
    session.consent(Event.BEGIN)
    session.answer()
    session.look('playing')
    session.look('fault')
    assert session.consent(Event.HOME) is Action.HOME
    if answer == 'refused':
        session.answer(granted=False)
    else:
        session.look('fault', after_sec=ANSWER_TIMEOUT_SEC)
    session.look('fault')
    assert session.state is SessionState.HOLDING
    assert session.consent(Event.CONTINUE) is Action.RESUME
    session.answer()
    session.look('playing')
    assert session.status.passes == 1


def test_a_way_home_that_an_operator_asks_playback_for_is_no_pass():
    session = Session(consent=EVERY_PASS)
    session.look('idle')
    session.look('homing')
    assert session.state is SessionState.HOMING
    session.look('fault')
    assert session.consent(Event.CONTINUE) is Action.RESUME
    session.answer()
    session.look('homing')
    session.look('fault')
    # Playback was restarted, and knows of no way home: nothing is left to go on with.
    session.look('idle')
    session.look('idle')
    assert (session.state, session.status.passes) == (SessionState.READY, 0)


@pytest.mark.parametrize('event', [Event.BEGIN, Event.CONTINUE, Event.HOME])
def test_another_operator_stops_a_motion_that_nobody_has_seen_yet(event):
    session = Session(consent=EVERY_PASS)
    session.look('idle' if event is Event.BEGIN else 'fault')
    session.consent(event)
    session.answer()
    assert session.state in (SessionState.DEPARTING, SessionState.RETURNING)
    assert session.machine.hand_over().action is Action.STOP
    assert session.state in (SessionState.HOLDING, SessionState.WAITING)
    assert session.machine.hand_over() is None


SEEN = {
    Event.LOST: SessionView(),
    Event.UNWATCHED: {'state': 'playing', 'missing': ('one',)},
    Event.HELD: {'state': 'fault'},
    Event.MOVING: {'state': 'playing'},
    Event.GOING_HOME: {'state': 'homing'},
    Event.FINISHED: {'state': 'finished'},
    Event.BUSY: {'state': 'stopped', 'is_inferring': True},
    Event.TOO_FAR: {'state': 'stopped', 'is_too_far': True, 'not_ready': 'far'},
    Event.NOT_READY: {'state': 'stopped', 'not_ready': 'stop'},
    Event.READY: {'state': 'stopped'},
}


@pytest.mark.parametrize(
    ('before', 'event', 'after'),
    [(before, event, after) for (before, event), after in TRANSITIONS.items()],
    ids=[f'{before.value} {event.name}' for before, event in TRANSITIONS],
)
def test_every_transition_is_taken(before, event, after):
    session = Session(consent=EVERY_PASS, max_corrections=1 if event is Event.LIMIT else 0)
    machine = session.machine
    if event in (Event.CONTINUE, Event.HOME):
        # Something is known of the arm, and nothing forbids that it moves.
        session.look('stopped')
    machine.state = before
    machine._deadline_sec = 0.0 if event is Event.TIMEOUT else 1e9
    # A session that ends had its reason.
    machine._end = SessionEnd.FINISHED if before.value in ('stopping', 'concluding') else None
    if event is Event.LOST:
        session.see(SEEN[event])
    elif event in SEEN:
        session.look(**SEEN[event])
    elif event in CONSENTS.values():
        session.consent(event)
    elif event in (Event.GRANTED, Event.REFUSED):
        machine._request = Request(number=1, action=Action.START)
        machine.answer(machine._request, '' if event is Event.GRANTED else 'no', 0.0)
    elif event is Event.TIMEOUT:
        session.look('idle', is_pushing=True)
    elif event is Event.LIMIT:
        session.look('playing', corrections=1)
    else:
        machine.finish()
    assert session.state is after


def test_no_node_of_a_real_arm_consents_by_itself():
    with pytest.raises(ParameterError, match='consent'):
        SessionConductorParameters(arm='franka', consent=NO_CONSENT)
    assert SessionConductorParameters(arm='franka', consent=FIRST_PASS)


def test_every_state_is_reached_and_left():
    reached = set(TRANSITIONS.values()) | {SessionState.WAITING}
    assert reached == set(SessionState)
    assert {state for state, _ in TRANSITIONS} == set(SessionState) - {SessionState.ENDED}


def test_the_document_shows_the_table_of_the_code():
    text = session_diagram.PAGE.read_text(encoding='utf-8')
    assert session_diagram.page_with(text) == text, '`make diagrams` draws it again'


def test_a_reason_that_differs_by_numbers_only_is_no_news():
    session = Session()
    session.look('idle', not_ready='robot state is 0.31 s old')
    first = session.status
    session.look('idle', not_ready='robot state is 0.41 s old')
    assert session.status == first


RELEASES = {'stop released': 'stop', 'recovery': 'reflex', 'back': 'silence'}


@functools.cache
def status_of(state, obstacle, is_away):
    stands = not state.is_moving and state is not PlaybackState.FAULT
    is_too_far = stands and is_away and not obstacle
    return PlaybackStatus(
        state=state,
        plan_stamp_ns=1,
        fault='held' if state is PlaybackState.FAULT else '',
        not_ready='moving' if state.is_moving else 'far' if is_too_far else obstacle,
        is_too_far=is_too_far,
    )


class Arm:
    """Playback and its arm, as far as consent goes: what forbids a motion, and what moves."""

    def __init__(self):
        self.state = PlaybackState.IDLE
        # The latest of those that forbid a motion: a stop, a reflex, or a silent arm.
        self.obstacle = ''
        self.is_gone = self.is_pushed = self.is_away = self.heads_home = False

    @property
    def moves(self):
        return self.state.is_moving

    def status(self):
        return status_of(self.state, self.obstacle, self.is_away)

    def do(self, action):
        """Return why an action is refused, empty if it is granted."""
        if self.is_gone:
            return 'no'
        if action is Action.STOP:
            self.state = PlaybackState.STOPPED
            return ''
        is_held = self.state is PlaybackState.FAULT
        is_wrong = is_held != (action is Action.RESUME) and action is not Action.HOME
        is_far = self.is_away and action is Action.START
        if self.moves or self.obstacle or is_wrong or is_far:
            return 'no'
        self.heads_home = action is Action.HOME or (is_held and self.heads_home)
        self.state = PlaybackState.HOMING if self.heads_home else PlaybackState.PLAYING
        return ''

    def hold(self):
        if self.moves:
            self.state = PlaybackState.FAULT

    def happen(self, event):
        if event == 'stop pressed':
            self.obstacle = 'stop'
            self.hold()
        elif event == 'reflex':
            self.obstacle = 'reflex'
            self.hold()
        elif RELEASES.get(event) == self.obstacle:
            self.obstacle = ''
        elif event in ('playback killed', 'restart'):
            # The arm ends at rest what it was told last.
            self.state, self.is_gone = PlaybackState.IDLE, True
        elif event in ('another node killed', 'conductor killed', 'conductor killed unrecorded'):
            self.hold()
        elif event == 'arm killed':
            # Another one takes its place, at home, and knows of no stop and no reflex.
            self.obstacle, self.is_away = 'silence', False
            self.hold()
        elif event == 'arrived' and self.moves:
            self.state = PlaybackState.IDLE if self.heads_home else PlaybackState.FINISHED
            self.is_away = self.is_away and not self.heads_home
        elif event == 'pushed':
            self.is_pushed = not self.is_pushed
        elif event == 'moved away':
            self.is_away = True
        if event == 'back':
            self.is_gone = False


CONSENTS = {'begin': Event.BEGIN, 'continue': Event.CONTINUE, 'home': Event.HOME}
# A conductor that is started again knows what its recording tells, or nothing.
NEW_CONDUCTOR = ('conductor killed', 'conductor killed unrecorded', 'restart')
# Whom the session misses then. The arm's node is the only one that nobody waits for by name.
MISSING = {
    'playback killed': ('trajectory_playback',),
    'another node killed': ('one',),
    # Playback does not, and moves on.
    'node missed by the session': ('one',),
    'restart': ('trajectory_playback', 'one'),
    'back': (),
}
TAKE_CONSENT_AWAY = (
    'stop pressed',
    'reflex',
    'handed over',
    'arm killed',
    *(name for name in MISSING if name != 'back'),
    'conductor killed',
    'conductor killed unrecorded',
)
STEPS = (
    *CONSENTS,
    *TAKE_CONSENT_AWAY,
    'stop released',
    'recovery',
    'arrived',
    'pushed',
    'moved away',
    'back',
    'answer arrives',
    'answer is lost',
    'time passes',
)
# Answers that are under way at a time.
MAX_ANSWERS = 1


class World:
    """A session, its arm, answers that are under way, and the time that passes."""

    def __init__(self, consent):
        self.config = SessionConductorParameters(consent=consent)
        self.machine = SessionMachine(self.config)
        self.arm = Arm()
        self.now_sec = 0.0
        self.missing = ()
        # What playback said before it was killed.
        self.told = self.arm.status()
        self.answers = ()
        self.step('time passes')

    def copy(self):
        other = copy.copy(self)
        other.machine, other.arm = copy.copy(self.machine), copy.copy(self.arm)
        return other

    def ask(self, request):
        """Let playback act at once; what it answers is heard later, or never."""
        if request is None:
            return
        refusal = self.arm.do(request.action)
        if request.action is not Action.STOP:
            self.answers = (*self.answers, (request, refusal))

    def look(self, after_sec=0.0):
        self.now_sec += after_sec
        if not self.arm.is_gone:
            self.told = self.arm.status()
        view = SessionView(playback=self.told, missing=self.missing, is_pushing=self.arm.is_pushed)
        self.ask(self.machine.look(view, self.now_sec))

    def step(self, name):
        """Let something happen, and return whether the arm set off by itself afterwards."""
        self.arm.happen(name)
        self.missing = MISSING.get(name, self.missing)
        if name in CONSENTS:
            with contextlib.suppress(SessionRefusedError):
                self.ask(self.machine.consent(CONSENTS[name], self.now_sec))
        elif name == 'handed over':
            self.ask(self.machine.hand_over())
        elif name in NEW_CONDUCTOR:
            known = None if name == 'conductor killed unrecorded' else self.machine.status
            self.machine, self.answers = SessionMachine(self.config, known), ()
        was_moving = self.arm.moves
        if name == 'answer arrives':
            (request, refusal), *others = self.answers
            self.answers = tuple(others)
            self.ask(self.machine.answer(request, refusal, self.now_sec))
        elif name == 'answer is lost':
            self.answers = self.answers[1:]
        elif name == 'time passes':
            # Longer than anything is remembered.
            for after_sec in (PERIOD_SEC, PERIOD_SEC, 60.0, 60.0, 60.0):
                self.look(after_sec)
        self.look()
        return self.arm.moves and not was_moving

    def can(self, name):
        if name in ('answer arrives', 'answer is lost'):
            return bool(self.answers)
        return len(self.answers) < MAX_ANSWERS or name not in CONSENTS

    def key(self):
        """What the future depends on."""
        machine, arm = self.machine, self.arm
        is_on_the_way = arm.moves or arm.state is PlaybackState.FAULT
        return (
            arm.state,
            arm.obstacle,
            arm.is_gone,
            arm.is_pushed,
            arm.is_away,
            is_on_the_way and arm.heads_home,
            self.missing,
            self.told.state if arm.is_gone else None,
            tuple((each is machine._request, each.action, no) for each, no in self.answers),
            machine.state,
            machine.is_covered,
            machine._is_pass_over,
            machine.is_covered and self.now_sec < machine._next_own_sec,
            machine._unwatched_sec is None,
            arm.moves and self.now_sec < machine._next_stop_sec,
        )


@pytest.mark.parametrize('consent', [EVERY_PASS, FIRST_PASS])
def test_in_no_order_of_events_does_the_arm_set_off_without_a_consent(consent):
    """Orders of any length: each situation that any of them leads to is gone on from once."""
    first = World(consent)
    known = {(first.key(), False)}
    waiting = [(first, False)]
    consented = 0
    states = set()
    while waiting:
        world, was_covered = waiting.pop()
        states.add(world.machine.state)
        for name in STEPS:
            if not world.can(name):
                continue
            other, is_covered = world.copy(), was_covered
            sets_off = other.step(name)
            consented += other.arm.moves and name in CONSENTS
            if name in TAKE_CONSENT_AWAY:
                is_covered = False
            elif name == 'begin' and other.arm.moves:
                is_covered = consent == FIRST_PASS
            # Only the pass after a pass that was consented to, and nothing that stopped the arm.
            assert not sets_off or is_covered, name
            if name == 'time passes' and other.missing:
                assert not other.arm.moves, 'nobody stops the arm'
            situation = (other.key(), is_covered)
            if situation not in known:
                known.add(situation)
                waiting.append((other, is_covered))
    ended = {SessionState.STOPPING, SessionState.CONCLUDING, SessionState.ENDED}
    assert states == set(SessionState) - ended
    assert consented > 100
