"""Dependencies point one way, and core stands alone."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import reward_learning_ros
import reward_learning_ros.core

ROOT = Path(reward_learning_ros.__file__).parent
# Dependencies point down this list: a part may use those of the layers above it. Parts of one
# layer may use each other as long as there is no circle.
LAYERS = (
    {'core'},
    {'parameters', 'interface'},
    {'arm'},
    {'tasks', 'playback', 'sensing'},
    {'learning'},
    {'recording', 'participant', 'figures'},
    {'session', 'study', 'experiments'},
    {'nodes'},
    {'console'},
    {'cli'},
)
# The public names of `core` include those that load tasks.
FACADE = ROOT / 'core' / '__init__.py'
WITHOUT_ROS = sorted(set.union(*LAYERS[:-3]))
# Without these everything below nodes must work.
ROS = {
    'rclpy',
    'rcl_interfaces',
    'builtin_interfaces',
    'std_msgs',
    'geometry_msgs',
    'nav_msgs',
    'sensor_msgs',
    'trajectory_msgs',
    'visualization_msgs',
    'diagnostic_msgs',
    'std_srvs',
    'rosgraph_msgs',
    'franka_msgs',
    'controller_manager_msgs',
    'launch',
    'launch_ros',
    'ament_index_python',
}


def imported_modules(path):
    """Return the full names that a file imports anywhere, also inside functions."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    package = path.relative_to(ROOT.parent).with_suffix('').parts
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = '.'.join(package[: -node.level]) if node.level else ''
            module = '.'.join(part for part in (base, node.module) if part)
            names.add(module)
            names |= {f'{module}.{alias.name}' for alias in node.names}
    return names


def parts_used(path):
    """Return the parts of this package that a file imports."""
    prefix = f'{reward_learning_ros.__name__}.'
    parts = {
        name[len(prefix) :].split('.')[0]
        for name in imported_modules(path)
        if name.startswith(prefix)
    }
    return parts & {entry.stem for entry in ROOT.iterdir()}


def files_of(part):
    return sorted((ROOT / part).rglob('*.py'))


@functools.cache
def uses():
    """Return for each part the other parts that it imports, and where."""
    return {
        part: {
            other: str(path.relative_to(ROOT))
            for path in files_of(part)
            if path != FACADE
            for other in parts_used(path) - {part}
        }
        for part in set.union(*LAYERS)
    }


def test_every_part_has_its_place():
    parts = {entry.name for entry in ROOT.iterdir() if (entry / '__init__.py').exists()}
    assert parts <= set.union(*LAYERS)


@pytest.mark.parametrize('layer', range(len(LAYERS)))
def test_dependencies_point_one_way(layer):
    above = set().union(*LAYERS[:layer])
    for part in LAYERS[layer]:
        for other, path in uses()[part].items():
            assert other in above | LAYERS[layer], f'{path} imports {other}'


def test_no_part_depends_on_itself_through_others():
    graph = {part: set(others) for part, others in uses().items()}
    # Raises CycleError with the circle.
    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index('core') < order.index('nodes')


@pytest.mark.parametrize('part', sorted(set.union(*LAYERS)))
def test_a_package_says_what_it_imports(part):
    documented = ast.get_docstring(ast.parse((ROOT / part / '__init__.py').read_text('utf-8')))
    said = re.search(r'^Imports ([^;.]+)(; no ROS)?\.$', documented, re.M)
    assert said, f'{part}/__init__.py does not say what it imports'
    names = set(re.split(r',\s|\sand\s', said[1])) - {'nothing of this package'}
    assert names == set(uses()[part])
    assert bool(said[2]) == (part in WITHOUT_ROS)


def test_newcomers_are_told_these_layers():
    text = (ROOT.parent / 'CONTRIBUTING.md').read_text('utf-8')
    drawn = re.search(r'dependencies point\n\n```text\n(.+?)```', text, re.S)[1]
    assert [set(line.split(', ')) for line in drawn.splitlines()] == list(LAYERS)
    tree = re.search(r'^reward_learning_ros/\n((?:  .+\n)+)', text, re.M)[1]
    assert set(re.findall(r'^  (\w+)/ ', tree, re.M)) == set.union(*LAYERS)


@pytest.mark.parametrize('part', WITHOUT_ROS)
def test_below_the_nodes_there_is_no_ros(part):
    for path in files_of(part):
        wrong = {name.split('.')[0] for name in imported_modules(path)} & ROS
        assert not wrong, f'{path.relative_to(ROOT)} imports {sorted(wrong)}'


def test_no_two_files_have_one_name():
    # By its name alone a file is found. A command and a task have the names that users type.
    conventional = {'__init__', '__main__'}
    counts = Counter(path.stem for path in ROOT.rglob('*.py') if path.parent.name != 'cli')
    twice = {name for name, count in counts.items() if count > 1} - conventional
    assert not twice
    commands = {path.stem for path in files_of('cli')} - conventional
    tasks = {path.stem for path in files_of('tasks')}
    assert commands & counts.keys() <= tasks


def test_the_reader_of_imports_sees_all_of_them():
    # The tests above pass on what they do not see: this one shows that they see.
    path = ROOT / 'core' / 'imagined.py'
    source = (
        'import rclpy.node\n'
        'from reward_learning_ros.nodes import names\n'
        'from ..cli import main\n'
        'from . import errors\n'
        'def f():\n'
        '    from reward_learning_ros import arm\n'
    )

    class Imagined(type(path)):
        def read_text(self, encoding):
            return source

    imagined = Imagined(path)
    assert parts_used(imagined) == {'nodes', 'cli', 'core', 'arm'}
    assert 'rclpy' in {name.split('.')[0] for name in imported_modules(imagined)}


@pytest.mark.parametrize('part', ['core', 'interface', 'parameters'])
def test_in_a_fresh_process_it_loads_nothing_heavy(part):
    code = f'import sys, reward_learning_ros.{part}; print(*sys.modules)'
    output = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=True
    ).stdout
    loaded = set(output.split())
    assert f'reward_learning_ros.{part}' in loaded
    assert not loaded & {'rclpy', 'mujoco', 'arviz', 'matplotlib'}


def test_no_public_name_of_core_is_one_of_its_modules():
    # Importing the module would put it in the place of the name.
    modules = {path.stem for path in files_of('core')}
    assert not modules & set(reward_learning_ros.core.__all__)
