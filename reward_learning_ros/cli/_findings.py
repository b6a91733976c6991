"""What the doctor finds, and what it means: no ROS is needed to ask these questions."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import install_command
from reward_learning_ros.parameters.shared import FRANKA, SIMULATED
from reward_learning_ros.session.folder import (
    SUPPORTED_DISTRIBUTIONS,
    wheel_distribution,
)

SUPPORTED_PYTHON = ((3, 10), (3, 13))

GET_ROS = 'source ROS 2 (`source /opt/ros/jazzy/setup.bash`), or let `make session` fetch it'
GET_PACKAGE = 'run `make session`, or `pip install reward_learning_ros`'

MESSAGE_PACKAGES = (
    'builtin_interfaces',
    'rcl_interfaces',
    'std_msgs',
    'geometry_msgs',
    'nav_msgs',
    'sensor_msgs',
    'trajectory_msgs',
    'visualization_msgs',
    'diagnostic_msgs',
    'rosgraph_msgs',
    'std_srvs',
)
# Package, what it is for.
ARM_MESSAGE_PACKAGES = (
    ('franka_msgs', 'the mode of the arm, its thresholds and its recovery'),
    ('controller_manager_msgs', 'the controllers of the arm'),
)
PYTHON_PACKAGES = ('numpy', 'scipy', 'numba', 'yaml', 'rosbags', 'arviz')
# Python package, the extra that brings it, what it is for.
OPTIONAL_PACKAGES = (
    ('mujoco', 'sim', 'the simulated arm and physics tasks'),
    ('matplotlib', 'study', 'figures'),
    ('pandas', 'study', 'tables'),
    ('pyarrow', 'study', 'tables on disk'),
    ('dask', 'study', 'other machines'),
)
MIN_MEMORY_GB = 2.0

Finder = Callable[[str], bool]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of what `doctor` found: a name, what is there, and advice."""

    name: str
    found: str
    advice: str = ''
    """What to do about it; empty if all is well."""
    blocks: bool = False
    """Whether no session can start before that is done."""

    @property
    def state(self) -> str:
        """`ok`, `note` or `missing`."""
        if self.blocks:
            return 'missing'
        return 'note' if self.advice else 'ok'


def is_installed(package: str) -> bool:
    """Tell whether a Python package could be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def python_finding(version: Sequence[int] | None = None) -> Finding:
    """Return the finding about the Python version."""
    version = sys.version_info[:3] if version is None else version
    least, greatest = SUPPORTED_PYTHON
    is_supported = least <= tuple(version[:2]) <= greatest
    text = '.'.join(map(str, version[:3]))
    return Finding(
        name='Python',
        found=f'{text} ({sys.executable})',
        advice='' if is_supported else 'use Python 3.10 to 3.13',
        blocks=not is_supported,
    )


def ros_finding(
    environment: Mapping[str, str] = os.environ, installed: Finder = is_installed
) -> Finding:
    """Tell the ROS 2 distribution, and whether it is a sourced one or the wheels."""
    if not installed('rclpy'):
        return Finding(name='ROS 2', found='no rclpy', advice=GET_ROS, blocks=True)
    wheels = wheel_distribution()
    distribution = wheels or environment.get('ROS_DISTRO', '')
    origin = 'wheels' if wheels else 'sourced'
    if distribution in SUPPORTED_DISTRIBUTIONS:
        return Finding(name='ROS 2', found=f'{distribution} ({origin})')
    return Finding(
        name='ROS 2',
        found=f'{distribution or "unknown distribution"} ({origin})',
        advice=f'tested with {", ".join(SUPPORTED_DISTRIBUTIONS)}',
    )


def message_findings(arm: str, installed: Finder = is_installed) -> list[Finding]:
    """Tell the message packages, and those that only a real arm needs."""
    missing = [package for package in MESSAGE_PACKAGES if not installed(package)]
    apt = ' '.join(f'ros-$ROS_DISTRO-{package.replace("_", "-")}' for package in missing)
    advice = f'`sudo apt install {apt}`, or let `make session` fetch them'
    findings = [
        Finding(
            name='message packages',
            found=f'no {", ".join(missing)}' if missing else f'all {len(MESSAGE_PACKAGES)}',
            advice=advice if missing else '',
            blocks=bool(missing),
        )
    ]
    for package, purpose in ARM_MESSAGE_PACKAGES:
        is_here, is_needed = installed(package), arm == FRANKA
        need = 'required with a real arm' if is_needed else 'needed with a real arm only'
        findings.append(
            Finding(
                name=package,
                found=f'installed, for {purpose}' if is_here else 'no',
                advice=''
                if is_here
                else f'{need}, for {purpose}: build franka_ros2, or source its workspace',
                blocks=is_needed and not is_here,
            )
        )
    return findings


def franka_finding(arm: str) -> Finding | None:
    """Tell the release of franka_ros2, which brings a real arm up; None without a real arm."""
    if arm != FRANKA:
        return None
    from reward_learning_ros.arm.franka import FrankaReleaseError, check_release
    from reward_learning_ros.session.supervisor import installed_release

    name = 'franka_ros2'
    try:
        release = installed_release()
        if release is None:
            return Finding(
                name=name, found='not installed here', advice='bring the arm up elsewhere'
            )
        check_release(release)
    except FrankaReleaseError as error:
        return Finding(name=name, found=str(error), advice='update franka_ros2', blocks=True)
    return Finding(name=name, found='v' + '.'.join(map(str, release)))


def package_findings(arm: str, installed: Finder = is_installed) -> list[Finding]:
    """Tell the Python packages, those that are always needed and the optional ones."""
    missing = [package for package in PYTHON_PACKAGES if not installed(package)]
    findings = [
        Finding(
            name='Python packages',
            found=f'no {", ".join(missing)}' if missing else ', '.join(PYTHON_PACKAGES),
            advice=GET_PACKAGE if missing else '',
            blocks=bool(missing),
        )
    ]
    for package, extra, purpose in OPTIONAL_PACKAGES:
        is_here = installed(package)
        findings.append(
            Finding(
                name=f'{package} [{extra}]',
                found=f'installed, for {purpose}' if is_here else 'no',
                advice='' if is_here else f'for {purpose}: `{install_command(extra)}`',
                blocks=not is_here and package == 'mujoco' and arm == SIMULATED,
            )
        )
    return findings


def machine_findings(cores: int | None = None, memory_gb: float | None = None) -> list[Finding]:
    """Return the findings about cores and memory."""
    cores = available_cores() if cores is None else cores
    memory_gb = available_memory_gb() if memory_gb is None else memory_gb
    findings = [
        Finding(
            name='cores',
            found=f'{cores} ({platform.machine()})',
            advice='' if cores >= 2 else 'the arm and the inference share one core: slow',
        )
    ]
    if memory_gb is not None:
        findings.append(
            Finding(
                name='memory',
                found=f'{memory_gb:.1f} GB available',
                advice='' if memory_gb >= MIN_MEMORY_GB else 'close something: 2 GB are needed',
            )
        )
    return findings


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory_gb(path: Path = Path('/proc/meminfo')) -> float | None:
    """Return the memory that is free to use, None where the system does not tell."""
    try:
        lines = path.read_text(encoding='ascii').splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith('MemAvailable:'):
            return int(line.split()[1]) / 1024**2
    return None


def network_findings(environment: Mapping[str, str] = os.environ) -> list[Finding]:
    """Tell the ROS domain and how far its discovery reaches."""
    from reward_learning_ros.session.processes import is_domain

    domain = environment.get('ROS_DOMAIN_ID', '') or '0'
    is_valid = is_domain(domain)
    if environment.get('ROS_LOCALHOST_ONLY', '0') == '1':
        reach = 'LOCALHOST (ROS_LOCALHOST_ONLY=1)'
    elif environment.get('ROS_DISTRO') == 'humble':
        reach = 'SUBNET (Humble knows only ROS_LOCALHOST_ONLY)'
    else:
        reach = environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE', '') or 'SUBNET (default)'
    return [
        Finding(
            name='ROS domain',
            found=domain,
            advice='' if is_valid else 'set ROS_DOMAIN_ID to 0 to 232 (best up to 101)',
            blocks=not is_valid,
        ),
        Finding(
            name='discovery',
            found=reach,
            advice=''
            if reach.startswith('LOCALHOST')
            else 'everybody on this network sees the session; if that is not meant: '
            '`export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST`',
        ),
    ]


def middleware_finding(inspected: Mapping[str, Any] | None, failure: str) -> Finding:
    """Tell whether a node could be made, and with which middleware."""
    if inspected is not None:
        return Finding(name='middleware', found=f'{inspected["rmw"]}, made a node')
    return Finding(
        name='middleware',
        found=f'could not make a node: {failure}',
        advice='check RMW_IMPLEMENTATION (unset it to use the default); ' + GET_ROS,
        blocks=True,
    )


def topic_findings(
    topics: Iterable[Mapping[str, Any]], *, arm: str, namespace: str
) -> list[Finding]:
    """Tell each topic of the arm; without a real arm they are not needed."""
    topics = list(topics)
    if arm != FRANKA and not any(topic['publishers'] for topic in topics):
        return [Finding(name='franka topics', found='none; not needed with the simulated arm')]
    findings = []
    for topic in topics:
        is_needed = arm == FRANKA and topic['required']
        advice = _topic_advice(topic, namespace)
        findings.append(
            Finding(
                name=topic['topic'],
                found=_topic_text(topic),
                advice=advice if is_needed or topic['publishers'] else '',
                blocks=bool(advice) and is_needed,
            )
        )
    return findings


def _topic_text(topic: Mapping[str, Any]) -> str:
    if not topic['publishers']:
        return 'not visible' if topic['required'] else 'not visible, not needed'
    words = [
        '/'.join(topic['types']),
        '/'.join(topic['reliability']).replace('_', ' '),
        '/'.join(topic['durability']).replace('_', ' '),
    ]
    if topic['publishers'] > 1:
        words.append(f'{topic["publishers"]} publishers')
    if topic['rate_hz'] is not None:
        words.append(f'{topic["rate_hz"]:.0f} Hz')
    return ', '.join(words)


def _topic_advice(topic: Mapping[str, Any], namespace: str) -> str:
    if not topic['publishers']:
        return (
            'start franka_bringup with the state broadcaster (not with fake hardware); check '
            f'--namespace (now {namespace or "none"}), ROS_DOMAIN_ID and the discovery range'
        )
    if topic['types'] != [topic['expected_type']]:
        return f'must be {topic["expected_type"]}: check the version of franka_ros2'
    if topic['rate_hz'] == 0.0:
        return 'is published but nothing arrives: check the firewall and that the arm is on'
    if topic['publishers'] > 1:
        return 'has several publishers: stop all but one'
    return ''
