"""The configuration of playback."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.franka import COMPLIANT_STIFFNESS_NM, ThresholdParameters
from reward_learning_ros.parameters import ParameterError, Parameters, parameter
from reward_learning_ros.parameters.shared import (
    MAX_SHIFT_M,
    STOP_TORQUE_NM,
    WATCH_TIMEOUT_SEC,
)


@dataclass(frozen=True, kw_only=True)
class PlaybackParameters(Parameters):
    """Parameters of playback: speeds, tolerances, and what makes the arm hold."""

    prefix: str = parameter('fr3', description='Prefix of joints and frames', read_only=True)
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
        read_only=True,
    )
    speed_scale: float = parameter(
        0.3,
        description="Share of the arm's speed and acceleration limits that a plan may use",
        minimum=0.01,
        maximum=0.5,
    )
    approach_speed_rad_s: float = parameter(
        0.25,
        description='Joint speed of moves to the start of a plan and home',
        minimum=0.01,
        maximum=1.0,
        unit='rad/s',
    )
    workspace_lower_m: tuple[float, ...] = parameter(
        (0.2, -0.65, 0.02),
        description='Lower corner of the box that the tool stays in, base frame',
        minimum=-2.0,
        maximum=2.0,
        unit='m',
    )
    workspace_upper_m: tuple[float, ...] = parameter(
        (0.85, 0.65, 0.9),
        description='Upper corner of the box that the tool stays in, base frame',
        minimum=-2.0,
        maximum=2.0,
        unit='m',
    )
    horizon_sec: float = parameter(
        0.3,
        description='How far ahead set-points are sent; each message then comes to rest, so that '
        'without the next one the arm holds after horizon and brake',
        minimum=0.1,
        maximum=2.0,
        unit='s',
    )
    brake_sec: float = parameter(
        0.4,
        description='Time in which a motion speeds up or comes to rest along its path',
        minimum=0.1,
        maximum=2.0,
        unit='s',
    )
    lead_sec: float = parameter(
        0.03,
        description='How far in the future the first set-point of a message is',
        minimum=0.0,
        maximum=0.2,
        unit='s',
    )
    replan_lead_sec: float = parameter(
        0.1,
        description='How far in the future another plan takes over: the time to compute it',
        minimum=0.02,
        maximum=0.5,
        unit='s',
    )
    replan_period_sec: float = parameter(
        0.1,
        description='How often a deformation may change the motion',
        minimum=0.02,
        maximum=2.0,
        unit='s',
    )
    state_timeout_sec: float = parameter(
        0.2,
        description='Robot state older than this makes the arm hold',
        minimum=0.01,
        maximum=5.0,
        unit='s',
    )
    clock_tolerance_sec: float = parameter(
        0.25,
        description="Jump of the clock, or distance from the arm's clock, that makes the arm hold",
        minimum=0.01,
        maximum=5.0,
        unit='s',
    )
    plan_max_age_sec: float = parameter(
        3600.0,
        description='A plan that was made longer ago than this is not started',
        minimum=1.0,
        unit='s',
    )
    stop_torque_nm: tuple[float, ...] = parameter(
        STOP_TORQUE_NM,
        description='External torque of each joint that makes the arm hold; below the reflex',
        minimum=0.1,
        maximum=100.0,
        unit='N·m',
    )
    max_deviation_m: float = parameter(
        0.3,
        description='Distance of the tool from its set-point that makes the arm hold',
        minimum=0.01,
        maximum=2.0,
        unit='m',
        former_names=('largest_deviation_m',),
    )
    requires_mode: bool = parameter(
        False,
        description='Whether the arm must not move while its mode is not known, as on a real arm',
        read_only=True,
    )
    tool_pose_tolerance_m: float = parameter(
        0.01,
        description='How far the tool that the arm reports may be from the one computed',
        minimum=0.001,
        maximum=0.05,
        unit='m',
    )
    start_tolerance_m: float = parameter(
        0.03,
        description='How near the tool must come to the start of a plan before it is played',
        minimum=0.001,
        maximum=0.5,
        unit='m',
    )
    max_shift_m: float = parameter(
        MAX_SHIFT_M,
        description='Farthest live shift of the plan that is taken',
        minimum=0.0,
        maximum=2.0,
        unit='m',
        former_names=('largest_shift_m',),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, length in (
            ('workspace_lower_m', 3),
            ('workspace_upper_m', 3),
            ('stop_torque_nm', JOINT_COUNT),
        ):
            if len(getattr(self, name)) != length:
                raise ParameterError(
                    type(self).__name__, name, getattr(self, name), f'must be {length} numbers'
                )
        if self.horizon_sec <= self.lead_sec + 0.02:
            raise ParameterError(
                type(self).__name__,
                'horizon_sec',
                self.horizon_sec,
                f'must be more than lead_sec, {self.lead_sec}, and a period of 0.02 s',
            )

    @property
    def hold_within_sec(self) -> float:
        """How soon the arm holds if playback dies in mid-motion."""
        return self.horizon_sec + self.brake_sec


@dataclass(frozen=True, kw_only=True)
class PreflightParameters(ThresholdParameters):
    """Parameters of the preflight checks: what controller and arm are set to."""

    controller_stiffness_nm: tuple[float, ...] = parameter(
        COMPLIANT_STIFFNESS_NM,
        description='Proportional gain of each joint of the controller',
        minimum=0.1,
        unit='N·m/rad',
    )
    expected_deflection_m: float = parameter(
        0.1,
        description='How far a person is expected to push the tool away',
        minimum=0.001,
        maximum=0.5,
        unit='m',
    )
    start_distance_m: float = parameter(
        0.7,
        description='Farthest distance of the tool from the start of a plan that is gone to',
        minimum=0.01,
        maximum=2.0,
        unit='m',
    )
    min_state_rate_hz: float = parameter(
        40.0,
        description='Robot state that comes less often than this is not enough',
        minimum=1.0,
        maximum=1000.0,
        unit='Hz',
        former_names=('least_state_rate_hz',),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.controller_stiffness_nm) != JOINT_COUNT:
            raise ParameterError(
                type(self).__name__,
                'controller_stiffness_nm',
                self.controller_stiffness_nm,
                f'must be {JOINT_COUNT} numbers',
            )


JOINT_TRAJECTORY_CONTROLLER = 'joint_trajectory_controller'
CRISP_JOINT = 'crisp_joint'
CRISP_POSE = 'crisp_pose'


@dataclass(frozen=True, kw_only=True)
class TrajectoryPlaybackParameters(PlaybackParameters, PreflightParameters):
    """Parameters of the playback node: playback, preflight, controller and rates."""

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
        description='How long a watched node may be silent, on a steady clock',
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
