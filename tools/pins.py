"""What the environments are made of: layers of packages, and their pinned versions."""

import ast
import platform
import re
import sys
from pathlib import Path
from typing import Any, Dict, Iterable, List, NamedTuple, Set, Tuple

from tools.console import ProblemError

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / 'tools' / 'pins.txt'
DISTRIBUTIONS = ('jazzy', 'kilted')
# What installs everything else: first of all, in every environment. Editable installations put
# executables on the PATH from setuptools 64 on; setuptools 80 dropped the command behind
# `colcon build --symlink-install`.
INSTALLER = 'installer'
INSTALLER_PACKAGES = ('uv', 'setuptools>=64,<80', 'wheel')
# This package itself and all that runs a session; only this layer needs ROS 2.
SESSION = 'session'


class Layer(NamedTuple):
    """What can be added to an environment: an extra of setup.py, over other layers."""

    extra: str
    needs: Tuple[str, ...] = ()


# A command of the Makefile names the layer that it needs.
LAYERS = {
    SESSION: Layer('sim'),
    'study': Layer('study', (SESSION,)),
    'console': Layer('console', (SESSION,)),
    'colcon': Layer('colcon', (SESSION,)),
    'test': Layer('test', (SESSION, 'study', 'console', 'colcon')),
    'bench': Layer('bench', (SESSION, 'study', 'console', 'colcon', 'test')),
    'types': Layer('types', (SESSION,)),
    'docs': Layer('docs', (SESSION,)),
    'lint': Layer('lint'),
}
ROS_PACKAGES = (
    'rclpy',
    'rmw-fastrtps-cpp',
    'builtin-interfaces',
    'rosgraph-msgs',
    'std-msgs',
    'geometry-msgs',
    'nav-msgs',
    'sensor-msgs',
    'trajectory-msgs',
    'visualization-msgs',
    'diagnostic-msgs',
    'std-srvs',
)


def ros_wheels(distribution: str) -> List[str]:
    """Return the names of the wheels of a ROS 2 distribution."""
    return [f'ros-{distribution}-{name}' for name in ROS_PACKAGES]


def with_needed(layers: Iterable[str]) -> List[str]:
    """Return layers with all that they need."""
    found: Set[str] = set()
    for layer in layers:
        if layer not in LAYERS:
            raise ProblemError(f'there is no layer {layer!r}; known: {", ".join(LAYERS)}.')
        found.update((layer, *LAYERS[layer].needs))
    return [layer for layer in LAYERS if layer in found]


def requirements(layer: str) -> List[str]:
    """Return what setup.py says that a layer needs, without versions chosen."""
    declared = _constants(ROOT / 'setup.py')
    own = declared['REQUIREMENTS'] if layer == SESSION else []
    return [*own, *declared['EXTRAS'][LAYERS[layer].extra]]


def pinned(layers: Iterable[str], distribution: str) -> Dict[str, List[str]]:
    """Return all pinned packages of each layer; a session's has those of a ROS 2 distribution."""
    found = {layer: read(layer) for layer in layers}
    if SESSION in found:
        found[SESSION] += read(distribution)
    return found


def read(section: str, path: Path = PINS) -> List[str]:
    """Return the lines of one section of the pins file."""
    lines = []
    current = None
    for line in path.read_text(encoding='utf-8').splitlines():
        text = line.strip()
        if text.startswith('['):
            current = text.strip('[]')
        elif text and not text.startswith('#') and current == section:
            lines.append(text)
    if not lines:
        raise ProblemError(f'{path} has no section [{section}]; `make pins` writes it anew.')
    return lines


def count_packages(lines: Iterable[str], python: str) -> int:
    """Return how many of the packages in lines of requirements are for a Python, as 3.12."""
    return len({_NAME.split(line)[0] for line in lines if is_for(line, python)})


def is_for(line: str, python: str) -> bool:
    """Tell whether the marker of a pinned line, if it has one, is true of a Python here."""
    _, _, marker = line.partition(';')
    return all(_is_true(clause, python) for clause in marker.split(' and ') if clause.strip())


def _is_true(clause: str, python: str) -> bool:
    name, relation, value = clause.split()
    value = value.strip('\'"')
    if name == 'python_full_version':
        here, there = _numbers(python), _numbers(value)
    else:
        # What is not known here counts as what is not there.
        known = {'sys_platform': sys.platform}
        known['platform_python_implementation'] = platform.python_implementation()
        here, there = [known.get(name, '')], [value]
    return {'==': here == there, '!=': here != there, '<': here < there, '>=': here >= there}[
        relation
    ]


def _numbers(version: str) -> List[Any]:
    return [int(part) for part in version.split('.')[:2]]


_NAME = re.compile(r'[^A-Za-z0-9._-]')


def _constants(path: Path) -> Dict[str, Dict[str, List[str]]]:
    """Return the constants of a Python file, without running it: setuptools may not be here."""
    found = {}
    for node in ast.parse(path.read_text(encoding='utf-8')).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found
