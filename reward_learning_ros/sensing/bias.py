"""The torque that the arm reports though nobody touches it, and how sure we are of it.

The bias of every joint is linear in features of the arm's configuration: a constant, gravity-like
sines and cosines of each joint, the direction in which each joint turns (friction) and smooth
waves over all joints for the rest. The weights are Gaussian and learned by a Kalman filter: an
unpushed playback or a quiet moment makes them certain where the arm has been, and they stay
uncertain where it has not. That uncertainty is part of the noise against which contacts are
judged, so an unknown configuration raises the threshold instead of a false alarm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.parameters import Parameters, parameter
from reward_learning_ros.sensing.samples import JOINT_COUNT

_WAVES = 48
# The waves vary over about one radian, as payload and model errors do.
_WAVE_LENGTH_RAD = 1.0
# Joint speeds well above this count as moving: friction is constant beyond.
_FRICTION_SPEED_RAD_S = 0.02

_SINES = 1
_FRICTION = _SINES + 2 * JOINT_COUNT
_WAVE = _FRICTION + JOINT_COUNT
FEATURE_COUNT = _WAVE + _WAVES


@dataclass(frozen=True, kw_only=True)
class BiasParameters(Parameters):
    """What is believed of the bias before anything is measured, and how fast it may change."""

    bias_prior_nm: float = parameter(
        2.0,
        description='Typical size of the bias before it is learned',
        minimum=0.01,
        maximum=100.0,
        unit='N·m',
    )
    friction_prior_nm: float = parameter(
        0.2,
        description='Typical size of the part of the bias that depends on the direction of motion',
        minimum=0.0,
        maximum=10.0,
        unit='N·m',
    )
    model_error_nm: float = parameter(
        0.1,
        description='How well the features can describe the bias at best',
        minimum=0.001,
        maximum=10.0,
        unit='N·m',
    )
    drift_nm_per_sqrt_sec: float = parameter(
        0.015,
        description='How fast the bias wanders by itself',
        minimum=0.0,
        maximum=1.0,
        unit='N·m/√s',
    )
    quiet_sec: float = parameter(
        1.5,
        description='A quiet moment teaches the bias only if it stays quiet for this long after',
        minimum=0.1,
        maximum=2.5,
        unit='s',
    )


def prior_variances(parameters: BiasParameters) -> np.ndarray:
    """Returns the variance of every weight before learning, (FEATURE_COUNT,)."""
    variances = np.empty(FEATURE_COUNT)
    variance = parameters.bias_prior_nm**2
    variances[0] = variance
    variances[_SINES:_FRICTION] = variance / JOINT_COUNT
    variances[_FRICTION:_WAVE] = parameters.friction_prior_nm**2
    # A cosine of random phase has a mean square of one half.
    variances[_WAVE:] = 2.0 * variance / _WAVES
    return variances


def _wave_numbers() -> tuple[np.ndarray, np.ndarray]:
    """Returns directions (waves, 7) and phases (waves,) of the smooth waves.

    A lattice with the generalised golden ratio fills the unit cube evenly and is the same in
    every version of every library, so a stored bias keeps its meaning.
    """
    dimensions = JOINT_COUNT + 1
    ratio = 2.0
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1.0)
    lattice = (0.5 + np.arange(1, _WAVES + 1)[:, None] * steps) % 1.0
    return ndtri(lattice[:, :JOINT_COUNT]) / _WAVE_LENGTH_RAD, 2.0 * math.pi * lattice[:, -1]


_DIRECTIONS, _PHASES = _wave_numbers()


@numba.njit(cache=True)
def features(
    joint_position_rad: np.ndarray, joint_velocity_rad_s: np.ndarray, out: np.ndarray
) -> None:
    """Writes the features (FEATURE_COUNT,) of one configuration; joints (7,) each.

    An arm that does not say where its joints are has a constant bias only.
    """
    out[:] = 0.0
    out[0] = 1.0
    if not np.isfinite(joint_position_rad).all():
        return
    for j in range(JOINT_COUNT):
        out[_SINES + 2 * j] = math.sin(joint_position_rad[j])
        out[_SINES + 2 * j + 1] = math.cos(joint_position_rad[j])
        if math.isfinite(joint_velocity_rad_s[j]):
            out[_FRICTION + j] = math.tanh(joint_velocity_rad_s[j] / _FRICTION_SPEED_RAD_S)
    for i in range(_WAVES):
        phase = _PHASES[i]
        for j in range(JOINT_COUNT):
            phase += _DIRECTIONS[i, j] * joint_position_rad[j]
        out[_WAVE + i] = math.cos(phase)


@numba.njit(cache=True)
def predict(
    weights: np.ndarray, covariance: np.ndarray, feature: np.ndarray, bias: np.ndarray
) -> float:
    """Writes the expected bias (7,) and returns the variance of each joint's, (N·m)²."""
    bias[:] = 0.0
    spread = np.zeros(len(feature))
    for i in range(len(feature)):
        for j in range(JOINT_COUNT):
            bias[j] += feature[i] * weights[i, j]
        # By rows, so that the inner loop is one long multiply-add.
        for k in range(len(feature)):
            spread[k] += feature[i] * covariance[i, k]
    variance = 0.0
    for i in range(len(feature)):
        variance += spread[i] * feature[i]
    return max(variance, 0.0)


@numba.njit(cache=True)
def learn(
    weights: np.ndarray,
    covariance: np.ndarray,
    feature: np.ndarray,
    torque_nm: np.ndarray,
    error_variance: float,
    clip: float,
) -> None:
    """Takes one measurement of the bias into account, a Kalman update of weights (·, 7).

    Args:
        weights: written.
        covariance: written.
        feature: mean features of the measurement.
        torque_nm: (7,) mean torque of the measurement.
        error_variance: variance of its error, (N·m)².
        clip: a surprise beyond this many standard deviations counts as this many only.
    """
    n = len(feature)
    gain = np.zeros(n)
    for i in range(n):
        for k in range(n):
            gain[k] += feature[i] * covariance[i, k]
    variance = error_variance
    for i in range(n):
        variance += gain[i] * feature[i]
    limit = clip * math.sqrt(variance)
    for j in range(JOINT_COUNT):
        surprise = torque_nm[j]
        for i in range(n):
            surprise -= feature[i] * weights[i, j]
        surprise = min(max(surprise, -limit), limit)
        for i in range(n):
            weights[i, j] += gain[i] / variance * surprise
    for i in range(n):
        for k in range(n):
            covariance[i, k] -= gain[i] * gain[k] / variance
        # Rounding must never make a weight more certain than certain.
        covariance[i, i] = max(covariance[i, i], 1e-12)
