"""What a session's parameter file may not change: what protects the people at the arm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import Parameters, specifications

# Who must be there, who consents, what must be active and known, which arm it is, with or without
# a hand; and the session's recording.
PROTECTED = frozenset(
    {
        'arm',
        'arm_prefix',
        'bag',
        'consent',
        'controllers',
        'hand',
        'prefix',
        'requires_mode',
        'watched_nodes',
    }
)

# On a real arm these stay within what is shipped.
_AT_MOST_AS_SHIPPED = (
    'approach_speed_rad_s',
    'brake_sec',
    'clock_tolerance_sec',
    'horizon_sec',
    'max_deviation_m',
    'max_shift_m',
    'reflex_force_n',
    'reflex_moment_nm',
    'reflex_torque_nm',
    'start_distance_m',
    'start_tolerance_m',
    'state_timeout_sec',
    'stop_torque_nm',
    'tool_pose_tolerance_m',
    'watch_timeout_sec',
    'workspace_upper_m',
)
_AT_LEAST_AS_SHIPPED = (
    'command_rate_hz',
    # What the preflight check of the stiffness expects of person and controller.
    'controller_stiffness_nm',
    'expected_deflection_m',
    'min_state_rate_hz',
    'workspace_lower_m',
)

# Parameters of two nodes that are one: if a file gives one of them, the other one follows.
LINKED = (
    (('correction_recorder', 'on_torque_nm'), ('trajectory_playback', 'detection_torque_nm')),
    (('trajectory_playback', 'max_shift_m'), ('correction_recorder', 'max_shift_m')),
    (('trajectory_playback', 'reflex_torque_nm'), ('simulated_arm', 'reflex_torque_nm')),
    (('trajectory_playback', 'reflex_force_n'), ('simulated_arm', 'reflex_force_n')),
    (('trajectory_playback', 'watch_timeout_sec'), ('session_conductor', 'watch_timeout_sec')),
)


def refuse_protected(file: str, node: str, told: Mapping[str, Any]) -> None:
    """Refuse a parameter file that sets what protects the people at the arm or the recording.

    Raises:
        InvalidInputError: There is one; says which.
    """
    for key in sorted(PROTECTED.intersection(told)):
        raise InvalidInputError(
            f'{file}: {node}.{key} is not for this file: it protects the people at the arm, or '
            "the session's recording"
        )


def refuse_beyond_limits(
    file: str, node: str, cls: type[Parameters], told: Mapping[str, Any], config: Parameters
) -> None:
    """Refuse values of a parameter file beyond the limits of a real arm.

    Args:
        file: for the message.
        node: whose parameters they are.
        cls: the class of its parameters.
        told: what the file says.
        config: all of its parameters, defaults too.

    Raises:
        InvalidInputError: Something is beyond its limit; says which, and what is allowed.
    """
    known = specifications(cls)
    for key, sign, words in (
        *((key, 1.0, 'at most') for key in _AT_MOST_AS_SHIPPED),
        *((key, -1.0, 'at least') for key in _AT_LEAST_AS_SHIPPED),
    ):
        if key not in told or key not in known:
            continue
        value, shipped = told[key], known[key].default
        if (sign * np.asarray(value) > sign * np.asarray(shipped)).any():
            allowed = list(shipped) if isinstance(shipped, tuple) else shipped
            raise _refusal(file, node, key, value, f'{words} {allowed}')
    reflex = getattr(config, 'reflex_torque_nm', None)
    if reflex is None:
        return
    stop = getattr(config, 'stop_torque_nm', reflex)
    if any(value >= limit for value, limit in zip(stop, reflex, strict=True)):
        allowed = f'below reflex_torque_nm, {list(reflex)}'
        raise _refusal(file, node, 'stop_torque_nm', list(stop), allowed)


def link(file: str, told: Mapping[str, dict[str, Any]]) -> None:
    """Make linked parameters of two nodes follow each other.

    Args:
        file: for the message.
        told: what the file says of each node; what follows from it is added.

    Raises:
        InvalidInputError: The file gives both, and they differ.
    """
    for first, second in LINKED:
        values = {
            (node, key): told[node][key]
            for node, key in (first, second)
            if node in told and key in told[node]
        }
        if len({_comparable(value) for value in values.values()}) > 1:
            both = ' and '.join(f'{node}.{key}' for node, key in values)
            raise InvalidInputError(f'{file}: {both} must be the same, not {[*values.values()]}')
        for value in values.values():
            for node, key in (first, second):
                if node in told:
                    told[node][key] = value


def _comparable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _refusal(file: str, node: str, key: str, value: Any, allowed: str) -> InvalidInputError:
    return InvalidInputError(
        f'{file}: {node}.{key} = {value} is not for a real arm; allowed: {allowed}'
    )
