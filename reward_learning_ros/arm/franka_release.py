"""Which releases of franka_ros2 are supported, by the version of its package franka_bringup."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from reward_learning_ros.core.errors import RewardLearningError

# The first releases whose bringup takes `robot_type` and `controllers_yaml`, by major version:
# 2 is Humble, 3 is Jazzy.
MINIMUM_RELEASES = {2: (2, 2, 0), 3: (3, 2, 0)}
_VERSION = re.compile(r'(\d+)\.(\d+)\.(\d+)')


class FrankaReleaseError(RewardLearningError):
    """franka_ros2 is too old, or its version cannot be read; says what is needed."""


def release_in(package_xml: Path) -> tuple[int, int, int]:
    """Return the version that a package.xml states.

    Raises:
        FrankaReleaseError: It cannot be read, or states none.
    """
    try:
        text = ElementTree.parse(package_xml).findtext('version', '')
    except (OSError, ElementTree.ParseError) as error:
        raise FrankaReleaseError(f'{package_xml} cannot be read: {error}') from error
    found = _VERSION.match(text.strip())
    if found is None:
        raise FrankaReleaseError(f'{package_xml} states the version {text!r}')
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def check_release(release: tuple[int, int, int]) -> None:
    """Refuse a release that is too old.

    Raises:
        FrankaReleaseError: It is; says which are supported.
    """
    # A later major version is not known to differ.
    minimum = MINIMUM_RELEASES.get(release[0], min(MINIMUM_RELEASES.values()))
    if release < minimum:
        allowed = ' or '.join(f'v{_text(each)}' for each in MINIMUM_RELEASES.values())
        raise FrankaReleaseError(
            f'franka_ros2 is v{_text(release)}; allowed: {allowed} and later, whose bringup takes '
            'robot_type and controllers_yaml'
        )


def _text(release: tuple[int, int, int]) -> str:
    return '.'.join(map(str, release))
