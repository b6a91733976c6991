"""The simulated arm's robot_state, serialized by a library that knows franka_msgs."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.random_messages import RandomMessages

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.nodes.franka_robot_state import RobotStateMessage
from reward_learning_ros.sensing.decoding import FrankaStateDecoder


@pytest.fixture
def messages():
    return RandomMessages(np.random.default_rng(0))


def test_what_the_arm_says_stands_in_the_message(messages):
    arm = SimulatedArm(start_ns=10**9)
    names = arm.kinematics.description.joint_names
    template = messages.franka_state(names)
    packed = RobotStateMessage(template, arm, messages.serialize, as_field=lambda numbers: numbers)
    decoder = FrankaStateDecoder()
    for _ in range(3):
        for _ in range(50):
            arm.push([5.0, 10.0, 0.0, 0.0, 0.0, 0.0])
            arm.step()
        told = arm.observe()
        record = decoder.decode(packed.stamped(arm.time_ns))
        assert record.time_ns == arm.time_ns
        assert record.robot_mode == arm.mode
        np.testing.assert_array_equal(record.joint_position, told[:7])
        np.testing.assert_array_equal(record.joint_velocity, told[7:14])
        np.testing.assert_array_equal(record.external_torque, told[kernels.EXTERNAL_TORQUE])
        np.testing.assert_array_equal(record.wrench, told[kernels.WRENCH_IN_BASE])
        np.testing.assert_array_equal(record.pose, told[kernels.POSE])
        np.testing.assert_array_equal(record.desired_pose, told[kernels.DESIRED_POSE])


def test_a_reflex_is_told_by_its_mode(messages):
    arm = SimulatedArm(start_ns=10**9)
    template = messages.franka_state(arm.kinematics.description.joint_names)
    packed = RobotStateMessage(template, arm, messages.serialize, as_field=lambda numbers: numbers)
    arm.set_user_stop(True)
    assert FrankaStateDecoder().decode(packed.stamped(arm.time_ns)).robot_mode == 5
