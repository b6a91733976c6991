"""The tree that colcon installs is one that ROS 2's tools find their way in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.domains import claimed_domain
from helpers.ros import PrivateRos
from std_srvs.srv import Trigger

from reward_learning_ros.nodes import names
from tools.colcon_check import PACKAGE, ROOT, build_command

SETUP = (ROOT / 'setup.py').read_text(encoding='utf-8')
EXECUTABLES = set(re.findall(r"'(\w+) = reward_learning_ros[\w.]*:main'", SETUP))


@pytest.fixture(scope='module')
def source(tmp_path_factory) -> Path:
    """A copy of the package with one more file in every folder whose files are installed."""
    copy = tmp_path_factory.mktemp('workspace') / PACKAGE
    copy.mkdir()
    for name in ('package.xml', 'setup.py', 'setup.cfg', 'README.md'):
        shutil.copy(ROOT / name, copy)
    for name in ('resource', 'launch', 'config', PACKAGE):
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns('__pycache__')
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ('launch/more.launch.py', 'config/more.yaml', 'config/tasks/more.yaml'):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).touch()
    return copy


@pytest.fixture(scope='module')
def install(tmp_path_factory, source) -> Path:
    """The install space of a workspace with this package in it."""
    bases = tmp_path_factory.mktemp('colcon')
    built = subprocess.run(
        build_command(bases, source), cwd=bases, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return bases / 'install'


@pytest.fixture(scope='module')
def prefix(install) -> Path:
    return install / PACKAGE


def in_workspace(install: Path, *command: str) -> list[str]:
    """Return a command, to be run in a shell that sourced the workspace."""
    return ['bash', '-c', 'source "$0/setup.bash" && exec "$@"', str(install), *command]


def run_sourced(install: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the workspace, outside of the repository."""
    sourced = in_workspace(install, *command)
    return subprocess.run(sourced, cwd=install, capture_output=True, text=True, check=False)


def files_under(folder: Path, pattern: str) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob(pattern)}


def test_the_ament_index_has_the_package(prefix):
    assert (prefix / 'share/ament_index/resource_index/packages' / PACKAGE).is_file()


def test_share_has_the_manifest(prefix):
    installed = (prefix / 'share' / PACKAGE / 'package.xml').read_text()
    assert installed == (ROOT / 'package.xml').read_text()


@pytest.mark.parametrize(('folder', 'pattern'), [('launch', '*.launch.py'), ('config', '*.yaml')])
def test_share_has_every_file_of_the_repository(prefix, source, folder, pattern):
    installed = files_under(prefix / 'share' / PACKAGE / folder, pattern)
    assert installed == files_under(source / folder, pattern)


def test_every_module_is_installed(install, source):
    found = run_sourced(
        install, sys.executable, '-c', f'import {PACKAGE}; print({PACKAGE}.__path__[0])'
    )
    installed = Path(found.stdout.strip())
    assert install in installed.parents, found.stderr
    assert files_under(installed, '*.py') == files_under(source / PACKAGE, '*.py')
    assert (installed / 'py.typed').is_file()


@pytest.fixture(scope='module')
def executables(prefix) -> dict[str, Path]:
    return {path.name: path for path in (prefix / 'lib' / PACKAGE).iterdir()}


def test_lib_has_the_executables_for_ros2_run(executables):
    assert {'reward_learning', 'session_conductor'} <= EXECUTABLES
    assert set(executables) == EXECUTABLES
    assert all(os.access(path, os.X_OK) for path in executables.values())


def test_the_installed_command_starts(install, executables):
    helped = run_sourced(install, str(executables['reward_learning']), '--help')
    assert helped.returncode == 0, helped.stderr
    assert 'doctor' in helped.stdout


def test_an_installed_node_runs_and_answers(install, executables):
    node = in_workspace(install, str(executables['session_conductor']))
    with claimed_domain() as domain:
        ros = PrivateRos(domain)
        process = subprocess.Popen(
            node, cwd=install, env={**os.environ, 'ROS_DOMAIN_ID': str(domain)}
        )
        try:
            client = ros.create_node('operator').create_client(
                Trigger, names.SESSION_FINISH_SERVICE
            )
            assert ros.call(client, Trigger.Request(), 60.0).success
            assert process.wait(timeout=60.0) == 0
        finally:
            process.kill()
            process.wait()
            ros.close()


def test_executables_are_on_the_path_of_the_environment():
    assert {path.name for path in Path(sys.executable).parent.iterdir()} >= EXECUTABLES


@pytest.fixture
def ros2() -> str:
    path = shutil.which('ros2')
    if path is None:
        pytest.skip('ros2 (ros2cli, ros2pkg, ros2launch) is not on the PATH')
    return path


@pytest.mark.fetched
def test_ros2_lists_the_executables(install, ros2):
    listed = run_sourced(install, ros2, 'pkg', 'executables', PACKAGE)
    assert listed.returncode == 0, listed.stderr
    assert set(listed.stdout.split('\n')) >= {f'{PACKAGE} {name}' for name in EXECUTABLES}


@pytest.mark.fetched
@pytest.mark.parametrize(
    'launch_file', sorted(path.name for path in (ROOT / 'launch').glob('*.launch.py'))
)
def test_ros2_launch_shows_arguments(install, ros2, launch_file):
    shown = run_sourced(install, ros2, 'launch', PACKAGE, launch_file, '--show-args')
    assert shown.returncode == 0, shown.stderr
    assert 'Arguments' in shown.stdout
