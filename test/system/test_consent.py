"""The arm of a running session moves only by consent: judged by its measured joint velocities."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.domains import claimed_domain
from helpers.sessions import DEADLINE_SEC, OperatedSession
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool

from reward_learning_ros.interface import SessionState
from reward_learning_ros.nodes import arm_names, names

# The noise of measured velocities is 0.001 rad/s; the slowest motion is far above this.
MOVING_RAD_S = 0.02
# Every fifth state is enough to judge motions by, and leaves the machine time for the rest.
SLOWER_STATE = '/simulated_arm:\n  ros__parameters: {convenience_publish_rate: 200}\n'
# Longer than anything in a session is remembered or repeated.
WATCHED_NS = 6_000_000_000


class WatchedSession(OperatedSession):
    """A session whose joint velocities are measured."""

    def __init__(self, domain_id, folder):
        super().__init__(domain_id, folder)
        self.speeds = []
        self.operator.create_subscription(
            JointState,
            names.MEASURED_JOINT_STATES_TOPIC,
            self._on_measured,
            names.ROBOT_STATE_QOS,
        )
        self._stop = self.operator.create_client(SetBool, arm_names.USER_STOP_SERVICE)

    def _on_measured(self, message):
        stamp = message.header.stamp
        time_ns = stamp.sec * 10**9 + stamp.nanosec
        self.speeds.append((time_ns, float(np.abs(message.velocity).max())))

    def set_stop(self, is_pressed):
        response = self.ros.call(self._stop, SetBool.Request(data=is_pressed), DEADLINE_SEC)
        assert response.success

    def await_state(self, state):
        self.wait_until(lambda: self.session is not None and self.session.state is state)

    @property
    def is_in_motion(self):
        return bool(self.speeds) and self.speeds[-1][1] > MOVING_RAD_S

    def await_motion(self):
        self.wait_until(lambda: self.is_in_motion)

    def await_rest(self):
        self.wait_until(lambda: len(self.speeds) > 50)
        self.wait_until(lambda: max(speed for _, speed in self.speeds[-50:]) < MOVING_RAD_S)

    def assert_rests(self):
        """Watch the arm for a while."""
        self.speeds.clear()
        self.wait_until(
            lambda: self.speeds and self.speeds[-1][0] - self.speeds[0][0] > WATCHED_NS
        )
        assert max(speed for _, speed in self.speeds) < MOVING_RAD_S


@pytest.fixture
def session(tmp_path):
    with claimed_domain() as domain_id:
        session = WatchedSession(domain_id, tmp_path)
        yield session
        session.close()


@pytest.mark.timeout(600)
def test_an_emergency_stop_takes_every_consent_away(session):
    (session.folder / 'slower.yaml').write_text(SLOWER_STATE)
    options = ('--realtime', '--consent', 'every_pass', '--seed', '1')
    session.start(*options, '--parameters-file', 'slower.yaml')
    session.set_stop(True)
    session.await_state(SessionState.WAITING)
    session.wait_until(lambda: 'user stop' in session.session.reason)
    refused = session.call(names.SESSION_BEGIN_SERVICE)
    assert not refused.success
    assert 'user stop' in refused.message
    session.set_stop(False)
    session.await_state(SessionState.READY)
    session.assert_rests()

    begun = session.call(names.SESSION_BEGIN_SERVICE)
    assert begun.success, begun.message
    session.await_motion()
    session.set_stop(True)
    session.await_state(SessionState.HOLDING)
    session.await_rest()
    refused = session.call(names.SESSION_CONTINUE_SERVICE)
    assert not refused.success
    assert 'user stop' in refused.message
    session.set_stop(False)
    session.assert_rests()

    session.wait_until(lambda: session.playback.not_ready == '')
    resumed = session.call(names.SESSION_CONTINUE_SERVICE)
    assert resumed.success, resumed.message
    session.await_motion()
    assert session.call(names.SESSION_FINISH_SERVICE).success
    assert session.wait() == 0, '\n'.join(session.lines)
