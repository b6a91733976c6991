"""Find or make the Python environment of this repository, then run a command in it.

    python3 -m tools.environment [--with LAYERS] [--ros auto|sourced|jazzy|kilted] [--python 3.12]
        [--build FOLDER] COMMAND ...

With ROS 2 sourced, the environment is a venv over it that uses its rclpy. Without, it is a venv
with the PyPI wheels of ROS 2, in the versions of tools/pins.txt. It holds the layers that were
asked for so far; another one is added when a command needs it. This needs nothing but the standard
library, and any Python from 3.6 on may start it.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

from tools import interpreters, pins, virtual_environment
from tools.console import ProblemError, say
from tools.interpreters import Interpreter
from tools.pins import ROOT
from tools.recipe import PACKAGE, Recipe, interpreter_of

# The wheels' bootstrapper marks the process that it prepared. Inherited by another venv, the
# mark would keep that one from finding its own libraries.
BOOTSTRAP_MARK = '_ROS_WHEELS_BOOTSTRAP_COMPLETE'
# Two processes compile at the same time.
KERNELS = (('tools.kernels', 'learn'), ('tools.kernels', 'sense'))
# Where tools keep what they found out, when they are to leave the source tree alone.
CACHE_VARIABLES = {
    'PYTHONPYCACHEPREFIX': '__pycache__',
    'RUFF_CACHE_DIR': '.ruff_cache',
    'MYPY_CACHE_DIR': '.mypy_cache',
    'HYPOTHESIS_STORAGE_DIRECTORY': '.hypothesis',
}
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
    parser.add_argument(
        '--with',
        dest='layers',
        metavar='LAYERS',
        type=lambda text: text.split(','),
        default=[pins.SESSION],
        help='what must be installed, with commas: ' + ', '.join(pins.LAYERS),
    )
    parser.add_argument(
        '--compiled', action='store_true', help='with the numerical code compiled beforehand'
    )
    parser.add_argument(
        '--build',
        metavar='FOLDER',
        help='where everything is made; the repository itself unless given',
    )
    parser.add_argument(
        '--in-build', action='store_true', help='run the command there, not in the repository'
    )
    parser.add_argument('command', nargs=argparse.REMAINDER, help='what to run in it')
    options = parser.parse_args(arguments)
    build = Path(os.path.abspath(os.path.expanduser(options.build or str(ROOT))))
    try:
        layers = pins.with_needed(options.layers)
        asked = Asked(options.ros, options.python, layers, options.compiled, build)
        prepared = prepare(asked)
    except ProblemError as problem:
        print(f'error: {problem}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        say('interrupted; the next run goes on with what was downloaded')
        return 130
    if not options.command:
        print(prepared.venv)
        return 0
    os.chdir(str(build if options.in_build else ROOT))
    try:
        os.execvpe(options.command[0], options.command, prepared.variables)
    except OSError as error:
        print(f'error: {options.command[0]}: {error.strerror}', file=sys.stderr)
        return 127


class Asked(NamedTuple):
    """What a command wants of its environment, as on the command line."""

    ros: str
    python: Optional[str] = None
    layers: Sequence[str] = (pins.SESSION,)
    is_compiled: bool = False
    build: Path = ROOT


def prepare(asked: Asked) -> Environment:
    """Return the environment that a command needs."""
    if asked.ros == 'auto':
        asked = asked._replace(ros='sourced' if os.environ.get('ROS_DISTRO') else 'jazzy')
    recipe = sourced_recipe(asked) if asked.ros == 'sourced' else wheels_recipe(asked)
    virtual_environment.ensure(recipe)
    return Environment(recipe.venv, activated(recipe.venv, recipe.variables))


def wheels_recipe(asked: Asked) -> Recipe:
    """Return what makes an environment with the wheels of a ROS 2 distribution."""
    name = '.venv' if asked.ros == 'jazzy' else f'.venv-{asked.ros}'
    # A venv keeps the Python that it was made with, whichever one starts the tools today.
    interpreter = interpreter_of(asked.build / name) or interpreters.find()
    if asked.python and asked.python != interpreter.version:
        interpreter = interpreters.find(asked.python)
        name += f'-{asked.python}'
    venv = asked.build / name
    variables = isolated(os.environ)
    for sourced in SOURCED_VARIABLES:
        variables.pop(sourced, None)
    variables['ROS_DISTRO'] = asked.ros
    variables['AMENT_PREFIX_PATH'] = str(venv)
    # The only middleware that has wheels.
    variables['RMW_IMPLEMENTATION'] = 'rmw_fastrtps_cpp'
    return completed(
        Recipe(
            venv=venv,
            interpreter=interpreter,
            sees_system_packages=False,
            installer=pins.read(pins.INSTALLER),
            layers=pins.pinned(asked.layers, asked.ros),
            is_resolved=True,
            constraints=[],
            variables=variables,
        ),
        asked,
    )


def completed(recipe: Recipe, asked: Asked) -> Recipe:
    """Return a recipe with what does not depend on the ROS 2: this package and its kernels."""
    if asked.build != ROOT:
        for name, folder in CACHE_VARIABLES.items():
            recipe.variables.setdefault(name, str(asked.build / folder))
    if pins.SESSION not in asked.layers:
        return recipe
    # A new executable or task asks for a new installation.
    recipe = recipe._replace(package=(ROOT / 'setup.py').read_text(encoding='utf-8'))
    # Without the compiler there is nothing to compile.
    if not asked.is_compiled or recipe.variables.get('NUMBA_DISABLE_JIT', '0') != '0':
        return recipe
    return recipe._replace(compilers=KERNELS, sources=kernel_sources())


def kernel_sources() -> str:
    """Return a digest of the files with kernels, whose change asks for compiling them."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / PACKAGE).glob('**/*.py')):
        content = path.read_bytes()
        if b'njit' in content:
            digest.update(content)
    return digest.hexdigest()


def sourced_recipe(asked: Asked) -> Recipe:
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
    interpreter = sourced_interpreter(distribution, asked.python)
    variables = isolated(os.environ)
    numpy_version = sourced_numpy_version(distribution, interpreter, variables)
    venv = asked.build / f'.venv-sourced-{distribution}'
    prefixes = [str(venv), variables.get('AMENT_PREFIX_PATH', '')]
    variables['AMENT_PREFIX_PATH'] = os.pathsep.join(filter(None, prefixes))
    return completed(
        Recipe(
            venv=venv,
            interpreter=interpreter,
            sees_system_packages=True,
            installer=[line for line in pins.INSTALLER_PACKAGES if line != 'uv'],
            layers={layer: pins.requirements(layer) for layer in asked.layers},
            is_resolved=False,
            # ROS 2's messages are compiled against the NumPy that it came with: keep exactly
            # that one and let the rest follow from it.
            constraints=[f'numpy=={numpy_version}'],
            variables=variables,
        ),
        asked,
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
    # As a session's nodes do (reward_learning_ros/session/processes.py).
    changed.setdefault('FASTDDS_BUILTIN_TRANSPORTS', 'UDPv4')
    return changed


if __name__ == '__main__':
    sys.exit(main())
