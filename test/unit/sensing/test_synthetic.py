"""The synthetic arm is the arm."""

import numpy as np
from helpers.sensing_scenarios import recording

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.sensing.synthetic import Push


def test_jacobians_at_once_are_those_of_one_posture_after_the_other():
    kinematics = Kinematics()
    joints = recording(0.5).joints[::50, :7]
    one_by_one = np.array([kinematics.jacobian(posture) for posture in joints])
    np.testing.assert_array_equal(kinematics.jacobians(joints), one_by_one)
    assert kinematics.jacobians(joints[:0]).shape == (0, 6, 7)


def test_a_push_is_felt_in_the_joints_as_the_jacobian_says():
    force = np.array([3.0, -12.0, 5.0])
    push = Push(start_sec=0.2, duration_sec=0.8, force_n=tuple(force), rise_sec=0.1)
    # The same noise, and bias of the same joints but for where the push moves them.
    pushed, quiet = recording(1.0, push, seed=2), recording(1.0, seed=2)
    row = 600
    felt = pushed.torque_nm[row] - quiet.torque_nm[row]
    lever = Kinematics().jacobian(pushed.joints[row, :7])[:3]
    np.testing.assert_allclose(felt, -lever.T @ force, atol=0.3)
