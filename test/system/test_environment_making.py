"""A venv is made once, whole, and by one process at a time."""

from __future__ import annotations

import os
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools import environment, interpreters, virtual_environment
from tools.console import ProblemError
from tools.interpreters import Interpreter
from tools.virtual_environment import LOG, STAMP, Recipe


@pytest.fixture
def wheel(tmp_path) -> Path:
    """A package that installs without an index: a wheel is an archive with a little metadata."""
    path = tmp_path / 'tiny-1.0-py3-none-any.whl'
    files = {
        'tiny.py': 'answer = 42\n',
        'tiny-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n',
        'tiny-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nTag: py3-none-any\n',
        'tiny-1.0.dist-info/RECORD': '',
    }
    with zipfile.ZipFile(path, 'w') as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def recipe(tmp_path, wheel) -> Recipe:
    variables = dict(os.environ)
    for name in environment.SOURCED_VARIABLES:
        variables.pop(name, None)
    return Recipe(
        venv=tmp_path / '.venv',
        interpreter=interpreters.find(),
        sees_system_packages=False,
        pins=['tiny==1.0'],
        installations=[['--no-index', str(wheel)]],
        package='as it was',
        variables=variables,
    )


def installations_in(venv: Path) -> int:
    return (venv / LOG).read_text().count('Processing ')


def test_two_runs_at_the_same_time_make_one_venv_and_a_third_makes_none(recipe):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(virtual_environment.ensure, [recipe, recipe]))
    virtual_environment.ensure(recipe)
    assert installations_in(recipe.venv) == 1
    assert list((recipe.venv / 'lib').glob('python*/site-packages/tiny.py'))
    assert virtual_environment.interpreter_of(recipe.venv) == recipe.interpreter
    share = recipe.venv / 'share'
    assert (share / 'reward_learning_ros' / 'package.xml').is_file()
    assert (share / 'ament_index/resource_index/packages/reward_learning_ros').is_file()


def test_an_interrupted_venv_is_made_anew_and_a_changed_package_only_installed(recipe):
    recipe.venv.mkdir()
    (recipe.venv / 'left behind').touch()
    recipe.venv.with_name('.venv.lock').touch()
    assert virtual_environment.interpreter_of(recipe.venv) is None
    virtual_environment.ensure(recipe)
    assert installations_in(recipe.venv) == 1
    assert not (recipe.venv / 'left behind').exists()
    made_at = (recipe.venv / 'pyvenv.cfg').stat().st_mtime_ns
    virtual_environment.ensure(recipe._replace(package='changed'))
    assert installations_in(recipe.venv) == 2
    assert (recipe.venv / 'pyvenv.cfg').stat().st_mtime_ns == made_at


def test_what_compiles_ahead_runs_in_the_venv_and_may_fail(recipe, capsys):
    virtual_environment.ensure(recipe._replace(compiler='tiny'))
    assert 'failed' not in capsys.readouterr().err
    virtual_environment.ensure(recipe._replace(compiler='no_such_module', package='changed'))
    assert 'no_such_module failed' in capsys.readouterr().err
    assert 'no_such_module' in (recipe.venv / LOG).read_text()
    assert (recipe.venv / STAMP).exists()


def test_what_pip_complains_of_is_shown_and_the_venv_does_not_count(recipe):
    broken = recipe._replace(installations=[['--no-index', 'no-such-package']])
    with pytest.raises(ProblemError, match=r'(?s)install\.log.*no-such-package'):
        virtual_environment.ensure(broken)
    assert not (recipe.venv / STAMP).exists()


def test_a_python_that_cannot_make_a_venv_names_the_package_to_install(recipe, tmp_path):
    path = tmp_path / 'python'
    path.write_text('#!/bin/sh\necho ensurepip is not available\nexit 1\n')
    path.chmod(0o755)
    without = recipe._replace(interpreter=Interpreter(str(path), '3.11'))
    with pytest.raises(ProblemError, match=r'(?s)apt install python3\.11-venv.*ensurepip is not'):
        virtual_environment.ensure(without)
    assert not recipe.venv.exists()


def test_a_folder_of_somebody_else_is_not_replaced(recipe):
    recipe.venv.mkdir()
    (recipe.venv / 'precious').touch()
    with pytest.raises(ProblemError, match='was not made by this repository'):
        virtual_environment.ensure(recipe)
    assert (recipe.venv / 'precious').exists()
