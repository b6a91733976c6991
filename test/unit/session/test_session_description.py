"""Which nodes a session has, with which parameters."""

from __future__ import annotations

import argparse
import re
import time

import numpy as np
import pytest
import yaml

from reward_learning_ros.arm.simulation_parameters import (
    SimulatedArmParameters,
    SimulationParameters,
    start_ns,
)
from reward_learning_ros.cli import thresholds
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.learning import LearningParameters, parameters_as_recorded
from reward_learning_ros.learning.learning_parameters import MODEL_KEYS
from reward_learning_ros.parameters import from_arguments, from_mapping
from reward_learning_ros.parameters.specification import RenamedParameterWarning
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.playback.preflight import check_thresholds
from reward_learning_ros.recording.bag_writer import BagWriter
from reward_learning_ros.recording.message_types import describe_topic
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.node_parameters import (
    SessionConductorParameters,
)
from reward_learning_ros.session.recorder_parameters import (
    CorrectionRecorderParameters,
)
from reward_learning_ros.session.session_description import begin, describe
from reward_learning_ros.session.session_parameters import SessionParameters


@pytest.fixture
def nodes(tmp_path):
    """Return a function that gives the described nodes by name."""

    def described(**choices):
        config = SessionParameters(sessions=str(tmp_path), **choices)
        description = describe(config, SessionFolder(path=tmp_path / 'folder'))
        return {node.name: node for node in description.nodes}

    return described


def test_who_moves_the_arm_and_who_conducts_miss_everybody_else(nodes):
    found = nodes()
    everybody = set(found) - {'simulated_arm'}
    for name in ('trajectory_playback', 'session_conductor'):
        watched = found[name].parameters['watched_nodes']
        assert set(watched) == everybody - {name}


def test_simulated_time_is_followed_by_all_but_its_maker_and_the_conductor(nodes):
    found = nodes()
    followers = {name for name, node in found.items() if node.parameters.get('use_sim_time')}
    assert followers == set(found) - {'simulated_arm', 'session_conductor'}
    assert found['simulated_arm'].parameters['clock'] == 'simulated'
    assert not any('use_sim_time' in node.parameters for node in nodes(realtime=True).values())


def test_only_what_is_simulated_consents_and_accepts_by_itself(nodes):
    conductor = nodes()['session_conductor'].parameters
    assert conductor['consent'] == 'none'
    assert conductor['quiet_pass_accepts']
    real = nodes(arm='franka', participant_model='human')
    assert {'simulated_arm', 'simulated_participant'}.isdisjoint(real)
    assert real['session_conductor'].parameters['consent'] == 'every_pass'
    assert not real['session_conductor'].parameters['quiet_pass_accepts']


def test_who_the_participant_is_can_be_chosen(nodes):
    chosen = nodes(
        task='press',
        participant_kind='lazy',
        participant_preset='goal',
        participant_motor_noise_m=0.02,
    )['simulated_participant'].parameters
    assert chosen['kind'] == 'lazy'
    assert chosen['preset'] == 'goal'
    assert chosen['motor_noise_m'] == 0.02
    # Nothing said, θ* comes from the prior.
    assert 'theta' not in nodes()['simulated_participant'].parameters
    assert not nodes()['simulated_participant'].parameters['preset']


def test_a_session_says_by_which_model_it_learns(nodes, tmp_path):
    default = LearningParameters()
    inference = nodes()['reward_inference'].parameters
    assert inference['replan'] == 'between_passes'
    assert {name: inference[name] for name in MODEL_KEYS} == {
        name: getattr(default, name) for name in MODEL_KEYS
    }
    file = tmp_path / 'paper.yaml'
    file.write_text('reward_inference: {ros__parameters: {human_model: paper}}')
    paper = nodes(parameters_file=str(file))['reward_inference'].parameters
    assert [paper[name] for name in MODEL_KEYS] == ['paper', 'zero', 0.0]
    assert parameters_as_recorded(paper).motor_noise_m == 0.0


@pytest.mark.parametrize(
    ('chosen', 'words'),
    [
        ({'participant_preset': 'none such'}, 'none such'),
        ({'participant_theta': (1.0, 0.0)}, 'has 2 weights'),
        ({'participant_theta': (1.0, 0.0, 0.0, 0.0), 'participant_preset': 'goal'}, 'both'),
    ],
)
def test_what_a_participant_cannot_want_is_refused_before_anything_starts(nodes, chosen, words):
    with pytest.raises(InvalidInputError, match=words):
        nodes(**chosen)


def test_a_person_corrects_as_often_as_they_like_and_with_what_they_like(nodes):
    assert nodes()['session_conductor'].parameters['max_passes'] == 3
    by_hand = nodes(participant_model='human')
    assert by_hand['session_conductor'].parameters['max_passes'] == 12
    assert by_hand['session_conductor'].parameters['max_corrections'] == 0
    assert by_hand['correction_recorder'].parameters['correction_source'] == 'kinesthetic'
    limited = nodes(participant_model='human', correction_source='joy', max_corrections=3)
    assert limited['session_conductor'].parameters['max_corrections'] == 3
    assert limited['correction_recorder'].parameters['correction_source'] == 'joy'


def test_a_program_pushes_and_does_not_teleoperate(nodes):
    with pytest.raises(InvalidInputError, match=r"correction_source = 'joy'.*human"):
        nodes(correction_source='joy')


def test_all_learn_from_and_write_one_recording(nodes, tmp_path):
    found = nodes()
    bags = {
        found[name].parameters['bag']
        for name in ('session_recorder', 'reward_inference', 'session_conductor')
    }
    assert bags == {str(tmp_path / 'folder' / 'bag')}


def test_a_parameter_file_overrules_and_is_checked(nodes, tmp_path):
    file = tmp_path / 'more.yaml'
    file.write_text('/trajectory_playback:\n  ros__parameters: {speed_scale: 0.2}\n')
    found = nodes(parameters_file=str(file))
    assert found['trajectory_playback'].parameters['speed_scale'] == 0.2
    assert 'speed_scale' not in found['reward_inference'].parameters
    file.write_text('/trajectory_playback:\n  ros__parameters: {speed_scal: 0.2}\n')
    with pytest.raises(InvalidInputError, match='did you mean speed_scale'):
        nodes(parameters_file=str(file))


def test_what_is_refused_leaves_no_folder(tmp_path):
    config = SessionParameters(sessions=str(tmp_path), task='imagined')
    with pytest.raises(UnknownNameError, match='imagined'):
        begin(config)
    assert list(tmp_path.iterdir()) == []


def test_what_goes_on_is_described_as_it_began(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'more.yaml').write_text(
        '/trajectory_playback:\n  ros__parameters: {speed_scale: 0.2}\n'
    )
    config = SessionParameters(sessions='s', seed=5, parameters_file='more.yaml')
    folder, resolved, description = begin(config)
    (tmp_path / 'elsewhere').mkdir()
    monkeypatch.chdir(tmp_path / 'elsewhere')
    again = begin(SessionParameters(), folder.path)
    assert again[:2] == (folder, resolved)
    for node, before in zip(again[2].nodes, description.nodes, strict=True):
        # But for simulated time, which goes on with the wall's.
        kept = {**node.parameters, 'clock_epoch_sec': None}
        assert kept == {**before.parameters, 'clock_epoch_sec': None}


@pytest.mark.parametrize(('ahead_sec', 'speed'), [(-3600.0, 4.0), (3600.0, 4.0), (30.0, 1.5)])
def test_simulated_time_has_the_date_of_the_wall_and_never_goes_back(tmp_path, ahead_sec, speed):
    config = SessionParameters(sessions=str(tmp_path), speed=speed)
    now_sec = time.time()
    folder, _, description = begin(config)
    assert abs(_simulated_sec(description) - now_sec) < 60.0
    last_sec = now_sec + ahead_sec
    clock = describe_topic('/clock', 'rosgraph_msgs/msg/Clock')
    writer = BagWriter(folder.bag)
    writer.add_topic(clock)
    writer.write('/clock', round(last_sec * 1e9), bytes(12))
    writer.close()
    again_sec = _simulated_sec(begin(SessionParameters(), folder.path)[2])
    assert last_sec < again_sec < max(last_sec, now_sec) + 60.0


def _simulated_sec(description) -> float:
    """Return the time at which the simulated arm of a session begins now."""
    parameters = {node.name: node.parameters for node in description.nodes}['simulated_arm']
    return start_ns(from_mapping(SimulatedArmParameters, parameters)) / 1e9


FRANKA = {'arm': 'franka', 'participant_model': 'human'}


def parameter_file(tmp_path, node, **values):
    file = tmp_path / 'more.yaml'
    file.write_text(yaml.safe_dump({node: {'ros__parameters': values}}))
    return str(file)


@pytest.mark.parametrize(
    ('node', 'key', 'value'),
    [
        ('session_conductor', 'watched_nodes', ['correction_recorder']),
        ('session_conductor', 'consent', 'first_pass'),
        ('session_conductor', 'arm', 'simulated'),
        ('session_conductor', 'controllers', ['other']),
        ('session_conductor', 'bag', '/elsewhere'),
        ('trajectory_playback', 'watched_nodes', ['correction_recorder']),
        ('session_recorder', 'bag', '/elsewhere'),
        ('reward_inference', 'bag', '/elsewhere'),
        ('trajectory_playback', 'prefix', 'fr3v2'),
        ('correction_recorder', 'hand', False),
    ],
)
@pytest.mark.parametrize('section', ['/{}', '/**', '/lab/{}'])
def test_a_parameter_file_cannot_switch_off_what_protects(
    nodes, tmp_path, node, key, value, section
):
    file = parameter_file(tmp_path, section.format(node), **{key: value})
    for choices in ({'namespace': 'lab'}, {'namespace': 'lab', **FRANKA}):
        with pytest.raises(InvalidInputError, match=rf'\.{key} is not for this file'):
            nodes(parameters_file=file, **choices)


def test_a_parameter_file_for_a_node_that_does_not_exist_is_refused(nodes, tmp_path):
    for node in ('trajectory_playbck', '/lab/recorder', '/*/imagined'):
        file = parameter_file(tmp_path, node, speed_scale=0.1)
        with pytest.raises(
            InvalidInputError, match=f'no node .*{re.escape(node)}; known: console, corr'
        ):
            nodes(parameters_file=file)
    # One that only other sessions have is no mistake.
    nodes(parameters_file=parameter_file(tmp_path, 'simulated_arm', seed=3), **FRANKA)


@pytest.mark.parametrize(
    ('node', 'key', 'value', 'allowed'),
    [
        ('trajectory_playback', 'stop_torque_nm', [26.0] * 4 + [9.0] * 3, 'at most [25.0, '),
        ('trajectory_playback', 'reflex_torque_nm', [36.0] * 4 + [12.0] * 3, 'at most [35.0, '),
        ('trajectory_playback', 'reflex_force_n', 71.0, 'at most 70.0'),
        ('trajectory_playback', 'reflex_moment_nm', 26.0, 'at most 25.0'),
        ('trajectory_playback', 'workspace_lower_m', [0.2, -0.65, 0.0], 'at least [0.2, '),
        ('trajectory_playback', 'workspace_upper_m', [0.85, 0.65, 1.0], 'at most [0.85, '),
        ('trajectory_playback', 'tool_pose_tolerance_m', 0.02, 'at most 0.01'),
        ('trajectory_playback', 'expected_deflection_m', 0.05, 'at least 0.1'),
        ('trajectory_playback', 'controller_stiffness_nm', [1.0] * 7, 'at least ['),
        ('trajectory_playback', 'command_rate_hz', 25.0, 'at least 50.0'),
        ('trajectory_playback', 'horizon_sec', 0.31, 'at most 0.3'),
        ('trajectory_playback', 'brake_sec', 1.0, 'at most 0.4'),
        ('trajectory_playback', 'state_timeout_sec', 1.0, 'at most 0.2'),
        ('trajectory_playback', 'clock_tolerance_sec', 1.0, 'at most 0.25'),
        ('trajectory_playback', 'watch_timeout_sec', 30.0, 'at most 2.5'),
        ('session_conductor', 'watch_timeout_sec', 30.0, 'at most 2.5'),
        ('trajectory_playback', 'max_deviation_m', 1.0, 'at most 0.3'),
        ('trajectory_playback', 'max_shift_m', 1.0, 'at most 0.6'),
        ('correction_recorder', 'max_shift_m', 1.0, 'at most 0.6'),
        ('trajectory_playback', 'approach_speed_rad_s', 0.5, 'at most 0.25'),
        ('trajectory_playback', 'start_distance_m', 1.5, 'at most 0.7'),
        ('trajectory_playback', 'min_state_rate_hz', 5.0, 'at least 40.0'),
    ],
)
def test_a_parameter_file_cannot_go_beyond_the_limits_of_a_real_arm(
    nodes, tmp_path, node, key, value, allowed
):
    file = parameter_file(tmp_path, f'/{node}', **{key: value})
    with pytest.raises(InvalidInputError, match=rf'{key} = .*allowed: .*{re.escape(allowed)}'):
        nodes(parameters_file=file, **FRANKA)
    # On a simulated arm nobody is hurt.
    assert nodes(parameters_file=file, realtime=True)[node].parameters[key] == value


@pytest.mark.parametrize(
    ('key', 'value', 'now'),
    [
        ('largest_shift_m', 1.0, 'max_shift_m'),
        ('largest_deviation_m', 1.0, 'max_deviation_m'),
        ('least_state_rate_hz', 5.0, 'min_state_rate_hz'),
    ],
)
def test_a_former_name_is_no_way_around_the_limits(nodes, tmp_path, key, value, now):
    file = parameter_file(tmp_path, '/trajectory_playback', **{key: value})
    with (
        pytest.warns(RenamedParameterWarning),
        pytest.raises(InvalidInputError, match=f'{now} = .* is not for a real arm'),
    ):
        nodes(parameters_file=file, **FRANKA)


@pytest.mark.parametrize('choices', [{}, FRANKA])
def test_no_arm_is_faster_than_half_of_its_limits(nodes, tmp_path, choices):
    file = parameter_file(tmp_path, '/trajectory_playback', speed_scale=0.6)
    with pytest.raises(InvalidInputError, match=r'speed_scale = 0\.6'):
        nodes(parameters_file=file, **choices)


def test_stricter_limits_than_those_shipped_are_taken(nodes, tmp_path):
    values = {'horizon_sec': 0.2, 'stop_torque_nm': [20.0] * 4 + [6.0] * 3, 'speed_scale': 0.1}
    file = parameter_file(tmp_path, '/trajectory_playback', **values)
    found = nodes(parameters_file=file, **FRANKA)['trajectory_playback'].parameters
    assert {key: found[key] for key in values} == values


def test_thresholds_that_are_one_follow_each_other(nodes, tmp_path):
    file = parameter_file(tmp_path, '/correction_recorder', on_torque_nm=1.5, max_shift_m=0.2)
    playback = nodes(parameters_file=file)['trajectory_playback'].parameters
    assert (playback['detection_torque_nm'], playback['max_shift_m']) == (1.5, 0.2)
    file = parameter_file(tmp_path, '/trajectory_playback', max_shift_m=0.1)
    assert nodes(parameters_file=file)['correction_recorder'].parameters['max_shift_m'] == 0.1
    (tmp_path / 'more.yaml').write_text(
        '/trajectory_playback:\n  ros__parameters: {max_shift_m: 0.1}\n'
        '/correction_recorder:\n  ros__parameters: {max_shift_m: 0.2}\n'
    )
    with pytest.raises(InvalidInputError, match=r'max_shift_m must be the same.*0\.1, 0\.2'):
        nodes(parameters_file=file)


def test_as_they_are_shipped_the_thresholds_agree():
    recorder, playback = CorrectionRecorderParameters(), TrajectoryPlaybackParameters()
    assert recorder.on_torque_nm == playback.detection_torque_nm
    assert recorder.max_shift_m == playback.max_shift_m
    assert SimulationParameters().reflex_torque_nm == playback.reflex_torque_nm
    assert SimulationParameters().reflex_force_n == playback.reflex_force_n
    assert SessionConductorParameters().watch_timeout_sec == playback.watch_timeout_sec


def test_a_session_with_a_real_arm_waits_for_the_controller_that_it_drives(nodes, tmp_path):
    broadcaster = 'franka_robot_state_broadcaster'
    conductor = nodes(**FRANKA)['session_conductor'].parameters
    assert (conductor['arm'], conductor['controllers']) == (
        'franka',
        [broadcaster, 'fr3_arm_controller'],
    )
    file = parameter_file(tmp_path, '/trajectory_playback', controller='soft_controller')
    conductor = nodes(parameters_file=file, **FRANKA)['session_conductor'].parameters
    assert conductor['controllers'] == [broadcaster, 'soft_controller']
    assert 'controllers' not in nodes()['session_conductor'].parameters


def test_kind_of_arm_prefix_and_namespace_are_three_things(tmp_path):
    def described(**choices):
        config = SessionParameters(
            sessions=str(tmp_path), robot_ip='10.0.0.2', **FRANKA, **choices
        )
        description = describe(config, SessionFolder(path=tmp_path / 'folder'))
        prefixes = {
            node.parameters['prefix'] for node in description.nodes if 'prefix' in node.parameters
        }
        namespaces = {node.namespace for node in description.nodes}
        keys = ('robot_type', 'arm_prefix', 'namespace')
        return prefixes, namespaces, tuple(description.bringup[key] for key in keys)

    assert described() == ({'fr3'}, {''}, ('fr3', '', ''))
    assert described(robot_type='fr3v2') == ({'fr3v2'}, {''}, ('fr3v2', '', ''))
    assert described(prefix='left_fr3', namespace='lab') == (
        {'left_fr3'},
        {'lab'},
        ('fr3', 'left', 'lab'),
    )
    for prefix in ('panda', 'leftfr3'):
        with pytest.raises(InvalidInputError, match='prefix = '):
            described(prefix=prefix)


def test_the_arm_is_brought_up_with_the_thresholds_of_the_session(tmp_path):
    file = parameter_file(
        tmp_path, '/trajectory_playback', reflex_torque_nm=[30.0] * 4 + [11.0] * 3
    )
    config = SessionParameters(
        sessions=str(tmp_path), robot_ip='10.0.0.2', parameters_file=file, **FRANKA
    )
    bringup = describe(config, SessionFolder(path=tmp_path / 'folder')).bringup
    assert bringup['reflex_torque_nm'] == '30.0 30.0 30.0 30.0 11.0 11.0 11.0'
    assert 'reflex_force_n' not in bringup


def test_each_namespace_has_a_clock_of_its_own(nodes):
    assert not any(node.remappings for node in nodes().values())
    assert not any(node.remappings for node in nodes(namespace='left', realtime=True).values())
    for node in nodes(namespace='left').values():
        assert node.remappings == (('/clock', '/left/clock'),)


def test_a_reflex_below_the_torque_at_which_playback_holds_is_refused(nodes, tmp_path):
    reflex = [20.0] * 4 + [8.0] * 3
    file = parameter_file(tmp_path, '/trajectory_playback', reflex_torque_nm=reflex)
    with pytest.raises(InvalidInputError, match=r'stop_torque_nm = .*below reflex_torque_nm'):
        nodes(parameters_file=file, **FRANKA)


def test_a_reflex_and_a_timeout_are_one_for_all_who_know_of_them(nodes, tmp_path):
    values = {'reflex_force_n': 60.0, 'reflex_torque_nm': [30.0] * 7, 'watch_timeout_sec': 2.0}
    file = parameter_file(tmp_path, '/trajectory_playback', **values)
    found = nodes(parameters_file=file)
    arm, conductor = found['simulated_arm'].parameters, found['session_conductor'].parameters
    assert (arm['reflex_force_n'], arm['reflex_torque_nm']) == (60.0, [30.0] * 7)
    assert conductor['watch_timeout_sec'] == 2.0


def test_without_a_hand_no_node_reckons_with_one(nodes, tmp_path):
    found = nodes(hand=False)
    with_prefix = {name for name, node in found.items() if 'prefix' in node.parameters}
    assert len(with_prefix) == 5
    assert all(found[name].parameters['hand'] is False for name in with_prefix)
    real = SessionParameters(hand=False, robot_ip='192.0.2.1', **FRANKA)
    bringup = describe(real, SessionFolder(path=tmp_path / 'session')).bringup
    assert (bringup['load_gripper'], bringup['playback']) == ('false', 'false')


def test_stricter_thresholds_reach_what_sets_those_of_the_arm(tmp_path):
    stricter = {
        'reflex_torque_nm': [20.0] * 4 + [8.0] * 3,
        'stop_torque_nm': [15.0] * 4 + [6.0] * 3,
        'detection_torque_nm': 0.6,
    }
    file = parameter_file(tmp_path, '/trajectory_playback', **stricter)
    real = SessionParameters(robot_ip='192.0.2.1', parameters_file=file, **FRANKA)
    bringup = describe(real, SessionFolder(path=tmp_path / 'session')).bringup
    told = {name: bringup[name] for name in stricter}
    options = [
        word
        for name, text in told.items()
        for word in (f'--{name.replace("_", "-")}', *text.split())
    ]
    parser = argparse.ArgumentParser()
    thresholds.add_arguments(parser)
    config = from_arguments(thresholds.ThresholdsParameters, parser.parse_args(options))
    assert not check_thresholds(config, np.array(config.stop_torque_nm)).blocks


def test_with_the_console_a_person_pulls_at_their_own_pace_and_consents(nodes):
    found = nodes(console=True, participant_model='human', console_port=9000)
    assert found['console'].parameters['port'] == 9000
    assert 'clock' not in found['simulated_arm'].parameters
    assert found['session_conductor'].parameters['consent'] == 'every_pass'
    # No session waits for a page.
    for name in ('session_conductor', 'trajectory_playback'):
        assert 'console' not in found[name].parameters['watched_nodes']
    assert 'console' not in nodes(participant_model='human')
