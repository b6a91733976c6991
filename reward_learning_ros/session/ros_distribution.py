"""Which ROS 2 this Python has: the wheels of a distribution, or one that was sourced."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping

SUPPORTED_DISTRIBUTIONS = ('humble', 'jazzy', 'kilted')


def ros_distribution(environment: Mapping[str, str] = os.environ) -> str:
    """Return the name of the distribution, empty if nobody tells it."""
    return wheel_distribution() or environment.get('ROS_DISTRO', '')


def wheel_distribution() -> str:
    """Return the distribution whose wheels this Python has, empty if none."""
    for distribution in SUPPORTED_DISTRIBUTIONS:
        try:
            importlib.metadata.version(f'ros-{distribution}-rclpy')
        except importlib.metadata.PackageNotFoundError:
            continue
        return distribution
    return ''
