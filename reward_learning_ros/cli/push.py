"""Push the simulated arm, as a person beside it would: a force on the tool, or on a link.

The force is along the axes of the base. With --frame it is along the axes of the tool's frame, or
of the link's. Exit codes: 0 pushed, 1 no simulated arm was found, 2 wrong usage, 3 refused.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from reward_learning_ros.parameters import ParameterError, Parameters, from_arguments, parameter
from reward_learning_ros.parameters import add_arguments as add_parameters

NAME = 'push'
HELP = 'push the simulated arm'

EXIT_PUSHED = 0
EXIT_REFUSED = 3
# Beyond what a person does to an arm, and what makes it stop in a reflex.
_MAX_FORCE_N = 60.0
_MAX_TORQUE_NM = 10.0
_AXES = 3


@dataclass(frozen=True, kw_only=True)
class PushParameters(Parameters):
    """Force, link and duration of a push on the simulated arm."""

    force: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        description='Along x, y and z',
        minimum=-_MAX_FORCE_N,
        maximum=_MAX_FORCE_N,
        unit='N',
    )
    torque: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0),
        description='About x, y and z',
        minimum=-_MAX_TORQUE_NM,
        maximum=_MAX_TORQUE_NM,
        unit='N·m',
    )
    seconds: float = parameter(
        1.0,
        description='How long, by the clock of this machine',
        minimum=0.02,
        maximum=60.0,
        unit='s',
    )
    link: str = parameter('', description='What is pushed, fr3_link4 for example; unset, the tool')
    frame: str = parameter(
        '',
        description='Whose axes the force is along: unset, those of the base; or the frame of the '
        'tool, or of the link that is pushed',
    )
    namespace: str = parameter('', description='ROS namespace of the arm', is_namespace=True)
    discovery_sec: float = parameter(
        5.0,
        description='How long to wait for the arm to be found',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ('force', 'torque'):
            if len(getattr(self, name)) != _AXES:
                raise self._refusal(name, f'must be {_AXES} numbers')
        if not any((*self.force, *self.torque)):
            raise self._refusal('force', 'must not be zero, unless a torque is given')
        if self.link and self.frame not in ('', self.link):
            raise self._refusal('frame', f'must be unset or {self.link}, as the link')

    def _refusal(self, name: str, rule: str) -> ParameterError:
        return ParameterError(type(self).__name__, name, getattr(self, name), rule)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a push."""
    add_parameters(parser, PushParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Push, say what the arm made of it, and return 0 if it took it and 3 if it refused.

    Raises:
        RewardLearningError: There is no ROS 2, no arm was found, or a parameter is refused.
    """
    config = from_arguments(PushParameters, options)
    from reward_learning_ros.cli._operating import push

    answer = push(config)
    print(f'push: {answer.text}')
    return EXIT_PUSHED if answer.is_granted else EXIT_REFUSED
