"""The one place that imports MuJoCo, so that its absence is said in one way."""

from __future__ import annotations

from types import ModuleType

from reward_learning_ros.core.errors import MissingExtraError


def import_mujoco(purpose: str) -> ModuleType:
    """Import MuJoCo with its rollouts.

    Args:
        purpose: what needs it, for the message.

    Raises:
        MissingExtraError: MuJoCo is not installed.
    """
    try:
        import mujoco
        import mujoco.rollout
    except ImportError as error:
        raise MissingExtraError('mujoco', 'sim', purpose) from error
    module: ModuleType = mujoco
    return module
