"""Preflight looks at the simulated arm and finds what is wrong with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.simulation import SimulatedArm
from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.playback.preflight import SignTest


def pushed_sign_test(external_sign: int) -> SignTest:
    arm = SimulatedArm(SimulationParameters(external_sign=external_sign))
    test = SignTest(arm.kinematics)
    for cycle in range(1500):
        if cycle > 500:
            arm.push([0.0, 15.0, 5.0, 0.0, 0.0, 0.0])
        arm.step()
        if cycle % 20 == 0:
            told = arm.observe()
            test.add(told[:7].copy(), told[kernels.EXTERNAL_TORQUE].copy())
    return test


@pytest.mark.parametrize(('external_sign', 'blocks'), [(-1, False), (1, True)])
def test_a_push_tells_the_sign_of_the_torques(external_sign, blocks):
    test = pushed_sign_test(external_sign)
    assert test.pushes > 10
    check = test.check()
    assert check.blocks is blocks
    assert ('torque_sign to 1' in check.advice) is blocks


def test_without_a_push_the_sign_is_not_tested():
    kinematics = Kinematics()
    test = SignTest(kinematics)
    for _ in range(50):
        test.add(np.array(kinematics.description.home_rad), np.zeros(7))
    assert 'not tested' in test.check().found
    assert not test.check().blocks


def test_as_a_process_it_prints_its_findings(domain_id):
    environment = {**os.environ, 'ROS_DOMAIN_ID': str(domain_id)}
    process = subprocess.run(
        [
            sys.executable,
            '-m',
            'reward_learning_ros.nodes.arm_preflight',
            '--ros-args',
            '-p',
            'seconds:=0.3',
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 1
    checks = {check['name']: check for check in json.loads(process.stdout.splitlines()[-1])}
    assert checks['command topic']['blocks']
    # Nobody says that a controller is active, or the types to ask with are not installed.
    assert checks['controllers']['blocks']
    assert 'not known' in checks['controllers']['found']
    assert not checks['torque thresholds']['blocks']
