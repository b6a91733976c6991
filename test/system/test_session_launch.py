"""The launch file runs the same command, with the same parameters, as a person does."""

from __future__ import annotations

import argparse
import sys

import pytest

from reward_learning_ros.cli import session
from reward_learning_ros.parameters import from_arguments, specifications, text_of
from reward_learning_ros.session.session_parameters import SessionParameters, session_words
from tools.pins import ROOT

LAUNCH_FILE = ROOT / 'launch' / 'session.launch.py'
CHOICES = {
    'defaults': {},
    'other': {
        'task': 'reach',
        'method': 'sampling',
        'dependence': 'independent',
        'beta': 10.0,
        'replan': 'at_once',
        'participant_theta': (1.0, 0.0, 0.0),
        'realtime': True,
        'namespace': 'lab',
        'prefix': 'panda',
        'seed': 3,
        'study': '007',
        'rviz': True,
        'hand': False,
        'sessions': 'a folder/with spaces',
    },
    'franka': {'arm': 'franka', 'participant_model': 'human', 'robot_ip': '10.0.0.2'},
}


@pytest.fixture
def launching():
    """What loads and looks into launch files."""
    pytest.importorskip('launch_ros', reason='launch and launch_ros are not installed')
    import launch.actions

    import launch

    return launch


@pytest.mark.parametrize('choice', CHOICES.values(), ids=CHOICES)
def test_a_session_is_what_its_command_line_says(choice):
    config = SessionParameters(**choice)
    words = session_words(config)
    assert words[:4] == [sys.executable, '-m', 'reward_learning_ros.cli', 'session']
    parser = argparse.ArgumentParser()
    session.add_arguments(parser)
    assert from_arguments(SessionParameters, parser.parse_args(words[4:])) == config
    resumed = parser.parse_args(session_words(config, 'a folder')[4:])
    assert str(resumed.resume) == 'a folder'


@pytest.mark.fetched
@pytest.mark.parametrize('choice', CHOICES.values(), ids=CHOICES)
def test_the_launch_file_runs_the_command(launching, choice):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file
    from launch.utilities import perform_substitutions

    context = launching.LaunchContext(argv=[])
    context.launch_configurations.update({name: text_of(value) for name, value in choice.items()})
    found, waiting = [], [get_launch_description_from_python_launch_file(str(LAUNCH_FILE))]
    while waiting:
        entity = waiting.pop(0)
        if isinstance(entity, launching.actions.ExecuteProcess):
            found.append(entity)
        else:
            waiting = [*(entity.visit(context) or ()), *waiting]
    (process,) = found
    words = [perform_substitutions(context, list(word)) for word in process.cmd]
    assert words == session_words(SessionParameters(**choice))


@pytest.mark.fetched
def test_every_option_is_a_launch_argument(launching):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    description = get_launch_description_from_python_launch_file(str(LAUNCH_FILE))
    names = {argument.name for argument in description.get_launch_arguments()}
    assert names == {*specifications(SessionParameters), 'resume'}
