"""Message, service and action types that may not be installed, looked up where they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from reward_learning_ros.core.errors import RewardLearningError

_BRINGS = {
    'franka_msgs': 'build franka_ros2, or source the workspace that has it',
    'controller_manager_msgs': '`sudo apt install ros-$ROS_DISTRO-controller-manager-msgs`',
}


class MissingInterfaceError(RewardLearningError):
    """A package with message types is not installed; says what brings it."""


def find_interface(name: str) -> Any:
    """Return the class of a type, `franka_msgs/srv/SetLoad` for example; None if not installed."""
    package, kind, type_name = name.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), type_name)
    except ImportError:
        return None


def require_interface(name: str) -> Any:
    """Return the class of a message, service or action type; raise if it is not installed.

    Raises:
        MissingInterfaceError: Its package is not installed.
    """
    found = find_interface(name)
    if found is None:
        package = name.split('/')[0]
        advice = f': {_BRINGS[package]}' if package in _BRINGS else ''
        raise MissingInterfaceError(f'{package} is not installed{advice}')
    return found
