"""What the doctor records of an arm: one sensor, from when it has settled on."""

from __future__ import annotations

import time

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState

from reward_learning_ros.arm.description import FR3
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.sample_recording import SampleRecorder

# What each sensor says of the torques; the measured ones of plain joint states hold up the arm.
EXTERNAL_NM = 0.25
MEASURED_NM = 40.0


class Arm:
    """Publishes what an arm that stands at home would, on the topics that it is told to."""

    def __init__(self, node) -> None:
        self._node = node
        self._plain = node.create_publisher(JointState, names.JOINT_STATES_TOPIC, 10)
        self._broadcaster: list = []
        self.hides_joints = False

    def start_broadcaster(self) -> None:
        self._broadcaster = [
            self._node.create_publisher(message_type, topic, names.ROBOT_STATE_QOS)
            for message_type, topic in (
                (JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC),
                (JointState, names.MEASURED_JOINT_STATES_TOPIC),
                (PoseStamped, names.CURRENT_POSE_TOPIC),
            )
        ]

    def speak(self) -> None:
        stamp = self._node.get_clock().now().to_msg()
        joints = {'name': list(FR3.joint_names), 'position': list(FR3.home_rad)}
        measured = JointState(**joints, velocity=[0.0] * 7, effort=[MEASURED_NM] * 7)
        external = JointState(**joints, effort=[EXTERNAL_NM] * 7)
        pose = PoseStamped()
        pose.pose.orientation.w = 1.0
        told = [(measured, self._plain)]
        if self._broadcaster:
            told = list(zip((external, measured, pose), self._broadcaster, strict=True))
        for message, publisher in told:
            message.header.stamp = stamp
            if not (self.hides_joints and message is measured):
                publisher.publish(message)


@pytest.fixture
def arm(make_ros):
    return Arm(make_ros().create_node('arm'))


@pytest.fixture
def recorder(ros):
    return SampleRecorder(ros.create_node('recorder'), timeout_sec=30.0)


def settle(ros, arm, recorder, source_name):
    """Let the arm speak until the recorder records a source of this name."""

    def is_settled():
        arm.speak()
        recorder.update()
        return recorder.settled_sec is not None and source_name in recorder.source.name

    ros.wait_until(is_settled)


def test_a_better_sensor_found_later_is_recorded_alone(ros, arm, recorder):
    settle(ros, arm, recorder, names.JOINT_STATES_TOPIC)
    arm.start_broadcaster()
    settle(ros, arm, recorder, 'franka_robot_state_broadcaster')
    for _ in range(5):
        arm.speak()
        ros.wait_until(lambda: recorder.update() or True)
    block = recorder.finish()
    assert len(block) > 0
    np.testing.assert_array_equal(block.torque_nm, EXTERNAL_NM)
    assert np.isfinite(block.joint_position_rad).all()


def test_a_sensor_settles_only_with_its_joints(ros, arm, recorder):
    arm.start_broadcaster()
    arm.hides_joints = True
    heard_sec = []

    def was_heard_for_longer_than_it_takes_to_settle():
        arm.speak()
        recorder.update()
        if recorder.source is not None and recorder.missing() == ('joints',):
            heard_sec.append(time.monotonic())
        return heard_sec and heard_sec[-1] - heard_sec[0] > 2.0

    ros.wait_until(was_heard_for_longer_than_it_takes_to_settle)
    assert recorder.settled_sec is None
    arm.hides_joints = False
    settle(ros, arm, recorder, 'franka_robot_state_broadcaster')


def test_nothing_heard_is_an_empty_recording(recorder):
    assert recorder.missing() == ('torque', 'joints', 'pose')
    assert len(recorder.finish()) == 0
