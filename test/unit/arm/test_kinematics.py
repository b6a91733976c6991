"""Forward and inverse kinematics, against MuJoCo and against themselves."""

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.curve import curve
from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.kinematics import (
    GRIPPER_DOWN,
    Kinematics,
    Reason,
    UnreachablePlanError,
)
from reward_learning_ros.arm.mjcf import mjcf
from reward_learning_ros.core.errors import InvalidInputError

KINEMATICS = Kinematics()
PRESS_PLAN = np.linspace([0.35, 0.0, 0.5], [0.7, 0.3, 0.1], 8)


def random_configurations(count, seed):
    lower = [joint.lower_rad for joint in FR3.joints]
    upper = [joint.upper_rad for joint in FR3.joints]
    return np.random.default_rng(seed).uniform(lower, upper, (count, 7))


def random_trajectories(count, seed):
    """Waypoints all over the workspace, many of them out of reach."""
    rng = np.random.default_rng(seed)
    return rng.uniform([0.2, -0.6, 0.02], [0.8, 0.6, 0.7], (count, 4, 3))


@pytest.fixture(scope='module')
def mujoco_arm():
    model = mujoco.MjModel.from_xml_string(mjcf(FR3))
    return model, mujoco.MjData(model)


@pytest.mark.parametrize('configuration', random_configurations(20, seed=0))
def test_pose_and_jacobian_agree_with_mujoco(mujoco_arm, configuration):
    model, data = mujoco_arm
    data.qpos[:] = configuration
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    site = data.site(FR3.tool_frame)
    linear, angular = np.empty((3, 7)), np.empty((3, 7))
    mujoco.mj_jacSite(model, data, linear, angular, site.id)
    position, rotation = KINEMATICS.tool_poses(configuration)
    np.testing.assert_allclose(position, site.xpos, atol=1e-12)
    np.testing.assert_allclose(rotation, site.xmat.reshape(3, 3), atol=1e-12)
    np.testing.assert_allclose(
        KINEMATICS.jacobian(configuration), np.vstack([linear, angular]), atol=1e-12
    )


def test_many_poses_keep_the_shape_of_the_question():
    configurations = random_configurations(6, seed=1).reshape(2, 3, 7)
    positions, rotations = KINEMATICS.tool_poses(configurations)
    assert positions.shape == (2, 3, 3)
    assert rotations.shape == (2, 3, 3, 3)
    np.testing.assert_array_equal(positions[1, 2], KINEMATICS.tool_poses(configurations[1, 2])[0])


def test_smallest_singular_value_is_tight_where_it_matters_and_never_too_small():
    for configuration in random_configurations(300, seed=2):
        exact = np.linalg.svd(KINEMATICS.jacobian(configuration), compute_uv=False)[-1]
        estimate = KINEMATICS.smallest_singular_value(configuration)
        assert estimate >= exact * (1 - 1e-6)
        if exact < 0.03:
            assert estimate == pytest.approx(exact, rel=0.02, abs=1e-6)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_path_meets_its_waypoints_with_the_gripper_down(seed):
    trajectories = random_trajectories(15, seed)
    for trajectory in trajectories[KINEMATICS.reachable(trajectories)]:
        try:
            joints = KINEMATICS.follow(trajectory).waypoint_joints_rad
        except UnreachablePlanError:
            # The finer sampling of a plan may find what the fast check steps over: see below.
            continue
        positions, rotations = KINEMATICS.tool_poses(joints)
        np.testing.assert_allclose(positions, trajectory, atol=3e-5)
        np.testing.assert_allclose(rotations, np.tile(GRIPPER_DOWN, (4, 1, 1)), atol=2e-4)


def test_path_stays_inside_limits_and_moves_without_jumps():
    trajectories = random_trajectories(200, seed=10)
    reachable = KINEMATICS.reachable(trajectories)
    assert 0.1 < reachable.mean() < 0.9
    # The finer sampling of a plan may find a jump or a singularity that the fast check steps over.
    reasons = []
    for trajectory in trajectories[reachable]:
        try:
            path = KINEMATICS.follow(trajectory)
        except UnreachablePlanError as error:
            reasons.append(error.reason)
            continue
        assert KINEMATICS.within_joint_limits(path.joints_rad).all()
        joint_steps = np.abs(np.diff(path.joints_rad, axis=0)).max(axis=1)
        tool_steps = np.linalg.norm(np.diff(path.tool_positions_m, axis=0), axis=1)
        assert (joint_steps <= 0.05 + 12.0 * tool_steps + 1e-9).all()
    assert set(reasons) <= {Reason.JOINT_JUMP, Reason.SINGULARITY}
    assert len(reasons) <= 0.05 * reachable.sum()


def test_any_orientation_can_be_asked_for():
    tilts = np.linspace(0.0, 1.2, len(PRESS_PLAN))
    rotations = np.stack(
        [Rotation.from_euler('y', -tilt).as_matrix() @ GRIPPER_DOWN for tilt in tilts]
    )
    path = KINEMATICS.follow(PRESS_PLAN * [0.8, 1.0, 1.0] + [0.1, 0.0, 0.1], rotations=rotations)
    found = KINEMATICS.tool_poses(path.waypoint_joints_rad)[1]
    np.testing.assert_allclose(found, rotations, atol=2e-4)


def test_path_from_where_the_arm_is_begins_there():
    start = KINEMATICS.follow(PRESS_PLAN).joints_rad[0] + 0.0
    # Turn the elbow within the null space: the same tool pose in another posture.
    jacobian = KINEMATICS.jacobian(start)
    direction = np.linalg.svd(jacobian)[2][-1]
    posture = start + 0.15 * direction
    position, rotation = KINEMATICS.tool_poses(posture)
    plan = PRESS_PLAN + (position - PRESS_PLAN[0])
    path = KINEMATICS.follow(
        plan, rotations=np.stack([rotation, *[GRIPPER_DOWN] * 7]), start_joints_rad=posture
    )
    np.testing.assert_allclose(path.joints_rad[0], posture, atol=2e-3)


@pytest.mark.parametrize(
    ('target', 'reason', 'said'),
    [
        ((1.2, 0.0, 0.3), Reason.OUT_OF_REACH, 'too far'),
        ((0.3, 0.0, 1.4), Reason.OUT_OF_REACH, 'too far'),
        ((0.27, 0.0, 0.1), Reason.JOINT_JUMP, 'fr3_joint'),
        ((-0.6, 0.0, 0.3), Reason.JOINT_LIMIT, 'fr3_joint2'),
    ],
)
def test_an_unreachable_plan_names_waypoint_and_reason(target, reason, said):
    plan = np.concatenate([PRESS_PLAN[:3], np.linspace(PRESS_PLAN[2], target, 3)[1:]])
    with pytest.raises(UnreachablePlanError, match=said) as caught:
        KINEMATICS.follow(plan)
    assert caught.value.reason is reason
    assert caught.value.waypoint in (3, 4)
    assert f'waypoint {caught.value.waypoint}' in str(caught.value)
    if reason in (Reason.JOINT_LIMIT, Reason.JOINT_JUMP):
        assert caught.value.joint in FR3.joint_names


def test_a_singular_pose_is_refused():
    strict = Kinematics(singularity_margin=0.19)
    with pytest.raises(UnreachablePlanError, match='singular') as caught:
        strict.follow(PRESS_PLAN)
    assert caught.value.reason is Reason.SINGULARITY
    assert caught.value.joint is None


def test_reachability_of_a_trajectory_does_not_depend_on_its_company():
    trajectories = random_trajectories(60, seed=11)
    together = KINEMATICS.reachable(trajectories)
    alone = [KINEMATICS.reachable(trajectory[None])[0] for trajectory in trajectories]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[::-1], KINEMATICS.reachable(trajectories[::-1]))


def test_joints_of_many_trajectories_are_those_of_each_and_bring_the_tool_there():
    trajectories = random_trajectories(20, seed=12)
    parameter, joints, reachable = KINEMATICS.follow_many(trajectories)
    np.testing.assert_array_equal(reachable, KINEMATICS.reachable(trajectories))
    assert reachable.any()
    positions = KINEMATICS.tool_poses(joints[reachable])[0]
    expected = curve(trajectories[reachable], parameter).value
    np.testing.assert_allclose(positions, expected, atol=3e-5)
    for index in np.flatnonzero(reachable):
        single = KINEMATICS.follow_many(trajectories[index : index + 1])[1][0]
        np.testing.assert_array_equal(joints[index], single)


@pytest.mark.parametrize(
    ('arguments', 'named'),
    [
        ({'positions_m': PRESS_PLAN[:, :2]}, 'positions_m'),
        ({'positions_m': PRESS_PLAN, 'rotations': np.eye(3) * 2.0}, 'no rotation'),
        ({'positions_m': PRESS_PLAN, 'rotations': np.stack([np.eye(3)] * 3)}, '3 rotations'),
        ({'positions_m': PRESS_PLAN, 'start_joints_rad': np.zeros(6)}, 'joints have shape'),
        ({'positions_m': PRESS_PLAN, 'start_joints_rad': [np.nan] * 7}, 'not finite'),
    ],
)
def test_bad_input_is_refused(arguments, named):
    with pytest.raises(InvalidInputError, match=named):
        KINEMATICS.follow(**arguments)
