"""The configuration of the playback's node, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import ParameterError, parameter
from reward_learning_ros.parameters.shared import WATCH_TIMEOUT_SEC
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.preflight import PreflightParameters

JOINT_TRAJECTORY_CONTROLLER = 'joint_trajectory_controller'
CRISP_JOINT = 'crisp_joint'
CRISP_POSE = 'crisp_pose'


@dataclass(frozen=True, kw_only=True)
class TrajectoryPlaybackParameters(PlaybackParameters, PreflightParameters):
    """How plans are played, on which controller, and what is looked at before."""

    backend: str = parameter(
        JOINT_TRAJECTORY_CONTROLLER,
        description='The kind of controller that is driven',
        choices=(JOINT_TRAJECTORY_CONTROLLER, CRISP_JOINT, CRISP_POSE),
    )
    controller: str = parameter(
        'fr3_arm_controller', description='Name of the joint trajectory controller'
    )
    command_rate_hz: float = parameter(
        50.0,
        description='How often set-points are sent, and everything is checked',
        minimum=10.0,
        maximum=200.0,
        unit='Hz',
    )
    status_rate_hz: float = parameter(
        20.0,
        description='How often progress is told while the arm moves',
        minimum=1.0,
        maximum=200.0,
        unit='Hz',
    )
    realtime_priority: int = parameter(
        20,
        description='Priority of real-time scheduling, where it is allowed; 0 for none',
        minimum=0,
        maximum=99,
        read_only=True,
    )
    watched_nodes: tuple[str, ...] = parameter(
        (),
        description='Nodes without which the arm must not move: it holds when one falls silent',
    )
    watch_timeout_sec: float = parameter(
        WATCH_TIMEOUT_SEC,
        description='How long a watched node may be silent, by the clock on the wall',
        minimum=0.6,
        maximum=60.0,
        unit='s',
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if 2.0 / self.command_rate_hz + self.lead_sec > self.horizon_sec:
            raise ParameterError(
                type(self).__name__,
                'command_rate_hz',
                self.command_rate_hz,
                f'must send twice within horizon_sec, {self.horizon_sec}',
            )
