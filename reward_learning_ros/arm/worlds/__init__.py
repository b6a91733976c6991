"""The worlds of the tasks: objects, and scenes made of them; no ROS, no physics engine."""

from reward_learning_ros.arm.worlds.objects import (
    Button,
    Door,
    HeldCup,
    PushableBox,
    SceneObject,
)
from reward_learning_ros.arm.worlds.scenes import (
    SCENES,
    Scene,
    load_scene,
)

__all__ = [
    'SCENES',
    'Button',
    'Door',
    'HeldCup',
    'PushableBox',
    'Scene',
    'SceneObject',
    'load_scene',
]
