"""From the displacement of the arm to the corrections of a pass: a delta at every waypoint.

The rules:

1. What counts at a waypoint is how far the person had moved the arm off its plan when it passed
   there, less what they had moved it by at the waypoint before: the delta. The arm keeps what it
   was pushed to, so later deltas build on earlier ones.
2. A waypoint is *pushed* if somebody touched the arm on the way to it and moved it by at least
   `min_delta_m`. What is less is not lost: it is counted with the next push.
3. It is *silent* if nobody did, and *unknown* if the samples on the way to it have a hole in which
   somebody could have pushed.
4. The last waypoint is passed when the arm stands there and has been let go; what counts is where
   it was held before that.
5. A contact that was open when the plan changed belongs to neither plan: while it lasts, the
   waypoints of the new one are unknown.
6. When a contact ends on the way to a waypoint, that waypoint is reported early, as it is now.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from reward_learning_ros.interface.correction import PassCorrections
from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.parameters import Parameters, parameter
from reward_learning_ros.sensing.samples import NANOSECONDS
from reward_learning_ros.sensing.timeline import PlaybackTimeline

# How long an arm that stands at the end of its plan must have been felt before the pass is over:
# an onset is known a little after the fact.
_SETTLING_NS = 300_000_000
# A hand takes so long to let go: before that, the arm was where it is meant to be.
_LETTING_GO_NS = 400_000_000
# As many points as the end of a contact may become known late: ten seconds.
_TRACE_POINTS = 1000
# A plan that begins again goes back in its time by more than the jitter of playback's statuses.
_RESTART_SEC = 0.5
# Where in the plan a pass may be joined that nobody saw begin.
_JOINED_SEC = 1.0


@dataclass(frozen=True, kw_only=True)
class PassParameters(Parameters):
    """What counts as a correction at a waypoint."""

    min_delta_m: float = parameter(
        0.005,
        description='A waypoint that was moved less far than this counts as not pushed',
        minimum=0.0,
        maximum=0.1,
        unit='m',
    )
    max_silent_gap_sec: float = parameter(
        0.5,
        description='After a longer hole in the samples nobody knows whether somebody pushed',
        minimum=0.05,
        maximum=10.0,
        unit='s',
    )
    first_movable_waypoint: int = parameter(
        1,
        description='Waypoints before this one never move: the arm is at the first one already',
        minimum=0,
    )


@dataclass(kw_only=True)
class _Span:
    """A contact.

    Attributes:
        onset_ns: when it began.
        resting_m: (3,) deviation of the tool that nobody caused.
        is_foreign: whether it began under another plan.
        end_ns: when it ended; None while it is open.
        kept_m: (3,) what is left of it, of all pushes of the pass so far.
        held_m: (3,) how far off its plan the arm was held before it was let go.
    """

    onset_ns: int
    resting_m: np.ndarray
    is_foreign: bool = False
    end_ns: int | None = None
    kept_m: np.ndarray = field(default_factory=lambda: np.zeros(3))
    held_m: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def overlaps(self, after_ns: float, until_ns: float) -> bool:
        """Tell whether any of it lies in (after_ns, until_ns]."""
        return self.onset_ns <= until_ns and (self.end_ns is None or self.end_ns > after_ns)


@dataclass(kw_only=True)
class _Pass:
    """What is known of one pass.

    Attributes:
        plan: that is played.
        first: the first waypoint that lies ahead when the pass is joined.
        begin_ns: when it was joined.
        crossings: for each waypoint passed, when, and the tool's deviation (3,) from the plan
            there; NaN if it is unknown.
        holes: (begin, end) of the holes in the samples.
        spans: the contacts, in their order.
    """

    plan: Plan
    first: int
    begin_ns: int
    crossings: dict[int, tuple[int, np.ndarray]] = field(default_factory=dict)
    holes: list[tuple[int, int]] = field(default_factory=list)
    spans: list[_Span] = field(default_factory=list)
    last_ns: int = 0
    last_known_ns: int = 0
    plan_sec: float = 0.0
    standing_since_ns: int | None = None
    deviation_m: np.ndarray = field(default_factory=lambda: np.full(3, np.nan))

    @property
    def open_span(self) -> _Span | None:
        """The contact that goes on, if any."""
        return self.spans[-1] if self.spans and self.spans[-1].end_ns is None else None

    @property
    def next_waypoint(self) -> int:
        """The waypoint that the arm comes to next; the number of waypoints after the last."""
        return max(self.crossings, default=self.first - 1) + 1


class PassRecorder:
    """Follows the displacement of the arm through pass after pass.

    Attributes:
        parameters: what counts as a correction.
        tool_frame: of the arm's tool.
        is_complete: whether nothing more will be reported of the present pass.
    """

    def __init__(
        self,
        timeline: PlaybackTimeline,
        parameters: PassParameters | None = None,
        *,
        tool_frame: str = 'fr3_hand_tcp',
    ) -> None:
        self.parameters = parameters or PassParameters()
        self.tool_frame = tool_frame
        self._timeline = timeline
        self._max_gap_ns = round(self.parameters.max_silent_gap_sec * NANOSECONDS)
        self._pass: _Pass | None = None
        self._open: _Span | None = None
        self._has_seen_start = False
        self._is_changed = False
        self._unreported: list[PassCorrections] = []
        # Deviations of the last seconds.
        self._trace: deque[tuple[int, np.ndarray]] = deque(maxlen=_TRACE_POINTS)
        self.is_complete = False

    @property
    def plan(self) -> Plan | None:
        """Of the present or last pass."""
        return None if self._pass is None else self._pass.plan

    def follow(self, time_ns: int, deviation_m: np.ndarray) -> bool:
        """Take where the tool is; return whether another pass begins with it.

        Args:
            time_ns: increasing.
            deviation_m: (3,) of the tool from its plan, base frame; NaN if it is unknown.
        """
        found = self._timeline.at(time_ns)
        if found is None:
            return False
        plan, plan_sec, is_moving = found
        now = self._pass
        begins = (
            now is None
            or now.plan.stamp_ns != plan.stamp_ns
            or plan_sec < now.plan_sec - _RESTART_SEC
        )
        if begins and not is_moving:
            # An arm that stands may have received its next plan already.
            return False
        if now is None or begins:
            now = self._begin(plan, plan_sec, time_ns)
        if time_ns <= now.last_ns:
            return begins
        now.last_ns = time_ns
        is_known = bool(np.isfinite(deviation_m).all())
        if is_known:
            if time_ns - now.last_known_ns > self._max_gap_ns:
                now.holes.append((now.last_known_ns, time_ns))
            now.last_known_ns = time_ns
            now.deviation_m = np.array(deviation_m)
            self._trace.append((time_ns, now.deviation_m))
        now.plan_sec = max(plan_sec, now.plan_sec)
        self._cross(now, time_ns, deviation_m if is_known else np.full(3, np.nan))
        is_standing = not is_moving and plan_sec >= plan.duration_sec
        if not is_standing:
            now.standing_since_ns = None
        elif now.standing_since_ns is None:
            now.standing_since_ns = time_ns
        if (
            not self.is_complete
            and now.standing_since_ns is not None
            and time_ns - now.standing_since_ns >= _SETTLING_NS
            and now.open_span is None
        ):
            self._complete()
        return begins

    def open(self, onset_ns: int, resting_m: np.ndarray) -> None:
        """A contact has begun.

        Args:
            onset_ns: when.
            resting_m: (3,) deviation of the tool from its plan that the person did not cause.
        """
        self._open = _Span(onset_ns=onset_ns, resting_m=np.array(resting_m))
        found = self._timeline.at(onset_ns)
        is_of_pass = (
            self._pass is not None
            and found is not None
            and found[0].stamp_ns == self._pass.plan.stamp_ns
        )
        if self._pass is not None and is_of_pass:
            self._pass.spans.append(self._open)
            self._is_changed = True
            # Somebody pushes the arm where it stands at its end: that counts, too.
            self.is_complete = False

    def close(self, end_ns: int, kept_m: np.ndarray) -> None:
        """The contact has ended.

        Args:
            end_ns: until when the plan gave way.
            kept_m: (3,) shift that the plan keeps.
        """
        if self._open is not None:
            self._open.end_ns = end_ns
            self._open.kept_m = np.array(kept_m)
            self._open.held_m = self._held_m(end_ns)
            self._is_changed |= self._is_of_pass(self._open)
            self._open = None

    def _held_m(self, released_ns: int) -> np.ndarray:
        """Return how far off its plan (3,) the arm was held before it was let go."""
        span = self._open
        assert span is not None, 'a contact ends'
        before_ns = released_ns - _LETTING_GO_NS
        for time_ns, deviation_m in reversed(self._trace):
            if time_ns <= before_ns:
                return deviation_m - span.resting_m if time_ns >= span.onset_ns else span.kept_m
        return span.kept_m

    def drop(self) -> None:
        """The contact was none."""
        dropped, self._open = self._open, None
        if self._pass is not None and dropped is not None and self._is_of_pass(dropped):
            self._pass.spans = [span for span in self._pass.spans if span is not dropped]
            self._is_changed = True

    def _is_of_pass(self, span: _Span) -> bool:
        return self._pass is not None and any(each is span for each in self._pass.spans)

    def end(self) -> None:
        """The pass was given up, or no more samples will come."""
        if self._pass is not None and not self.is_complete:
            self._complete()

    def take(self) -> list[PassCorrections]:
        """Return, once, what is new: of passes that are over, and of the present one."""
        unreported, self._unreported = self._unreported, []
        if self._is_changed:
            self._is_changed = False
            present = self.corrections()
            if present is not None:
                unreported.append(present)
        return unreported

    def corrections(self) -> PassCorrections | None:
        """Return what the person did to the pass so far.

        None before the first pass, and of one of which the beginning was missed.
        """
        now = self._pass
        if now is None or not self._has_seen_start:
            return None
        times_sec, deltas = [], []
        base_m = np.zeros(3)
        for waypoint, before_ns, at_ns in self._stretches(now):
            spans = [span for span in now.spans if span.overlaps(before_ns, at_ns)]
            moved_m = self._moved(now, waypoint, at_ns, base_m)
            delta_m = moved_m - base_m
            if any(span.is_foreign for span in spans):
                base_m = moved_m
                continue
            is_pushed = (
                bool(spans)
                and float(np.linalg.norm(delta_m)) >= self.parameters.min_delta_m
                and bool(delta_m.any())
            )
            if waypoint not in now.crossings and not is_pushed:
                continue
            if is_pushed:
                base_m = moved_m
            elif any(begin < at_ns and end > before_ns for begin, end in now.holes):
                continue
            times_sec.append(float(now.plan.times_sec[waypoint]))
            deltas.append(delta_m if is_pushed else np.zeros(3))
        return PassCorrections(
            plan_stamp_ns=now.plan.stamp_ns,
            frame_id=now.plan.frame_id,
            tool_frame=self.tool_frame,
            times_sec=np.array(times_sec),
            delta_positions=np.array(deltas).reshape(-1, 3),
            delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(deltas), 1)),
        )

    def _begin(self, plan: Plan, plan_sec: float, time_ns: int) -> _Pass:
        if self._is_changed:
            # Not reported yet, and about to be replaced.
            self._unreported = self.take()
        self._trace.clear()
        # Of a pass that was under way before anything was heard, nobody knows how it began.
        self._has_seen_start = self._pass is not None or plan_sec <= _JOINED_SEC
        first = max(
            int(np.searchsorted(plan.times_sec, plan_sec, side='right')),
            self.parameters.first_movable_waypoint,
        )
        self._pass = _Pass(
            plan=plan,
            first=min(first, len(plan.times_sec) - 1),
            begin_ns=time_ns,
            last_known_ns=time_ns,
        )
        if self._open is not None:
            self._open.is_foreign = True
            self._pass.spans.append(self._open)
        self.is_complete = False
        self._is_changed = True
        return self._pass

    def _cross(self, now: _Pass, time_ns: int, deviation_m: np.ndarray) -> None:
        waypoints = len(now.plan.times_sec)
        # A little early: playback reports the end of a plan to the nanosecond.
        while (waypoint := now.next_waypoint) < waypoints and now.plan_sec >= now.plan.times_sec[
            waypoint
        ] - 1e-6:
            now.crossings[waypoint] = (time_ns, np.array(deviation_m))
            self._is_changed = True

    def _complete(self) -> None:
        self.is_complete = True
        self._is_changed = True

    def _stretches(self, now: _Pass) -> list[tuple[int, float, float]]:
        """Return the waypoints passed and the next one, each with the time on the way to it."""
        last = len(now.plan.times_sec) - 1
        stretches = []
        before_ns: float = now.begin_ns
        for waypoint in range(now.first, min(now.next_waypoint, last) + 1):
            is_open_end = waypoint == last or waypoint not in now.crossings
            at_ns = math.inf if is_open_end else now.crossings[waypoint][0]
            if waypoint not in now.crossings and (now.open_span is not None or self.is_complete):
                # Where it will be moved to, nobody knows yet; or it will never be passed.
                break
            stretches.append((waypoint, before_ns, at_ns))
            before_ns = at_ns
        return stretches

    def _moved(self, now: _Pass, waypoint: int, at_ns: float, base_m: np.ndarray) -> np.ndarray:
        """Return how far (3,) the person had moved the arm off its plan at a waypoint."""
        before = [span for span in now.spans if span.onset_ns <= at_ns]
        if not before:
            return base_m
        span = before[-1]
        if span.end_ns is not None and span.end_ns <= at_ns:
            is_last = waypoint == len(now.plan.times_sec) - 1 and waypoint in now.crossings
            if is_last and span.end_ns >= now.crossings[waypoint][0]:
                return span.held_m
            return span.kept_m
        deviation_m = now.crossings[waypoint][1] if math.isfinite(at_ns) else now.deviation_m
        if not np.isfinite(deviation_m).all():
            return base_m
        return np.asarray(deviation_m - span.resting_m)
