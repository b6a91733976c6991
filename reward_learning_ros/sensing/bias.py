"""The torque that the arm reports although nobody touches it, and how certain that bias is.

**Model.** The bias of every joint is linear in features of the arm's configuration: a constant,
gravity-like sines and cosines of each joint, the direction in which each joint turns (friction),
and smooth waves over all joints for the rest. The weights are Gaussian and follow a Kalman filter:
an unpushed playback or a quiet moment makes them certain where the arm has been, and they stay
uncertain where it has not. That uncertainty is part of the noise against which contacts are
judged, so an unknown configuration raises the threshold instead of a false alarm.

**Learning.** The filtered torque is averaged over windows of a tenth of a second. A window updates
the model only once the torque has stayed quiet for a while after it, because a push that grows
slowly is quiet at first. How long depends on how uncertain the bias is: where it is unknown a push
would not be found at all, so waiting gains nothing there. After a step in the torque, as only a
hand makes it, every window has to wait for the full time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.parameters import Parameters, parameter
from reward_learning_ros.sensing.samples import JOINT_COUNT

_WAVES = 48
# The waves vary over about one radian, as payload and model errors do.
_WAVE_LENGTH_RAD = 1.0
# Joints turn if they are faster than this, and friction is constant beyond.
STANDING_RAD_S = 0.02

_SINES = 1
_FRICTION = _SINES + 2 * JOINT_COUNT
_WAVE = _FRICTION + JOINT_COUNT
FEATURE_COUNT = _WAVE + _WAVES

# One window of torque is one measurement of the bias.
WINDOW_SEC = 0.1
_WINDOW_NS = 100_000_000
_MAX_QUIET_SEC = 2.5
_PENDING_WINDOWS = round(_MAX_QUIET_SEC / WINDOW_SEC)
# The noise floor follows the median of the torque's variance within short windows in steps of this
# factor, a tenth of a second each: a tenfold change takes five seconds.
_NOISE_FLOOR_STEP = 1.05
# Of the variance of filtered white noise, the median of such windows shows this share.
NOISE_FLOOR_SHARE = 0.65
# The floor never reaches zero, from which no factor leads back.
_MIN_NOISE_FLOOR = 1e-8


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
    # A push that takes longer to be noticed than this is slower than any that people make.
    quiet_sec: float = parameter(
        1.5,
        description='A moment updates the bias only if it stays quiet for this long afterwards',
        minimum=0.1,
        maximum=_MAX_QUIET_SEC,
        unit='s',
    )
    # Long enough for the onset of a push that comes at once to be noticed.
    min_quiet_sec: float = parameter(
        0.3,
        description='The same where the bias is unknown, and a push would not be found at all',
        minimum=0.1,
        maximum=_MAX_QUIET_SEC,
        unit='s',
    )
    # The bias follows the pose; between two windows of an arm in motion it changes by less.
    step_nm: float = parameter(
        0.25,
        description='A change of the torque between windows that only a hand makes',
        minimum=0.01,
        maximum=10.0,
        unit='N·m',
    )
    # Windows are filtered by the same low-pass and lie along one path of the arm.
    correlated_windows: float = parameter(
        10.0,
        description='As many windows in a row count as one measurement: their errors are alike',
        minimum=1.0,
        maximum=1000.0,
    )
    # Somebody who brushes against the arm during an unpushed playback must not bend the bias.
    max_surprise: float = parameter(
        3.0,
        description='A measurement farther off than this many standard deviations is clipped',
        minimum=1.0,
        maximum=100.0,
    )
    # Noise belongs to the arm, not to the moment; a minute still follows a motor that warms up.
    noise_memory_sec: float = parameter(
        60.0,
        description='Over how long the noise of the torque is averaged',
        minimum=1.0,
        maximum=3600.0,
        unit='s',
    )
    max_noise_nm: float = parameter(
        1.0,
        description='More noise than this is a fault; it does not raise the threshold further',
        minimum=0.01,
        maximum=10.0,
        unit='N·m',
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
            out[_FRICTION + j] = math.tanh(joint_velocity_rad_s[j] / STANDING_RAD_S)
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


BIAS_STATE = np.dtype(
    [
        ('weights', 'f8', (FEATURE_COUNT, JOINT_COUNT)),
        ('covariance', 'f8', (FEATURE_COUNT, FEATURE_COUNT)),
        # The bias in the present configuration, when it was computed (-1: never), its variance.
        ('feature', 'f8', (FEATURE_COUNT,)),
        ('bias', 'f8', (JOINT_COUNT,)),
        ('time_ns', 'i8'),
        ('variance', 'f8'),
        # What is left of the torque without its bias, over so many windows.
        ('noise_variance', 'f8', (JOINT_COUNT,)),
        ('noise_windows', 'i8'),
        # Median of the torque's variance within short windows, pushed or not.
        ('noise_floor', 'f8', (JOINT_COUNT,)),
        ('floor_start_ns', 'i8'),
        ('floor_count', 'i8'),
        ('floor_sum', 'f8', (JOINT_COUNT,)),
        ('floor_square', 'f8', (JOINT_COUNT,)),
        # Sums over the window that is being filled.
        ('window_start_ns', 'i8'),
        ('window_count', 'i8'),
        ('window_feature', 'f8', (FEATURE_COUNT,)),
        ('window_torque', 'f8', (JOINT_COUNT,)),
        ('window_residual', 'f8', (JOINT_COUNT,)),
        ('window_square', 'f8', (JOINT_COUNT,)),
        # Means of the windows that wait until the torque has stayed quiet.
        ('pending', 'i8'),
        ('pending_feature', 'f8', (_PENDING_WINDOWS, FEATURE_COUNT)),
        ('pending_torque', 'f8', (_PENDING_WINDOWS, JOINT_COUNT)),
        ('pending_residual', 'f8', (_PENDING_WINDOWS, JOINT_COUNT)),
        ('pending_square', 'f8', (_PENDING_WINDOWS, JOINT_COUNT)),
        # When the torque made its last step, as only a hand makes it; -1 if never.
        ('step_ns', 'i8'),
    ]
)


# When a window updates the bias.
WHEN_QUIET, AT_ONCE, UNCLIPPED = range(3)


class BiasSettings(NamedTuple):
    """BiasParameters as the kernels need them; variances in (N·m)²."""

    prior_variance: float
    model_error_variance: float
    drift_variance_per_sec: float
    quiet_windows: int
    min_quiet_windows: int
    step_variance: float
    correlated_windows: float
    max_surprise: float
    noise_windows: int
    max_noise_variance: float


def bias_settings(parameters: BiasParameters) -> BiasSettings:
    """Returns parameters as the kernels need them."""
    return BiasSettings(
        prior_variance=parameters.bias_prior_nm**2,
        model_error_variance=parameters.model_error_nm**2,
        drift_variance_per_sec=parameters.drift_nm_per_sqrt_sec**2,
        quiet_windows=round(parameters.quiet_sec / WINDOW_SEC),
        min_quiet_windows=round(parameters.min_quiet_sec / WINDOW_SEC),
        step_variance=parameters.step_nm**2,
        correlated_windows=parameters.correlated_windows,
        max_surprise=parameters.max_surprise,
        noise_windows=round(parameters.noise_memory_sec / WINDOW_SEC),
        max_noise_variance=parameters.max_noise_nm**2,
    )


@numba.njit(cache=True)
def update_weights(
    weights: np.ndarray,
    covariance: np.ndarray,
    feature: np.ndarray,
    torque_nm: np.ndarray,
    error_variance: float,
    clip: float,
) -> None:
    """Updates the weights (·, 7) by one measurement of the bias: a Kalman step.

    Args:
        weights: written.
        covariance: written.
        feature: mean features of the measurement.
        torque_nm: (7,) mean torque of the measurement.
        error_variance: variance of its error, (N·m)².
        clip: a measurement farther off than this many standard deviations is clipped.
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


@numba.njit(cache=True)
def update_noise_floor(
    settings: BiasSettings, s: Any, torque_nm: np.ndarray, time_ns: int
) -> None:
    """Follows the median of the variance of the torque (7,) within short windows, quiet or not.

    The noise variance is learned from quiet windows only, and louder noise is never quiet: this is
    what notices it. A push is steep in few windows, so it hardly moves the median.
    """
    if s.floor_count == 0:
        s.floor_start_ns = time_ns
        s.floor_sum[:] = 0.0
        s.floor_square[:] = 0.0
    s.floor_count += 1
    for j in range(JOINT_COUNT):
        residual = torque_nm[j] - s.bias[j]
        s.floor_sum[j] += residual
        s.floor_square[j] += residual * residual
    if time_ns - s.floor_start_ns < _WINDOW_NS:
        return
    for j in range(JOINT_COUNT):
        mean = s.floor_sum[j] / s.floor_count
        variance = s.floor_square[j] / s.floor_count - mean * mean
        rises = variance > s.noise_floor[j]
        s.noise_floor[j] *= _NOISE_FLOOR_STEP if rises else 1.0 / _NOISE_FLOOR_STEP
        s.noise_floor[j] = min(
            max(s.noise_floor[j], _MIN_NOISE_FLOOR), settings.max_noise_variance
        )
    s.floor_count = 0


@numba.njit(cache=True)
def update_bias(
    settings: BiasSettings, s: Any, torque_nm: np.ndarray, time_ns: int, mode: int
) -> None:
    """Adds a quiet torque (7,) to the present window; a full one is pending, or used at once.

    Args:
        settings: of the model.
        s: of BIAS_STATE, written.
        torque_nm: (7,) filtered.
        time_ns: when.
        mode: `WHEN_QUIET`, `AT_ONCE`, or `UNCLIPPED`: at once, and however far off it is.
    """
    if s.window_count == 0:
        s.window_start_ns = time_ns
        s.window_feature[:] = 0.0
        s.window_torque[:] = 0.0
        s.window_residual[:] = 0.0
        s.window_square[:] = 0.0
    s.window_count += 1
    for i in range(FEATURE_COUNT):
        s.window_feature[i] += s.feature[i]
    for j in range(JOINT_COUNT):
        residual = torque_nm[j] - s.bias[j]
        s.window_torque[j] += torque_nm[j]
        s.window_residual[j] += residual
        s.window_square[j] += residual * residual
    if time_ns - s.window_start_ns < _WINDOW_NS:
        return
    clip = math.inf if mode == UNCLIPPED else settings.max_surprise
    required = _required_windows(settings, s, time_ns)
    while s.pending == _PENDING_WINDOWS or (s.pending > 0 and s.pending >= required):
        _use_window(settings, s, 0, clip)
        for w in range(1, s.pending):
            s.pending_feature[w - 1] = s.pending_feature[w]
            s.pending_torque[w - 1] = s.pending_torque[w]
            s.pending_residual[w - 1] = s.pending_residual[w]
            s.pending_square[w - 1] = s.pending_square[w]
        s.pending -= 1
    w = s.pending
    for i in range(FEATURE_COUNT):
        s.pending_feature[w, i] = s.window_feature[i] / s.window_count
    for j in range(JOINT_COUNT):
        s.pending_torque[w, j] = s.window_torque[j] / s.window_count
        s.pending_residual[w, j] = s.window_residual[j] / s.window_count
        s.pending_square[w, j] = s.window_square[j] / s.window_count
    s.pending += 1
    s.window_count = 0
    if mode != WHEN_QUIET:
        for w in range(s.pending):
            _use_window(settings, s, w, clip)
        s.pending = 0


@numba.njit(cache=True)
def drop_windows(settings: BiasSettings, s: Any, torque_nm: np.ndarray, time_ns: int) -> None:
    """Drops the pending windows, because the torque (7,) is no longer quiet."""
    _notice_step(settings, s, torque_nm, time_ns)
    s.pending = 0
    s.window_count = 0


@numba.njit(cache=True)
def _notice_step(settings: BiasSettings, s: Any, torque_nm: np.ndarray, time_ns: int) -> None:
    """Remembers when the torque (7,) differs from the last window as only a hand makes it."""
    if s.pending == 0:
        return
    square = 0.0
    for j in range(JOINT_COUNT):
        square += (torque_nm[j] - s.pending_torque[s.pending - 1, j]) ** 2
    if square > settings.step_variance:
        s.step_ns = time_ns


@numba.njit(cache=True)
def _required_windows(settings: BiasSettings, s: Any, time_ns: int) -> int:
    """Returns how many windows must have stayed quiet before the oldest one is used."""
    _notice_step(settings, s, s.window_torque / s.window_count, time_ns)
    # Twice the standard deviation that the model has at best.
    certain = 4.0 * settings.model_error_variance
    since_step_ns = time_ns - s.step_ns
    if s.variance <= certain or since_step_ns <= settings.quiet_windows * _WINDOW_NS:
        return settings.quiet_windows
    share = math.sqrt(certain / s.variance)
    return max(settings.min_quiet_windows, int(share * settings.quiet_windows))


@numba.njit(cache=True)
def _use_window(settings: BiasSettings, s: Any, w: int, clip: float) -> None:
    """Updates the bias and the noise by one pending window."""
    # The bias has drifted since the last window; never beyond what a fresh start believes.
    s.covariance[0, 0] += settings.drift_variance_per_sec * _WINDOW_NS * 1e-9
    noise = 0.0
    for j in range(JOINT_COUNT):
        noise += s.noise_variance[j] / JOINT_COUNT
    error_variance = settings.correlated_windows * (noise + settings.model_error_variance)
    feature = s.pending_feature[w]
    torque = s.pending_torque[w]
    update_weights(s.weights, s.covariance, feature, torque, error_variance, clip)
    s.time_ns = -1
    s.noise_windows = min(s.noise_windows + 1, settings.noise_windows)
    for j in range(JOINT_COUNT):
        mean = torque[j]
        for i in range(FEATURE_COUNT):
            mean -= feature[i] * s.weights[i, j]
        # What is left of the window's mean, and how the signal moved about that mean.
        moved = s.pending_square[w, j] - s.pending_residual[w, j] ** 2
        square = min(mean * mean + max(moved, 0.0), settings.max_noise_variance)
        s.noise_variance[j] += (square - s.noise_variance[j]) / s.noise_windows
