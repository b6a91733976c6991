"""Preflight lets pass what is well, and says what to do about the rest."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.franka import FRANKA_STIFFNESS_NM
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.playback.configuration import PlaybackParameters, PreflightParameters
from reward_learning_ros.playback.preflight import (
    check_command_topic,
    check_controllers,
    check_start,
    check_stiffness,
    check_stream,
    check_thresholds,
)

CONFIG = PreflightParameters()
STOP = np.array(PlaybackParameters().stop_torque_nm)
HOME = np.array(FR3.home_rad)


def test_compliant_gains_let_a_person_push_and_frankas_do_not():
    kinematics = Kinematics()
    assert not check_stiffness(CONFIG, kinematics, HOME).blocks
    stiff = PreflightParameters(controller_stiffness_nm=FRANKA_STIFFNESS_NM)
    check = check_stiffness(stiff, kinematics, HOME)
    assert check.blocks
    assert 'too stiff' in check.advice


def test_thresholds_must_come_in_order():
    assert not check_thresholds(CONFIG, STOP).blocks
    assert check_thresholds(CONFIG, STOP * 2).blocks
    deaf = PreflightParameters(detection_torque_nm=20.0)
    assert 'not be noticed' in check_thresholds(deaf, STOP).advice


@pytest.mark.parametrize(
    ('age_sec', 'rate_hz', 'blocks'), [(0.001, 1000.0, False), (0.5, 2.0, True), (None, 0.0, True)]
)
def test_state_must_come_often(age_sec, rate_hz, blocks):
    assert check_stream('state', age_sec=age_sec, rate_hz=rate_hz, config=CONFIG).blocks is blocks


@pytest.mark.parametrize(
    ('publishers', 'subscribers', 'are_compatible', 'words'),
    [
        (1, 1, True, ''),
        (2, 1, True, 'stop all other'),
        (1, 0, True, 'activate'),
        (1, 1, False, 'quality'),
    ],
)
def test_commands_need_one_publisher_and_a_controller(
    publishers, subscribers, are_compatible, words
):
    check = check_command_topic(
        publishers=publishers, subscribers=subscribers, are_compatible=are_compatible
    )
    assert check.blocks is bool(words)
    assert words in check.advice


def test_the_tool_must_be_near_the_plan():
    assert not check_start(CONFIG, np.zeros(3), np.array([0.3, 0.0, 0.0])).blocks
    assert check_start(CONFIG, np.zeros(3), np.array([0.0, 0.9, 0.0])).blocks


def test_a_controller_must_be_active_not_only_subscribe():
    states = {'broadcaster': 'active', 'arm': 'inactive'}
    broadcaster, arm, other = check_controllers(
        states, ('broadcaster', 'arm', 'other'), namespace='/left'
    )
    assert not broadcaster.blocks
    assert (arm.found, arm.blocks) == ('inactive', True)
    assert 'spawner arm' in arm.advice
    assert '__ns:=/left' in arm.advice
    assert (other.found, other.blocks) == ('not loaded', True)


def test_controllers_that_nobody_knows_of_are_not_taken_for_active():
    (check,) = check_controllers(None, ('arm',), reason='it does not answer')
    assert check.blocks
    assert 'it does not answer' in check.found


def test_a_reflex_by_a_force_below_that_of_a_push_is_refused():
    check = check_thresholds(PreflightParameters(reflex_force_n=1.0), STOP)
    assert check.blocks
    assert 'reflex of 1 N' in check.advice
    assert check_stiffness(PreflightParameters(reflex_force_n=40.0), Kinematics(), HOME).blocks
