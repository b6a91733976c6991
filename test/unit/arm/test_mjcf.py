"""MuJoCo models of the arm in its scenes."""

import mujoco
import numpy as np
import pytest

from reward_learning_ros.arm.description import FR3, franka_arm
from reward_learning_ros.arm.mjcf import impedance_actuators, mjcf, torque_actuators
from reward_learning_ros.arm.scenes import SCENES, load_scene
from reward_learning_ros.core.errors import InvalidInputError


@pytest.mark.parametrize('name', SCENES)
def test_arm_under_torque_stands_in_every_scene(name):
    scene = load_scene(name)
    model = mujoco.MjModel.from_xml_string(
        mjcf(
            FR3,
            bodies=scene.bodies(),
            held=scene.held(),
            actuators=torque_actuators(FR3),
            sensors=scene.sensors(),
        )
    )
    data = mujoco.MjData(model)
    data.qpos[:7] = FR3.home_rad
    mujoco.mj_forward(model, data)
    assert model.nu == 7
    # At home the arm touches nothing, so its own weight is all that a controller must hold.
    touching = {
        model.body(model.geom_bodyid[geom]).name
        for contact in data.contact[: data.ncon]
        for geom in contact.geom
    }
    assert not {body for body in touching if body.startswith('fr3')}
    data.ctrl[:] = data.qfrc_bias[:7] - data.qfrc_gravcomp[:7]
    for _ in range(200):
        mujoco.mj_step(model, data)
        data.ctrl[:] = data.qfrc_bias[:7] - data.qfrc_gravcomp[:7]
    np.testing.assert_allclose(data.qpos[:7], FR3.home_rad, atol=1e-4)


def test_torques_beyond_a_joints_effort_are_cut():
    model = mujoco.MjModel.from_xml_string(mjcf(FR3, actuators=torque_actuators(FR3)))
    data = mujoco.MjData(model)
    data.ctrl[:] = 1000.0
    mujoco.mj_forward(model, data)
    np.testing.assert_array_equal(data.qfrc_actuator, [joint.effort_nm for joint in FR3.joints])


def test_springs_and_dampers_pull_towards_position_and_velocity():
    stiffness, damping = np.arange(1.0, 8.0), np.arange(11.0, 18.0)
    actuators = impedance_actuators(FR3.joint_names, stiffness, damping)
    model = mujoco.MjModel.from_xml_string(mjcf(FR3, actuators=actuators))
    data = mujoco.MjData(model)
    data.qpos[:] = FR3.home_rad
    data.qvel[:] = 0.01
    data.ctrl[:7] = np.array(FR3.home_rad) + 0.1
    data.ctrl[7:] = 0.03
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_actuator, 0.1 * stiffness + 0.02 * damping)


def test_contradictions_are_refused():
    with pytest.raises(InvalidInputError, match='2 joints with 1 stiffnesses'):
        impedance_actuators(('a', 'b'), (1.0,), (1.0, 2.0))
    with pytest.raises(InvalidInputError, match='no hand'):
        mjcf(franka_arm(hand=False), held=load_scene('pour').held())
