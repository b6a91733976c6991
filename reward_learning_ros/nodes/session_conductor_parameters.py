"""The configuration of the session's conductor, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.parameters import Parameters, parameter


@dataclass(frozen=True, kw_only=True)
class SessionConductorParameters(Parameters):
    """When a session goes on, and when it ends."""

    watched_nodes: tuple[str, ...] = parameter(
        (), description='Nodes that must be there before the arm moves'
    )
    watch_timeout_sec: float = parameter(
        2.5,
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
        description='After so many corrections, and what is learned from them, the session ends; '
        '0 is no limit',
        minimum=0,
        maximum=1000,
    )
    quiet_pass_accepts: bool = parameter(
        False,
        description='Whether a whole pass without a correction means that the plan is accepted; '
        'a person may also only have watched',
    )
    recovers: bool = parameter(
        False,
        description='Whether the arm goes on by itself after a fault; otherwise it waits for '
        'session/continue',
    )
    bag: str = parameter(
        '', description="The session's recording: what was done before is counted from it"
    )
