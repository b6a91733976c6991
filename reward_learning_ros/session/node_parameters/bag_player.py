"""The configuration of the player of recordings, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import Parameters, parameter


@dataclass(frozen=True, kw_only=True)
class BagPlayerParameters(Parameters):
    """What is played, and how fast."""

    bag: str = parameter(description='Folder of a session, or of a rosbag2')
    rate: float = parameter(
        1.0,
        description='Seconds of the recording per second; 0 is as fast as possible',
        minimum=0.0,
        maximum=1000.0,
    )
    topics: tuple[str, ...] = parameter(
        ('plan', 'corrections', 'playback/status'),
        description='Topics to play, as they are called in a session without a namespace',
    )
    longest_pause_sec: float = parameter(
        2.0,
        description='Longer pauses of the recording are cut to this',
        minimum=0.0,
        maximum=3600.0,
        unit='s',
    )
