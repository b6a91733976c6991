"""One session for each ROS domain and namespace of a machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from reward_learning_ros.session.folder import SessionRunningError, session_lock

# No domain of ROS: no session that runs beside the tests can be in it.
DOMAIN = 100_000 + os.getpid()


def test_a_second_session_is_refused_and_told_of_the_first():
    with session_lock(DOMAIN, '', 'pilot/p01') as lock:
        lock.text = '/sessions/pilot/p01/003'
        expected = (
            rf'domain {DOMAIN}: /sessions/pilot/p01/003 \(process {os.getpid()}\); end it, or '
            'take another ROS_DOMAIN_ID'
        )
        for _ in range(3):
            with pytest.raises(SessionRunningError, match=expected):
                session_lock(DOMAIN, '', 'pilot/p02').__enter__()
        # A slash at the front makes no other namespace; another name does, and another domain.
        with (
            session_lock(DOMAIN, 'left', ''),
            pytest.raises(SessionRunningError, match='namespace /left'),
        ):
            session_lock(DOMAIN, '/left', '').__enter__()
        with session_lock(DOMAIN + 1, '', ''):
            pass
    with session_lock(DOMAIN, '', 'pilot/p02'):
        pass


def test_it_is_free_as_soon_as_a_session_has_ended():
    for _ in range(20):
        with session_lock(DOMAIN, '', 'pilot/p01'):
            pass


def test_a_session_that_was_killed_or_hangs_is_no_riddle():
    holding = (
        'import sys, time\n'
        'from reward_learning_ros.session.folder import session_lock\n'
        f'with session_lock({DOMAIN}, "", "pilot\\x1b[2J/p01"):\n'
        '    print("held", flush=True)\n'
        '    time.sleep(600)\n'
    )
    with subprocess.Popen([sys.executable, '-c', holding], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b'held\n'
            # What it says cannot play tricks on a terminal.
            with pytest.raises(SessionRunningError, match=r'pilot\[2J/p01 \(process'):
                session_lock(DOMAIN, '', '').__enter__()
            process.send_signal(signal.SIGSTOP)
            # It answers until it has stopped.
            os.waitpid(process.pid, os.WUNTRACED)
            with pytest.raises(SessionRunningError, match='does not say which'):
                session_lock(DOMAIN, '', '').__enter__()
        finally:
            process.kill()
    with session_lock(DOMAIN, '', ''):
        pass
