"""The launch file and the command start the same nodes with the same parameters."""

from __future__ import annotations

import itertools
import sys

import pytest
import yaml

from reward_learning_ros.parameters import specifications, text_of
from reward_learning_ros.session.description import PACKAGE, describe
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.parameters import SessionParameters
from reward_learning_ros.session.processes import command_of
from tools.pins import ROOT

LAUNCH_FILE = ROOT / 'launch' / 'session.launch.py'
CHOICES = {
    'defaults': {},
    'other': {
        'task': 'reach',
        'method': 'sampling',
        'dependence': 'independent',
        'beta': 10.0,
        'mode': 'after_pass',
        'participant_theta': (1.0, 0.0, 0.0),
        'realtime': True,
        'namespace': 'lab',
        'prefix': 'panda',
        'seed': 3,
        'study': '007',
        'rviz': True,
    },
    'franka': {'arm': 'franka', 'participant_model': 'human', 'robot_ip': '10.0.0.2'},
}


@pytest.fixture
def launching():
    """What loads and looks into launch files."""
    try:
        import launch_ros.actions

        import launch
    except ImportError as error:
        pytest.skip(f'launch and launch_ros are not installed: {error}')
    return launch, launch_ros.actions.Node


def launched(launching, tmp_path, choice):
    """Return the nodes that the launch file would start, as text of their command lines."""
    launch, node_type = launching
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    context = launch.LaunchContext(argv=[])
    context.launch_configurations.update(
        {name: text_of(value) for name, value in choice.items()} | {'sessions': str(tmp_path)}
    )
    # As an included file has it, for ThisLaunchFileDir.
    context.extend_locals({'current_launch_file_directory': str(LAUNCH_FILE.parent)})
    found, waiting = [], [get_launch_description_from_python_launch_file(str(LAUNCH_FILE))]
    while waiting:
        entity = waiting.pop(0)
        if isinstance(entity, node_type):
            found.append(entity)
        elif type(entity).__name__ != 'IncludeLaunchDescription':
            waiting = [*(entity.visit(context) or ()), *waiting]
    return [seen_in_action(node, context) for node in found]


def seen_in_action(node, context):
    """Return executable, name, parameters, remappings and arguments of a node's action."""
    from launch.utilities import perform_substitutions

    node._perform_substitutions(context)
    namespace, _, name = node.node_name.rpartition('/')
    # As the action itself puts them into the context when it is executed.
    context.extend_locals(
        {
            'ros_specific_arguments': {
                'name': f'__node:={name}',
                'ns': f'__ns:={namespace or "/"}',
                'remaps': [f'{old}:={new}' for old, new in node.expanded_remapping_rules or ()],
            }
        }
    )
    words = [perform_substitutions(context, list(part)) for part in node.cmd[1:]]
    return {'executable': node.node_executable, 'package': node.node_package, **parsed(words)}


def parsed(words):
    """Return what a node's command line says."""
    first = words.index('--ros-args') if '--ros-args' in words else len(words)
    said = {'arguments': words[:first], 'parameters': {}, 'rules': {}}
    for option, word in itertools.pairwise(words):
        if option == '--params-file':
            with open(word) as file:
                (section,) = yaml.safe_load(file).values()
            said['parameters'] |= section['ros__parameters']
        elif option == '-p':
            name, _, value = word.partition(':=')
            said['parameters'][name] = yaml.safe_load(value)
        elif option == '-r':
            old, _, new = word.partition(':=')
            said['rules'][old] = new
    if said['rules'].get('__ns') == '/':
        del said['rules']['__ns']
    return said


def commanded(tmp_path, choice, monkeypatch, folder):
    """Return the nodes that the command would start."""
    monkeypatch.setattr('shutil.which', lambda name: name)
    config = SessionParameters(**choice, sessions=str(tmp_path), trial=1)
    nodes = []
    for node in describe(config, folder).nodes:
        # Python -m module, or ros2 run package executable.
        skipped = 3 if node.package == PACKAGE else 4
        command = command_of(node)
        assert node.package != PACKAGE or command[0] == sys.executable
        nodes.append(
            {
                'executable': node.executable,
                'package': node.package,
                **parsed(command[skipped:]),
            }
        )
    return nodes


@pytest.mark.fetched
@pytest.mark.parametrize('choice', CHOICES.values(), ids=CHOICES)
def test_launch_file_and_command_start_the_same(launching, tmp_path, monkeypatch, choice):
    by_launch = launched(launching, tmp_path, choice)
    (path,) = tmp_path.glob('*/*/001')
    by_command = commanded(tmp_path, choice, monkeypatch, SessionFolder(path=path))
    assert by_launch == by_command
    assert len(by_launch) >= 5
    assert SessionFolder(path=path).configuration.is_file()


@pytest.mark.fetched
def test_every_option_is_a_launch_argument(launching):
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    description = get_launch_description_from_python_launch_file(str(LAUNCH_FILE))
    names = {argument.name for argument in description.get_launch_arguments()}
    assert names == {*specifications(SessionParameters), 'resume'}
