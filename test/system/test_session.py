"""A whole session with everything simulated: from the first pass to the report."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from helpers.domains import claimed_domain
from helpers.ros import PrivateRos
from helpers.sessions import DEADLINE_SEC, OperatedSession
from rosbags.highlevel import AnyReader
from std_msgs.msg import Float64MultiArray

from reward_learning_ros.interface import ThetaSummary, theta_from_message
from reward_learning_ros.nodes import names
from reward_learning_ros.recording.session_records import read_session
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.outcome import conclude
from reward_learning_ros.session.replay import ReplayParameters, describe_replay
from reward_learning_ros.session.supervisor import Supervisor

# The first test runs the session, the last one plays it again.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> SessionFolder:
    """The folder of a session that came to its end."""
    base = tmp_path_factory.mktemp('session')
    with claimed_domain() as domain_id:
        session = OperatedSession(domain_id, base)
        try:
            # As `make session` runs it.
            session.start('--study', 'tested')
            assert session.wait() == 0, '\n'.join(session.lines)
            session.await_no_processes()
        finally:
            session.close()
    return SessionFolder(path=base / 'sessions' / 'tested' / 'p01' / '001')


@pytest.fixture(scope='module')
def summary(folder) -> dict:
    return json.loads(folder.summary.read_text())


def test_the_arm_learns_what_the_participant_wants(summary):
    assert summary['end'] in ('accepted', 'max_passes')
    assert 1 <= summary['passes'] <= 3
    assert summary['corrections'] >= 5
    # Not only better than the first plan, but than what nobody asked would come to.
    assert summary['error'] <= 0.6 * summary['unasked_error']
    assert summary['regret'] <= 0.4 * summary['unasked_regret']


def test_no_limit_is_touched(summary):
    # On a busy machine playback may hold because somebody was late, which touches no limit.
    late = re.compile(
        'asleep|s old|not heard from|the clock jumped|ahead of the stamps|planning takes longer'
    )
    assert [fault for fault in summary['faults'] if not late.search(fault)] == []


def test_no_correction_is_found_that_nobody_made(summary):
    assert summary['corrections'] >= 1
    assert summary['corrections_without_push'] == 0


def test_what_was_published_live_is_what_the_recording_gives(summary, folder):
    assert summary['agrees_with_live'] is True
    recording = read_session(folder.bag, namespace='')
    theta = recording.thetas[-1].record
    assert [summary['theta'][name]['mean'] for name in theta.features] == theta.mean.tolist()


def test_what_was_believed_live_is_near_what_was_kept_and_never_taken_for_it(summary, folder):
    recording = read_session(folder.bag, namespace='')
    kept = [each.record.table.tobytes() for each in recording.thetas]
    live = [each.record.theta.table.tobytes() for each in recording.live_thetas]
    assert kept
    assert not set(live) & set(kept)
    # Whether tables were ready in time is not asked: the session runs four times as fast as it
    # would with a person, perhaps on a busy machine.
    assert sum(each['live_updates'] for each in summary['by_pass']) <= len(live)
    for each in summary['by_pass']:
        assert (each['live_theta'] != {}) == (each['live_updates'] > 0)
        assert each['live_distance'] is None or 0.0 < each['live_distance'] < 0.2


def test_the_recording_opens_in_another_reader(folder, summary):
    with AnyReader([folder.bag]) as reader:
        counts = {name: topic.msgcount for name, topic in reader.topics.items()}
        read = set()
        for connection, _, data in reader.messages():
            if connection.topic not in read:
                reader.deserialize(data, connection.msgtype)
                read.add(connection.topic)
    assert read == {name for name, count in counts.items() if count}
    assert counts['/corrections'] >= summary['corrections']
    assert counts['/plan'] >= 2
    assert counts['/franka_robot_state_broadcaster/external_joint_torques'] > 1000


def test_the_posterior_opens_in_arviz(folder, summary):
    import arviz

    theta = arviz.from_netcdf(str(folder.posterior)).posterior['theta']
    means = theta.mean(('chain', 'draw'))
    for name, weight in summary['theta'].items():
        assert float(means.sel(feature=name)) == pytest.approx(weight['mean'], abs=1e-12)


def test_the_report_is_one_page_by_itself(folder):
    page = folder.report.read_text()
    assert page.startswith('<!DOCTYPE html>')
    assert 'src="http' not in page
    assert 'tested' in page


def test_concluding_again_gives_the_same(folder, summary):
    assert conclude(folder) == summary


def test_replayed_it_is_learned_again_to_the_last_bit(folder, monkeypatch, tmp_path):
    recorded = read_session(folder.bag, namespace='').thetas[-1].record
    config = ReplayParameters(folder=str(folder.path), rate=0.0)
    heard = []
    with claimed_domain() as domain_id:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain_id))
        ros = PrivateRos(domain_id)
        ros.create_node('listener', namespace=config.namespace).create_subscription(
            Float64MultiArray, names.THETA_TOPIC, heard.append, names.LATCHED_QOS
        )

        def is_learned() -> bool:
            thetas = [theta_from_message(message) for message in heard]
            kept = [theta for theta in thetas if isinstance(theta, ThetaSummary)]
            return any(np.array_equal(theta.table, recorded.table) for theta in kept)

        with Supervisor(describe_replay(config), SessionFolder(path=tmp_path), print):
            ros.wait_until(is_learned, DEADLINE_SEC)
        ros.close()
