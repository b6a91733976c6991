"""What `make session` installs and compiles is enough for a session, and serves the next clone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

from tools import pins
from tools.pins import ROOT
from tools.virtual_environment import ANNOUNCED, COMPILED

pytestmark = pytest.mark.timeout(600)

# Imports all that runs in a session, in a process in which the other layers are not there.
PROGRAM = """
import importlib, pkgutil, sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in foreign:
            raise ModuleNotFoundError(f'{name} is not of the layer of a session', name=name)

foreign = set(sys.argv[1].split(','))
sys.meta_path.insert(0, Refusing())
for name in ('nodes', 'session'):
    package = importlib.import_module(f'reward_learning_ros.{name}')
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            # Only launch files need these; who launches has a ROS 2 that has them.
            if error.name.split('.')[0] not in ('launch', 'launch_ros'):
                raise
        print(module.name)
from reward_learning_ros.cli.main import main
main(['session', '--help'])
"""


def distributions(*sections: str) -> set[str]:
    """Return what the sections of the pins name, as the index spells it."""
    lines = [line for section in sections for line in pins.read(section)]
    return {normalized(re.split('[=;<> ]', line)[0]) for line in lines}


def normalized(name: str) -> str:
    return re.sub('[-_.]+', '-', name).lower()


def test_a_session_needs_nothing_of_the_other_layers():
    others = distributions(*(layer for layer in pins.LAYERS if layer != pins.SESSION))
    others -= distributions(pins.SESSION, pins.INSTALLER, *pins.DISTRIBUTIONS)
    foreign = [
        module
        for module, owners in packages_distributions().items()
        if {normalized(owner) for owner in owners} <= others
    ]
    # It lies in a folder of its own, which no metadata names.
    assert 'pin' in others
    foreign.append('pinocchio')
    assert {'pyarrow', 'dask', 'statsmodels', 'pytest'} <= set(foreign)
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, ','.join(foreign)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 'reward_learning_ros.nodes.reward_inference' in done.stdout.splitlines()
    assert 'reward_learning session' in done.stdout


def test_a_second_clone_finds_what_the_first_one_compiled(tmp_path):
    clone = tmp_path / 'clone'
    clone.mkdir()
    for name in ('reward_learning_ros', 'tools', 'config'):
        without = shutil.ignore_patterns('__pycache__')
        shutil.copytree(ROOT / name, clone / name, ignore=without)
    compiled = []
    for folder in (ROOT, clone):
        done = subprocess.run(
            [sys.executable, '-m', 'tools.kernels', 'sense'],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0].startswith(ANNOUNCED)
        compiled = [line for line in lines if line.startswith(COMPILED)]
    assert compiled == []
