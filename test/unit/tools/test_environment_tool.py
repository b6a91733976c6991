"""The environment is chosen as promised, and what is missing is named."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tools import (
    console,
    environment,
    installer,
    interpreters,
    matrix,
    pins,
    virtual_environment,
)
from tools import (
    recipe as recipes,
)
from tools.console import ProblemError
from tools.environment import Asked
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
    path.write_text('[session]\nnumpy==2.2.6\n# comment\n')
    assert pins.read('session', path) == ['numpy==2.2.6']
    with pytest.raises(ProblemError, match=r'no section \[jazzy\]'):
        pins.read('jazzy', path)


@pytest.fixture
def build(tmp_path):
    """A folder for environments without any venv."""
    return tmp_path / 'build'


def test_a_venv_keeps_its_python_whichever_one_starts_the_tools(build, tmp_path):
    other = Interpreter(str(tmp_path / 'bin' / f'python{OTHER}'), OTHER)
    write_interpreter(Path(other.path), OTHER)
    venv = build / '.venv'
    venv.mkdir(parents=True)
    recipes.write_stamp(venv, {'interpreter': list(other)})
    assert environment.wheels_recipe(Asked('jazzy', build=build)).interpreter == other
    # Asked for the Python that runs, another venv is made beside it.
    asked = environment.wheels_recipe(Asked('jazzy', RUNNING, build=build))
    assert (asked.venv.name, asked.interpreter.version) == (f'.venv-{RUNNING}', RUNNING)
    # Its Python was removed: made anew with one that is here.
    Path(other.path).unlink()
    assert environment.wheels_recipe(Asked('jazzy', build=build)).interpreter.version == RUNNING


@pytest.mark.parametrize('python', interpreters.SUPPORTED)
def test_packages_are_counted_that_are_for_this_python(python):
    lines = [line for section in pins.LAYERS for line in pins.read(section)]
    assert any(';' in line for line in lines)
    wanted = [Requirement(line) for line in lines]
    here = {'python_version': python, 'python_full_version': f'{python}.1'}
    names = {each.name for each in wanted if not each.marker or each.marker.evaluate(here)}
    assert pins.count_packages(lines, python) == len(names)


def test_wheels_take_nothing_from_a_sourced_ros(build, monkeypatch):
    for name in (*environment.SOURCED_VARIABLES, 'PYTHONHOME', 'PYTHONDONTWRITEBYTECODE'):
        monkeypatch.setenv(name, 'of the sourced one')
    monkeypatch.setenv('RMW_IMPLEMENTATION', 'rmw_cyclonedds_cpp')
    recipe = environment.wheels_recipe(Asked('kilted', build=build))
    assert 'of the sourced one' not in recipe.variables.values()
    assert recipe.variables['ROS_DISTRO'] == 'kilted'
    assert recipe.variables['AMENT_PREFIX_PATH'] == str(recipe.venv)
    assert recipe.variables['RMW_IMPLEMENTATION'] == 'rmw_fastrtps_cpp'


def test_each_distribution_and_python_has_a_venv_of_its_own(build, tmp_path):
    write_interpreter(tmp_path / 'bin' / f'python{OTHER}', OTHER)
    venvs = {
        environment.wheels_recipe(Asked(distribution, version, build=build)).venv.name
        for distribution in pins.DISTRIBUTIONS
        for version in (None, RUNNING, OTHER)
    }
    assert venvs == {'.venv', '.venv-kilted', f'.venv-{OTHER}', f'.venv-kilted-{OTHER}'}


def test_an_activated_venv_comes_first_and_stays_on_this_machine(build):
    venv = build / '.venv'
    variables = environment.activated(venv, {'PATH': '/bin', 'ROS_DISTRO': 'jazzy'})
    assert variables['PATH'] == f'{venv}/bin{os.pathsep}/bin'
    assert variables['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert variables['FASTDDS_BUILTIN_TRANSPORTS'] == 'UDPv4'
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


def test_over_a_sourced_ros_its_rclpy_and_its_numpy_are_kept(build, tmp_path, monkeypatch):
    packages = write_ros(tmp_path, monkeypatch, RUNNING)
    recipe = environment.sourced_recipe(Asked('sourced', build=build))
    assert recipe.constraints == ['numpy==1.26.4']
    assert not recipe.is_resolved
    assert recipe.sees_system_packages
    assert recipe.variables['PYTHONPATH'] == str(packages)
    prefixes = recipe.variables['AMENT_PREFIX_PATH'].split(os.pathsep)
    assert prefixes == [str(recipe.venv), str(tmp_path / 'ros')]


def test_a_sourced_ros_without_its_rclpy_is_named(build, tmp_path, monkeypatch):
    write_ros(tmp_path, monkeypatch, RUNNING, rclpy='raise ImportError("librcl.so is missing")')
    with pytest.raises(ProblemError, match=r'(?s)jazzy.*make ROS=jazzy.*librcl\.so is missing'):
        environment.sourced_recipe(Asked('sourced', build=build))


def test_a_sourced_ros_of_an_unsupported_python_is_refused(build, tmp_path, monkeypatch):
    write_ros(tmp_path, monkeypatch, '3.8')
    with pytest.raises(ProblemError, match=r'built for Python 3\.8, which is not supported'):
        environment.sourced_recipe(Asked('sourced', build=build))


def test_a_sourced_ros_decides_on_the_python(build, tmp_path, monkeypatch):
    write_ros(tmp_path, monkeypatch, RUNNING)
    with pytest.raises(ProblemError, match=f'built for Python {RUNNING}, not {OTHER}'):
        environment.sourced_recipe(Asked('sourced', OTHER, build=build))


def test_without_ros_the_sourced_one_is_refused(build):
    with pytest.raises(ProblemError, match='no ROS 2 is sourced'):
        environment.sourced_recipe(Asked('sourced', build=build))


def test_a_ros_1_is_refused(build, monkeypatch):
    monkeypatch.setenv('ROS_DISTRO', 'noetic')
    monkeypatch.setenv('ROS_VERSION', '1')
    with pytest.raises(ProblemError, match='noetic is a ROS 1'):
        environment.sourced_recipe(Asked('sourced', build=build))


def test_a_command_that_does_not_exist_is_named(capsys, monkeypatch, tmp_path):
    prepared = environment.Environment(tmp_path, {'PATH': str(tmp_path)})
    monkeypatch.setattr(environment, 'prepare', lambda asked: prepared)
    monkeypatch.chdir(tmp_path)
    assert environment.main(['no_such_command']) == 127
    assert 'no_such_command' in capsys.readouterr().err


def test_a_layer_brings_what_it_needs_and_an_unknown_one_is_named():
    assert pins.with_needed(['lint']) == ['lint']
    assert pins.with_needed(['types']) == ['session', 'types']
    assert set(pins.with_needed(['test'])) == {
        'session',
        'study',
        'console',
        'colcon',
        'test',
    }
    with pytest.raises(ProblemError, match=r"no layer 'tests'; known: session, .*lint"):
        pins.with_needed(['tests'])


def test_only_a_session_needs_ros_and_this_package(build):
    session = environment.wheels_recipe(Asked('jazzy', build=build))
    lint = environment.wheels_recipe(Asked('jazzy', layers=['lint'], build=build))
    assert [line for line in session.layers['session'] if line.startswith('ros-rclpy==')]
    assert session.package
    assert [line.split('==')[0] for line in lint.layers['lint']] == ['ruff']
    assert lint.package is None


def test_kernels_are_compiled_for_those_who_ask_and_have_a_compiler(build, monkeypatch):
    asked = Asked('jazzy', is_compiled=True, build=build)
    assert environment.wheels_recipe(asked).compilers
    assert not environment.wheels_recipe(asked._replace(is_compiled=False)).compilers
    assert not environment.wheels_recipe(asked._replace(layers=['lint'])).compilers
    monkeypatch.setenv('NUMBA_DISABLE_JIT', '1')
    assert not environment.wheels_recipe(asked).compilers


def test_with_another_build_folder_nothing_is_made_in_the_repository(build):
    recipe = environment.wheels_recipe(Asked('jazzy', build=build))
    assert recipe.venv == build / '.venv'
    for name in environment.CACHE_VARIABLES:
        assert recipe.variables[name].startswith(str(build))
    own = environment.wheels_recipe(Asked('jazzy'))
    assert own.venv == pins.ROOT / '.venv'
    assert 'RUFF_CACHE_DIR' not in own.variables


LISTED = """\
:env:.find-links='/wheels'
global.cert='/etc/certificates.crt'
global.extra-index-url='https://one.invalid/simple\\nhttps://two.invalid/simple'
global.find-links='/of the file'
global.timeout='60'
install.no-index='false'
download.prefer-binary='true'
"""


def test_uv_is_told_what_pip_is_told():
    options, variables = installer.translate(installer.parse_settings(LISTED))
    assert options == [
        '--index',
        'https://one.invalid/simple',
        '--index',
        'https://two.invalid/simple',
        '--find-links',
        '/wheels',
    ]
    assert variables == {'SSL_CERT_FILE': '/etc/certificates.crt', 'UV_HTTP_TIMEOUT': '60'}


@pytest.mark.parametrize('setting', ['client-cert', 'only-binary', 'keyring-provider', 'pre'])
def test_where_uv_has_no_such_setting_pip_does_the_work(setting):
    settings = installer.parse_settings(f"global.{setting}='something'\n")
    assert installer.translate(settings) is None


def test_settings_of_uv_do_not_replace_those_of_pip(tmp_path):
    variables = {'UV_DEFAULT_INDEX': 'https://other.invalid', 'UV_CACHE_DIR': str(tmp_path)}
    command = installer.uv(tmp_path, variables, {'index-url': 'https://mine.invalid'})
    assert command.variables == {'UV_CACHE_DIR': str(tmp_path)}
    assert command.words[-2:] == ['--default-index', 'https://mine.invalid']


def test_where_uv_cannot_keep_its_downloads_it_is_told_to_keep_none(tmp_path):
    (tmp_path / 'file').touch()
    blocked = {'UV_CACHE_DIR': str(tmp_path / 'file' / 'folder')}
    assert '--no-cache' in installer.uv(tmp_path, blocked, {}).words


def test_progress_counts_megabytes_of_uv_and_packages_of_pip():
    log = 'Resolved 3 packages in 1s\nDownloading a (30.0MiB)\nDownloading b (512.0KiB)\n'
    assert installer.fetched_share(log, 3, 0) == (0.0, '0 of 30 MB')
    share, words = installer.fetched_share(log + ' Downloaded a\n', 3, 0)
    assert 0.7 < share < 0.8
    assert words == '30 of 30 MB'
    assert (
        installer.fetched_share('Collecting a\n  Downloading a.whl (1 kB)\n', 2, 0)[1] == '1 of 2'
    )
    assert installer.fetched_share(log + ' Downloaded a\n Downloaded b\n', 3, 3)[0] == 1.0


def test_what_is_left_follows_from_what_the_first_steps_took():
    steps = console.Steps([('one', 10.0), ('two', 30.0)])
    steps.begin()
    steps.begin()
    # Half of what is usual so far, so half of the rest; and no worse for a slow start.
    assert steps.left_sec(10.0, 0.0) == pytest.approx(30.0)
    assert steps.left_sec(5.0, 0.0) < 20.0
    assert steps.left_sec(40.0, 1.0) == 0.0


@pytest.mark.parametrize(
    ('left_sec', 'words'),
    [
        (3.0, 'a few seconds left'),
        (41.0, 'about 40 s left'),
        (89.0, 'about 90 s left'),
        (170.0, 'about 3 min left'),
    ],
)
def test_what_is_left_is_told_no_more_exactly_than_it_is_known(left_sec, words):
    assert console.in_words(left_sec) == words


def test_a_log_has_a_line_for_each_step(capsys):
    steps = console.Steps([('making', 1.0), ('installing', 2.0)])
    for _ in range(2):
        steps.begin()
        steps.update(0.5, '1 of 2')
    said = capsys.readouterr().err.splitlines()
    assert [line.split(',')[0] for line in said] == [
        '[environment] step 1 of 2: making',
        '[environment] step 2 of 2: installing',
    ]


@pytest.mark.parametrize('columns', [40, 100, 0])
def test_on_a_terminal_the_line_is_no_longer_than_it(monkeypatch, columns):
    ours, theirs = pty.openpty()
    with open(ours, 'rb', buffering=0) as screen, open(theirs, 'w') as terminal:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
        monkeypatch.setattr(sys, 'stderr', terminal)
        console.Steps([('compiling ' + 'the numerical code ' * 9, 60.0)]).begin()
        said = screen.read(1000).decode()
    shown = said.rpartition('\033[K')[2]
    assert shown.startswith('[environment] step 1 of 1: c')
    # One column is left free: with the last one taken, some terminals go on to the next line.
    assert len(shown) == (columns or 80) - 1


def test_compilers_announce_how_many_kernels_they_have():
    announced = 'kernels 3\nkernels 2\n'
    compiled = 'compiled one\ncompiled two\n'
    assert virtual_environment._compiled_share(announced) == (0.0, '')
    share, words = virtual_environment._compiled_share(announced + compiled)
    assert (share, words) == (0.4, '2 of 5 kernels')
    # More than announced: a kernel was added, and nobody counted again.
    assert virtual_environment._compiled_share('kernels 1\n' + compiled)[1] == '2 of 2 kernels'


def test_in_an_unpacked_archive_the_matrix_has_no_commit_to_turn_with(monkeypatch, tmp_path):
    monkeypatch.setattr(matrix, 'ROOT', tmp_path)
    monkeypatch.setenv('GIT_CEILING_DIRECTORIES', str(tmp_path.parent))
    assert matrix.choose(matrix.commit()) in matrix.ENTRIES
    monkeypatch.setenv('PATH', str(tmp_path))
    assert matrix.commit() == '0'


def test_the_matrix_turns_with_the_commits():
    assert {matrix.choose(f'{count:x}') for count in range(8)} == set(matrix.ENTRIES)


def test_where_a_python_is_missing_the_matrix_takes_kilted(monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    assert matrix.available(matrix.Entry('jazzy', OTHER)) == matrix.KILTED
    here = matrix.Entry('jazzy', RUNNING)
    assert matrix.available(here) == here
