"""Which nodes a session has, with which parameters."""

from __future__ import annotations

import pytest

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.session.description import begin, describe
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.parameters import SessionParameters


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


def test_only_what_is_simulated_recovers_and_accepts_by_itself(nodes):
    conductor = nodes()['session_conductor'].parameters
    assert conductor['recovers']
    assert conductor['quiet_pass_accepts']
    real = nodes(arm='franka', participant_model='human')
    assert {'simulated_arm', 'simulated_participant'}.isdisjoint(real)
    assert not real['session_conductor'].parameters['recovers']
    assert not real['session_conductor'].parameters['quiet_pass_accepts']


def test_participants_think_of_as_many_pushes_as_they_make_before_the_next_plan(nodes):
    assert nodes()['simulated_participant'].parameters['corrections_per_pass'] == 1
    after_pass = nodes(mode='after_pass')['simulated_participant'].parameters
    assert 'corrections_per_pass' not in after_pass


def test_a_person_corrects_as_often_as_they_like_and_with_what_they_like(nodes):
    assert nodes()['session_conductor'].parameters['max_corrections'] == 6
    by_hand = nodes(participant_model='human')
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
    assert begin(SessionParameters(), folder.path) == (folder, resolved, description)
