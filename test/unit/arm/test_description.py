"""The one description of the FR3, as MuJoCo and Pinocchio understand it."""

import dataclasses
import math

import mujoco
import numpy as np
import pinocchio
import pytest
from helpers.urdf import urdf

from reward_learning_ros.arm.description import FR3, ArmDescription, Inertial, franka_arm
from reward_learning_ros.arm.mjcf import mjcf, torque_actuators
from reward_learning_ros.core.errors import InvalidInputError

# a, d, alpha of Craig's modified Denavit-Hartenberg convention, as Franka publishes them.
DENAVIT_HARTENBERG = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -math.pi / 2),
    (0.0, 0.316, math.pi / 2),
    (0.0825, 0.0, math.pi / 2),
    (-0.0825, 0.384, -math.pi / 2),
    (0.0, 0.0, math.pi / 2),
    (0.088, 0.0, math.pi / 2),
)
FLANGE_M = 0.107
TOOL_M = 0.1034


def denavit_hartenberg_tool_in_base(joints_rad):
    transform = np.eye(4)
    rows = [(*row, angle) for row, angle in zip(DENAVIT_HARTENBERG, joints_rad, strict=True)]
    for a, d, alpha, theta in [*rows, (0.0, FLANGE_M + TOOL_M, 0.0, -math.pi / 4)]:
        ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        transform = transform @ np.array(
            [
                [ct, -st, 0.0, a],
                [st * ca, ct * ca, -sa, -d * sa],
                [st * sa, ct * sa, ca, d * ca],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
    return transform


def random_configurations(count, seed):
    lower = np.array([joint.lower_rad for joint in FR3.joints])
    upper = np.array([joint.upper_rad for joint in FR3.joints])
    return np.random.default_rng(seed).uniform(lower, upper, (count, 7))


@pytest.fixture(scope='module')
def mujoco_arm():
    model = mujoco.MjModel.from_xml_string(mjcf(FR3, actuators=torque_actuators(FR3)))
    return model, mujoco.MjData(model)


@pytest.fixture(scope='module')
def pinocchio_arm():
    model = pinocchio.buildModelFromXML(urdf(FR3))
    return model, model.createData()


@pytest.mark.parametrize('configuration', random_configurations(20, seed=1))
def test_mujoco_and_urdf_place_the_tool_where_the_published_chain_does(
    mujoco_arm, pinocchio_arm, configuration
):
    expected = denavit_hartenberg_tool_in_base(configuration)
    model, data = mujoco_arm
    data.qpos[:] = configuration
    mujoco.mj_kinematics(model, data)
    site = data.site(FR3.tool_frame)
    np.testing.assert_allclose(site.xpos, expected[:3, 3], atol=1e-12)
    np.testing.assert_allclose(site.xmat.reshape(3, 3), expected[:3, :3], atol=1e-12)

    model, data = pinocchio_arm
    pinocchio.framesForwardKinematics(model, data, configuration)
    placement = data.oMf[model.getFrameId(FR3.tool_frame)]
    np.testing.assert_allclose(placement.homogeneous, expected, atol=1e-12)


@pytest.mark.parametrize('configuration', random_configurations(20, seed=2))
def test_mass_matrix_and_gravity_agree_with_pinocchio(mujoco_arm, pinocchio_arm, configuration):
    model, data = mujoco_arm
    data.qpos[:] = configuration
    data.qvel[:] = 0.0
    mujoco.mj_forward(model, data)
    # Column by column: the name and place of the mass matrix in MjData changed between versions.
    mass_matrix = np.empty((7, 7))
    for column in range(7):
        mujoco.mj_mulM(model, data, mass_matrix[column], np.eye(7)[column])
    rigid_bodies = mass_matrix - np.diag(model.dof_armature)

    model, data_pinocchio = pinocchio_arm
    expected = pinocchio.crba(model, data_pinocchio, configuration)
    expected = np.triu(expected) + np.triu(expected, 1).T
    np.testing.assert_allclose(rigid_bodies, expected, atol=1e-10)

    gravity_nm = pinocchio.computeGeneralizedGravity(model, data_pinocchio, configuration)
    np.testing.assert_allclose(data.qfrc_bias, gravity_nm, atol=1e-8)


def test_limits_reach_both_formats(mujoco_arm, pinocchio_arm):
    lower = [joint.lower_rad for joint in FR3.joints]
    upper = [joint.upper_rad for joint in FR3.joints]
    np.testing.assert_array_equal(mujoco_arm[0].jnt_range, np.stack([lower, upper], axis=1))
    np.testing.assert_array_equal(pinocchio_arm[0].lowerPositionLimit, lower)
    np.testing.assert_array_equal(pinocchio_arm[0].upperPositionLimit, upper)
    np.testing.assert_array_equal(
        pinocchio_arm[0].velocityLimit, [joint.velocity_rad_s for joint in FR3.joints]
    )
    effort_nm = [joint.effort_nm for joint in FR3.joints]
    np.testing.assert_array_equal(pinocchio_arm[0].upperEffortLimit, effort_nm)
    np.testing.assert_array_equal(mujoco_arm[0].jnt_actfrcrange[:, 1], effort_nm)


def test_tool_points_down_at_home(mujoco_arm):
    model, data = mujoco_arm
    data.qpos[:] = FR3.home_rad
    mujoco.mj_kinematics(model, data)
    np.testing.assert_allclose(
        data.site(FR3.tool_frame).xmat.reshape(3, 3), np.diag([1.0, -1.0, -1.0]), atol=1e-12
    )


def test_compensated_arm_stays_where_it_is_left():
    model = mujoco.MjModel.from_xml_string(mjcf(FR3, gravity_compensation=True))
    data = mujoco.MjData(model)
    data.qpos[:] = FR3.home_rad
    for _ in range(500):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(data.qpos, FR3.home_rad, atol=1e-9)


def test_names_follow_the_prefix_and_the_hand():
    panda = franka_arm(prefix='panda', hand=False)
    assert panda.joint_names == tuple(f'panda_joint{number}' for number in range(1, 8))
    assert (panda.base_frame, panda.tool_frame) == ('panda_link0', 'panda_link8')
    assert FR3.tool_frame == 'fr3_hand_tcp'
    model = mujoco.MjModel.from_xml_string(mjcf(panda))
    assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, 'panda_link8') == 0


@pytest.mark.parametrize(
    ('change', 'named'),
    [
        ({'home_rad': (0.0,) * 7}, 'fr3_joint4'),
        ({'home_rad': (0.0,) * 6}, 'joints'),
        ({'joints': FR3.joints[:6]}, 'joints'),
    ],
)
def test_a_description_that_contradicts_itself_is_refused(change, named):
    fields = {field.name: getattr(FR3, field.name) for field in dataclasses.fields(ArmDescription)}
    with pytest.raises(InvalidInputError, match=named):
        ArmDescription(**{**fields, **change})


def test_a_joint_or_body_with_impossible_numbers_is_refused():
    with pytest.raises(InvalidInputError, match=r'fr3_joint1.*lower_rad'):
        dataclasses.replace(FR3.joints[0], lower_rad=3.0)
    with pytest.raises(InvalidInputError, match='effort_nm'):
        dataclasses.replace(FR3.joints[0], effort_nm=0.0)
    with pytest.raises(InvalidInputError, match='mass_kg'):
        Inertial(mass_kg=math.nan, centre_of_mass_m=(0, 0, 0), inertia_kg_m2=(1, 0, 0, 1, 0, 1))
