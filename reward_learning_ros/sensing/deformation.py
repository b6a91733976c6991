"""How one displacement of the tool spreads over the waypoints of a plan.

A deformation model gives every waypoint its share (the profile) of one vector, so that
delta (n, 3) = profile (n,) ⊗ vector (3,): inference conditions on the profile. The greatest share
is always 1: the waypoint nearest to where the person had the tool goes all the way with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.parameters import Parameters, parameter

SMOOTH, TAIL_SHIFT, LOCAL = 'smooth', 'tail_shift', 'local'


@dataclass(frozen=True, kw_only=True)
class DeformationParameters(Parameters):
    """How displacements spread over a plan."""

    deformation: str = parameter(
        TAIL_SHIFT,
        description='How a displacement spreads over the waypoints',
        choices=(TAIL_SHIFT, SMOOTH, LOCAL),
    )
    smooth_window_sec: float = parameter(
        6.0,
        description='How much of the rest of the plan the model smooth deforms',
        minimum=0.1,
        maximum=600.0,
        unit='s',
    )
    local_half_width_sec: float = parameter(
        2.0,
        description='How far from the contact the model local deforms the plan, to both sides',
        minimum=0.01,
        maximum=600.0,
        unit='s',
    )
    first_movable_waypoint: int = parameter(
        1,
        description='Waypoints before this one never move: the arm is at the first one already',
        minimum=0,
    )


@dataclass(frozen=True, kw_only=True)
class PlanContact:
    """When, in the time of the plan, a contact began and moved the tool farthest."""

    onset_sec: float
    peak_sec: float


Profile = Callable[[np.ndarray, PlanContact, DeformationParameters], np.ndarray]


def deformation_profile(
    times_sec: np.ndarray, contact: PlanContact, parameters: DeformationParameters
) -> np.ndarray:
    """Returns the share of the displacement that every waypoint takes, (n,), 0 to 1.

    Args:
        times_sec: (n,) increasing times of the waypoints.
        contact: when in the plan the person pushed.
        parameters: which model, and its settings.

    Raises:
        UnknownNameError: no model has this name.
        InvalidInputError: the plan has no waypoint.
    """
    times_sec = np.asarray(times_sec, dtype=np.float64)
    if times_sec.ndim != 1 or not len(times_sec):
        raise InvalidInputError(f'times_sec has shape {times_sec.shape}; allowed: (n,), n >= 1')
    model = DEFORMATIONS.get(parameters.deformation)
    if model is None:
        raise UnknownNameError('deformation model', parameters.deformation, DEFORMATIONS)
    profile = np.clip(model(times_sec, contact, parameters), 0.0, None)
    profile[: min(parameters.first_movable_waypoint, len(times_sec) - 1)] = 0.0
    if not profile.max() > 0.0:
        # The window falls between two waypoints, or before the first that may move.
        profile[onset_waypoint(times_sec, contact.onset_sec, parameters)] = 1.0
    scaled: np.ndarray = profile / profile.max()
    return scaled


def onset_waypoint(
    times_sec: np.ndarray, onset_sec: float, parameters: DeformationParameters
) -> int:
    """Returns the first movable waypoint at or after the onset, the last one if none is."""
    index = int(np.searchsorted(times_sec, onset_sec))
    return min(max(index, parameters.first_movable_waypoint), len(times_sec) - 1)


def tail_shift(
    times_sec: np.ndarray, contact: PlanContact, parameters: DeformationParameters
) -> np.ndarray:
    """Shifts the waypoint at the onset and all later ones, as the published study did."""
    first = onset_waypoint(times_sec, contact.onset_sec, parameters)
    return (np.arange(len(times_sec)) >= first).astype(np.float64)


def smooth(
    times_sec: np.ndarray, contact: PlanContact, parameters: DeformationParameters
) -> np.ndarray:
    """Bends a window of the rest of the plan with the least jerk.

    The curve of least squared jerk under an even load that leaves position, velocity and
    acceleration as they are at both ends is s³(1 − s)³. A window that would reach beyond the plan
    ends with it, and then that end is free: there the third and higher derivatives vanish.
    """
    end_sec = contact.onset_sec + parameters.smooth_window_sec
    is_free = end_sec > times_sec[-1]
    end_sec = min(end_sec, times_sec[-1])
    if end_sec <= contact.onset_sec:
        return np.zeros(len(times_sec))
    s = np.clip((times_sec - contact.onset_sec) / (end_sec - contact.onset_sec), 0.0, 1.0)
    if is_free:
        bend: np.ndarray = s**2 / 2 - s / 5 + (1.0 - (1.0 - s) ** 6) / 30
        return bend
    bump: np.ndarray = (s * (1.0 - s)) ** 3
    return bump


def local(
    times_sec: np.ndarray, contact: PlanContact, parameters: DeformationParameters
) -> np.ndarray:
    """Bends only the neighbourhood of where the tool was pushed farthest, to both sides."""
    distance = np.abs(times_sec - contact.peak_sec)
    # A plan of few waypoints may have none within the width: its nearest one still moves.
    width_sec = max(parameters.local_half_width_sec, 1.001 * float(distance.min()))
    bump: np.ndarray = (1.0 - np.minimum(distance / width_sec, 1.0) ** 2) ** 2
    return bump


DEFORMATIONS: dict[str, Profile] = {TAIL_SHIFT: tail_shift, SMOOTH: smooth, LOCAL: local}
