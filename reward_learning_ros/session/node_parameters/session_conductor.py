"""The configuration of the session's conductor, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import ParameterError, Parameters, parameter
from reward_learning_ros.parameters.shared import ARMS, FRANKA, SIMULATED, WATCH_TIMEOUT_SEC

EVERY_PASS = 'every_pass'
FIRST_PASS = 'first_pass'
NO_CONSENT = 'none'
CONSENTS = (EVERY_PASS, FIRST_PASS, NO_CONSENT)


@dataclass(frozen=True, kw_only=True)
class SessionConductorParameters(Parameters):
    """When a session goes on, and when it ends."""

    watched_nodes: tuple[str, ...] = parameter(
        (), description='Nodes that must be there before the arm moves'
    )
    watch_timeout_sec: float = parameter(
        WATCH_TIMEOUT_SEC,
        description='How long a watched node may be silent, by the clock on the wall',
        minimum=0.6,
        maximum=60.0,
        unit='s',
    )
    max_passes: int = parameter(
        12, description='After so many passes the session ends', minimum=1, maximum=1000
    )
    max_corrections: int = parameter(
        0,
        description='After pushes at so many waypoints, and what is learned from them, the '
        'session ends; 0 is no limit',
        minimum=0,
        maximum=1000,
    )
    quiet_pass_accepts: bool = parameter(
        False,
        description='Whether a whole pass without a correction means that the plan is accepted; '
        'a person may also only have watched',
    )
    consent: str = parameter(
        EVERY_PASS,
        description='Who lets the arm move. every_pass: a person, by session/begin, before each '
        'pass. first_pass: a person before the first one, and again after every stop, fault or '
        'restart. none: the session itself, for a simulated arm only. After a hold a person '
        'consents by session/continue, unless it is none',
        choices=CONSENTS,
    )
    arm: str = parameter(
        SIMULATED,
        description='Which arm it is: its services recover it',
        choices=ARMS,
    )
    arm_prefix: str = parameter(
        '', description='Tells the arms of one description apart, left for example; empty for none'
    )
    controllers: tuple[str, ...] = parameter(
        (), description='Controllers that must be active before the arm moves'
    )
    bag: str = parameter(
        '', description="The session's recording: what was done before is counted from it"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.arm == FRANKA and self.consent == NO_CONSENT:
            raise ParameterError(
                type(self).__name__, 'consent', self.consent, f'must be a person with arm {FRANKA}'
            )
