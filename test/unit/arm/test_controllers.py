"""The controllers file follows the kind of arm, and gives way."""

from __future__ import annotations

import pytest
import yaml

from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.arm.franka import (
    ARM_CONTROLLER,
    COMPLIANT_STIFFNESS_NM,
    STATE_BROADCASTER,
    CollisionParameters,
    collision_request,
    joint_prefix,
    spawner_command,
    write_controllers,
)
from reward_learning_ros.parameters import ParameterError
from tools.pins import ROOT

TEMPLATE = ROOT / 'config' / 'franka_controllers.yaml'


def written(prefix, folder):
    return yaml.safe_load(write_controllers(TEMPLATE, prefix, folder).read_text())['/**']


@pytest.mark.parametrize(
    ('robot_type', 'arm_prefix', 'prefix'),
    [('fr3', '', 'fr3'), ('fr3v2', '', 'fr3v2'), ('fr3', 'left', 'left_fr3')],
)
def test_joints_are_those_of_the_arm(robot_type, arm_prefix, prefix, tmp_path):
    assert joint_prefix(robot_type, arm_prefix) == prefix
    controller = written(prefix, tmp_path)[ARM_CONTROLLER]['ros__parameters']
    joints = list(franka_arm(prefix=prefix).joint_names)
    assert controller['joints'] == joints
    assert list(controller['gains']) == joints
    assert [controller['gains'][joint]['p'] for joint in joints] == pytest.approx(
        list(COMPLIANT_STIFFNESS_NM), abs=0.01
    )


def test_the_loop_is_set_as_franka_bringup_sets_it(tmp_path):
    file = written('fr3', tmp_path)
    manager = file['controller_manager']['ros__parameters']
    assert manager['thread_priority'] == 98
    assert manager['overruns'] == {'manage': False, 'print_warnings': False}
    assert {ARM_CONTROLLER, STATE_BROADCASTER} <= set(manager)
    assert file[ARM_CONTROLLER]['ros__parameters']['command_interfaces'] == ['effort']


def test_a_file_of_ones_own_needs_no_prefix(tmp_path):
    own = tmp_path / 'own.yaml'
    own.write_text('joints: [arm_joint1]\n')
    assert write_controllers(own, 'fr3', tmp_path).read_text() == own.read_text()


def test_a_spawner_is_told_its_namespace():
    assert spawner_command('a', '') == 'ros2 run controller_manager spawner a'
    assert spawner_command('a', '/left').endswith('__ns:=/left')


def test_a_contact_is_reported_before_the_arm_stops():
    fields = collision_request(CollisionParameters(contact_share=0.5, reflex_force_n=50.0))
    assert len(fields) == 8
    for name, upper in fields.items():
        if name.startswith('upper'):
            lower = fields[name.replace('upper', 'lower')]
            assert lower == pytest.approx([value / 2 for value in upper])
            assert len(upper) == (7 if 'torque' in name else 6)
    assert fields['upper_force_thresholds_nominal'][:3] == [50.0] * 3


def test_every_joint_has_its_threshold():
    with pytest.raises(ParameterError, match='reflex_torque_nm'):
        CollisionParameters(reflex_torque_nm=(1.0, 2.0))
