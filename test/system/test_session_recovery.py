"""A session whose nodes are killed one by one, which is interrupted, and which goes on."""

from __future__ import annotations

import json
import os
import signal

import pytest
from helpers.domains import claimed_domain
from helpers.sessions import OperatedSession

from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.nodes import names
from reward_learning_ros.recording.session_records import read_session
from reward_learning_ros.session.folder import SessionFolder

NODES = (
    'session_recorder',
    'correction_recorder',
    'simulated_participant',
    'session_conductor',
    'simulated_arm',
    'reward_inference',
    'trajectory_playback',
)
# It ends only when it is told to. Every fifth state leaves the machine time for the rest.
ENDLESS = """\
/session_conductor:
  ros__parameters: {quiet_pass_accepts: false, max_passes: 1000, max_corrections: 0}
/simulated_arm:
  ros__parameters: {convenience_publish_rate: 200}
"""
# A pass long enough to notice in its middle that somebody is missing.
OPTIONS = ('--speed', '1', '--parameters-file', 'endless.yaml')


@pytest.fixture
def session(tmp_path):
    (tmp_path / 'endless.yaml').write_text(ENDLESS)
    with claimed_domain() as domain_id:
        session = OperatedSession(domain_id, tmp_path)
        yield session
        session.close()


def is_in_mid_motion(session) -> bool:
    """Whether more is left of the plan than the arm moves on after a death: 6 of its 20 s."""
    return session.is_playing and session.is_moving and session.playback.progress < 0.7


def kill(session, node: str) -> None:
    """Kill a node in mid-motion and see the arm hold, the others stay, and the session go on."""
    session.wait_until(lambda: is_in_mid_motion(session))
    before = {name: session.pid_of(name) for name in NODES}
    passes = session.session.passes
    os.kill(before[node], signal.SIGKILL)
    if node == 'simulated_arm':
        # With it went the arm; what comes instead stands still until playback moves it.
        session.wait_until(lambda: session.playback.state is PlaybackState.FAULT)
    else:
        session.wait_until(lambda: not session.is_moving)
    session.wait_until(lambda: session.pid_of(node) not in (None, before[node]))
    session.wait_until(lambda: any(f'{node} was killed by SIGKILL' in x for x in session.lines))
    stayed = {name: session.pid_of(name) for name in NODES if name != node}
    assert stayed == {name: pid for name, pid in before.items() if name != node}
    assert read_session(bag_of(session), namespace='').plans
    session.wait_until(lambda: session.is_playing and session.is_moving)
    assert session.session.passes >= passes
    if node == 'session_recorder':
        # On a busy machine it hears the others seconds after they hear it. What happened meanwhile
        # is told by what playback says then, unless the next one is killed before.
        session.wait_until(lambda: is_hold_recorded(session, node))


def is_hold_recorded(session, node: str) -> bool:
    heard = read_session(bag_of(session), namespace='').playback
    return any(node in status.record.last_fault for status in heard)


def bag_of(session):
    return folder_of(session).bag


def folder_of(session) -> SessionFolder:
    return SessionFolder(path=session.folder / 'sessions' / 'demo' / 'p01' / '001')


@pytest.mark.timeout(1200)
def test_killed_nodes_come_back_and_an_interrupted_session_goes_on(session):
    session.start(*OPTIONS)
    for node in NODES:
        kill(session, node)

    session.process.send_signal(signal.SIGINT)
    assert session.wait() == 130
    session.await_no_processes()
    folder = folder_of(session)
    assert not folder.is_complete
    corrections = {
        heard.record.plan_stamp_ns for heard in read_session(folder.bag, namespace='').corrections
    }
    pushes = sum(told.pushes for told in read_session(folder.bag, namespace='').active_corrections)
    passes = session.session.passes

    session.session = session.playback = None
    session.start('--resume', str(folder.path))
    session.wait_until(lambda: session.is_playing and session.is_moving)
    assert session.session.passes >= passes
    assert session.session.corrections >= pushes
    assert session.call(names.SESSION_FINISH_SERVICE).success
    assert session.wait() == 0, '\n'.join(session.lines)
    summary = json.loads(folder.summary.read_text())
    assert summary['end'] == 'finished'
    recorded = {
        heard.record.plan_stamp_ns for heard in read_session(folder.bag, namespace='').corrections
    }
    assert corrections <= recorded
    assert summary['agrees_with_live'] in (True, None)
    assert any('not heard from: session_recorder' in fault for fault in summary['faults'])

    # Cut off between its end and its report, it needs the report and nothing else.
    folder.summary.unlink()
    session.start('--resume', str(folder.path))
    assert session.wait() == 0, '\n'.join(session.lines)
    assert json.loads(folder.summary.read_text()) == summary
