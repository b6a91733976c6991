"""The configuration of the correction recorder's node, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import ParameterError, parameter
from reward_learning_ros.parameters.shared import correction_source_parameter
from reward_learning_ros.sensing.contact_parameters import ContactParameters
from reward_learning_ros.sensing.displacement import DisplacementParameters
from reward_learning_ros.sensing.live import LiveParameters
from reward_learning_ros.sensing.ordering import OrderingParameters
from reward_learning_ros.sensing.passes import PassParameters
from reward_learning_ros.sensing.teleoperation import TeleoperationParameters


@dataclass(frozen=True, kw_only=True)
class CorrectionRecorderParameters(
    ContactParameters,
    DisplacementParameters,
    PassParameters,
    LiveParameters,
    OrderingParameters,
    TeleoperationParameters,
):
    """Parameters of the correction recorder: source, detection, displacement and passes."""

    prefix: str = parameter('fr3', description='Prefix of joints and frames')
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
    )
    correction_source: str = correction_source_parameter()
    update_rate_hz: float = parameter(
        25.0,
        description='How often samples are looked at, and the deformation is told',
        minimum=5.0,
        maximum=200.0,
        unit='Hz',
    )
    source_timeout_sec: float = parameter(
        3.5,
        description='A source of samples silent for longer than this gives way to a worse one',
        minimum=0.1,
        maximum=600.0,
        unit='s',
    )
    unpushed_playbacks: int = parameter(
        0,
        description='During so many playbacks at first nobody pushes: they teach the bias',
        minimum=0,
        maximum=100,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.source_timeout_sec < self.max_bridged_gap_sec:
            raise ParameterError(
                type(self).__name__,
                'source_timeout_sec',
                self.source_timeout_sec,
                f'must be at least max_bridged_gap_sec, {self.max_bridged_gap_sec}: a '
                'contact does not go on in another source',
            )
