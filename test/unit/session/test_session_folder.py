"""The folder of a session: names, numbers, and files that are whole or not there."""

from __future__ import annotations

import json
import os
import resource

import pytest
import yaml

from reward_learning_ros.cli.doctor import DoctorParameters
from reward_learning_ros.cli.recover import RecoverParameters
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import ParameterError, to_mapping
from reward_learning_ros.session.folder import create_folder, open_folder, versions, write_whole
from reward_learning_ros.session.session_description import begin
from reward_learning_ros.session.session_parameters import SessionParameters


@pytest.fixture
def config(tmp_path):
    return SessionParameters(sessions=str(tmp_path / 'sessions'), study='pilot', seed=7)


@pytest.mark.parametrize(
    'name', ['', '.', '..', 'a/b', '/etc', '.hidden', '-rf', 'a b', 'ä', 'a' * 65, 'a\n', 'con.']
)
@pytest.mark.parametrize('field', ['study', 'participant'])
def test_a_name_that_is_no_safe_folder_is_refused(field, name):
    with pytest.raises(ParameterError, match=field):
        SessionParameters(**{field: name})


@pytest.mark.parametrize('name', ['a b!', 'a/', '//a', '1a', 'a//b', 'a/2', 'ä', '~a', 'a' * 201])
@pytest.mark.parametrize('parameters', [SessionParameters, DoctorParameters, RecoverParameters])
def test_a_namespace_that_ros_would_refuse_is_refused_by_name(parameters, name):
    with pytest.raises(ParameterError, match=r'^namespace = .*must be text, letters, digits'):
        parameters(namespace=name)
    assert parameters(namespace='/lab_2/left').namespace == '/lab_2/left'


def test_trials_are_counted_on(config):
    folders = [create_folder(config) for _ in range(3)]
    assert [resolved.trial for _, resolved in folders] == [1, 2, 3]
    path = folders[2][0].path
    assert path.parts[-4:] == ('sessions', 'pilot', 'p01', '003')
    assert path.is_absolute()
    # Also over a gap, and beside what is no trial.
    (path.parent / 'notes').mkdir()
    (path.parent / '009').mkdir()
    assert create_folder(config)[1].trial == 10


def test_a_trial_that_is_there_is_not_overwritten(config):
    create_folder(config)
    with pytest.raises(InvalidInputError, match='already there'):
        create_folder(SessionParameters(**{**vars(config), 'trial': 1}))


def test_a_session_that_cannot_be_written_takes_no_trial_number(config):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(InvalidInputError, match=r'session.yaml: File too large'):
            begin(config)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert begin(config)[1].trial == 1


def test_the_distribution_is_that_of_the_wheels_too(tmp_path, monkeypatch):
    information = tmp_path / 'ros_humble_rclpy-1.0.dist-info'
    information.mkdir()
    text = 'Metadata-Version: 2.1\nName: ros-humble-rclpy\nVersion: 1.0\n'
    (information / 'METADATA').write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv('ROS_DISTRO', raising=False)
    assert versions()['ros'] == 'humble'


def test_a_folder_that_cannot_be_made_is_an_error_in_words(config, tmp_path):
    (tmp_path / 'sessions').write_text('a file')
    with pytest.raises(InvalidInputError, match='cannot make a folder'):
        create_folder(config)


def test_a_configuration_of_before_is_read(config):
    folder, resolved = create_folder(config)
    folder.write_configuration(resolved, {})
    content = yaml.safe_load(folder.configuration.read_text())
    before = {**to_mapping(resolved), 'mode': 'online', 'max_corrections': None}
    del before['replan']
    content['session'] = before
    folder.configuration.write_text(yaml.safe_dump(content))
    assert folder.read_configuration().replan == 'at_once'


def test_the_configuration_reads_back_with_versions_and_nodes(config):
    folder, resolved = create_folder(config)
    folder.write_configuration(resolved, {'a_node': {'parameters': {'gain': 1e-5}}})
    assert folder.read_configuration() == resolved
    content = yaml.safe_load(folder.configuration.read_text())
    assert content['nodes']['a_node']['parameters']['gain'] == 1e-5
    assert content['session']['seed'] == 7
    assert {'python', 'numpy', 'numba', 'reward_learning_ros', 'ros'} <= set(content['versions'])


def test_only_an_unfinished_session_goes_on(config, tmp_path):
    folder, resolved = create_folder(config)
    with pytest.raises(InvalidInputError, match='holds no session'):
        open_folder(config, folder.path)
    folder.write_configuration(resolved, {})
    assert open_folder(config, folder.path) == (folder, resolved)
    folder.write_summary({'end': 'accepted'})
    assert json.loads(folder.summary.read_text()) == {'end': 'accepted'}
    with pytest.raises(InvalidInputError, match='has ended'):
        open_folder(config, folder.path)


def test_a_configuration_of_another_format_is_refused(config):
    folder, _ = create_folder(config)
    folder.configuration.write_text('format: 99\nsession: {}\nnodes: {}\nversions: {}\n')
    with pytest.raises(InvalidInputError, match='format 99'):
        folder.read_configuration()


@pytest.mark.parametrize(
    'text', ['[' * 5000, 'a: &a [*a]', '\x00', 'a: b: c', 'session: 1', '2020-99-99', '"\ud800"']
)
def test_a_configuration_that_cannot_be_read_is_said_with_its_file(config, text):
    folder, _ = create_folder(config)
    folder.configuration.write_text(text, errors='surrogatepass')
    with pytest.raises(InvalidInputError, match=str(folder.configuration)):
        folder.read()


def test_a_summary_is_json_or_not_written(config):
    folder, _ = create_folder(config)
    with pytest.raises(ValueError, match='not JSON compliant'):
        folder.write_summary({'regret': float('nan')})
    assert not folder.is_complete


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path):
    path = tmp_path / 'file'
    write_whole(path, 'before')
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, 'half \ud800')
    assert path.read_text() == 'before'
    assert os.listdir(tmp_path) == ['file']


def test_a_real_arm_needs_a_real_person():
    with pytest.raises(ParameterError, match='nobody else can push it'):
        SessionParameters(arm='franka')
    assert not SessionParameters(arm='franka', participant_model='human').uses_simulated_time
    with pytest.raises(ParameterError, match='robot_ip'):
        SessionParameters(robot_ip='10.0.0.1')


def test_a_person_has_real_time_unless_they_are_told_otherwise():
    person = {'participant_model': 'human'}
    assert not SessionParameters(**person).uses_simulated_time
    assert SessionParameters(**person, realtime=False).uses_simulated_time
    assert SessionParameters().uses_simulated_time
    assert not SessionParameters(realtime=True).uses_simulated_time
    # The mouse on the page is a hand: it is never faster than one.
    assert not SessionParameters(**person, realtime=False, console=True).uses_simulated_time
