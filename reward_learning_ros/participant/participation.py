"""The simulated participant: watches plan and playback, decides in a thread, pushes by hand.

At each waypoint they look where the arm is and decide about the next one: guide the tool to where
it is wanted by the time the arm comes there, or let go. No ROS: what is seen comes from outside,
and the force goes there.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.interface import (
    ParticipantState,
    ParticipantStatus,
    Plan,
    PlaybackState,
    PlaybackStatus,
)
from reward_learning_ros.parameters import parameter
from reward_learning_ros.participant.decisions import Intention, Participant, ParticipantParameters
from reward_learning_ros.participant.hand import Hand, HandParameters, min_jerk
from reward_learning_ros.sensing.timeline import PlaybackFeed, PlaybackTimeline, planned_position_m

Array = NDArray[np.float64]

# The tool is to be there a little before the arm passes the waypoint, for the plan follows the
# hand with a delay; of short ways no more than a share.
_SETTLING_SEC = 0.3
_SETTLING_SHARE = 0.25
# Later on its way to a waypoint than this share nobody begins to think about it.
_LATEST_SHARE = 0.4
# Where a hand may take hold, and where it may hold on for a moment.
_PUSHED = (PlaybackState.PLAYING,)
_HELD = (PlaybackState.PLAYING, PlaybackState.FINISHED)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeantPass:
    """What a participant meant by what they did to a pass, as far as it got.

    Attributes:
        plan_stamp_ns: Of the plan that was shown.
        times_sec: (k,) of the waypoints that were passed while they were at it, in the plan's
            time; one that is missing was interrupted, or passed before they had thought.
        deltas_m: (k, 3) by how much they meant to move each and all later ones, base frame; what
            the hand aimed at, motor noise included. Zero where they did not bother.
    """

    plan_stamp_ns: int
    times_sec: Array
    deltas_m: Array

    @property
    def displacements_m(self) -> Array:
        """(k, 3) where the waypoints were meant to be, off the shown plan."""
        return np.asarray(self.deltas_m.cumsum(axis=0))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Way:
    """How the target of the hand moves to that of the next waypoint, with the least jerk."""

    from_m: Array
    to_m: Array
    begin_sec: float
    arrive_sec: float

    def target_m(self, plan_time_sec: float) -> Array:
        share = (plan_time_sec - self.begin_sec) / (self.arrive_sec - self.begin_sec)
        return np.asarray(self.from_m + min_jerk(share) * (self.to_m - self.from_m))


class _Pass:
    """What a participant decided in one pass of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        # Waypoints whose time has come to think about them, and what came of it.
        self.last_waypoint = -1
        self.pending: tuple[int, Array | None] | None = None
        self._meant_m = np.zeros(3)
        self._rows: list[tuple[float, Array]] = []

    def interrupt(self) -> None:
        """Give up what was meant for the next waypoint."""
        self.pending = None

    def come_to(self, plan_time_sec: float) -> None:
        """Take note of a waypoint that was passed as it was meant to be."""
        if self.pending is None:
            return
        waypoint, target_m = self.pending
        at_sec = float(self.plan.times_sec[waypoint])
        if plan_time_sec < at_sec - 1e-6:
            return
        meant_m = self._meant_m if target_m is None else target_m
        self._rows.append((at_sec, meant_m - self._meant_m))
        self._meant_m = meant_m
        self.pending = None

    @property
    def meant(self) -> MeantPass:
        return MeantPass(
            plan_stamp_ns=self.plan.stamp_ns,
            times_sec=np.array([at_sec for at_sec, _ in self._rows]),
            deltas_m=np.array([delta_m for _, delta_m in self._rows]).reshape(-1, 3),
        )


class ParticipantSimulation:
    """Simulates a participant at the arm: sees plan and playback, and pushes with a hand.

    Attributes:
        participant: what they want.
        pushes: how often they took hold of the arm.
        meant: what they meant in the present pass, or in the last one; None before the first.
    """

    def __init__(
        self,
        participant: Participant,
        hand: HandParameters,
        seed: int,
        thinking: Executor,
    ) -> None:
        self.participant = participant
        self.pushes = 0
        self.meant: MeantPass | None = None
        self._reaction_sec = hand.reaction_sec
        self._anticipation_sec = hand.anticipation_sec
        self._hand = Hand(hand, np.random.default_rng([seed, 1]))
        self._thinking = thinking
        self._timeline = PlaybackTimeline()
        self._feed = PlaybackFeed(self._timeline)
        self._plans: dict[int, Plan] = {}
        self._playback: PlaybackStatus | None = None
        self._thought: Future[Intention] | None = None
        # Plan and number of the pass that they thought about.
        self._subject: tuple[int, int] | None = None
        self._intention: Intention | None = None
        self._pass: _Pass | None = None
        self._way: _Way | None = None
        self._pushed_playback: int | None = None
        self._finished_sec: float | None = None

    @property
    def status(self) -> ParticipantStatus:
        """What they do and want."""
        state = ParticipantState.WATCHING
        if self._intention is not None and self._intention.is_content:
            state = ParticipantState.CONTENT
        if self._hand.is_holding:
            state = ParticipantState.PUSHING
        return ParticipantStatus(
            state=state,
            theta=self.participant.theta,
            beta=self.participant.parameters.beta,
            pushes=self.pushes,
        )

    def see_plan(self, plan: Plan) -> None:
        """Take note of a plan; may be played now or later."""
        self.participant.paths.trajectory_of(plan)
        self._plans[plan.stamp_ns] = plan
        self._feed.add_plan(plan)

    def see_playback(self, status: PlaybackStatus, time_ns: int) -> None:
        """Take note of what playback does at a time."""
        self._feed.add_status(status, time_ns)
        self._playback = status

    def act(
        self, time_ns: int, tool_position_m: Array | None, seen_ns: int | None = None
    ) -> Array | None:
        """Return the force (3,) of the hand on the tool at a time; None if it does not touch it.

        Args:
            time_ns: now.
            tool_position_m: (3,) where the tool is seen, base frame; None if it is not seen.
            seen_ns: when it was there; now by default.
        """
        self._think()
        seen_ns = time_ns if seen_ns is None else seen_ns
        time_sec = time_ns / 1e9
        plan_time_sec = self._plan_time_sec(time_ns)
        displacement_m = self.displacement_m(seen_ns, tool_position_m)
        target_m = ahead_m = None
        if plan_time_sec is not None and self._feed.state in _HELD and self._is_at_it:
            self._come_to(plan_time_sec)
        if displacement_m is None or plan_time_sec is None or not self._may_hold(time_sec):
            # The arm stands, or the plan is another one: what they meant is over.
            self._way = None
            if self._pass is not None:
                self._pass.interrupt()
        else:
            self._decide(time_sec, plan_time_sec, displacement_m)
            if self._way is not None:
                target_m = self._way.target_m(plan_time_sec)
                ahead_m = self._way.target_m(plan_time_sec + self._anticipation_sec)
        if not self._hand.is_holding:
            return None
        # The last force is zero, so that the arm knows that it was let go.
        return self._hand.force(time_sec, target_m, displacement_m, seen_ns / 1e9, ahead_m=ahead_m)

    def displacement_m(self, time_ns: int, tool_position_m: Array | None) -> Array | None:
        """Return how far the tool is off its plan (3,), None while there is nothing to push."""
        plan = self._plans.get(self._feed.plan_stamp_ns)
        states = _HELD if self._hand.is_holding else _PUSHED
        if tool_position_m is None or plan is None or self._feed.state not in states:
            return None
        plan_time_sec = self._plan_time_sec(time_ns)
        if plan_time_sec is None:
            return None
        planned_m = planned_position_m(plan, np.array([plan_time_sec]))[0]
        displacement_m = tool_position_m - planned_m
        return displacement_m if np.isfinite(displacement_m).all() else None

    def _plan_time_sec(self, time_ns: int) -> float | None:
        """Return where in the plan playback was; None if it has not reported that moment."""
        plan_time_sec = float(self._timeline.plan_time_sec(np.array([time_ns]))[0])
        return plan_time_sec if np.isfinite(plan_time_sec) else None

    def _may_hold(self, time_sec: float) -> bool:
        """Tell whether they may still hold the arm; its end they see a reaction time later."""
        if self._feed.state is not PlaybackState.FINISHED:
            self._finished_sec = None
        elif self._finished_sec is None:
            self._finished_sec = time_sec
        elif time_sec - self._finished_sec > self._reaction_sec:
            return False
        return self._is_at_it

    @property
    def _is_at_it(self) -> bool:
        """Whether what they thought of is what is played."""
        return self._pass is not None and self._pass.plan.stamp_ns == self._feed.plan_stamp_ns

    def _think(self) -> None:
        """Think about what is shown, each plan again in each pass, and take what was thought."""
        if self._thought is not None and self._thought.done():
            self._intention = self._thought.result()
            self._thought = None
            assert self._subject is not None, 'a thought has a subject'
            self._pass = _Pass(self._plans[self._subject[0]])
            self.meant = self._pass.meant
        playback = self._playback
        if self._thought is not None or playback is None:
            return
        subject = (playback.plan_stamp_ns, self._feed.playbacks)
        plan = self._plans.get(playback.plan_stamp_ns)
        if plan is None or subject == self._subject:
            return
        if playback.state not in (PlaybackState.APPROACHING, PlaybackState.PLAYING):
            return
        self._subject = subject
        self._intention = self._pass = self._way = None
        self._thought = self._thinking.submit(
            self.participant.intend,
            plan,
            has_pushed=self._pushed_playback == self._feed.playbacks,
        )

    def _decide(self, time_sec: float, plan_time_sec: float, displacement_m: Array) -> None:
        """Decide about the next waypoint a reaction time after the one before, once."""
        assert self._pass is not None, 'they are at it'
        assert self._intention is not None, 'they have thought'
        times_sec = self._pass.plan.times_sec
        waypoint = int(np.searchsorted(times_sec, plan_time_sec, side='right'))
        fixed = max(self.participant.task.space.fixed_waypoints, 1)
        if waypoint <= self._pass.last_waypoint or not fixed <= waypoint < len(times_sec):
            return
        before_sec, at_sec = times_sec[waypoint - 1 : waypoint + 1]
        if plan_time_sec < before_sec + min(self._reaction_sec, 0.2 * (at_sec - before_sec)):
            return
        self._pass.last_waypoint = waypoint
        way, self._way = self._way, None
        if plan_time_sec > before_sec + _LATEST_SHARE * (at_sec - before_sec):
            return
        target_m = self._intention.target_m(waypoint, displacement_m)
        self._pass.pending = (waypoint, target_m)
        if target_m is None:
            return
        if not self._hand.is_holding or self._hand.is_letting_go:
            self._hand.take_hold(time_sec, displacement_m)
            way = None
            self._pushed_playback = self._feed.playbacks
            self.pushes += 1
        settling_sec = min(_SETTLING_SEC, _SETTLING_SHARE * (at_sec - plan_time_sec))
        self._way = _Way(
            from_m=displacement_m if way is None else way.to_m,
            to_m=target_m,
            begin_sec=plan_time_sec,
            arrive_sec=at_sec - settling_sec,
        )

    def _come_to(self, plan_time_sec: float) -> None:
        if self._pass is not None and self._pass.pending is not None:
            self._pass.come_to(plan_time_sec)
            if self._pass.pending is None:
                self.meant = self._pass.meant


@dataclass(frozen=True, kw_only=True)
class SimulatedParticipantParameters(ParticipantParameters, HandParameters):
    """Parameters of the simulated participant's node: their wishes and their hand."""

    prefix: str = parameter('fr3', description='Prefix of joints and frames')
    hand: bool = parameter(
        True,
        description='Whether the Franka Hand is mounted; without it the flange is the tool',
    )
    rate_hz: float = parameter(
        50.0,
        description='How often the hand updates what it feels and how it pushes',
        minimum=10.0,
        maximum=1000.0,
        unit='Hz',
    )
