"""The configuration of the simulated arm."""

from __future__ import annotations

import time
from dataclasses import dataclass

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.franka import COMPLIANT_DAMPING_NM_S, COMPLIANT_STIFFNESS_NM
from reward_learning_ros.arm.scenes import SCENES
from reward_learning_ros.parameters import ParameterError, Parameters, parameter
from reward_learning_ros.parameters.shared import REFLEX_FORCE_N, REFLEX_TORQUE_NM

NO_SCENE = 'none'


@dataclass(frozen=True, kw_only=True)
class SimulationParameters(Parameters):
    """Parameters of the simulation: arm, controller, measurement errors and scene."""

    prefix: str = parameter('fr3', description='Prefix of joints and frames', read_only=True)
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
        read_only=True,
    )
    scene: str = parameter(
        NO_SCENE,
        description='What stands around the arm',
        choices=(NO_SCENE, *SCENES),
        read_only=True,
    )
    stiffness_nm: tuple[float, ...] = parameter(
        COMPLIANT_STIFFNESS_NM,
        description='Stiffness of each joint under the trajectory controller',
        minimum=0.1,
        maximum=5000.0,
        unit='N·m/rad',
    )
    damping_nm_s: tuple[float, ...] = parameter(
        COMPLIANT_DAMPING_NM_S,
        description='Damping of each joint under the trajectory controller',
        minimum=0.01,
        maximum=500.0,
        unit='N·m·s/rad',
    )
    path_tolerance_rad: float = parameter(
        0.0,
        description='A joint farther than this from its set-point makes the controller hold; '
        '0 never, for a person pushes the arm away',
        minimum=0.0,
        maximum=3.0,
        unit='rad',
    )
    interpolate_from_desired_state: bool = parameter(
        True,
        description='New trajectories blend out of what was asked for, not of what was measured',
    )
    reflex_torque_nm: tuple[float, ...] = parameter(
        REFLEX_TORQUE_NM,
        description='External torque of each joint that makes the arm stop in a reflex',
        minimum=0.1,
        maximum=200.0,
        unit='N·m',
    )
    reflex_force_n: float = parameter(
        REFLEX_FORCE_N,
        description='External force at the tool that makes the arm stop in a reflex',
        minimum=0.1,
        maximum=500.0,
        unit='N',
    )
    torque_bias_nm: float = parameter(
        1.5,
        description='Largest pose-dependent bias of external torques',
        minimum=0.0,
        maximum=10.0,
        unit='N·m',
    )
    torque_noise_nm: float = parameter(
        0.05,
        description='Standard deviation of the noise of external torques',
        minimum=0.0,
        maximum=5.0,
        unit='N·m',
    )
    position_noise_rad: float = parameter(
        1e-5,
        description='Standard deviation of the noise of measured joint positions',
        minimum=0.0,
        maximum=0.01,
        unit='rad',
    )
    velocity_noise_rad_s: float = parameter(
        1e-3,
        description='Standard deviation of the noise of measured joint velocities',
        minimum=0.0,
        maximum=0.1,
        unit='rad/s',
    )
    torque_filter_sec: float = parameter(
        0.01,
        description='Time constant of the estimate of external torques',
        minimum=0.0,
        maximum=1.0,
        unit='s',
    )
    external_sign: int = parameter(
        -1,
        description='-1: external torques and wrenches are what the arm does to the world, as '
        'libfranka tells them; 1: the reverse',
        choices=(-1, 1),
    )
    singularity_margin: float = parameter(
        0.05,
        description='Smallest singular value of the Jacobian below which the wrench is zero',
        minimum=0.0,
        maximum=1.0,
    )
    push_timeout_sec: float = parameter(
        0.1,
        description='A push that is not renewed for this long is over',
        minimum=0.001,
        maximum=60.0,
        unit='s',
    )
    seed: int = parameter(0, description='Seed of noise and bias', minimum=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('stiffness_nm', 'damping_nm_s', 'reflex_torque_nm'):
            if len(getattr(self, name)) != JOINT_COUNT:
                raise ParameterError(
                    type(self).__name__,
                    name,
                    getattr(self, name),
                    f'must be one for each of {JOINT_COUNT} joints',
                )


WALL = 'wall'
SIMULATED = 'simulated'

# Where ROS 2 looks for simulated time; the arm of a namespace has a clock of its own.
CLOCK_TOPIC = '/clock'
# To ROS, 0 is no time at all.
_FIRST_NS = 1_000_000


def clock_topic(namespace: str) -> str:
    """Return the topic of simulated time in a namespace, to which /clock is remapped."""
    name = namespace.strip('/')
    return f'/{name}{CLOCK_TOPIC}' if name else CLOCK_TOPIC


@dataclass(frozen=True, kw_only=True)
class SimulatedArmParameters(SimulationParameters):
    """Parameters of the simulated arm's node: the simulation, and its names and rates in ROS."""

    controller: str = parameter(
        'fr3_arm_controller',
        description='Name of the joint trajectory controller that it plays',
        read_only=True,
    )
    convenience_publish_rate: int = parameter(
        1000,
        description='Rate of the state topics; must divide 1000',
        minimum=1,
        maximum=1000,
        unit='Hz',
        read_only=True,
    )
    joint_state_rate: int = parameter(
        30, description='Rate of joint_states', minimum=1, maximum=1000, unit='Hz', read_only=True
    )
    clock: str = parameter(
        WALL,
        description='Whose time it is: that of the wall, or simulated time, published on /clock',
        choices=(WALL, SIMULATED),
        read_only=True,
    )
    speed: float = parameter(
        1.0,
        description='Simulated seconds per second with simulated time; 0 is as fast as possible',
        minimum=0.0,
        maximum=1000.0,
        read_only=True,
    )
    clock_epoch_sec: float = parameter(
        0.0,
        description='When simulated time was that of the wall, in seconds since 1970: it is that '
        'much later by the speed; 0 is when the machine began, with simulated time 0',
        minimum=0.0,
        maximum=2e9,
        unit='s',
        read_only=True,
    )
    realtime_priority: int = parameter(
        0,
        description='Real-time priority of the process, if it may have one; 0 leaves it as it is. '
        'On a busy machine only that keeps the cycle',
        minimum=0,
        maximum=90,
        read_only=True,
    )
    silent_after_stop: bool = parameter(
        False,
        description='Whether it tells nothing and follows nothing after a stop or a reflex, until '
        'it is recovered: as a real one, whose controllers are deactivated then',
        read_only=True,
    )
    clock_publish_rate: int = parameter(
        200,
        description='Rate of /clock in simulated time; must divide 1000',
        minimum=1,
        maximum=1000,
        unit='Hz',
        read_only=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('convenience_publish_rate', 'clock_publish_rate'):
            if 1000 % getattr(self, name):
                raise ParameterError(
                    type(self).__name__, name, getattr(self, name), 'must divide 1000'
                )
        if self.clock == WALL and self.speed != 1.0:
            raise ParameterError(
                type(self).__name__, 'speed', self.speed, f'must be 1 with clock {WALL}'
            )


def start_ns(config: SimulatedArmParameters) -> int:
    """Return the time at which the arm's clock begins.

    Simulated time that keeps its speed begins as late as if it had always run: an arm that is
    started again in the middle of a session does not set the clock of the others back.
    """
    if config.clock == WALL:
        return time.time_ns()
    if config.clock_epoch_sec:
        epoch_ns = round(config.clock_epoch_sec * 1e9)
        return epoch_ns + round(config.speed * max(0, time.time_ns() - epoch_ns))
    return max(_FIRST_NS, round(config.speed * time.monotonic() * 1e9))
