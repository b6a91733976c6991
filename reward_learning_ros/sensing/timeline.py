"""Which plan was played when, and where in it playback was: from its plans and statuses."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.arm.curve import curve_points
from reward_learning_ros.interface.plan import Plan, PlaybackState, PlaybackStatus
from reward_learning_ros.sensing.samples import NANOSECONDS

# Contacts and the delays of status messages are far shorter than this.
_MEMORY_SEC = 120.0


@dataclass(frozen=True, kw_only=True)
class PlaybackMoment:
    """One status of playback: which plan it played, how far, and how it was shifted.

    Attributes:
        time_ns: when.
        plan: the plan being played, or held at its end or during a pause; None if there is none.
        plan_time_sec: where in the plan.
        is_moving: whether the time of the plan runs.
        shift_m: (3,) by how much the plan is shifted that the arm follows; None if unknown.
        is_shift_limited: whether the arm cannot follow the shift that was asked for.
    """

    time_ns: int
    plan: Plan | None
    plan_time_sec: float
    is_moving: bool
    shift_m: np.ndarray | None = None
    is_shift_limited: bool = False


class PlaybackTimeline:
    """The playback's recent past, from its own messages; of a recording, all of it."""

    def __init__(self, memory_sec: float | None = _MEMORY_SEC) -> None:
        self._memory_ns = None if memory_sec is None else round(memory_sec * NANOSECONDS)
        self._moments: list[PlaybackMoment] = []
        self._starts_ns: list[int] = []

    @property
    def newest_ns(self) -> int | None:
        """The time of the newest moment, None before the first."""
        return self._starts_ns[-1] if self._starts_ns else None

    def add(self, moment: PlaybackMoment) -> None:
        """Takes note of a moment; a clock that jumped backwards begins a new past."""
        starts_ns = self._starts_ns
        if starts_ns and starts_ns[-1] - moment.time_ns > NANOSECONDS:
            self._moments.clear()
            starts_ns.clear()
        place = bisect_right(starts_ns, moment.time_ns)
        self._moments.insert(place, moment)
        starts_ns.insert(place, moment.time_ns)
        if self._memory_ns is None or len(starts_ns) <= 1000:
            return
        # In chunks, so that forgetting costs nothing on average.
        if starts_ns[500] < moment.time_ns - self._memory_ns:
            del self._moments[:500], starts_ns[:500]

    def plan_during(self, start_ns: int, end_ns: int) -> tuple[Plan, int, int] | None:
        """Returns the plan that a contact belongs to, and from when to when it was played.

        It is the plan that was played when the contact began; if there was none, the first one
        that began before the contact ended. The time is cut where another plan took over.
        """
        plan: Plan | None = None
        from_ns = start_ns
        first = max(bisect_right(self._starts_ns, start_ns) - 1, 0)
        last = bisect_right(self._starts_ns, end_ns)
        for moment in self._moments[first:last]:
            if plan is None:
                if moment.plan is not None:
                    plan = moment.plan
                    from_ns = max(moment.time_ns, start_ns)
            elif moment.plan is not plan and (
                moment.plan is None or moment.plan.stamp_ns != plan.stamp_ns
            ):
                return plan, from_ns, moment.time_ns
        return None if plan is None else (plan, from_ns, end_ns)

    def at(self, time_ns: int) -> tuple[Plan, float, bool] | None:
        """Returns the plan at a time, where in it playback was, and whether it moved.

        None while no plan was played, or nothing is known.
        """
        place = bisect_right(self._starts_ns, time_ns) - 1
        if place < 0 or self._moments[place].plan is None:
            return None
        moment = self._moments[place]
        assert moment.plan is not None
        return moment.plan, float(self.plan_time_sec(np.array([time_ns]))[0]), moment.is_moving

    def shift_m_at(self, time_ns: int) -> np.ndarray | None:
        """Returns by how much (3,) the plan was shifted at a time; None if that is unknown."""
        place = bisect_right(self._starts_ns, time_ns) - 1
        return None if place < 0 else self._moments[place].shift_m

    def is_shift_limited_at(self, time_ns: int) -> bool:
        """Returns whether the arm could not follow the shift that was asked for."""
        place = bisect_right(self._starts_ns, time_ns) - 1
        return place >= 0 and self._moments[place].is_shift_limited

    def plans_at(self, time_ns: np.ndarray) -> list[tuple[Plan, np.ndarray]]:
        """Returns the plans played at times (k,), each with a mask (k,) of its times."""
        found: dict[int, tuple[Plan, np.ndarray]] = {}
        for moment, _, here in self._moments_at(time_ns):
            if moment.plan is not None:
                key = id(moment.plan)
                found[key] = (moment.plan, found[key][1] | here if key in found else here)
        return list(found.values())

    def _moments_at(
        self, time_ns: np.ndarray
    ) -> list[tuple[PlaybackMoment, PlaybackMoment | None, np.ndarray]]:
        """Returns the moments that cover times (k,), the next of each, and its times (k,)."""
        if not len(time_ns):
            return []
        first = max(bisect_right(self._starts_ns, int(time_ns.min())) - 1, 0)
        last = bisect_right(self._starts_ns, int(time_ns.max()))
        places = np.searchsorted(self._starts_ns[first:last], time_ns, side='right') - 1 + first
        return [
            (
                self._moments[place],
                self._moments[place + 1] if place + 1 < len(self._moments) else None,
                places == place,
            )
            for place in range(first, last)
        ]

    def plan_time_sec(self, time_ns: np.ndarray) -> np.ndarray:
        """Returns the time in the plan (n,) at times (n,), NaN where nothing is known.

        Between two moments of one plan it is interpolated, so a playback that is slowed down is
        followed; after the last one it runs on, or stands still if the playback does.
        """
        time_ns = np.asarray(time_ns, dtype=np.int64)
        result = np.full(len(time_ns), np.nan)
        for moment, after, here in self._moments_at(time_ns):
            if moment.plan is None:
                continue
            elapsed_sec = (time_ns[here] - moment.time_ns) / NANOSECONDS
            speed = 1.0 if moment.is_moving else 0.0
            if moment.is_moving and after is not None and after.plan is moment.plan:
                span_sec = (after.time_ns - moment.time_ns) / NANOSECONDS
                speed = (after.plan_time_sec - moment.plan_time_sec) / max(span_sec, 1e-9)
            duration_sec = moment.plan.duration_sec
            result[here] = np.clip(moment.plan_time_sec + speed * elapsed_sec, 0.0, duration_sec)
        return result


def planned_position_m(plan: Plan, plan_time_sec: np.ndarray) -> np.ndarray:
    """Returns where the tool should be (k, 3) at times (k,) in a plan, on the arm's curve."""
    if len(plan.positions) == 1:
        return np.repeat(plan.positions, len(plan_time_sec), axis=0)
    shares = np.linspace(0.0, 1.0, len(plan.times_sec))
    return curve_points(plan.positions, np.interp(plan_time_sec, plan.times_sec, shares))


# On its way to the start the arm is on no plan yet, and in a fault it is freed, not corrected.
_ON_PLAN = (PlaybackState.PLAYING, PlaybackState.PAUSED, PlaybackState.FINISHED)
# A status may come before its plan: they are two topics.
_MAX_WAITING = 1000
# A status received later or earlier than its stamp by more than this has another clock.
_LATEST_NS = 10 * NANOSECONDS
_MAX_PLANS = 100


class PlaybackFeed:
    """Takes plans and statuses in any order and adds what was played when to a timeline.

    Attributes:
        timeline: what was played when.
        playbacks: how many playbacks have begun at the start of their plan.
        state: what the playback does, None before its first status.
        plan_stamp_ns: of the plan in use, 0 for none.
    """

    def __init__(self, timeline: PlaybackTimeline) -> None:
        self.timeline = timeline
        self.playbacks = 0
        self.state: PlaybackState | None = None
        self.plan_stamp_ns = 0
        self._plans: dict[int, Plan] = {}
        self._waiting: list[tuple[PlaybackStatus, int]] = []

    @property
    def lacks_plan(self) -> bool:
        """Whether a plan is played that was not received."""
        return self.state in _ON_PLAN and self.plan_stamp_ns not in self._plans

    def add_plan(self, plan: Plan) -> None:
        """Takes a plan, which need not be played yet, or at all."""
        self._plans[plan.stamp_ns] = plan
        while len(self._plans) > _MAX_PLANS:
            del self._plans[next(iter(self._plans))]
        known = [pair for pair in self._waiting if pair[0].plan_stamp_ns in self._plans]
        self._waiting = [
            pair for pair in self._waiting if pair[0].plan_stamp_ns not in self._plans
        ]
        for status, time_ns in known:
            self._add_moment(status, time_ns)

    def add_status(self, status: PlaybackStatus, time_ns: int) -> bool:
        """Takes what the playback said, heard at a time.

        Where it says when it was so, that counts: a busy machine may let it be heard late.

        Returns:
            Whether the plan is now another one, or begins again: nothing shifts it yet.
        """
        if status.stamp_ns and abs(time_ns - status.stamp_ns) < _LATEST_NS:
            time_ns = status.stamp_ns
        begins = (
            status.state is PlaybackState.APPROACHING
            and self.state is not PlaybackState.APPROACHING
            and status.plan_time_sec == 0.0
        )
        is_new = status.plan_stamp_ns != self.plan_stamp_ns
        self.playbacks += begins
        self.state, self.plan_stamp_ns = status.state, status.plan_stamp_ns
        if status.state in _ON_PLAN and status.plan_stamp_ns not in self._plans:
            self._waiting.append((status, time_ns))
            del self._waiting[:-_MAX_WAITING]
        else:
            self._add_moment(status, time_ns)
        return begins or is_new

    def _add_moment(self, status: PlaybackStatus, time_ns: int) -> None:
        is_on_plan = status.state in _ON_PLAN
        self.timeline.add(
            PlaybackMoment(
                time_ns=time_ns,
                plan=self._plans[status.plan_stamp_ns] if is_on_plan else None,
                plan_time_sec=status.plan_time_sec,
                is_moving=status.state is PlaybackState.PLAYING,
                shift_m=status.shift_m,
                is_shift_limited=status.is_shift_limited,
            )
        )
