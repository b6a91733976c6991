"""What the environments are made of: the packages asked for, and their pinned versions."""

from pathlib import Path
from typing import List

from tools.console import ProblemError

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / 'tools' / 'pins.txt'
# Versions that every environment shares are resolved together, then those of each distribution.
COMMON = 'common'
DISTRIBUTIONS = ('jazzy', 'kilted')
# The extras of setup.py that an environment of this repository holds; the packages stand there.
EXTRAS = ('sim', 'study', 'test', 'develop')
# Editable installations put executables on the PATH from setuptools 64 on; setuptools 80 dropped
# the command behind `colcon build --symlink-install`.
BUILD_TOOLS = ('setuptools>=64,<80', 'wheel')
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
