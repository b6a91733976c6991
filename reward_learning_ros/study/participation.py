"""When a simulated participant pushes: watches plan and playback, thinks aside, uses their hand.

No ROS: what is seen comes from outside, and the force goes there.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.interface import (
    ParticipantState,
    ParticipantStatus,
    Plan,
    PlaybackState,
    PlaybackStatus,
)
from reward_learning_ros.sensing.playback_feed import PlaybackFeed
from reward_learning_ros.sensing.timeline import PlaybackTimeline, planned_position_m
from reward_learning_ros.study.hand import Hand, HandParameters
from reward_learning_ros.study.participant import Participant, Push

Array = NDArray[np.float64]

# A push begins so long before the waypoint that it is about, and earlier the farther it goes,
# unless the waypoint before is nearer. So fast a hand moves an arm that gives way.
_LEAD_SEC = 1.5
_HAND_M_PER_SEC = 0.05
# Nobody pushes an arm that they have not seen moving for a while.
_REACTION_SEC = 1.5
# Of the way from one waypoint to the next: before that it might still be about the former.
_EARLIEST_SHARE = 0.15
# Nearer to its waypoint than this share of the way it is too late to push.
_LATEST_SHARE = 0.9
# Where a push may begin, and where it may go on.
_PUSHED = (PlaybackState.PLAYING,)
_PUSHED_ON = (PlaybackState.PLAYING, PlaybackState.FINISHED)
# How long they think, by the plan's time: waypoints that come sooner are left as they are.
_THINKING_SEC = 1.0


class Participation:
    """A participant at the arm.

    Attributes:
        participant: what they want.
        pushes: how often they pushed.
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
        self._hand = Hand(hand, np.random.default_rng([seed, 1]))
        self._thinking = thinking
        self._timeline = PlaybackTimeline()
        self._feed = PlaybackFeed(self._timeline)
        self._plans: dict[int, Plan] = {}
        self._playback: PlaybackStatus | None = None
        self._thought: Future[tuple[Push, ...]] | None = None
        # Plan and number of the pass that they thought about, and that they push for now.
        self._subject: tuple[int, int] | None = None
        self._pushed_plan_ns = 0
        self._intended: list[Push] = []
        self._is_content = False

    @property
    def status(self) -> ParticipantStatus:
        """What they do and want."""
        state = ParticipantState.CONTENT if self._is_content else ParticipantState.WATCHING
        if self._hand.is_pushing:
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
        deviation = self._deviation(seen_ns, tool_position_m)
        time_sec = time_ns / 1e9
        if not self._hand.is_pushing:
            push = None if deviation is None else self._due_push()
            if push is None or deviation is None:
                return None
            self._intended.remove(push)
            self._hand.begin(time_sec, push.displacement_m, deviation)
            self._pushed_plan_ns = self._feed.plan_stamp_ns
            self.pushes += 1
        if deviation is None or self._feed.plan_stamp_ns != self._pushed_plan_ns:
            # The plan is another one, or the arm stands: what they meant is over.
            self._hand.let_go(time_sec)
        # The last force is zero, so that the arm knows that it was let go.
        return self._hand.force(time_sec, deviation, seen_ns / 1e9)

    def _deviation(self, time_ns: int, tool_position_m: Array | None) -> Array | None:
        """Return how far the tool is off its plan (3,), None while there is nothing to push.

        A push goes on at the end of the plan, but none begins there.
        """
        plan = self._plans.get(self._feed.plan_stamp_ns)
        states = _PUSHED_ON if self._hand.is_pushing else _PUSHED
        if tool_position_m is None or plan is None or self._feed.state not in states:
            return None
        plan_time_sec = self._timeline.plan_time_sec(np.array([time_ns]))
        if not np.isfinite(plan_time_sec).all():
            # Playback has not told of this moment.
            return None
        deviation = tool_position_m - planned_position_m(plan, plan_time_sec)[0]
        return deviation if np.isfinite(deviation).all() else None

    def _think(self) -> None:
        """Think about what is shown, each plan anew in each pass, and take what was thought."""
        if self._thought is not None and self._thought.done():
            self._intended = list(self._thought.result())
            self._is_content = not self._intended
            self._thought = None
        playback = self._playback
        if self._thought is not None or playback is None:
            return
        subject = (playback.plan_stamp_ns, self._feed.playbacks)
        plan = self._plans.get(playback.plan_stamp_ns)
        if plan is None or subject == self._subject:
            return
        if playback.state not in (PlaybackState.HOMING, PlaybackState.PLAYING):
            return
        self._subject = subject
        self._intended = []
        first = 0
        if playback.plan_time_sec > 0.0:
            soon_sec = playback.plan_time_sec + _THINKING_SEC
            first = int(np.searchsorted(plan.times_sec, soon_sec))
        self._thought = self._thinking.submit(self.participant.decide, plan, first)

    def _due_push(self) -> Push | None:
        """Return the push whose time has come, and forget those whose time is over."""
        playback = self._playback
        assert playback is not None, 'something is played'
        if self._subject is None or self._subject[0] != playback.plan_stamp_ns:
            return None
        times_sec = self._plans[playback.plan_stamp_ns].times_sec
        for push in list(self._intended):
            before_sec, at_sec = times_sec[push.onset_waypoint - 1 : push.onset_waypoint + 1]
            way_sec = at_sec - before_sec
            lead_sec = _LEAD_SEC + float(np.linalg.norm(push.displacement_m)) / _HAND_M_PER_SEC
            if playback.plan_time_sec > before_sec + _LATEST_SHARE * way_sec:
                self._intended.remove(push)
            elif playback.plan_time_sec >= max(
                at_sec - lead_sec, before_sec + _EARLIEST_SHARE * way_sec, _REACTION_SEC
            ):
                return push
        return None
