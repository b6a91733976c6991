"""How contact detection learns bias and noise from quiet moments, compiled.

A window of torque waits until it has stayed quiet around it; then it teaches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing import bias
from reward_learning_ros.sensing.bias import FEATURE_COUNT
from reward_learning_ros.sensing.contact_state import WAITING, Settings
from reward_learning_ros.sensing.samples import JOINT_COUNT

# A window of torque is one measurement of the bias; shorter ones are not independent.
_WINDOW_NS = 100_000_000
# Where the bias is uncertain, so few windows must have stayed quiet: a push would not be found
# there at all. But after a change between windows as only a push makes, N·m, all of them must.
_FEWEST_QUIET_WINDOWS = 3
_JUMP_NM = 0.25
# Successive measurements of the bias err alike, so each counts as a tenth of one.
_ERROR_INFLATION = 10.0
# A person who brushes against the arm while it learns must not bend the bias much.
_SURPRISE_CLIP = 3.0
# Memory of the noise level, in windows (60 s).
_NOISE_WINDOWS = 600
_LARGEST_NOISE_NM = 1.0
# The median of the torque's variance within a window is followed in steps of this factor, and
# this is the share of the whole variance that the median of such short windows shows.
_FLUCTUATION_STEP = 1.05
FLUCTUATION_SHARE = 0.65


@numba.njit(cache=True)
def glance(s: Any) -> None:
    """Follows the median of the torque's variance within short windows, quiet or not.

    Learning needs quiet, and louder noise is never quiet: this is what notices it. A push is in
    few windows and only changes slowly in the others, so the median hardly sees it.
    """
    if s.glance_count == 0:
        s.glance_start_ns = s.time_ns
        s.glance_sum[:] = 0.0
        s.glance_square[:] = 0.0
    s.glance_count += 1
    for j in range(JOINT_COUNT):
        residual = s.torque[j] - s.bias[j]
        s.glance_sum[j] += residual
        s.glance_square[j] += residual * residual
    if s.time_ns - s.glance_start_ns < _WINDOW_NS:
        return
    for j in range(JOINT_COUNT):
        mean = s.glance_sum[j] / s.glance_count
        variance = s.glance_square[j] / s.glance_count - mean * mean
        rises = variance > s.fluctuation[j]
        s.fluctuation[j] *= _FLUCTUATION_STEP if rises else 1.0 / _FLUCTUATION_STEP
        s.fluctuation[j] = min(max(s.fluctuation[j], 1e-8), _LARGEST_NOISE_NM**2)
    s.glance_count = 0


@numba.njit(cache=True)
def learn_tick(settings: Settings, s: Any, at_once: bool) -> None:
    """Adds a tick to the current window; a full one waits its turn, or teaches at once."""
    if s.window_count == 0:
        s.window_start_ns = s.time_ns
        s.window_feature[:] = 0.0
        s.window_torque[:] = 0.0
        s.window_residual[:] = 0.0
        s.window_square[:] = 0.0
    s.window_count += 1
    for i in range(FEATURE_COUNT):
        s.window_feature[i] += s.feature[i]
    for j in range(JOINT_COUNT):
        residual = s.torque[j] - s.bias[j]
        s.window_torque[j] += s.torque[j]
        s.window_residual[j] += residual
        s.window_square[j] += residual * residual
    if s.time_ns - s.window_start_ns < _WINDOW_NS:
        return
    required = _required_windows(settings, s)
    while s.waiting == WAITING or (s.waiting > 0 and s.waiting >= required):
        _teach(settings, s, 0)
        for w in range(1, s.waiting):
            s.waiting_feature[w - 1] = s.waiting_feature[w]
            s.waiting_torque[w - 1] = s.waiting_torque[w]
            s.waiting_residual[w - 1] = s.waiting_residual[w]
            s.waiting_square[w - 1] = s.waiting_square[w]
        s.waiting -= 1
    w = s.waiting
    for i in range(FEATURE_COUNT):
        s.waiting_feature[w, i] = s.window_feature[i] / s.window_count
    for j in range(JOINT_COUNT):
        s.waiting_torque[w, j] = s.window_torque[j] / s.window_count
        s.waiting_residual[w, j] = s.window_residual[j] / s.window_count
        s.waiting_square[w, j] = s.window_square[j] / s.window_count
    s.waiting += 1
    s.window_count = 0
    if at_once:
        for w in range(s.waiting):
            _teach(settings, s, w)
        s.waiting = 0


@numba.njit(cache=True)
def forget_windows(s: Any) -> None:
    """Forgets what was about to teach: it is no longer quiet."""
    _notice_jump(s, s.torque)
    s.waiting = 0
    s.window_count = 0


@numba.njit(cache=True)
def _notice_jump(s: Any, torque: np.ndarray) -> None:
    """Takes note if the torque (7,) differs from the last window as only a push makes it."""
    if s.waiting == 0:
        return
    square = 0.0
    for j in range(JOINT_COUNT):
        square += (torque[j] - s.waiting_torque[s.waiting - 1, j]) ** 2
    if square > _JUMP_NM**2:
        s.jump_ns = s.time_ns


@numba.njit(cache=True)
def _required_windows(settings: Settings, s: Any) -> int:
    """Returns how many windows must have stayed quiet before the oldest one teaches."""
    _notice_jump(s, s.window_torque / s.window_count)
    certain = 4.0 * settings.model_error_variance
    calm_ns = s.time_ns - s.jump_ns
    if s.bias_variance <= certain or calm_ns <= settings.quiet_windows * _WINDOW_NS:
        return settings.quiet_windows
    share = math.sqrt(certain / s.bias_variance)
    return max(_FEWEST_QUIET_WINDOWS, int(share * settings.quiet_windows))


@numba.njit(cache=True)
def _teach(settings: Settings, s: Any, w: int) -> None:
    """Lets one window teach the bias and the noise level."""
    # The bias has wandered since the last lesson; never beyond what a fresh start believes.
    s.covariance[0, 0] += settings.drift_variance_per_sec * _WINDOW_NS * 1e-9
    noise = 0.0
    for j in range(JOINT_COUNT):
        noise += s.noise_variance[j] / JOINT_COUNT
    error_variance = _ERROR_INFLATION * (noise + settings.model_error_variance)
    feature = s.waiting_feature[w]
    torque = s.waiting_torque[w]
    clip = math.inf if s.time_ns < s.zero_until_ns else _SURPRISE_CLIP
    bias.learn(s.weights, s.covariance, feature, torque, error_variance, clip)
    s.bias_time_ns = -1
    s.noise_windows = min(s.noise_windows + 1, _NOISE_WINDOWS)
    for j in range(JOINT_COUNT):
        mean = torque[j]
        for i in range(FEATURE_COUNT):
            mean -= feature[i] * s.weights[i, j]
        # What is left of the window's mean, and how the signal moved about that mean.
        moved = s.waiting_square[w, j] - s.waiting_residual[w, j] ** 2
        square = min(mean * mean + max(moved, 0.0), _LARGEST_NOISE_NM**2)
        s.noise_variance[j] += (square - s.noise_variance[j]) / s.noise_windows
