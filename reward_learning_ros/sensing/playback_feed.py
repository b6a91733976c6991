"""What the playback says, made into the moments of a timeline; live and from a recording."""

from __future__ import annotations

from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.interface.playback_status import PlaybackState, PlaybackStatus
from reward_learning_ros.sensing.samples import NANOSECONDS
from reward_learning_ros.sensing.timeline import PlaybackMoment, PlaybackTimeline

# On its way to the start the arm is on no plan yet, and in a fault it is freed, not corrected.
_ON_PLAN = (PlaybackState.PLAYING, PlaybackState.PAUSED, PlaybackState.FINISHED)
# A status may come before its plan: they are two topics.
_MOST_WAITING = 1000
# Told later than this, or earlier than it was so, its stamp is of another clock.
_LATEST_NS = 10 * NANOSECONDS
_MOST_PLANS = 100


class PlaybackFeed:
    """Takes plans and statuses in any order and tells the timeline what was played when.

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
        """Whether a plan is played that nobody has told of."""
        return self.state in _ON_PLAN and self.plan_stamp_ns not in self._plans

    def add_plan(self, plan: Plan) -> None:
        """Takes a plan, which need not be played yet, or at all."""
        self._plans[plan.stamp_ns] = plan
        while len(self._plans) > _MOST_PLANS:
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
            Whether the plan is now another one, or begins anew: nothing shifts it yet.
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
            del self._waiting[:-_MOST_WAITING]
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
