"""How a real arm is brought up, and which franka_ros2 is there to do it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from reward_learning_ros.arm.franka import FrankaReleaseError, check_release, release_in
from reward_learning_ros.core.errors import RewardLearningError

_PACKAGE = 'franka_bringup'


def installed_release() -> tuple[int, int, int] | None:
    """Return the release of franka_ros2 that is installed here; None if there is none.

    Raises:
        FrankaReleaseError: Its version cannot be read.
    """
    # The folders of the workspaces that are sourced, the last one first.
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        description = Path(prefix) / 'share' / _PACKAGE / 'package.xml'
        if prefix and description.is_file():
            return release_in(description)
    return None


def require_release() -> None:
    """Refuse to bring an arm up with a franka_ros2 that is missing or too old.

    Raises:
        FrankaReleaseError: It is; says what is needed.
    """
    release = installed_release()
    if release is None:
        raise FrankaReleaseError(
            f'{_PACKAGE} is not installed: build franka_ros2, or source the workspace that has it'
        )
    check_release(release)


def bringup_command(arguments: Mapping[str, str]) -> list[str]:
    """Return the command that brings a real arm up.

    Raises:
        RewardLearningError: What it needs is not installed.
    """
    ros2 = shutil.which('ros2')
    if ros2 is None:
        raise RewardLearningError(
            'the arm is brought up by `ros2 launch`, and ros2 is not on the PATH; bring it up '
            'elsewhere and leave robot_ip empty'
        )
    require_release()
    given = [f'{name}:={value}' for name, value in arguments.items()]
    return [ros2, 'launch', 'reward_learning_ros', 'franka.launch.py', *given]
