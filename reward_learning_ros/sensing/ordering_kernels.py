"""What becomes of a sample, decided one by one in the order of arrival, compiled."""

from __future__ import annotations

import numpy as np

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.sensing.samples import NANOSECONDS, Stream

# So many torque samples in a row far behind the newest one are a clock that jumped; fewer are
# stragglers.
_CLOCK_JUMP_SAMPLES = 20
# Samples of other streams so far ahead of the torque belong to another clock.
_FAR_AHEAD_NS = 10 * NANOSECONDS
_LATEST_STAMP_NS = 2**62

# Verdicts.
USED, LATE, LATE_BUT_USED, EARLY, NON_FINITE, UNSTAMPED, DUPLICATE, DOUBTFUL = range(8)
VERDICT_COUNT = 8
# The others say nothing of the order in which samples came.
IS_BELIEVED = np.isin(np.arange(VERDICT_COUNT), (USED, LATE, LATE_BUT_USED, DUPLICATE))
# Places in the state between calls: newest stamp, epoch, samples behind in a row.
NEWEST, EPOCH, BEHIND = range(3)
_TORQUE = int(Stream.TORQUE)


@numba.njit(cache=True)
def judge(
    stream: np.ndarray,
    time_ns: np.ndarray,
    finite: np.ndarray,
    clock: np.ndarray,
    delay_ns: int,
    jump_ns: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Decides about every arrival from those before it; `clock` is the state between calls.

    Returns:
        The verdicts, the epochs, and from which moment on each sample is valid, all (n,).
    """
    n = len(stream)
    verdict = np.empty(n, dtype=np.uint8)
    epoch = np.empty(n, dtype=np.int64)
    due_ns = time_ns.copy()
    doubtful = -1
    for i in range(n):
        t = time_ns[i]
        epoch[i] = clock[EPOCH]
        if not finite[i]:
            verdict[i] = NON_FINITE
            continue
        if t <= 0 or t > _LATEST_STAMP_NS:
            verdict[i] = UNSTAMPED
            continue
        if stream[i] != _TORQUE:
            if clock[NEWEST] >= 0 and t > clock[NEWEST] + _FAR_AHEAD_NS:
                verdict[i] = EARLY
            elif clock[NEWEST] >= 0 and t <= clock[NEWEST] - delay_ns:
                verdict[i] = LATE_BUT_USED
                due_ns[i] = clock[NEWEST] - delay_ns + 1
            else:
                verdict[i] = USED
            continue
        if clock[NEWEST] < 0:
            clock[NEWEST] = t
        ahead = t - clock[NEWEST]
        if doubtful >= 0 and ahead > -jump_ns:
            if t == time_ns[doubtful]:
                verdict[i] = DUPLICATE
                continue
            if abs(t - time_ns[doubtful]) <= jump_ns:
                verdict[doubtful] = USED
                clock[NEWEST] = max(t, time_ns[doubtful])
                ahead = t - clock[NEWEST]
            else:
                verdict[doubtful] = EARLY
            doubtful = -1
        if ahead > jump_ns:
            verdict[i] = DOUBTFUL
            doubtful = i
        elif ahead < -jump_ns:
            verdict[i] = LATE
            clock[BEHIND] += 1
            if clock[BEHIND] >= _CLOCK_JUMP_SAMPLES:
                verdict[i] = USED
                clock[NEWEST] = t
                clock[EPOCH] += 1
                clock[BEHIND] = 0
                epoch[i] = clock[EPOCH]
        else:
            clock[BEHIND] = 0
            verdict[i] = LATE if ahead <= -delay_ns and ahead < 0 else USED
            clock[NEWEST] = max(clock[NEWEST], t)
    return verdict, epoch, due_ns


@numba.njit(cache=True)
def fresh_ones(
    time_ns: np.ndarray,
    epoch: np.ndarray,
    last_ns: int,
    last_epoch: int,
    period: np.ndarray,
    gap_ns: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Marks the samples newer than all before them; counts repeated, missing and gaps (3,)."""
    fresh = np.zeros(len(time_ns), dtype=np.bool_)
    counters = np.zeros(3, dtype=np.int64)
    for i in range(len(time_ns)):
        if epoch[i] == last_epoch:
            step = time_ns[i] - last_ns
            if step <= 0:
                counters[0] += step == 0
                continue
            if period[0] == 0.0:
                period[0] = step
            if step <= 1.5 * period[0]:
                # Slow enough to ignore jitter, fast enough to settle within a second.
                period[0] += 0.02 * (step - period[0])
            else:
                counters[1] += round(step / period[0]) - 1
            counters[2] += step > gap_ns
        fresh[i] = True
        last_ns, last_epoch = time_ns[i], epoch[i]
    return fresh, counters
