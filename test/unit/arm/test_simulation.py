"""The simulated arm gives way, feels, errs and stops as a real one does."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.chain import LinkFrames
from reward_learning_ros.arm.description import RobotMode
from reward_learning_ros.arm.franka import (
    COMPLIANT,
    FRANKA_DAMPING_NM_S,
    FRANKA_STIFFNESS_NM,
)
from reward_learning_ros.arm.simulated_controller import TrajectoryRefusedError
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.core.errors import RewardLearningError, UnknownNameError
from reward_learning_ros.interface import JointTrajectory
from reward_learning_ros.parameters import ParameterError

# The directions along the axes, and one askew.
DIRECTIONS = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (1, 1, -1)]
EXACT = {'torque_noise_nm': 0.0, 'torque_bias_nm': 0.0, 'position_noise_rad': 0.0}


def run(arm: SimulatedArm, seconds: float, wrench=None) -> None:
    for _ in range(round(seconds * 1000)):
        if wrench is not None:
            arm.push(wrench)
        arm.step()


def go_to(arm: SimulatedArm, joints, seconds: float = 1.0) -> None:
    zeros = np.zeros((1, 7))
    arm.command(
        JointTrajectory(
            joint_names=arm.kinematics.description.joint_names,
            positions=[joints],
            times_sec=[seconds],
            velocities=zeros,
            accelerations=zeros,
        )
    )
    run(arm, seconds + 1.0)


def force_of(direction, size: float) -> np.ndarray:
    force = size * np.array(direction) / np.linalg.norm(direction)
    return np.concatenate([force, np.zeros(3)])


def test_left_alone_it_stays():
    arm = SimulatedArm()
    start = arm.joints_rad
    run(arm, 1.0)
    np.testing.assert_allclose(arm.joints_rad, start, atol=1e-6)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_twenty_newtons_displace_the_tool_by_centimetres(direction):
    arm = SimulatedArm()
    start = arm.tool_position_m()
    run(arm, 1.5, force_of(direction, 20.0))
    moved = arm.tool_position_m() - start
    assert 0.03 < np.linalg.norm(moved) < 0.15
    assert moved @ force_of(direction, 1.0)[:3] > 0.03


def test_with_frankas_gains_it_hardly_gives_way():
    stiff = SimulationParameters(
        stiffness_nm=FRANKA_STIFFNESS_NM, damping_nm_s=FRANKA_DAMPING_NM_S
    )
    arm = SimulatedArm(stiff)
    start = arm.tool_position_m()
    run(arm, 1.0, force_of((0, 1, 0), 20.0))
    assert np.linalg.norm(arm.tool_position_m() - start) < 0.02


@pytest.mark.parametrize('direction', DIRECTIONS[:4])
def test_the_displacement_is_what_the_stiffness_predicts(direction):
    arm = SimulatedArm()
    start = arm.tool_position_m()
    predicted = COMPLIANT.displacement_m(
        arm.kinematics.jacobian(arm.joints_rad), force_of(direction, 4.0)[:3]
    )
    run(arm, 2.0, force_of(direction, 4.0))
    np.testing.assert_allclose(arm.tool_position_m() - start, predicted, atol=0.0015)


@pytest.mark.parametrize('sign', [-1, 1])
def test_the_external_torque_is_the_jacobian_times_the_force(sign):
    rng = np.random.default_rng(7 + sign)
    noise_nm = 0.05
    arm = SimulatedArm(
        SimulationParameters(torque_bias_nm=0.0, torque_noise_nm=noise_nm, external_sign=sign)
    )
    for _ in range(3):
        wrench = np.concatenate([rng.uniform(-15, 15, 3), rng.uniform(-1, 1, 3)])
        run(arm, 1.0, wrench)
        told = np.mean([arm.observe()[kernels.EXTERNAL_TORQUE].copy() for _ in range(100)], axis=0)
        expected = sign * arm.kinematics.jacobian(arm.joints_rad).T @ wrench
        np.testing.assert_allclose(told, expected, atol=5 * noise_nm / 10 + 0.02)


def test_the_wrench_is_the_force_with_the_sign_of_libfranka():
    arm = SimulatedArm(SimulationParameters(**EXACT))
    wrench = np.array([5.0, -8.0, 10.0, 0.5, -0.3, 0.2])
    run(arm, 1.5, wrench)
    told = arm.observe()
    np.testing.assert_allclose(told[kernels.WRENCH_IN_BASE], -wrench, atol=0.02)
    _, rotation = arm.kinematics.tool_poses(arm.joints_rad)
    turned = np.concatenate([rotation.T @ wrench[:3], rotation.T @ wrench[3:]])
    np.testing.assert_allclose(told[kernels.WRENCH_IN_STIFFNESS], -turned, atol=0.02)


@pytest.mark.parametrize('frame', ['fr3_link2', 'fr3_link4', 'fr3_link7', 'fr3_hand_tcp'])
def test_a_push_on_a_link_does_the_work_that_moving_its_frame_does(frame):
    arm = SimulatedArm(SimulationParameters(**EXACT, torque_filter_sec=0.0))
    go_to(arm, [0.3, -0.6, 0.2, -1.9, 0.1, 1.5, 0.8])
    frames = LinkFrames(arm.kinematics.description)
    wrench = np.array([3.0, -2.0, 4.0, 0.2, 0.1, -0.3])
    joints = arm.joints_rad
    arm.push(wrench, frame=frame)
    arm.step()
    pose = frames.poses(joints)[frame]
    rotation = pose[:3, :3]
    # Virtual work: how a small turn of each joint moves and turns the frame.
    expected = []
    for step in 1e-6 * np.eye(7):
        moved = frames.poses(joints + step)[frame]
        shift = (moved[:3, 3] - pose[:3, 3]) / 1e-6
        spin = (moved[:3, :3] @ rotation.T - np.eye(3)) / 1e-6
        turn = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        expected.append(rotation @ wrench[:3] @ shift + rotation @ wrench[3:] @ turn)
    np.testing.assert_allclose(arm.external_torque_nm, expected, atol=1e-3)


def test_a_push_on_a_link_ends_when_it_is_not_renewed():
    arm = SimulatedArm(SimulationParameters(**EXACT))
    arm.push([0.0, 10.0, 0.0, 0.0, 0.0, 0.0], frame='fr3_link4')
    run(arm, 0.05)
    assert np.abs(arm.external_torque_nm).max() > 1.0
    run(arm, 0.2)
    assert np.abs(arm.external_torque_nm).max() < 1e-3


def test_a_push_in_no_frame_of_the_arm_is_refused():
    with pytest.raises(UnknownNameError, match='fr3_link4'):
        SimulatedArm().push(np.ones(6), frame='world')


def test_the_frames_of_the_links_lead_to_the_tool():
    arm = SimulatedArm()
    joints = [0.3, -0.6, 0.2, -1.9, 0.1, 1.5, 0.8]
    pose = LinkFrames(arm.kinematics.description).poses(joints)['fr3_hand_tcp']
    position, rotation = arm.kinematics.tool_poses(joints)
    np.testing.assert_allclose(pose[:3, 3], position, atol=1e-12)
    np.testing.assert_allclose(pose[:3, :3], rotation, atol=1e-12)


def test_near_a_singularity_the_wrench_is_zero_and_the_torque_is_not():
    arm = SimulatedArm()
    # Wrist straight: axes 5 and 7 in line.
    go_to(arm, [0.0, -0.6, 0.0, -1.2, 0.0, 0.58, 0.8], 2.0)
    near = [0.0, 0.3, 0.0, -0.17, 0.0, 1.8, 0.8]
    go_to(arm, near, 3.0)
    assert arm.kinematics.smallest_singular_value(arm.joints_rad) < 0.05
    run(arm, 0.2, force_of((0, 1, 0), 10.0))
    told = arm.observe()
    assert not told[kernels.WRENCH_IN_BASE].any()
    assert np.abs(told[kernels.EXTERNAL_TORQUE]).max() > 1.0


def test_the_poses_are_those_of_the_joints():
    arm = SimulatedArm(SimulationParameters(**EXACT))
    go_to(arm, np.array(arm.kinematics.description.home_rad) + 0.2)
    told = arm.observe()
    position, rotation = arm.kinematics.tool_poses(told[:7])
    np.testing.assert_allclose(told[kernels.POSE][:3], position, atol=1e-12)
    x, y, z, w = told[kernels.POSE][3:]
    assert np.linalg.norm([x, y, z, w]) == pytest.approx(1.0)
    first_column = [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)]
    np.testing.assert_allclose(first_column, rotation[:, 0], atol=1e-9)


def test_a_push_that_is_not_renewed_is_over():
    arm = SimulatedArm(SimulationParameters(push_timeout_sec=0.05))
    arm.push(force_of((0, 1, 0), 20.0))
    run(arm, 0.04)
    assert np.abs(arm.external_torque_nm).max() > 1.0
    run(arm, 0.2)
    assert np.abs(arm.external_torque_nm).max() < 1e-3


@pytest.mark.parametrize('wrench', [[np.nan] * 6, [1.0] * 3, [np.inf, 0, 0, 0, 0, 0]])
def test_a_push_that_is_none_is_refused(wrench):
    with pytest.raises(RewardLearningError, match='6 finite values'):
        SimulatedArm().push(wrench)


def test_too_hard_a_push_stops_it_in_a_reflex_until_recovery():
    arm = SimulatedArm()
    run(arm, 0.5, force_of((0, 0, -1), 90.0))
    assert arm.mode is RobotMode.REFLEX
    assert arm.mode_reason
    held = arm.set_point[0].copy()
    with pytest.raises(TrajectoryRefusedError, match='reflex'):
        go_to(arm, held + 0.1)
    run(arm, 1.0)
    np.testing.assert_array_equal(arm.set_point[0], held)
    arm.recover()
    assert arm.mode is RobotMode.MOVE
    go_to(arm, held)
    np.testing.assert_allclose(arm.joints_rad, held, atol=0.01)


def test_a_reflex_ends_a_motion():
    arm = SimulatedArm()
    target = arm.joints_rad + np.array([0.8, 0, 0, 0, 0, 0, 0])
    arm.command(
        JointTrajectory(
            joint_names=arm.kinematics.description.joint_names,
            positions=[target],
            times_sec=[4.0],
            velocities=np.zeros((1, 7)),
        )
    )
    run(arm, 1.0)
    arm.push(force_of((0, 0, -1), 90.0))
    run(arm, 4.0)
    assert arm.mode is RobotMode.REFLEX
    assert np.abs(arm.joint_speeds_rad_s).max() < 1e-3
    assert arm.joints_rad[0] < 0.5


def test_the_user_stop_forbids_recovery_until_released():
    arm = SimulatedArm()
    arm.set_user_stop(True)
    run(arm, 0.1)
    with pytest.raises(RewardLearningError, match='user stop'):
        arm.recover()
    arm.set_user_stop(False)
    assert arm.mode is RobotMode.MOVE


def test_beyond_its_tolerance_the_controller_holds_where_the_arm_is():
    arm = SimulatedArm(SimulationParameters(path_tolerance_rad=0.05))
    run(arm, 1.0, force_of((0, 1, 0), 20.0))
    assert np.abs(arm.set_point[0] - arm.kinematics.description.home_rad).max() > 0.03


def test_it_feels_the_button_that_it_presses():
    arm = SimulatedArm(SimulationParameters(scene='press', torque_bias_nm=0.0))
    above = arm.kinematics.follow(
        [[0.4, 0.0, 0.45], [0.6, -0.1, 0.2]], start_joints_rad=arm.joints_rad
    ).joints_rad[-1]
    go_to(arm, above, 2.0)
    pressed = arm.kinematics.follow(
        [[0.6, -0.1, 0.2], [0.6, -0.1, 0.1]], start_joints_rad=above
    ).joints_rad[-1]
    assert not arm.external_torque_nm.any()
    go_to(arm, pressed, 2.0)
    assert arm.object_position('button') > 0.005
    # The button pushes back, upwards: told with libfranka's sign, the arm pushes down.
    force = np.mean([arm.observe()[kernels.WRENCH_IN_BASE].copy() for _ in range(50)], axis=0)
    assert force[2] < -5.0


def test_the_same_seed_is_the_same_arm_and_another_one_another():
    def told(seed: int) -> np.ndarray:
        arm = SimulatedArm(SimulationParameters(seed=seed, scene='push'))
        rows = []
        for index in range(300):
            arm.push(force_of((0, 1, 0), 0.05 * index))
            arm.step()
            rows.append(arm.observe().copy())
        return np.array(rows)

    np.testing.assert_array_equal(told(1), told(1))
    assert np.abs(told(1) - told(2)).max() > 0.1


def test_the_bias_depends_on_the_pose_and_not_on_time():
    arm = SimulatedArm(SimulationParameters(torque_noise_nm=0.0, torque_bias_nm=2.0))
    at_home = arm.observe()[kernels.EXTERNAL_TORQUE].copy()
    run(arm, 1.0)
    np.testing.assert_allclose(arm.observe()[kernels.EXTERNAL_TORQUE], at_home, atol=1e-3)
    go_to(arm, np.array(arm.kinematics.description.home_rad) + 0.5, 2.0)
    elsewhere = arm.observe()[kernels.EXTERNAL_TORQUE]
    assert np.abs(elsewhere - at_home).max() > 0.2
    assert np.abs(elsewhere).max() <= 2.0


@pytest.mark.parametrize('name', ['stiffness_nm', 'damping_nm_s', 'reflex_torque_nm'])
def test_one_number_for_each_joint_is_required(name):
    with pytest.raises(ParameterError, match=name):
        SimulationParameters(**{name: (1.0, 2.0)})


def test_a_stop_that_is_pressed_and_released_does_not_end_a_reflex():
    arm = SimulatedArm()
    arm.push([0.0, 0.0, -90.0, 0.0, 0.0, 0.0])
    for _ in range(50):
        arm.step()
    assert arm.mode is RobotMode.REFLEX
    reason = arm.mode_reason
    arm.set_user_stop(True)
    assert arm.mode is RobotMode.USER_STOPPED
    arm.set_user_stop(False)
    assert (arm.mode, arm.mode_reason) == (RobotMode.REFLEX, reason)
    arm.recover()
    assert arm.mode is RobotMode.MOVE
    arm.set_user_stop(True)
    arm.set_user_stop(False)
    assert arm.mode is RobotMode.MOVE
