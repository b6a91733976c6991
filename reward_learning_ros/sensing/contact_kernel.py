"""The compiled state machine of contact detection: one tick per torque sample, nothing hidden.

All that a tick leaves for the next is in one structured record (`STATE`), so blocks of any size
give bit for bit the same result, live or replayed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing import bias
from reward_learning_ros.sensing.bias_lessons import (
    FLUCTUATION_SHARE,
    forget_windows,
    glance,
    learn_tick,
)
from reward_learning_ros.sensing.contact_onset import begin_contact, rises
from reward_learning_ros.sensing.contact_state import (
    CLOCK_JUMP,
    CONTACT,
    END,
    GAP,
    HELD_AWAY,
    IDLE,
    LEARN,
    ONSET,
    RELEASED,
    TIMEOUT,
    UNSEEN,
    ZEROED,
    Settings,
)
from reward_learning_ros.sensing.filtering import low_pass_step, median_of_three
from reward_learning_ros.sensing.samples import JOINT_COUNT

# The bias follows the arm's configuration, which hardly changes in this time.
_BIAS_HOLD_NS = 4_000_000
# How long torque is taken as bias after zero was asked for.
_ZERO_NS = 500_000_000
# After a gap the filter starts anew and has to settle before it is asked anything.
_SETTLE_NS = 30_000_000
# Memory of the roughness of the signal.
_ROUGHNESS_ATTACK_SEC = 0.04
_ROUGHNESS_DECAY_SEC = 0.4
# Mean absolute second difference of white noise with unit variance: √6 · √(2/π).
_ROUGHNESS_OF_WHITE_NOISE = math.sqrt(6.0) * math.sqrt(2.0 / math.pi)
_WRENCH_BASELINE_SEC = 1.0
# A push may take the arm to where its bias is not known. There it goes on until the torque has
# fallen to this share of what it was on the way; after so long it is taken to have ended there.
_RELEASED_SHARE = 0.5
_LONGEST_UNSURE_NS = 6_000_000_000
# No more than this share of a push, which stays as it is for so long while the arm stands, is no
# hand but a bias that was wrong.
_LEFT_SHARE = 0.25
_STEADY_NM = 0.4
_STEADY_NS = 3_000_000_000
_STANDING_RAD_S = 0.02
# What is left of a push after its end must not be taken for bias.
_AFTERMATH_NS = 300_000_000


@numba.njit(cache=True)
def run(
    settings: Settings,
    state: np.ndarray,
    time_ns: np.ndarray,
    epoch: np.ndarray,
    torque_nm: np.ndarray,
    joint_position_rad: np.ndarray,
    joint_velocity_rad_s: np.ndarray,
    wrench: np.ndarray,
    wrench_age_ns: np.ndarray,
    statistic: np.ndarray,
    residual_nm: np.ndarray,
    force_n: np.ndarray,
    phase: np.ndarray,
    events: np.ndarray,
) -> int:
    """Advances `state` (one record) over n ticks.

    Args:
        settings: the parameters.
        state: (1,) of STATE, written.
        time_ns: (n,).
        epoch: (n,).
        torque_nm: (n, 7).
        joint_position_rad: (n, 7).
        joint_velocity_rad_s: (n, 7).
        wrench: (n, 6).
        wrench_age_ns: (n,).
        statistic: (n,) written: the residual torque in standard deviations.
        residual_nm: (n, 7) written: filtered torque without bias.
        force_n: (n, 3) written: filtered force of the wrench without its baseline, NaN if none.
        phase: (n,) written.
        events: (2n + 2,) of EVENT, written.

    Returns:
        The number of events.
    """
    s = state[0]
    count = 0
    for i in range(len(time_ns)):
        step_ns = time_ns[i] - s.time_ns
        if s.time_ns < 0 or epoch[i] != s.epoch or step_ns <= 0 or step_ns > settings.gap_ns:
            count = _restart(settings, s, i, time_ns[i], epoch[i], torque_nm[i], events, count)
            step_ns = 0
        if s.zero_until_ns == 0:
            _begin_zero(settings, s, time_ns[i])
        s.time_ns = time_ns[i]
        step_sec = step_ns * 1e-9
        _filter_torque(settings, s, torque_nm[i], step_sec)
        zero_wrench = _filter_force(settings, s, wrench[i], wrench_age_ns[i], time_ns[i])
        if time_ns[i] - s.bias_time_ns >= _BIAS_HOLD_NS or s.bias_time_ns < 0:
            bias.features(joint_position_rad[i], joint_velocity_rad_s[i], s.feature)
            s.bias_variance = bias.predict(s.weights, s.covariance, s.feature, s.bias)
            if not np.isfinite(joint_position_rad[i]).all():
                # Without the joints the bias cannot follow the pose and may be anything.
                s.bias_variance += settings.prior_variance
            s.bias_time_ns = time_ns[i]
        z, size, z_if_sure = _statistic(settings, s, step_sec)
        above_on = z > settings.on_threshold and size > settings.on_torque_nm
        above_off = z > settings.off_threshold and size > settings.off_torque_nm
        saturated = False
        for j in range(JOINT_COUNT):
            saturated |= abs(torque_nm[i, j]) >= settings.saturation_nm[j]
        s.total_saturated += saturated
        s.total_zero_wrench += zero_wrench

        if time_ns[i] < s.settled_ns:
            pass
        elif s.mode == LEARN or time_ns[i] < s.zero_until_ns:
            if s.phase == CONTACT:
                count = end(s, i, time_ns[i], ZEROED, events, count)
            glance(s)
            learn_tick(settings, s, True)
        elif s.phase == IDLE:
            glance(s)
            # A tool that is held away from its set-point is a hand, whatever the bias is there.
            is_pulled = s.tool == HELD_AWAY and size > settings.on_torque_nm
            if is_pulled or above_off or time_ns[i] < s.released_ns + _AFTERMATH_NS:
                forget_windows(s)
            else:
                learn_tick(settings, s, False)
            if rises(settings, s, time_ns[i], step_sec, z, size, above_on, above_off) or is_pulled:
                begin_contact(settings, s, time_ns[i], z)
                events[count].kind = ONSET
                events[count].tick = i
                events[count].time_ns = time_ns[i]
                events[count].onset_ns = s.onset_ns
                count += 1
        elif s.bridging:
            s.bridging = 0
            if above_off and _same_direction(s):
                s.below_ns = -1
            else:
                count = end(s, i, s.gap_start_ns, GAP, events, count)
                s.earliest_onset_ns = s.settled_ns - _SETTLE_NS
        elif time_ns[i] - s.onset_ns > settings.longest_ns:
            # Nobody pushes for so long: the load has changed, and with it the bias.
            count = end(s, i, time_ns[i], TIMEOUT, events, count)
            s.zero_until_ns = 0
        elif _is_left_over(s, time_ns[i], size, joint_velocity_rad_s[i]):
            end_ns = max(s.steady_ns - settings.delay_ns, s.onset_ns)
            count = end(s, i, end_ns, RELEASED, events, count)
            s.zero_until_ns = 0
        elif above_off:
            s.below_ns = -1
            if above_on:
                # Only that is sure: where a bias is wrong, what is left hovers about the other.
                s.unsure_ns = -1
        elif _is_held(settings, s, time_ns[i], size, z_if_sure):
            s.below_ns = -1
        else:
            if s.below_ns < 0:
                is_lost = s.unsure_ns >= 0 and time_ns[i] - s.unsure_ns >= _LONGEST_UNSURE_NS
                s.below_ns = s.unsure_ns if is_lost else time_ns[i]
            if time_ns[i] - s.below_ns >= settings.off_dwell_ns:
                end_ns = max(s.below_ns - settings.delay_ns, s.onset_ns)
                count = end(s, i, end_ns, RELEASED, events, count)

        if s.phase == CONTACT and not s.bridging:
            _remember(s, z, size, saturated, zero_wrench)
        elif not above_off and s.force_time_ns == time_ns[i]:
            share = min(step_sec / _WRENCH_BASELINE_SEC, 1.0)
            for k in range(3):
                s.force_baseline[k] += share * (s.force[k] - s.force_baseline[k])

        statistic[i] = z
        phase[i] = s.phase
        for j in range(JOINT_COUNT):
            residual_nm[i, j] = s.torque[j] - s.bias[j]
        for k in range(3):
            known = s.force_time_ns == time_ns[i]
            force_n[i, k] = s.force[k] - s.force_baseline[k] if known else math.nan
    return count


@numba.njit(cache=True)
def _restart(
    settings: Settings,
    s: Any,
    tick: int,
    time_ns: int,
    epoch: int,
    torque_nm: np.ndarray,
    events: np.ndarray,
    count: int,
) -> int:
    """Begins anew after a gap or a jump of the clock, closing or bridging an open contact."""
    jumped = s.time_ns >= 0 and (epoch != s.epoch or time_ns <= s.time_ns)
    gap_ns = time_ns - s.time_ns if s.time_ns >= 0 and not jumped else 0
    if s.phase == CONTACT:
        last_ns = s.gap_start_ns if s.bridging else s.time_ns
        if s.below_ns >= 0 and not s.bridging:
            last_ns = max(s.below_ns - settings.delay_ns, s.onset_ns)
        if jumped or time_ns - last_ns > settings.bridge_ns:
            count = end(s, tick, last_ns, CLOCK_JUMP if jumped else GAP, events, count)
        else:
            s.gap_start_ns = last_ns
            s.bridging = 1
            s.gap_ns += gap_ns
    # What wandered unseen is less certain now; an hour of silence is not worse than a fresh start.
    drifted = min(settings.drift_variance_per_sec * gap_ns * 1e-9, settings.prior_variance)
    s.covariance[0, 0] += drifted
    if s.time_ns < 0 or jumped:
        s.jump_ns = -1
        s.released_ns = 0
        s.force_time_ns = -1
        if s.zero_until_ns > 0:
            s.zero_until_ns = -1
    for j in range(JOINT_COUNT):
        s.last_raw[j] = torque_nm[j]
        s.raw_before[j] = torque_nm[j]
        s.first_stage[j] = torque_nm[j]
        s.torque[j] = torque_nm[j]
    s.epoch = epoch
    s.settled_ns = time_ns + _SETTLE_NS
    s.earliest_onset_ns = time_ns
    s.bias_time_ns = -1
    s.evidence_sec = 0.0
    s.rising_ns = -1
    s.crossing_ns = -1
    s.sudden_ns = -1
    s.glance_count = 0
    s.window_count = 0
    s.waiting = 0
    return count


@numba.njit(cache=True)
def _begin_zero(settings: Settings, s: Any, time_ns: int) -> None:
    """Takes the torque from here on as bias, whatever it is."""
    s.zero_until_ns = time_ns + _ZERO_NS
    s.covariance[0, 0] += settings.prior_variance
    s.window_count = 0
    s.waiting = 0


@numba.njit(cache=True)
def _filter_torque(settings: Settings, s: Any, raw: np.ndarray, step_sec: float) -> None:
    middle = np.empty(JOINT_COUNT)
    for j in range(JOINT_COUNT):
        second_difference = abs(raw[j] - 2.0 * s.last_raw[j] + s.raw_before[j])
        rises = second_difference > s.roughness[j]
        memory_sec = _ROUGHNESS_ATTACK_SEC if rises else _ROUGHNESS_DECAY_SEC
        s.roughness[j] += min(step_sec / memory_sec, 1.0) * (second_difference - s.roughness[j])
        middle[j] = median_of_three(raw[j], s.last_raw[j], s.raw_before[j])
        s.raw_before[j] = s.last_raw[j]
        s.last_raw[j] = raw[j]
    low_pass_step(s.first_stage, s.torque, middle, step_sec / settings.time_constant_sec)


@numba.njit(cache=True)
def _filter_force(
    settings: Settings, s: Any, wrench: np.ndarray, age_ns: int, time_ns: int
) -> bool:
    """Filters the force and returns whether the wrench is zero, as it is near a singularity."""
    if age_ns > settings.gap_ns:
        return False
    zero = True
    for k in range(6):
        zero &= wrench[k] == 0.0
    if zero:
        return True
    if s.force_time_ns < 0 or time_ns - s.force_time_ns > settings.gap_ns:
        for k in range(3):
            s.force_first_stage[k] = wrench[k]
            s.force[k] = wrench[k]
            if s.force_time_ns < 0:
                s.force_baseline[k] = wrench[k]
    else:
        step = (time_ns - s.force_time_ns) * 1e-9 / settings.time_constant_sec
        low_pass_step(s.force_first_stage, s.force, wrench[:3], step)
    s.force_time_ns = time_ns
    return False


@numba.njit(cache=True)
def _statistic(settings: Settings, s: Any, step_sec: float) -> tuple[float, float, float]:
    """Returns the residual's size in standard deviations and in N·m.

    The third number is the first, if the bias were no less certain than where the contact began.

    If the torque has come to fluctuate more than when the noise was learned, that is the noise. A
    rough signal, such as a burst of noise, is expected to leave roughness / white · √(h / 4τ)
    behind the filter: then that is the noise, not what was seen in quieter times.
    """
    passed = min(step_sec / (4.0 * settings.time_constant_sec), 1.0)
    squares = 0.0
    squares_if_sure = 0.0
    size = 0.0
    sure_variance = min(s.bias_variance, s.onset_variance)
    for j in range(JOINT_COUNT):
        residual = s.torque[j] - s.bias[j]
        rough = s.roughness[j] / _ROUGHNESS_OF_WHITE_NOISE
        noise = max(s.noise_variance[j], s.fluctuation[j] / FLUCTUATION_SHARE)
        noise = max(noise, rough * rough * passed)
        noise = max(noise, settings.noise_floor_variance)
        squares += residual * residual / (noise + s.bias_variance)
        squares_if_sure += residual * residual / (noise + sure_variance)
        size += residual * residual
    return math.sqrt(squares), math.sqrt(size), math.sqrt(squares_if_sure)


@numba.njit(cache=True)
def _is_held(settings: Settings, s: Any, time_ns: int, size: float, z_if_sure: float) -> bool:
    """Tells whether a contact goes on, though the bias has become too uncertain to tell.

    Where the tool is seen, that decides: as long as it is held away from its set-point, nobody
    has let it go. Otherwise, a hand that lets go takes its torque away at once; one that moved the
    arm on to where nobody knows the bias does not.
    """
    if s.tool != UNSEEN:
        return s.tool == HELD_AWAY and size > settings.off_torque_nm
    if z_if_sure <= settings.off_threshold or size <= settings.off_torque_nm:
        return False
    if s.unsure_ns < 0:
        s.unsure_ns = time_ns
        s.unsure_torque = size
    return size > _RELEASED_SHARE * s.unsure_torque and time_ns - s.unsure_ns < _LONGEST_UNSURE_NS


@numba.njit(cache=True)
def _is_left_over(s: Any, time_ns: int, size: float, joint_velocity_rad_s: np.ndarray) -> bool:
    """Tells whether the hand let go long ago, though the torque is not what it should be.

    Where a hand that held still was once taken for bias, the bias is wrong, and surely so.
    """
    change = 0.0
    speed = 0.0
    for j in range(JOINT_COUNT):
        change += (s.torque[j] - s.steady_torque[j]) ** 2
        speed = max(speed, abs(joint_velocity_rad_s[j]))
    is_little = size <= _LEFT_SHARE * s.peak_torque
    # Joints that are not known are not known to stand.
    if s.steady_ns < 0 or not is_little or change > _STEADY_NM**2 or not speed < _STANDING_RAD_S:
        s.steady_ns = time_ns
        for j in range(JOINT_COUNT):
            s.steady_torque[j] = s.torque[j]
        return False
    return time_ns - s.steady_ns >= _STEADY_NS


@numba.njit(cache=True)
def _remember(s: Any, z: float, size: float, saturated: bool, zero_wrench: bool) -> None:
    s.ticks += 1
    s.saturated += saturated
    s.zero_wrench += zero_wrench
    s.peak_statistic = max(s.peak_statistic, z)
    s.peak_torque = max(s.peak_torque, size)
    if s.force_time_ns == s.time_ns:
        square = 0.0
        for k in range(3):
            square += (s.force[k] - s.force_baseline[k]) ** 2
        s.peak_force = max(s.peak_force, math.sqrt(square))
    if s.below_ns < 0:
        for j in range(JOINT_COUNT):
            s.direction[j] = s.torque[j] - s.bias[j]


@numba.njit(cache=True)
def _same_direction(s: Any) -> bool:
    """Tells whether the residual points as it did before the gap, within 60°."""
    dot, before, now = 0.0, 0.0, 0.0
    for j in range(JOINT_COUNT):
        residual = s.torque[j] - s.bias[j]
        dot += residual * s.direction[j]
        before += s.direction[j] ** 2
        now += residual**2
    return dot > 0.5 * math.sqrt(before * now)


@numba.njit(cache=True)
def end(s: Any, tick: int, end_ns: int, reason: int, events: np.ndarray, count: int) -> int:
    """Ends the contact, writes its event, and returns how many events there are now."""
    event = events[count]
    event.kind = END
    event.tick = tick
    event.time_ns = s.time_ns
    event.onset_ns = s.onset_ns
    event.end_ns = end_ns
    event.reason = reason
    event.peak_statistic = s.peak_statistic
    event.peak_torque = s.peak_torque
    event.peak_force = s.peak_force
    event.ticks = s.ticks
    event.saturated = s.saturated
    event.zero_wrench = s.zero_wrench
    event.gap_ns = s.gap_ns
    s.phase = IDLE
    # Its end is a change as only a push makes: all windows must stay quiet before one teaches.
    s.released_ns = s.time_ns
    s.jump_ns = s.time_ns
    s.bridging = 0
    s.earliest_onset_ns = end_ns
    s.evidence_sec = 0.0
    s.rising_ns = -1
    s.crossing_ns = -1
    s.sudden_ns = -1
    s.glance_count = 0
    s.window_count = 0
    s.waiting = 0
    return count + 1
