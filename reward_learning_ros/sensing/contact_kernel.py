"""The compiled state machine of contact detection: one step for each torque sample.

`advance` takes settings, the state and samples, and returns the next state and an info, as a
sampler's kernel does. All that a sample leaves for the next one is in the state, so blocks of any
size give bit for bit the same result, live or replayed. docs/contact_detection.md has the states,
their transitions and the reasons.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing import bias
from reward_learning_ros.sensing.contact_rules import (
    Evidence,
    compute_evidence,
    has_onset,
    is_held,
    is_residue,
    points_as_before,
)
from reward_learning_ros.sensing.contact_state import (
    END,
    ONSET,
    EndReason,
    Info,
    Mode,
    Phase,
    Samples,
    Settings,
    Tool,
)
from reward_learning_ros.sensing.filtering import (
    filter_force,
    filter_torque,
    follow_force_baseline,
    restart_torque_filter,
)
from reward_learning_ros.sensing.samples import JOINT_COUNT

# Numba compares fields of a record with plain numbers.
_IDLE, _HOLDING, _FALLING, _BRIDGING = map(int, Phase)
_LEARN = int(Mode.LEARN)
_HELD_AWAY = int(Tool.HELD_AWAY)
_RELEASED, _GAP, _CLOCK_JUMP, _TIMEOUT, _ZEROED = range(len(EndReason))

# The bias follows the arm's configuration, which hardly changes in this time; it takes more
# processor time than all the rest.
_BIAS_PERIOD_NS = 4_000_000


@numba.njit(cache=True)
def advance(
    settings: Settings, state: np.ndarray, samples: Samples, events: np.ndarray
) -> tuple[np.ndarray, Info]:
    """Returns the state (1,) after samples, and what they showed.

    Args:
        settings: the parameters.
        state: (1,) of STATE; left as it is.
        samples: n samples.
        events: (2n + 2,) of EVENT; room for what may be found.
    """
    state = state.copy()
    s = state[0]
    n = len(samples.time_ns)
    statistic, residual_nm = np.empty(n), np.empty((n, JOINT_COUNT))
    force_n, phase = np.empty((n, 3)), np.empty(n, dtype=np.int64)
    s.event_count = 0
    for i in range(n):
        s.tick = i
        time_ns = samples.time_ns[i]
        step_ns = time_ns - s.time_ns
        if (
            s.time_ns < 0
            or samples.epoch[i] != s.epoch
            or step_ns <= 0
            or step_ns > settings.gap_ns
        ):
            _restart(settings, s, time_ns, samples.epoch[i], samples.torque_nm[i], events)
            step_ns = 0
        if s.zero_until_ns == 0:
            _begin_zero(settings, s, time_ns)
        s.time_ns = time_ns
        step_sec = step_ns * 1e-9
        filter_torque(settings.filters, s.filters, samples.torque_nm[i], step_sec)
        is_zero_wrench = filter_force(
            settings.filters, s.filters, samples.wrench[i], samples.wrench_age_ns[i], time_ns
        )
        _compute_bias(settings, s, samples.joint_position_rad[i], samples.joint_velocity_rad_s[i])
        evidence = compute_evidence(settings, s, step_sec)
        is_saturated = False
        for j in range(JOINT_COUNT):
            is_saturated |= abs(samples.torque_nm[i, j]) >= settings.saturation_nm[j]
        s.total_saturated += is_saturated
        s.total_zero_wrench += is_zero_wrench

        if time_ns >= s.settled_ns:
            if s.mode == _LEARN or time_ns < s.zero_until_ns:
                _learn(settings, s, events)
            elif s.phase == _IDLE:
                _wait(settings, s, evidence, events)
            elif s.phase == _BRIDGING:
                _resume(settings, s, evidence, events)
            else:
                velocity = samples.joint_velocity_rad_s[i]
                _hold(settings, s, velocity, evidence, events)

        if s.phase == _HOLDING or s.phase == _FALLING:
            _summarise(s, evidence, is_saturated, is_zero_wrench)
        elif not evidence.is_above_off and s.filters.force_time_ns == time_ns:
            follow_force_baseline(settings.filters, s.filters, step_sec)

        statistic[i] = evidence.z
        phase[i] = s.phase
        for j in range(JOINT_COUNT):
            residual_nm[i, j] = s.filters.torque[j] - s.bias.bias[j]
        for k in range(3):
            is_known = s.filters.force_time_ns == time_ns
            force_n[i, k] = (
                s.filters.force[k] - s.filters.force_baseline[k] if is_known else math.nan
            )
    return state, Info(statistic, residual_nm, force_n, phase, events[: s.event_count])


@numba.njit(cache=True)
def _restart(
    settings: Settings,
    s: Any,
    time_ns: int,
    epoch: int,
    torque_nm: np.ndarray,
    events: np.ndarray,
) -> None:
    """Begins again after a gap or a jump of the clock; an open contact ends or is bridged."""
    jumped = s.time_ns >= 0 and (epoch != s.epoch or time_ns <= s.time_ns)
    gap_ns = time_ns - s.time_ns if s.time_ns >= 0 and not jumped else 0
    contact = s.contact
    if s.phase != _IDLE:
        last_ns = s.time_ns
        if s.phase == _BRIDGING:
            last_ns = contact.gap_start_ns
        elif s.phase == _FALLING:
            last_ns = max(contact.below_ns - settings.delay_ns, contact.onset_ns)
        if jumped or time_ns - last_ns > settings.bridge_ns:
            end(s, last_ns, _CLOCK_JUMP if jumped else _GAP, events)
        else:
            contact.gap_start_ns = last_ns
            s.phase = _BRIDGING
            contact.gap_ns += gap_ns
    # The bias drifts unobserved; an hour of silence is no worse than a fresh start.
    drifted = min(
        settings.bias.drift_variance_per_sec * gap_ns * 1e-9, settings.bias.prior_variance
    )
    s.bias.covariance[0, 0] += drifted
    if s.time_ns < 0 or jumped:
        s.bias.step_ns = -1
        s.released_ns = 0
        s.filters.force_time_ns = -1
        if s.zero_until_ns > 0:
            s.zero_until_ns = -1
    restart_torque_filter(s.filters, torque_nm)
    s.epoch = epoch
    s.settled_ns = time_ns + settings.settling_ns
    s.onset.earliest_ns = time_ns
    s.bias.time_ns = -1
    _drop_evidence(s)


@numba.njit(cache=True)
def _drop_evidence(s: Any) -> None:
    """Drops what was gathered of an onset, of the noise floor and of the bias."""
    s.onset.evidence_sec = 0.0
    s.onset.rising_ns = -1
    s.onset.crossing_ns = -1
    s.onset.sudden_ns = -1
    s.bias.floor_count = 0
    s.bias.window_count = 0
    s.bias.pending = 0


@numba.njit(cache=True)
def _begin_zero(settings: Settings, s: Any, time_ns: int) -> None:
    """Takes the torque from here on as bias, whatever it is."""
    s.zero_until_ns = time_ns + settings.zero_ns
    s.bias.covariance[0, 0] += settings.bias.prior_variance
    s.bias.window_count = 0
    s.bias.pending = 0


@numba.njit(cache=True)
def _compute_bias(
    settings: Settings, s: Any, joint_position_rad: np.ndarray, joint_velocity_rad_s: np.ndarray
) -> None:
    """Computes bias and variance in the present configuration, if they are out of date."""
    model = s.bias
    if s.time_ns - model.time_ns < _BIAS_PERIOD_NS and model.time_ns >= 0:
        return
    bias.features(joint_position_rad, joint_velocity_rad_s, model.feature)
    model.variance = bias.predict(model.weights, model.covariance, model.feature, model.bias)
    if not np.isfinite(joint_position_rad).all():
        # Without the joints the bias cannot follow the pose and may be anything.
        model.variance += settings.bias.prior_variance
    model.time_ns = s.time_ns


@numba.njit(cache=True)
def _learn(settings: Settings, s: Any, events: np.ndarray) -> None:
    """Any phase, while all torque is bias: an open contact ends, rejected."""
    if s.phase != _IDLE:
        end(s, s.time_ns, _ZEROED, events)
    mode = bias.UNCLIPPED if s.time_ns < s.zero_until_ns else bias.AT_ONCE
    bias.update_noise_floor(settings.bias, s.bias, s.filters.torque, s.time_ns)
    bias.update_bias(settings.bias, s.bias, s.filters.torque, s.time_ns, mode)


@numba.njit(cache=True)
def _wait(
    settings: Settings,
    s: Any,
    evidence: Evidence,
    events: np.ndarray,
) -> None:
    """IDLE: learns from a quiet torque, and waits for an onset."""
    torque_nm, time_ns = s.filters.torque, s.time_ns
    bias.update_noise_floor(settings.bias, s.bias, torque_nm, time_ns)
    # A tool that is held away from its set-point is a hand, whatever the bias is there.
    is_held_away = s.tool == _HELD_AWAY and evidence.size_nm > settings.on_torque_nm
    if is_held_away or evidence.is_above_off or time_ns < s.released_ns + settings.aftermath_ns:
        bias.drop_windows(settings.bias, s.bias, torque_nm, time_ns)
    else:
        bias.update_bias(settings.bias, s.bias, torque_nm, time_ns, bias.WHEN_QUIET)
    if has_onset(settings, s, evidence) or is_held_away:
        _begin_contact(settings, s, evidence.z)
        event = _next_event(s, events)
        event.kind = ONSET
        event.onset_ns = s.contact.onset_ns


@numba.njit(cache=True)
def _begin_contact(settings: Settings, s: Any, z: float) -> None:
    """IDLE → HOLDING: the onset is where the ramp of the statistic began."""
    onset, contact = s.onset, s.contact
    ramp_ns = 0.0
    if onset.rising_ns < 0:
        onset.rising_ns = s.time_ns
        onset.rising_statistic = z
    if onset.crossing_ns < 0:
        onset.crossing_ns = s.time_ns
        onset.crossing_statistic = z
    if onset.crossing_statistic > onset.rising_statistic:
        slope_ns = (onset.crossing_ns - onset.rising_ns) / (
            onset.crossing_statistic - onset.rising_statistic
        )
        ramp_ns = min(slope_ns * onset.rising_statistic, settings.max_ramp_ns)
    onset_ns = onset.rising_ns - int(ramp_ns) - settings.delay_ns
    contact.onset_ns = max(onset_ns, onset.earliest_ns)
    s.phase = _HOLDING
    contact.onset_variance = s.bias.variance
    contact.unsure_ns = -1
    contact.residue_ns = -1
    onset.evidence_sec = 0.0
    contact.peak_statistic = 0.0
    contact.peak_torque = 0.0
    contact.peak_force = 0.0
    contact.ticks = 0
    contact.saturated = 0
    contact.zero_wrench = 0
    contact.gap_ns = 0
    for j in range(JOINT_COUNT):
        contact.direction[j] = 0.0


@numba.njit(cache=True)
def _resume(settings: Settings, s: Any, evidence: Evidence, events: np.ndarray) -> None:
    """BRIDGING → HOLDING if the torque points as before the gap; else the contact ended then."""
    if evidence.is_above_off and points_as_before(s):
        s.phase = _HOLDING
        return
    end(s, s.contact.gap_start_ns, _GAP, events)
    s.onset.earliest_ns = s.settled_ns - settings.settling_ns


@numba.njit(cache=True)
def _hold(
    settings: Settings,
    s: Any,
    joint_velocity_rad_s: np.ndarray,
    evidence: Evidence,
    events: np.ndarray,
) -> None:
    """HOLDING and FALLING: waits for the end of the contact."""
    contact, time_ns = s.contact, s.time_ns
    if time_ns - contact.onset_ns > settings.max_contact_ns:
        # Nobody pushes for so long: the load has changed, and with it the bias.
        end(s, time_ns, _TIMEOUT, events)
        s.zero_until_ns = 0
    elif is_residue(settings, s, evidence.size_nm, joint_velocity_rad_s):
        end_ns = max(contact.residue_ns - settings.delay_ns, contact.onset_ns)
        end(s, end_ns, _RELEASED, events)
        s.zero_until_ns = 0
    elif evidence.is_above_off:
        s.phase = _HOLDING
        if evidence.is_above_on:
            # Only that is certain: where a bias is wrong, a residue hovers about the other.
            contact.unsure_ns = -1
    elif is_held(settings, s, evidence):
        s.phase = _HOLDING
    else:
        if s.phase == _HOLDING:
            s.phase = _FALLING
            is_lost = (
                contact.unsure_ns >= 0 and time_ns - contact.unsure_ns >= settings.max_unsure_ns
            )
            contact.below_ns = contact.unsure_ns if is_lost else time_ns
        if time_ns - contact.below_ns >= settings.off_dwell_ns:
            end_ns = max(contact.below_ns - settings.delay_ns, contact.onset_ns)
            end(s, end_ns, _RELEASED, events)


@numba.njit(cache=True)
def _summarise(s: Any, evidence: Evidence, is_saturated: bool, is_zero_wrench: bool) -> None:
    """Gathers what will be reported of the open contact."""
    contact = s.contact
    contact.ticks += 1
    contact.saturated += is_saturated
    contact.zero_wrench += is_zero_wrench
    contact.peak_statistic = max(contact.peak_statistic, evidence.z)
    contact.peak_torque = max(contact.peak_torque, evidence.size_nm)
    if s.filters.force_time_ns == s.time_ns:
        square = 0.0
        for k in range(3):
            square += (s.filters.force[k] - s.filters.force_baseline[k]) ** 2
        contact.peak_force = max(contact.peak_force, math.sqrt(square))
    if s.phase == _HOLDING:
        for j in range(JOINT_COUNT):
            contact.direction[j] = s.filters.torque[j] - s.bias.bias[j]


@numba.njit(cache=True)
def end(s: Any, end_ns: int, reason: int, events: np.ndarray) -> None:
    """Any phase → IDLE: writes the event of the end."""
    contact, event = s.contact, _next_event(s, events)
    event.kind = END
    event.onset_ns = contact.onset_ns
    event.end_ns = end_ns
    event.reason = reason
    event.peak_statistic = contact.peak_statistic
    event.peak_torque = contact.peak_torque
    event.peak_force = contact.peak_force
    event.ticks = contact.ticks
    event.saturated = contact.saturated
    event.zero_wrench = contact.zero_wrench
    event.gap_ns = contact.gap_ns
    s.phase = _IDLE
    # The end is a step as only a hand makes it: all windows must stay quiet before one is used.
    s.released_ns = s.time_ns
    s.bias.step_ns = s.time_ns
    s.onset.earliest_ns = end_ns
    _drop_evidence(s)


@numba.njit(cache=True)
def _next_event(s: Any, events: np.ndarray) -> Any:
    """Returns the record of one more event, with the time at which it became certain."""
    event = events[s.event_count]
    event.tick = s.tick
    event.time_ns = s.time_ns
    s.event_count += 1
    return event
