"""What is planned while the arm moves: the next plan, and the motions that lead to it."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.drive import Departure
from reward_learning_ros.playback.motion import Motion, PlannedPath
from reward_learning_ros.playback.motion_planning import (
    MotionPlanner,
    PlanningSlot,
    PlanningTimeoutError,
)

Array = NDArray[np.float64]

# What takes longer to plan is given up: the arm goes on with what it was told.
_MAX_PLANNING_SEC = 1.0
# A motion that is ready only when it should have begun is planned again to begin later: each time
# twice as far in the future, up to this.
_MAX_LEAD_SEC = 0.8
_LEAD_FACTOR = 2.0
# By how much the lead shrinks again with each motion that is ready in time.
_LEAD_DECAY = 0.9


class Purpose(enum.Enum):
    """What a planned motion is for: approach, join or stand."""

    APPROACH = 'go slowly to a configuration'
    JOIN = 'go over to another plan, or another shift, while one is played'
    STAND = 'know what is left of another plan, while the arm stands'


@dataclass(frozen=True, kw_only=True)
class Pending:
    """A motion that is being planned, and its purpose.

    Attributes:
        purpose: what for.
        new_path: the plan that it brings, None if it brings none.
        take_over_sec: when it takes over from a motion; None if it begins at rest.
    """

    purpose: Purpose
    new_path: PlannedPath | None = None
    take_over_sec: float | None = None


class Replanning:
    """Plans motions outside the command loop, each within a time limit.

    Attributes:
        pending: the motion that is being planned, None if none is.
        waiting: a plan whose motion is known, and that is not played yet.
        waits_for_rest: whether it is to be taken only when nothing is played: it could not be
            joined in time.
        lead_sec: how far in the future a motion takes over from another one.
    """

    def __init__(
        self, config: PlaybackParameters, planner: MotionPlanner, executor: Executor
    ) -> None:
        self.pending: Pending | None = None
        self.waiting: PlannedPath | None = None
        self.waits_for_rest = False
        self.lead_sec = config.replan_lead_sec
        self._config = config
        self._planner = planner
        self._offered: Plan | None = None
        # Nothing waits for a whole plan, its work is bounded, and a simulated clock may jump.
        self._paths: PlanningSlot[PlannedPath] = PlanningSlot(executor, max_sec=math.inf)
        self._motions: PlanningSlot[Motion] = PlanningSlot(executor, max_sec=_MAX_PLANNING_SEC)

    @property
    def newest(self) -> Plan | None:
        """The newest plan that is not played yet, None if there is none."""
        if self._paths.is_busy:
            return self._offered
        path = self.waiting or (self.pending.new_path if self.pending is not None else None)
        return None if path is None else path.plan

    def offer(self, plan: Plan, now_sec: float) -> None:
        """Begin to plan the motion along a plan; one that still waits is forgotten."""
        self._offered, self.waiting = plan, None
        self._paths.submit(lambda: self._planner.whole(plan), now_sec)

    def take_offer(self, now_sec: float) -> None:
        """Let the offered plan wait for being taken, if its motion is known now.

        Raises:
            RewardLearningError: it cannot be played, or planning takes too long.
        """
        path = self._paths.take(now_sec)
        if path is not None:
            self.waiting, self.waits_for_rest = path, False

    def approach(self, joints_rad: Array, departure: Departure, now_sec: float) -> None:
        """Begin to plan a slow motion to a configuration (7,)."""

        def work() -> Motion:
            motion = self._planner.to_configuration(
                joints_rad, departure.state, start_sec=departure.start_sec
            )
            if departure.before is None:
                return motion
            return motion.taking_over(departure.before, departure.start_sec, now_sec)

        moves = departure.before is not None
        self._submit(
            Pending(
                purpose=Purpose.APPROACH,
                take_over_sec=departure.start_sec if moves else None,
            ),
            work,
            now_sec,
        )

    def join(self, motion: Motion, path: PlannedPath, start_sec: float, now_sec: float) -> None:
        """Begin to plan a motion out of one, along another plan or another shift."""
        is_new = path is self.waiting
        self._submit(
            Pending(
                purpose=Purpose.JOIN,
                new_path=path if is_new else None,
                take_over_sec=start_sec,
            ),
            lambda: self._planner.joining(motion, path, start_sec=start_sec, now_sec=now_sec),
            now_sec,
        )

    def stand(self, path: PlannedPath, parameter: float, now_sec: float) -> None:
        """Begin to plan what is left of the waiting plan, from rest."""
        self._submit(
            Pending(purpose=Purpose.STAND, new_path=path),
            lambda: self._planner.standing(path, parameter, now_sec=now_sec),
            now_sec,
        )

    def _submit(self, pending: Pending, work: Callable[[], Motion], now_sec: float) -> None:
        self.drop()
        if pending.new_path is not None:
            self.waiting = None
        self.pending = pending
        self._motions.submit(work, now_sec)

    def drop(self) -> None:
        """Give up the motion that is being planned; a plan that it was to bring waits again."""
        pending, self.pending = self.pending, None
        self._motions.drop()
        if pending is not None and pending.new_path is not None:
            self.put_back(pending.new_path)

    def put_back(self, path: PlannedPath) -> None:
        """Let a plan wait again that was not played, unless a newer one does."""
        if self.waiting is None and not self._paths.is_busy:
            self.waiting = path

    def take(self, now_sec: float) -> Motion | None:
        """Return the motion that was pending, if it is there and in time.

        Raises:
            PlanningTimeoutError: it was not ready in time, however late it was to begin. A plan
                that it was to bring waits until nothing is played.
            RewardLearningError: there is no such motion.
        """
        pending = self.pending
        if pending is None:
            return None
        try:
            motion = self._motions.take(now_sec)
        except PlanningTimeoutError:
            self.drop()
            self.waits_for_rest = True
            raise
        except Exception:
            self.pending = None
            raise
        if motion is None:
            return None
        begin_sec = now_sec + self._config.lead_sec
        if pending.take_over_sec is None:
            self.pending = None
            return motion.shifted(max(begin_sec - motion.time_scaling.begin_sec, 0.0))
        if begin_sec > pending.take_over_sec:
            self.drop()
            if self.lead_sec >= _MAX_LEAD_SEC:
                self.waits_for_rest = True
                raise PlanningTimeoutError(self.lead_sec)
            self.lead_sec = min(_LEAD_FACTOR * self.lead_sec, _MAX_LEAD_SEC)
            return None
        self.pending = None
        self.lead_sec = max(_LEAD_DECAY * self.lead_sec, self._config.replan_lead_sec)
        return motion
