"""What a sample says of a contact: the rules by which one begins, goes on and ends, compiled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing import bias
from reward_learning_ros.sensing.bias import STANDING_RAD_S
from reward_learning_ros.sensing.contact_state import Settings, Tool
from reward_learning_ros.sensing.samples import JOINT_COUNT

_UNKNOWN, _HELD_AWAY = int(Tool.UNKNOWN), int(Tool.HELD_AWAY)
# Mean absolute second difference of white noise with unit variance: √6 · √(2/π).
_ROUGHNESS_OF_WHITE_NOISE = math.sqrt(6.0) * math.sqrt(2.0 / math.pi)


class Evidence(NamedTuple):
    """The evidence for a contact in one sample: its statistic, and whether it is above thresholds.

    Attributes:
        z: size of the residual torque in standard deviations.
        z_if_sure: the same if the bias were as certain as where the contact began.
        size_nm: size of the residual torque over all joints.
        is_above_on: whether that is enough for an onset.
        is_above_off: whether it is enough for a contact to go on.
        step_sec: time since the sample before.
    """

    z: float
    z_if_sure: float
    size_nm: float
    is_above_on: bool
    is_above_off: bool
    step_sec: float


@numba.njit(cache=True)
def compute_evidence(settings: Settings, s: Any, step_sec: float) -> Evidence:
    """Returns the evidence for a contact: the residual torque in N·m and in standard deviations.

    The noise of a joint is the greatest of three: what is left of the torque in quiet windows; the
    noise floor, if the torque has become louder since then; and what a rough signal, such as a
    burst, is expected to leave behind the low-pass, roughness / white · √(h / 4τ).
    """
    passed = min(step_sec / (4.0 * settings.filters.time_constant_sec), 1.0)
    squares = 0.0
    squares_if_sure = 0.0
    size = 0.0
    sure_variance = min(s.bias.variance, s.contact.onset_variance)
    for j in range(JOINT_COUNT):
        residual = s.filters.torque[j] - s.bias.bias[j]
        rough = s.filters.roughness[j] / _ROUGHNESS_OF_WHITE_NOISE
        noise = max(s.bias.noise_variance[j], s.bias.noise_floor[j] / bias.NOISE_FLOOR_SHARE)
        noise = max(noise, rough * rough * passed)
        noise = max(noise, settings.noise_floor_variance)
        squares += residual * residual / (noise + s.bias.variance)
        squares_if_sure += residual * residual / (noise + sure_variance)
        size += residual * residual
    z, size_nm = math.sqrt(squares), math.sqrt(size)
    return Evidence(
        z,
        math.sqrt(squares_if_sure),
        size_nm,
        z > settings.on_threshold and size_nm > settings.on_torque_nm,
        z > settings.off_threshold and size_nm > settings.off_torque_nm,
        step_sec,
    )


@numba.njit(cache=True)
def has_onset(settings: Settings, s: Any, evidence: Evidence) -> bool:
    """Gathers evidence of an onset: time above the threshold, lost twice as fast below it."""
    onset, time_ns = s.onset, s.time_ns
    if not evidence.is_above_off:
        onset.rising_ns = -1
        onset.crossing_ns = -1
    else:
        if onset.rising_ns < 0:
            onset.rising_ns = time_ns
            onset.rising_statistic = evidence.z
        if evidence.is_above_on and onset.crossing_ns < 0:
            onset.crossing_ns = time_ns
            onset.crossing_statistic = evidence.z
    # However slow the stream, one sample alone is no evidence.
    step_sec = min(evidence.step_sec, settings.on_dwell_sec / 2.0)
    onset.evidence_sec += step_sec if evidence.is_above_on else -2.0 * step_sec
    onset.evidence_sec = max(onset.evidence_sec, 0.0)
    if evidence.is_above_on and onset.evidence_sec >= settings.on_dwell_sec:
        return True
    return _has_sudden_onset(settings, s, evidence)


@numba.njit(cache=True)
def _has_sudden_onset(settings: Settings, s: Any, evidence: Evidence) -> bool:
    """Returns whether a gentle torque came at once, as only a hand makes it, and stayed."""
    onset, time_ns, step_ns = s.onset, s.time_ns, s.bias.step_ns
    is_step = (
        step_ns >= 0
        and onset.rising_ns >= 0
        and abs(onset.rising_ns - step_ns) <= settings.sudden_ns
    )
    is_weak = evidence.z < settings.sudden_threshold or evidence.size_nm <= settings.on_torque_nm
    if not is_step or is_weak:
        onset.sudden_ns = -1
        return False
    if onset.sudden_ns < 0:
        onset.sudden_ns = time_ns
    if time_ns - onset.sudden_ns < settings.off_dwell_ns:
        return False
    if onset.crossing_ns < 0:
        onset.crossing_ns = onset.sudden_ns
        onset.crossing_statistic = settings.sudden_threshold
    return True


@numba.njit(cache=True)
def is_held(settings: Settings, s: Any, evidence: Evidence) -> bool:
    """Returns whether a contact goes on, though the bias has become too uncertain to say so.

    Where the tool is seen, that decides: as long as it is held away from its set-point, nobody
    has let it go. Otherwise the torque does: a hand that lets go takes its torque away at once;
    one that moved the arm to where the bias is unknown does not.
    """
    contact, size_nm = s.contact, evidence.size_nm
    if s.tool != _UNKNOWN:
        return s.tool == _HELD_AWAY and size_nm > settings.off_torque_nm
    if evidence.z_if_sure <= settings.off_threshold or size_nm <= settings.off_torque_nm:
        return False
    if contact.unsure_ns < 0:
        contact.unsure_ns = s.time_ns
        contact.unsure_torque = size_nm
    return (
        size_nm > settings.unsure_share * contact.unsure_torque
        and s.time_ns - contact.unsure_ns < settings.max_unsure_ns
    )


@numba.njit(cache=True)
def is_residue(
    settings: Settings, s: Any, size_nm: float, joint_velocity_rad_s: np.ndarray
) -> bool:
    """Returns whether the hand let go long ago, and a wrong bias is all that is left.

    Where a hand that held still was once taken for bias, the model is wrong and certain of it.
    """
    contact, torque = s.contact, s.filters.torque
    change = 0.0
    speed = 0.0
    for j in range(JOINT_COUNT):
        change += (torque[j] - contact.residue_torque[j]) ** 2
        speed = max(speed, abs(joint_velocity_rad_s[j]))
    is_small = size_nm <= settings.residue_share * contact.peak_torque
    # Joints whose speed is unknown are not known to stand.
    is_standing = speed < STANDING_RAD_S
    if (
        contact.residue_ns < 0
        or not is_small
        or change > settings.residue_variance
        or not is_standing
    ):
        contact.residue_ns = s.time_ns
        for j in range(JOINT_COUNT):
            contact.residue_torque[j] = torque[j]
        return False
    return s.time_ns - contact.residue_ns >= settings.residue_ns


@numba.njit(cache=True)
def points_as_before(s: Any) -> bool:
    """Returns whether the residual points as it did before the gap, within 60°."""
    dot, before, now = 0.0, 0.0, 0.0
    for j in range(JOINT_COUNT):
        residual = s.filters.torque[j] - s.bias.bias[j]
        dot += residual * s.contact.direction[j]
        before += s.contact.direction[j] ** 2
        now += residual**2
    return dot > 0.5 * math.sqrt(before * now)
