"""The weight of the arm is what MuJoCo says it is."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros.arm.chain import Gravity
from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.mjcf import mjcf

mujoco = pytest.importorskip('mujoco')


def test_it_agrees_with_mujoco_everywhere():
    model = mujoco.MjModel.from_xml_string(mjcf(FR3))
    data = mujoco.MjData(model)
    gravity = Gravity(FR3)
    rng = np.random.default_rng(4)
    lower = [joint.lower_rad for joint in FR3.joints]
    upper = [joint.upper_rad for joint in FR3.joints]
    for _ in range(20):
        data.qpos[:7] = rng.uniform(lower, upper)
        data.qvel[:] = 0.0
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(gravity.torque_nm(data.qpos[:7]), data.qfrc_bias[:7], atol=1e-9)
