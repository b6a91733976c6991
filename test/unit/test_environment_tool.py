"""The environment is chosen as promised, and what is missing is named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tools import environment, interpreters, matrix, pins
from tools.console import ProblemError
from tools.interpreters import Interpreter

RUNNING = f'{sys.version_info[0]}.{sys.version_info[1]}'
OTHER = next(version for version in interpreters.SUPPORTED if version != RUNNING)


@pytest.fixture(autouse=True)
def bare_machine(tmp_path, monkeypatch):
    """No ROS 2 sourced, no pyenv, and nothing but the system's folders on the PATH."""
    for name in (*environment.SOURCED_VARIABLES, 'PYENV_ROOT', 'PYTHONHOME'):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.setenv('PATH', f'{tmp_path / "bin"}{os.pathsep}/bin')


def write_program(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('\n'.join(['#!/bin/sh', *lines, '']))
    path.chmod(0o755)


def write_interpreter(path: Path, version: str) -> None:
    """Write a program that answers as a Python of a version does when asked what it is."""
    write_program(path, f'echo {version}', f'echo {path}')


def test_the_running_python_is_taken_first():
    found = interpreters.find()
    assert found.version == RUNNING
    # Not the Python of a venv: that one would end with its venv.
    assert not (Path(found.path).parent.parent / 'pyvenv.cfg').exists()


def test_another_python_is_found_on_the_path(tmp_path):
    path = tmp_path / 'bin' / f'python{OTHER}'
    write_interpreter(path, OTHER)
    assert interpreters.find(OTHER) == Interpreter(str(path), OTHER)


def test_behind_a_shim_that_refuses_pyenvs_python_is_found(tmp_path, monkeypatch):
    shim = tmp_path / 'pyenv' / 'shims' / f'python{OTHER}'
    write_program(shim, 'exit 127')
    path = tmp_path / 'pyenv' / 'versions' / f'{OTHER}.4' / 'bin' / 'python'
    write_interpreter(path, OTHER)
    monkeypatch.setenv('PATH', str(shim.parent))
    assert interpreters.find(OTHER) == Interpreter(str(path), OTHER)


def test_a_python_that_is_not_what_its_name_says_is_passed_over(tmp_path, monkeypatch):
    write_interpreter(tmp_path / 'bin' / f'python{OTHER}', RUNNING)
    monkeypatch.setenv('PATH', str(tmp_path / 'bin'))
    with pytest.raises(ProblemError, match=f'apt install python{OTHER} python{OTHER}-venv'):
        interpreters.find(OTHER)


def test_an_unsupported_python_is_refused_with_the_supported_ones():
    with pytest.raises(ProblemError, match=r'3\.9 is not supported; supported: 3\.10, .*3\.13'):
        interpreters.find('3.9')


def test_a_missing_section_of_the_pins_is_named(tmp_path):
    path = tmp_path / 'pins.txt'
    path.write_text('[common]\nnumpy==2.2.6\n# comment\n')
    assert pins.read('common', path) == ['numpy==2.2.6']
    with pytest.raises(ProblemError, match=r'no section \[jazzy\]'):
        pins.read('jazzy', path)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository without any venv."""
    folder = tmp_path / 'repository'
    folder.mkdir()
    monkeypatch.setattr(environment, 'ROOT', folder)
    (folder / 'setup.py').write_text('')
    return folder


def test_wheels_take_nothing_from_a_sourced_ros(root, monkeypatch):
    for name in (*environment.SOURCED_VARIABLES, 'PYTHONHOME', 'PYTHONDONTWRITEBYTECODE'):
        monkeypatch.setenv(name, 'of the sourced one')
    monkeypatch.setenv('RMW_IMPLEMENTATION', 'rmw_cyclonedds_cpp')
    recipe = environment.wheels_recipe('kilted', None)
    assert 'of the sourced one' not in recipe.variables.values()
    assert recipe.variables['ROS_DISTRO'] == 'kilted'
    assert recipe.variables['AMENT_PREFIX_PATH'] == str(recipe.venv)
    assert recipe.variables['RMW_IMPLEMENTATION'] == 'rmw_fastrtps_cpp'


def test_each_distribution_and_python_has_a_venv_of_its_own(root, tmp_path):
    write_interpreter(tmp_path / 'bin' / f'python{OTHER}', OTHER)
    venvs = {
        environment.wheels_recipe(distribution, version).venv.name
        for distribution in pins.DISTRIBUTIONS
        for version in (None, RUNNING, OTHER)
    }
    assert venvs == {'.venv', '.venv-kilted', f'.venv-{OTHER}', f'.venv-kilted-{OTHER}'}


def test_an_activated_venv_comes_first_and_stays_on_this_machine(root):
    venv = root / '.venv'
    variables = environment.activated(venv, {'PATH': '/bin', 'ROS_DISTRO': 'jazzy'})
    assert variables['PATH'] == f'{venv}/bin{os.pathsep}/bin'
    assert variables['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    chosen = {'ROS_DISTRO': 'jazzy', 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}
    assert environment.activated(venv, chosen)['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'
    humble = environment.activated(venv, {'ROS_DISTRO': 'humble'})
    assert humble['ROS_LOCALHOST_ONLY'] == '1'


def write_ros(tmp_path: Path, monkeypatch, version: str, rclpy: str = '') -> Path:
    """Source a ROS 2 that is nothing but an rclpy and the NumPy beside it."""
    packages = tmp_path / 'ros' / 'lib' / f'python{version}' / 'site-packages'
    for name, text in (('rclpy', rclpy), ('numpy', '__version__ = "1.26.4"\n')):
        (packages / name).mkdir(parents=True)
        (packages / name / '__init__.py').write_text(text)
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'ros'))
    monkeypatch.setenv('PYTHONPATH', str(packages))
    return packages


def test_over_a_sourced_ros_its_rclpy_and_its_numpy_are_kept(root, tmp_path, monkeypatch):
    packages = write_ros(tmp_path, monkeypatch, RUNNING)
    recipe = environment.sourced_recipe(None)
    assert recipe.pins == ['numpy==1.26.4']
    assert recipe.sees_system_packages
    assert recipe.variables['PYTHONPATH'] == str(packages)
    prefixes = recipe.variables['AMENT_PREFIX_PATH'].split(os.pathsep)
    assert prefixes == [str(recipe.venv), str(tmp_path / 'ros')]


def test_a_sourced_ros_without_its_rclpy_is_named(root, tmp_path, monkeypatch):
    write_ros(tmp_path, monkeypatch, RUNNING, rclpy='raise ImportError("librcl.so is missing")')
    with pytest.raises(ProblemError, match=r'(?s)jazzy.*make ROS=jazzy.*librcl\.so is missing'):
        environment.sourced_recipe(None)


def test_a_sourced_ros_of_an_unsupported_python_is_refused(root, tmp_path, monkeypatch):
    write_ros(tmp_path, monkeypatch, '3.8')
    with pytest.raises(ProblemError, match=r'built for Python 3\.8, which is not supported'):
        environment.sourced_recipe(None)


def test_a_sourced_ros_decides_on_the_python(root, tmp_path, monkeypatch):
    write_ros(tmp_path, monkeypatch, RUNNING)
    with pytest.raises(ProblemError, match=f'built for Python {RUNNING}, not {OTHER}'):
        environment.sourced_recipe(OTHER)


def test_without_ros_the_sourced_one_is_refused(root):
    with pytest.raises(ProblemError, match='no ROS 2 is sourced'):
        environment.sourced_recipe(None)


def test_a_ros_1_is_refused(root, monkeypatch):
    monkeypatch.setenv('ROS_DISTRO', 'noetic')
    monkeypatch.setenv('ROS_VERSION', '1')
    with pytest.raises(ProblemError, match='noetic is a ROS 1'):
        environment.sourced_recipe(None)


def test_a_command_that_does_not_exist_is_named(capsys, monkeypatch, tmp_path):
    prepared = environment.Environment(tmp_path, {'PATH': str(tmp_path)})
    monkeypatch.setattr(environment, 'prepare', lambda ros, version: prepared)
    monkeypatch.chdir(tmp_path)
    assert environment.main(['no_such_command']) == 127
    assert 'no_such_command' in capsys.readouterr().err


def test_the_matrix_turns_with_the_commits():
    assert {matrix.choose(f'{count:x}') for count in range(8)} == set(matrix.ENTRIES)


def test_where_a_python_is_missing_the_matrix_takes_kilted(monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    assert matrix.available(matrix.Entry('jazzy', OTHER)) == matrix.KILTED
    here = matrix.Entry('jazzy', RUNNING)
    assert matrix.available(here) == here
