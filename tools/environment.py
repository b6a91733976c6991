"""Find or make the Python environment of this repository, then run a command in it.

    python3 -m tools.environment [--ros auto|sourced|jazzy|kilted] [--python 3.12] COMMAND ...

With ROS 2 sourced, the environment is a venv over it that uses its rclpy. Without, it is a venv
with the PyPI wheels of ROS 2, in the versions of tools/pins.txt. Nothing is installed outside the
repository. This needs nothing but the standard library, and any Python from 3.6 on may start it.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from tools import interpreters, pins, virtual_environment
from tools.console import ProblemError, say
from tools.interpreters import Interpreter
from tools.pins import ROOT

# The wheels' bootstrapper marks the process that it prepared. Inherited by another venv, the
# mark would keep that one from finding its own libraries.
BOOTSTRAP_MARK = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
KERNELS = 'tools.kernels'
# What a sourced ROS 2 sets, and what must not reach an environment with wheels of its own.
SOURCED_VARIABLES = (
    'PYTHONPATH',
    'LD_LIBRARY_PATH',
    'AMENT_PREFIX_PATH',
    'CMAKE_PREFIX_PATH',
    'COLCON_PREFIX_PATH',
    'ROS_DISTRO',
    'ROS_VERSION',
    'ROS_PYTHON_VERSION',
    BOOTSTRAP_MARK,
)


class Environment(NamedTuple):
    """A finished environment, and the variables of a process that runs in it."""

    venv: Path
    variables: Dict[str, str]


def main(arguments: Optional[List[str]] = None) -> int:
    """Prepare the environment and replace this process by the command."""
    parser = argparse.ArgumentParser(
        prog='python3 -m tools.environment', description=(__doc__ or '').split('\n')[0]
    )
    parser.add_argument(
        '--ros',
        choices=('auto', 'sourced', *pins.DISTRIBUTIONS),
        default='auto',
        help='which ROS 2 to use; auto takes the sourced one, else the wheels of Jazzy',
    )
    parser.add_argument('--python', choices=interpreters.SUPPORTED, help='which Python to use')
    parser.add_argument('command', nargs=argparse.REMAINDER, help='what to run in it')
    options = parser.parse_args(arguments)
    try:
        prepared = prepare(options.ros, options.python)
    except ProblemError as problem:
        print(f'error: {problem}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say('interrupted; the next run starts over')
        return 130
    if not options.command:
        print(prepared.venv)
        return 0
    os.chdir(str(ROOT))
    try:
        os.execvpe(options.command[0], options.command, prepared.variables)
    except OSError as error:
        print(f'error: {options.command[0]}: {error.strerror}', file=sys.stderr)
        return 127


def prepare(ros: str, version: Optional[str]) -> Environment:
    """Return the environment for a ROS 2 (as on the command line) and a Python version."""
    if ros == 'auto':
        ros = 'sourced' if os.environ.get('ROS_DISTRO') else 'jazzy'
    recipe = sourced_recipe(version) if ros == 'sourced' else wheels_recipe(ros, version)
    virtual_environment.ensure(recipe)
    return Environment(recipe.venv, activated(recipe.venv, recipe.variables))


def wheels_recipe(distribution: str, version: Optional[str]) -> virtual_environment.Recipe:
    """Return what makes an environment with the wheels of a ROS 2 distribution."""
    name = '.venv' if distribution == 'jazzy' else f'.venv-{distribution}'
    # A venv keeps the Python that it was made with, whichever one starts the tools today.
    interpreter = virtual_environment.interpreter_of(ROOT / name) or interpreters.find()
    if version and version != interpreter.version:
        interpreter = interpreters.find(version)
        name += f'-{version}'
    venv = ROOT / name
    variables = isolated(os.environ)
    for sourced in SOURCED_VARIABLES:
        variables.pop(sourced, None)
    variables['ROS_DISTRO'] = distribution
    variables['AMENT_PREFIX_PATH'] = str(venv)
    # The only middleware that has wheels.
    variables['RMW_IMPLEMENTATION'] = 'rmw_fastrtps_cpp'
    return virtual_environment.Recipe(
        venv=venv,
        interpreter=interpreter,
        sees_system_packages=False,
        pins=pins.read(pins.COMMON) + pins.read(distribution),
        installations=installations(pins.ros_wheels(distribution)),
        package=package_text(),
        variables=variables,
        compiler=KERNELS,
    )


def installations(requirements: List[str]) -> List[List[str]]:
    """Return what pip is asked for: the build tools first, then the rest, built with them."""
    package = f'{ROOT}[{",".join(pins.EXTRAS)}]'
    return [
        list(pins.BUILD_TOOLS),
        [*requirements, '--no-build-isolation', '--editable', package],
    ]


def package_text() -> str:
    """Return what a new executable, extra or requirement of the package changes."""
    return (ROOT / 'setup.py').read_text(encoding='utf-8')


def sourced_recipe(version: Optional[str]) -> virtual_environment.Recipe:
    """Return what makes an environment over the sourced ROS 2."""
    distribution = os.environ.get('ROS_DISTRO')
    if not distribution:
        raise ProblemError(
            'no ROS 2 is sourced. Source one (`source /opt/ros/jazzy/setup.bash`), or use the '
            'wheels: `make ROS=jazzy …`'
        )
    if os.environ.get('ROS_VERSION') == '1':
        raise ProblemError(
            f'{distribution} is a ROS 1. Source a ROS 2 in a new shell, or use the wheels: '
            '`make ROS=jazzy …`'
        )
    interpreter = sourced_interpreter(distribution, version)
    variables = isolated(os.environ)
    numpy_version = sourced_numpy_version(distribution, interpreter, variables)
    venv = ROOT / f'.venv-sourced-{distribution}'
    prefixes = [str(venv), variables.get('AMENT_PREFIX_PATH', '')]
    variables['AMENT_PREFIX_PATH'] = os.pathsep.join(filter(None, prefixes))
    return virtual_environment.Recipe(
        venv=venv,
        interpreter=interpreter,
        sees_system_packages=True,
        # ROS 2's messages are compiled against the NumPy that it came with: keep exactly that
        # one and let the rest follow from it.
        pins=[f'numpy=={numpy_version}'],
        installations=installations([]),
        package=package_text(),
        variables=variables,
        compiler=KERNELS,
    )


def sourced_interpreter(distribution: str, version: Optional[str]) -> Interpreter:
    """Return the Python that the sourced ROS 2 is built for."""
    found = re.search(r'python(3\.\d+)/(?:site|dist)-packages', os.environ.get('PYTHONPATH', ''))
    # A ROS 2 within a conda environment needs no PYTHONPATH: it comes with the running Python.
    built_for = found.group(1) if found else interpreters.find(version).version
    if built_for not in interpreters.SUPPORTED:
        raise ProblemError(
            f'the sourced ROS 2 {distribution} is built for Python {built_for}, which is not '
            f'supported ({", ".join(interpreters.SUPPORTED)}). Use the wheels: `make ROS=jazzy …`'
        )
    if version and version != built_for:
        raise ProblemError(
            f'the sourced ROS 2 {distribution} is built for Python {built_for}, not {version}.'
        )
    return interpreters.find(built_for)


def sourced_numpy_version(
    distribution: str, interpreter: Interpreter, variables: Dict[str, str]
) -> str:
    """Return the version of NumPy beside the sourced rclpy, which must be importable."""
    asked = subprocess.run(
        [interpreter.path, '-c', 'import rclpy, numpy; print(numpy.__version__)'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
        env=variables,
    )
    if asked.returncode:
        raise ProblemError(
            f'ROS_DISTRO={distribution} is set, but {interpreter.path} cannot import its rclpy. '
            'Source its setup.bash again in a new shell, or use the wheels: `make ROS=jazzy …`. '
            f"Python's own words:\n{asked.stderr.strip()}"
        )
    return asked.stdout.split()[-1]


def isolated(variables: 'os._Environ[str]') -> Dict[str, str]:
    """Return variables without what would mix another Python's packages into this one.

    Bytecode is kept: without it each of a session's processes compiles every library anew.
    """
    dropped = ('PYTHONHOME', 'PYTHONDONTWRITEBYTECODE')
    kept = {name: value for name, value in variables.items() if name not in dropped}
    kept['PYTHONNOUSERSITE'] = '1'
    return kept


def activated(venv: Path, variables: Dict[str, str]) -> Dict[str, str]:
    """Return the variables with the venv activated."""
    changed = dict(variables)
    changed['VIRTUAL_ENV'] = str(venv)
    changed['PATH'] = os.pathsep.join([str(venv / 'bin'), variables.get('PATH', os.defpath)])
    # A session on a laboratory network must not talk to the neighbour's arm unless told to.
    if variables.get('ROS_DISTRO') == 'humble':
        changed.setdefault('ROS_LOCALHOST_ONLY', '1')
    else:
        changed.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    return changed


if __name__ == '__main__':
    sys.exit(main())
