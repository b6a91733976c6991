"""How contact detection finds the beginning of a contact, compiled."""

from __future__ import annotations

from typing import Any

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing.contact_state import CONTACT, Settings
from reward_learning_ros.sensing.samples import JOINT_COUNT

# The ramp of a push is extended backwards to zero, but no farther than this.
_LONGEST_RAMP_NS = 250_000_000
# The bias wanders with the pose, a push comes at once: torque that has jumped within this time
# before it left the quiet range is a contact already at this share of the way between the two
# thresholds, if it stays there for as long as the end of a contact takes to be believed.
_SUDDEN_NS = 300_000_000
_SUDDEN_SHARE = 0.25


@numba.njit(cache=True)
def rises(
    settings: Settings,
    s: Any,
    time_ns: int,
    step_sec: float,
    z: float,
    size: float,
    above_on: bool,
    above_off: bool,
) -> bool:
    """Gathers evidence of a contact: time above the threshold, lost twice as fast below it."""
    if not above_off:
        s.rising_ns = -1
        s.crossing_ns = -1
    else:
        if s.rising_ns < 0:
            s.rising_ns = time_ns
            s.rising_statistic = z
        if above_on and s.crossing_ns < 0:
            s.crossing_ns = time_ns
            s.crossing_statistic = z
    # However slow the stream, one sample alone is no evidence.
    step_sec = min(step_sec, settings.on_dwell_sec / 2.0)
    s.evidence_sec += step_sec if above_on else -2.0 * step_sec
    s.evidence_sec = max(s.evidence_sec, 0.0)
    if above_on and s.evidence_sec >= settings.on_dwell_sec:
        return True
    sudden = settings.off_threshold + _SUDDEN_SHARE * (
        settings.on_threshold - settings.off_threshold
    )
    jumped = s.jump_ns >= 0 and s.rising_ns >= 0 and abs(s.rising_ns - s.jump_ns) <= _SUDDEN_NS
    if not jumped or z < sudden or size <= settings.on_torque_nm:
        s.sudden_ns = -1
        return False
    if s.sudden_ns < 0:
        s.sudden_ns = time_ns
    if time_ns - s.sudden_ns < settings.off_dwell_ns:
        return False
    if s.crossing_ns < 0:
        s.crossing_ns = s.sudden_ns
        s.crossing_statistic = sudden
    return True


@numba.njit(cache=True)
def begin_contact(settings: Settings, s: Any, time_ns: int, z: float) -> None:
    """Opens a contact, from where its ramp began."""
    ramp_ns = 0.0
    if s.rising_ns < 0:
        s.rising_ns = time_ns
        s.rising_statistic = z
    if s.crossing_ns < 0:
        s.crossing_ns = time_ns
        s.crossing_statistic = z
    if s.crossing_statistic > s.rising_statistic:
        slope_ns = (s.crossing_ns - s.rising_ns) / (s.crossing_statistic - s.rising_statistic)
        ramp_ns = min(slope_ns * s.rising_statistic, _LONGEST_RAMP_NS)
    s.onset_ns = max(s.rising_ns - int(ramp_ns) - settings.delay_ns, s.earliest_onset_ns)
    s.phase = CONTACT
    s.onset_variance = s.bias_variance
    s.unsure_ns = -1
    s.steady_ns = -1
    s.below_ns = -1
    s.bridging = 0
    s.evidence_sec = 0.0
    s.peak_statistic = 0.0
    s.peak_torque = 0.0
    s.peak_force = 0.0
    s.ticks = 0
    s.saturated = 0
    s.zero_wrench = 0
    s.gap_ns = 0
    for j in range(JOINT_COUNT):
        s.direction[j] = 0.0
