"""A session as in the paper's study, by joystick: one pass, then learning, until accepted."""

from __future__ import annotations

import json

import pytest
from helpers.domains import claimed_domain
from helpers.sessions import OperatedSession
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Joy

from reward_learning_ros.nodes import names
from reward_learning_ros.parameters.shared import JOY
from reward_learning_ros.recording.session_records import read_session
from reward_learning_ros.sensing.teleoperation import TeleoperationParameters
from reward_learning_ros.session.folder import SessionFolder

pytestmark = pytest.mark.timeout(600)

# Away from the person, with the deadman held.
PUSHED = Joy(axes=[0.0, 1.0, 0.0, 0.0, 0.0], buttons=[0, 0, 0, 0, 1])
RELEASED = Joy(axes=[0.0] * 5, buttons=[0] * 5)
# Seconds of the plan during which it is pushed.
PUSHES = ((1.0, 2.5), (4.0, 5.5))
FULL_SPEED_M_S = TeleoperationParameters().axis_speeds_m_s[0]
# What comes late on a busy machine is no lost device, and every fifth state leaves it more time.
PATIENT = """\
/correction_recorder:
  ros__parameters: {device_timeout_sec: 5.0}
/simulated_arm:
  ros__parameters: {convenience_publish_rate: 200}
"""


@pytest.fixture
def session(tmp_path):
    with claimed_domain() as domain_id:
        session = OperatedSession(domain_id, tmp_path)
        yield session
        session.close()


def test_what_a_person_teleoperates_in_a_pass_is_learned_after_it_and_accepted(session, tmp_path):
    stick = session.operator.create_publisher(Joy, names.JOY_TOPIC, qos_profile_sensor_data)
    (tmp_path / 'patient.yaml').write_text(PATIENT)
    session.start(
        # As fast as a person: a push is over when the stick is let go, and must not be missed.
        *('--no-realtime', '--speed', '1'),
        *('--participant-model', 'human', '--correction-source', JOY),
        *('--parameters-file', str(tmp_path / 'patient.yaml')),
    )
    session.wait_until(lambda: session.is_playing)

    def first_pass_is_over():
        is_pushed = session.is_playing and any(
            begin <= session.playback.plan_time_sec < end for begin, end in PUSHES
        )
        stick.publish(PUSHED if is_pushed else RELEASED)
        return session.session.passes == 2 and session.is_playing

    session.wait_until(first_pass_is_over)
    assert session.session.corrections == len(PUSHES)
    assert session.call(names.SESSION_ACCEPT_SERVICE).success
    assert session.wait() == 0, '\n'.join(session.lines)

    folder = SessionFolder(path=tmp_path / 'sessions' / 'demo' / 'p01' / '001')
    summary = json.loads(folder.summary.read_text())
    assert (summary['end'], summary['corrections']) == ('accepted', len(PUSHES))
    assert summary['agrees_with_live'] is True
    recording = read_session(folder.bag, namespace='')
    told = recording.latest_corrections[0]
    # Both are of the one plan that was shown in the pass, and each as far as it was held.
    assert told.plan_stamp_ns == recording.plans[0].record.stamp_ns
    contacts = [heard.record for heard in recording.contacts]
    assert len(contacts) == told.pushes == len(PUSHES)
    for delta, contact in zip(told.delta_positions[told.is_push], contacts, strict=True):
        assert delta[0] > 0.03
        assert delta[0] == pytest.approx(FULL_SPEED_M_S * contact.duration_sec, rel=0.1)
        assert not delta[1:].any()
