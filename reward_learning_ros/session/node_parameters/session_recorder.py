"""The configuration of the session recorder's node, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.arm.franka import ARM_CONTROLLER
from reward_learning_ros.parameters import ParameterError, Parameters, parameter
from reward_learning_ros.recording.growing_mcap import COMPRESSIONS

# Name of the node.
RECORDER = 'session_recorder'


@dataclass(frozen=True, kw_only=True)
class SessionRecorderParameters(Parameters):
    """What is recorded, and where."""

    bag: str = parameter(
        description='Folder of the recording, a rosbag2; one that is there already is gone on with'
    )
    compression: str = parameter(
        'zstd', description='How the recording is compressed', choices=COMPRESSIONS
    )
    flush_period_sec: float = parameter(
        0.5,
        description='How often the recording is made whole: a crash loses what came after',
        minimum=0.05,
        maximum=1.0,
        unit='s',
    )
    records_arm: bool = parameter(
        True,
        description='Whether the thousand samples a second of the arm are recorded too, so that '
        'corrections can be found anew',
    )
    controller: str = parameter(
        ARM_CONTROLLER, description='Joint trajectory controller whose commands are recorded'
    )
    further_topics: tuple[str, ...] = parameter(
        (), description='Topics to record besides, each as `name type`: `joy sensor_msgs/msg/Joy`'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bag:
            raise ParameterError(type(self).__name__, 'bag', self.bag, 'must not be empty')
        for text in self.further_topics:
            name, _, type_name = text.partition(' ')
            if not name or type_name.count('/msg/') != 1 or ' ' in type_name:
                raise ParameterError(
                    type(self).__name__,
                    'further_topics',
                    text,
                    'must be `name type`, such as `joy sensor_msgs/msg/Joy`',
                )

    @property
    def further_types(self) -> dict[str, str]:
        """The types of the further topics by name."""
        return dict(text.split(' ') for text in self.further_topics)
