"""What a session looks like on a terminal, and where there is none."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from rich.console import Console

from reward_learning_ros.interface import (
    PlaybackState,
    PlaybackStatus,
    SessionEnd,
    SessionState,
    SessionStatus,
    ThetaSummary,
)
from reward_learning_ros.session.terminal import (
    SessionProgress,
    SessionTerminal,
    operating_lines,
    summary_lines,
)

THETA = ThetaSummary(
    features=('goal', 'button'),
    mean=np.array([0.6, 0.25]),
    sd=np.array([0.1, 0.1]),
    quantiles=np.array([[0.4, 0.1], [0.6, 0.2], [0.8, 0.375]]),
)


def shown(*progress, is_terminal):
    file = io.StringIO()
    console = Console(file=file, force_terminal=is_terminal, width=80)
    with SessionTerminal(console, 'press, demo/p01/001') as terminal:
        for each in progress:
            terminal.show(each)
        terminal.say('a_node was killed by SIGKILL [1]')
    return file.getvalue()


def playing(progress=0.5, corrections=1):
    return SessionProgress(
        session=SessionStatus(
            state=SessionState.PLAYING, passes=2, corrections=corrections, reason=''
        ),
        playback=PlaybackStatus(state=PlaybackState.PLAYING, plan_stamp_ns=1, progress=progress),
        theta=THETA,
    )


def test_without_a_terminal_each_change_is_one_line():
    text = shown(
        SessionProgress(),
        playing(0.1),
        playing(0.9),
        playing(corrections=2),
        SessionProgress(session=SessionStatus(state=SessionState.HOLDING, reason='no arm')),
        is_terminal=False,
    )
    assert text.splitlines() == [
        'press, demo/p01/001',
        'starting',
        'playing, pass 2, 1 correction',
        'playing, pass 2, 2 corrections',
        'holding, pass 0, 0 corrections: no arm',
        'a_node was killed by SIGKILL [1]',
    ]


def test_who_waits_long_is_told_once_for_what_and_where_to_look():
    file, now_sec = io.StringIO(), [0.0]
    console = Console(file=file, width=80)
    waiting = SessionStatus(state=SessionState.WAITING, reason='waiting for a plan: 3 s old')
    with SessionTerminal(console, 'press', Path('/a/log'), lambda: now_sec[0]) as terminal:
        for session, until_sec in (
            (None, 20.0),
            (waiting, 45.0),
            (waiting, 60.0),
            (waiting, 99.0),
        ):
            terminal.show(SessionProgress(session=session))
            now_sec[0] = until_sec
            terminal.show(SessionProgress(session=session))
    told = [line for line in file.getvalue().splitlines() if 'still waiting' in line]
    assert told == [
        'still waiting after 30 s: waiting for a plan: 3 s old; what the nodes say is in /a/log'
    ]


def test_a_warning_of_the_recorder_is_told_once():
    text = shown(
        *(
            SessionProgress(recording_warning=f'the disk has only {room} MiB left')
            for room in (9, 8)
        ),
        SessionProgress(),
        is_terminal=False,
    )
    assert text.count('MiB left') == 1
    assert 'warning: the disk has only 9 MiB left' in text


def test_a_terminal_shows_state_progress_and_theta_with_intervals():
    text = shown(playing(), is_terminal=True)
    assert 'press, demo/p01/001' in text
    assert 'playing, pass 2, 1 correction' in text
    assert '━' * 15 + '─' * 15 in text
    assert '0.400 to 0.800' in text
    assert '0.100 to 0.375' in text
    assert 'killed by SIGKILL [1]' in text


def weight(mean, low, high):
    return {'mean': mean, 'sd': 0.1, 'interval': [low, high]}


def told_pass(pushes, understood, regret, active=True):
    return {'pushes': pushes, 'understood': understood, 'regret': regret, 'active': active}


KNOWN = {
    'end': SessionEnd.ACCEPTED.value,
    'corrections': 6,
    'passes': 3,
    'by_pass': [
        told_pass(5, 'goes further around the obstacle', 0.02),
        told_pass(1, 'nothing yet', 0.03, active=False),
        told_pass(0, 'nothing yet', None),
    ],
    'prior': {'goal': weight(0.5, 0.04, 0.88), 'button': weight(0.5, 0.04, 0.88)},
    'theta': {'goal': weight(0.6, 0.4, 0.8), 'button': weight(0.05, -0.1, 0.1)},
    'trusted': False,
    'warnings': ['the chains disagree'],
    'regret': 0.01,
    'unasked_regret': 0.084,
    'initial_regret': 0.5,
    'error': 0.25,
    'unasked_error': 0.45,
}


def test_the_end_is_told_pass_by_pass_and_beside_what_was_known_before():
    assert summary_lines(KNOWN) == [
        'accepted after 6 corrections in 3 passes',
        'pass 1: 5 pushes, understood: goes further around the obstacle; Regret 0.0200 '
        '(unasked 0.0840)',
        'pass 2: 1 push, understood: nothing yet; Regret 0.0300 (unasked 0.0840) (undone)',
        'pass 3: 0 pushes, understood: nothing yet',
        '  θ              prior         posterior   mean',
        '  goal    0.04 to 0.88  →   0.40 to 0.80  0.600',
        '  button  0.04 to 0.88  →  -0.10 to 0.10  0.050',
        'posterior: not trusted',
        '  the chains disagree',
        'Regret 0.0100, unasked 0.0840, of the initial plan 0.5000',
        'Error 0.250, unasked 0.450',
    ]


def test_what_is_not_known_is_not_told():
    unknown = {
        **KNOWN,
        'end': None,
        'corrections': 1,
        'passes': 1,
        'by_pass': [],
        'theta': {},
        'trusted': None,
        **dict.fromkeys(('regret', 'unasked_regret', 'initial_regret', 'error', 'unasked_error')),
    }
    assert summary_lines(unknown) == ['interrupted after 1 correction in 1 pass']


def test_a_person_is_told_how_to_push_and_accept():
    simulated = '\n'.join(operating_lines(is_simulated_arm=True, needs_consent=False))
    assert 'reward_learning push --force' in simulated
    assert 'reward_learning call accept' in simulated
    assert 'begin' not in simulated
    real = '\n'.join(operating_lines(is_simulated_arm=False, needs_consent=True, namespace='left'))
    assert 'push' not in real
    assert 'reward_learning call begin --namespace left' in real
