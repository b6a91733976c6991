"""The configuration of the simulated arm's node."""

from __future__ import annotations

import time
from dataclasses import dataclass

from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.parameters import ParameterError, parameter

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
    """The simulated arm and how it appears in ROS."""

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
