"""Playback of plans on an arm: motions, guards and states; no ROS."""

from reward_learning_ros.arm.playback.drive import PlaybackRefusedError
from reward_learning_ros.arm.playback.guards import ArmView, Stream
from reward_learning_ros.arm.playback.motion import Command
from reward_learning_ros.arm.playback.parameters import PlaybackParameters
from reward_learning_ros.arm.playback.playback import STARTABLE, Playback
from reward_learning_ros.arm.playback.time_law import Now

__all__ = [
    'STARTABLE',
    'ArmView',
    'Command',
    'Now',
    'Playback',
    'PlaybackParameters',
    'PlaybackRefusedError',
    'Stream',
]
