"""What a session looks like on a terminal, and where there is none."""

from __future__ import annotations

import io

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
from reward_learning_ros.session.terminal import SessionProgress, SessionTerminal, summary_lines

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
        'playing, pass 2, 1 corrections',
        'playing, pass 2, 2 corrections',
        'holding, pass 0, 0 corrections: no arm',
        'a_node was killed by SIGKILL [1]',
    ]


def test_a_terminal_shows_state_progress_and_theta_with_intervals():
    text = shown(playing(), is_terminal=True)
    assert 'press, demo/p01/001' in text
    assert 'playing, pass 2, 1 corrections' in text
    assert '━' * 15 + '─' * 15 in text
    assert '0.400 to 0.800' in text
    assert '0.100 to 0.375' in text
    assert 'killed by SIGKILL [1]' in text


def test_the_end_is_told_with_regret_only_where_it_is_known():
    known = {
        'end': SessionEnd.ACCEPTED.value,
        'corrections': 3,
        'passes': 2,
        'theta': {'goal': {'mean': 0.6, 'sd': 0.1, 'interval': [0.4, 0.8]}},
        'regret': 0.01,
        'initial_regret': 0.5,
        'error': 0.25,
    }
    assert summary_lines(known) == [
        'accepted after 3 corrections in 2 passes',
        '  goal   0.600  [0.400, 0.800]',
        'Regret 0.0100, of the initial plan 0.5000',
        'Error 0.250',
    ]
    unknown = {**known, 'end': None, 'theta': {}, 'regret': None, 'error': None}
    assert summary_lines(unknown) == ['interrupted after 3 corrections in 2 passes']
