"""Puts samples back into the order of their stamps and survives whatever a network does to them.

Rules, for samples of any order of arrival:

- The torque stream is the clock. Its newest stamp minus the reorder delay is the horizon; a
  sample is handed on, in the order of stamps, once the horizon has passed it. As long as nothing
  arrives later than the delay, the result does not depend on the order of arrival at all.
- Two samples of a stream with one stamp are one sample: the first to arrive.
- A torque sample behind the horizon is dropped. Another stream's late sample is still the newest
  value known of it, so it is used from the horizon on.
- A torque sample far ahead of all others waits for a second one near it: after a gap that one
  comes at once, after a corrupted stamp never.
- Torque samples that stay far behind for a while mean that the clock jumped backwards: what is
  pending is handed on and a new epoch begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.core.kernel_cache import numba
from reward_learning_ros.parameters import Parameters, parameter
from reward_learning_ros.sensing.samples import (
    JOINT_COUNT,
    NANOSECONDS,
    NEVER_NS,
    STREAM_WIDTHS,
    WIDEST,
    Arrivals,
    SampleBlock,
    Stream,
    gathered,
)

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


_STREAM_COUNT = len(Stream)
# No arm has 10 kN·m, 10 kN or 10 km: finite garbage is garbage too.
_IMPLAUSIBLE = 1e4
# Without any torque nothing can be handed on; this bounds what waits for it.
_MAX_PENDING = 50_000


@dataclass(frozen=True, kw_only=True)
class OrderingParameters(Parameters):
    """Parameters of ordering samples: delay, clock jumps and gaps."""

    reorder_delay_sec: float = parameter(
        0.025,
        description='How long a sample waits for earlier ones; the delay of all that follows',
        minimum=0.0,
        maximum=0.5,
        unit='s',
    )
    clock_jump_sec: float = parameter(
        1.0,
        description='A stamp farther from the others than this is checked before it is believed',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )
    gap_sec: float = parameter(
        0.25,
        description='A stream silent for longer than this has a gap',
        minimum=0.01,
        maximum=10.0,
        unit='s',
    )


@dataclass(kw_only=True)
class StreamCounts:
    """What happened to the samples of one stream."""

    received: int = 0
    used: int = 0
    out_of_order: int = 0
    duplicate: int = 0
    late: int = 0
    early: int = 0
    non_finite: int = 0
    unstamped: int = 0
    malformed: int = 0
    missing: int = 0
    gaps: int = 0


class StreamOrderer:
    """Collects samples as they arrive and hands them on in order, aligned to the torque.

    The result is the same however the arrivals are cut into calls of `release`.

    Attributes:
        counts: what happened to the samples of each stream.
    """

    def __init__(self, parameters: OrderingParameters | None = None) -> None:
        self.parameters = parameters or OrderingParameters()
        self.counts = {stream: StreamCounts() for stream in Stream}
        self._delay_ns = round(self.parameters.reorder_delay_sec * NANOSECONDS)
        self._new: list[tuple[int, int, Sequence[float]]] = []
        self._pending = _Rows.empty()
        self._doubtful: Arrivals | None = None
        self._clock = np.array([-1, 0, 0], dtype=np.int64)  # newest stamp, epoch, samples behind
        self._held = [_Held() for _ in Stream]
        self._latest_ns = np.full(_STREAM_COUNT, -1, dtype=np.int64)

    @property
    def epoch(self) -> int:
        """How often the clock has jumped backwards."""
        return int(self._clock[EPOCH])

    @property
    def newest_ns(self) -> int | None:
        """The newest believed torque stamp, None before the first."""
        return int(self._clock[NEWEST]) if self._clock[NEWEST] >= 0 else None

    def add(self, stream: Stream, time_ns: int, values: Sequence[float]) -> None:
        """Takes one sample; one of another width than its stream's is counted and dropped."""
        if len(values) != STREAM_WIDTHS[stream]:
            counts = self.counts[stream]
            counts.received += 1
            counts.malformed += 1
            return
        self._new.append((stream, time_ns, values))

    def release(self) -> SampleBlock:
        """Returns all that the horizon has passed, of everything added since the last call."""
        new, self._new = self._new, []
        return self.release_arrivals(gathered(new))

    def release_arrivals(self, arrivals: Arrivals) -> SampleBlock:
        """Takes many samples at once and returns all that the horizon has passed."""
        self._admit(arrivals)
        horizon = self._clock[NEWEST] - self._delay_ns
        ready = (self._pending.epoch < self._clock[EPOCH]) | (self._pending.due_ns <= horizon)
        return self._hand_on(ready)

    def flush(self) -> SampleBlock:
        """Returns all that is left, at the end of a recording."""
        new, self._new = self._new, []
        self._admit(gathered(new))
        if self._doubtful is not None:
            self.counts[Stream.TORQUE].early += len(self._doubtful)
            self._doubtful = None
        return self._hand_on(np.ones(len(self._pending.time_ns), dtype=bool))

    def _admit(self, arrivals: Arrivals) -> None:
        received = np.bincount(arrivals.stream, minlength=_STREAM_COUNT)
        epoch_before = self.epoch
        if self._doubtful is not None:
            # It is judged again, first in the row, now that more has arrived.
            arrivals = Arrivals(
                stream=np.concatenate([self._doubtful.stream, arrivals.stream]),
                time_ns=np.concatenate([self._doubtful.time_ns, arrivals.time_ns]),
                values=np.concatenate([self._doubtful.values, arrivals.values]),
            )
        finite = (np.abs(arrivals.values) < _IMPLAUSIBLE).all(axis=1)
        verdict, epoch, due_ns = judge(
            arrivals.stream,
            arrivals.time_ns,
            finite,
            self._clock,
            self._delay_ns,
            round(self.parameters.clock_jump_sec * NANOSECONDS),
        )
        doubtful = verdict == DOUBTFUL
        self._doubtful = arrivals[doubtful] if doubtful.any() else None
        if self.epoch != epoch_before:
            self._latest_ns[:] = -1
        # How many of each stream were judged how, in one go: this runs many times a second.
        judged = np.bincount(
            arrivals.stream * VERDICT_COUNT + verdict, minlength=_STREAM_COUNT * VERDICT_COUNT
        ).reshape(_STREAM_COUNT, VERDICT_COUNT)
        believed = IS_BELIEVED[verdict]
        for stream, counts in self.counts.items():
            row = judged[stream]
            if not row.any():
                continue
            counts.received += int(received[stream])
            own = arrivals.time_ns[(arrivals.stream == stream) & believed]
            counts.out_of_order += self._count_overtaken(stream, own)
            counts.duplicate += int(row[DUPLICATE])
            counts.late += int(row[LATE] + row[LATE_BUT_USED])
            counts.early += int(row[EARLY])
            counts.non_finite += int(row[NON_FINITE])
            counts.unstamped += int(row[UNSTAMPED])
        used = (verdict == USED) | (verdict == LATE_BUT_USED)
        self._pending = self._pending.joined(
            _Rows(
                stream=arrivals.stream[used],
                time_ns=arrivals.time_ns[used],
                due_ns=due_ns[used],
                epoch=epoch[used],
                values=arrivals.values[used],
            )
        )
        surplus = len(self._pending.time_ns) - _MAX_PENDING
        if surplus > 0 and self._clock[NEWEST] < 0:
            dropped = np.bincount(self._pending.stream[:surplus], minlength=_STREAM_COUNT)
            for stream in Stream:
                self.counts[stream].early += int(dropped[stream])
            self._pending = self._pending.chosen(np.arange(surplus, surplus + _MAX_PENDING))

    def _count_overtaken(self, stream: int, time_ns: np.ndarray) -> int:
        """Returns how many of a stream's arrivals a later stamp had overtaken."""
        if not len(time_ns):
            return 0
        latest = np.maximum.accumulate(np.append(self._latest_ns[stream], time_ns))
        self._latest_ns[stream] = latest[-1]
        return int(np.count_nonzero(time_ns < latest[:-1]))

    def _hand_on(self, ready: np.ndarray) -> SampleBlock:
        rows = self._pending.chosen(ready)
        self._pending = self._pending.chosen(~ready)
        # Within one stamp the torque comes last, so that it sees all that was measured with it;
        # the sort is stable, so the first of two duplicates stays the first.
        torque_last = rows.stream == Stream.TORQUE
        rows = rows.chosen(np.lexsort((torque_last, rows.due_ns, rows.epoch)))
        ticks = self._without_repetitions(rows, Stream.TORQUE)
        time_ns, epoch = rows.time_ns[ticks], rows.epoch[ticks]
        aligned = {}
        for stream in (Stream.JOINTS, Stream.POSE, Stream.REFERENCE, Stream.WRENCH):
            own = self._without_repetitions(rows, stream)
            values = np.concatenate([self._held[stream].values, rows.values[own]])
            value_time = np.concatenate([self._held[stream].time_ns, rows.time_ns[own]])
            value_epoch = np.concatenate([self._held[stream].epoch, rows.epoch[own]])
            latest = np.searchsorted(own, ticks)
            # A value of another epoch has a stamp of another clock: it is as good as none.
            known = value_epoch[latest] == epoch
            width = STREAM_WIDTHS[stream]
            aligned[stream] = (
                np.where(known[:, None], values[latest, :width], np.nan),
                np.where(known, time_ns - value_time[latest], NEVER_NS),
            )
            self._held[stream].keep(values[-1:], value_time[-1:], value_epoch[-1:])
        if len(ticks):
            self._held[Stream.TORQUE].keep(rows.values[ticks[-1:]], time_ns[-1:], epoch[-1:])
        joints, joint_age_ns = aligned[Stream.JOINTS]
        return SampleBlock(
            time_ns=time_ns,
            epoch=epoch,
            torque_nm=rows.values[ticks, :JOINT_COUNT],
            joint_position_rad=joints[:, :JOINT_COUNT],
            joint_velocity_rad_s=joints[:, JOINT_COUNT:],
            joint_age_ns=joint_age_ns,
            tool_pose=aligned[Stream.POSE][0],
            tool_age_ns=aligned[Stream.POSE][1],
            reference_m=aligned[Stream.REFERENCE][0],
            reference_age_ns=aligned[Stream.REFERENCE][1],
            wrench=aligned[Stream.WRENCH][0],
            wrench_age_ns=aligned[Stream.WRENCH][1],
        )

    def _without_repetitions(self, rows: _Rows, stream: Stream) -> np.ndarray:
        """Returns the places of a stream's samples that are newer than all before them."""
        places = np.flatnonzero(rows.stream == stream)
        held, counts = self._held[stream], self.counts[stream]
        fresh, counters = fresh_ones(
            rows.time_ns[places],
            rows.epoch[places],
            held.time_ns[0],
            held.epoch[0],
            held.period,
            round(self.parameters.gap_sec * NANOSECONDS),
        )
        counts.used += int(np.count_nonzero(fresh))
        counts.duplicate += int(counters[0])
        counts.missing += int(counters[1])
        counts.gaps += int(counters[2])
        newest: np.ndarray = places[fresh]
        return newest


class _Held:
    """The last value handed on of a stream."""

    def __init__(self) -> None:
        self.values = np.full((1, WIDEST), np.nan)
        self.time_ns = np.array([-1], dtype=np.int64)
        self.epoch = np.array([-1], dtype=np.int64)
        self.period = np.zeros(1)  # running mean of the sample period, ns

    def keep(self, values: np.ndarray, time_ns: np.ndarray, epoch: np.ndarray) -> None:
        self.values, self.time_ns, self.epoch = values.copy(), time_ns.copy(), epoch.copy()


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Believed samples that wait for the horizon."""

    stream: np.ndarray
    time_ns: np.ndarray
    due_ns: np.ndarray
    epoch: np.ndarray
    values: np.ndarray

    @classmethod
    def empty(cls) -> _Rows:
        none = np.empty(0, dtype=np.int64)
        values = np.empty((0, WIDEST))
        return cls(stream=none, time_ns=none, due_ns=none, epoch=none, values=values)

    def chosen(self, which: np.ndarray) -> _Rows:
        return _Rows(
            stream=self.stream[which],
            time_ns=self.time_ns[which],
            due_ns=self.due_ns[which],
            epoch=self.epoch[which],
            values=self.values[which],
        )

    def joined(self, other: _Rows) -> _Rows:
        return _Rows(
            stream=np.concatenate([self.stream, other.stream]),
            time_ns=np.concatenate([self.time_ns, other.time_ns]),
            due_ns=np.concatenate([self.due_ns, other.due_ns]),
            epoch=np.concatenate([self.epoch, other.epoch]),
            values=np.concatenate([self.values, other.values]),
        )
