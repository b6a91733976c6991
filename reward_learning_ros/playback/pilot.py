"""The pilot: which motion comes next on the way along a plan, or home."""

from __future__ import annotations

import enum
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface.plan import Deformation, Plan, PlaybackState
from reward_learning_ros.playback.drive import (
    LAST_PARAMETER,
    Drive,
    PlaybackRefusedError,
    SetPointError,
)
from reward_learning_ros.playback.motion import Command, Motion, Now, PlannedPath
from reward_learning_ros.playback.motion_planning import MotionPlanner, PlanningTimeoutError
from reward_learning_ros.playback.plan_replacement import Purpose, Replanning
from reward_learning_ros.playback.safety_checks import ArmView

Array = NDArray[np.float64]

# How long the tool may take to come to rest near the start of a plan.
_SETTLE_SEC = 3.0
# After somebody stopped pushing an arm that gave way, it is given so long to come to rest.
_LETTING_GO_SEC = 0.5
# Changes of the shift below this are not worth a new motion.
_MIN_SHIFT_CHANGE_M = 5e-4

MOVING = tuple(state for state in PlaybackState if state.is_moving)
# On the way to where a plan goes on, or home.
_ON_THE_WAY = (PlaybackState.APPROACHING, PlaybackState.HOMING)


class Goal(enum.Enum):
    """Where the arm is going, also while it is halted: along a plan, home or nowhere."""

    NONE = 'nothing'
    PLAN = 'the end of the plan'
    HOME = 'home'


class Pilot:
    """Chooses the next motion along a plan, or home; the safety checks are made elsewhere.

    What it makes of a motion is planned beside the command loop, and taken at a tick. Plan and
    motion are one value, `rest`, so that the plan that is named is the one that is played.

    Attributes:
        planner: makes the motions.
        drive: what the arm makes now.
        rest: the plan, and what of it is left to be played; while it is played, what the arm
            makes. None without a plan.
        goal: what the arm is on its way to.
        state: what it does.
        fault: why it holds, empty unless the state is FAULT.
        faults: how often it held so far.
        last_fault: why it held last.
        warning: what it could not do without holding, empty if all is well.
        refused_plan: why the latest plan is not played, empty if it is.
        gives_way: whether the set-point follows the arm, because somebody pushed it too hard.
        is_pushed: whether somebody still does.
        is_shift_limited: whether the arm could not follow the latest shift of the plan.
    """

    def __init__(
        self,
        planner: MotionPlanner,
        view: ArmView,
        clock: Callable[[], Now],
        executor: Executor,
    ) -> None:
        self.planner = planner
        self.drive = Drive(planner.config, planner)
        self.rest: Motion | None = None
        self.goal = Goal.NONE
        self.state = PlaybackState.IDLE
        self.fault = ''
        self.faults = 0
        self.last_fault = ''
        self.warning = ''
        self.refused_plan = ''
        self.gives_way = False
        self.is_pushed = False
        self.is_shift_limited = False
        self._pushed_sec, self._pushed_to_rad = -np.inf, planner.home_rad
        self._config = planner.config
        self._view = view
        self._clock = clock
        self._replanning = Replanning(planner.config, planner, executor)
        self._settle_until_sec: float | None = None
        self._wanted_shift_m = np.zeros(3)
        self._next_replan_sec = -np.inf

    @property
    def newest_plan(self) -> Plan | None:
        """The newest plan, also if it is not played yet; None if there is none."""
        newest = self._replanning.newest
        if newest is None and self.rest is not None:
            return self.rest.planned_path.plan
        return newest

    @property
    def is_replanning(self) -> bool:
        """Whether a new plan is on its way."""
        return self._replanning.newest is not None

    def rests(self, now: Now) -> bool:
        """Tell whether the arm was brought to rest."""
        motion = self.drive.motion
        return motion is None or motion.rests(now.steady_sec)

    def offer(self, plan: Plan, now: Now) -> None:
        """Begin to plan the motion along a new plan, to play it as soon as that is known."""
        self._replanning.offer(plan, now.steady_sec)
        self._take_offer(now)

    def deform(self, deformation: Deformation) -> None:
        """Shift the rest of the plan by a little more or less, while it is played."""
        if self.rest is None or deformation.stamp_ns < self.rest.planned_path.plan.stamp_ns:
            return
        size = float(np.linalg.norm(deformation.shift))
        if size > self._config.max_shift_m:
            allowed = self._config.max_shift_m
            self.warning = f'a shift of {size:.2f} m is not taken; allowed: {allowed:.2f}'
            self.is_shift_limited = True
            return
        self._wanted_shift_m = np.array(deformation.shift)

    def command(self, now: Now) -> Command | None:
        """Return what to tell the controller, if anything.

        Only here does the arm's motion change, and with it the plan that is played: when the
        controller is told.
        """
        self._take_offer(now)
        motion = self._give_way(now) if self.gives_way else self._next_motion(now)
        if self.state is PlaybackState.IDLE:
            return None
        try:
            command = self.drive.command(now, motion)
        except SetPointError as error:
            self._replanning.drop()
            self._keep_rest()
            self._fail(str(error))
            return None
        if motion is not None and motion.path is not None:
            self.rest = motion
            self.go(PlaybackState.PLAYING)
        return command

    def shift_time(self, by_sec: float) -> None:
        """Keep everything where it is although the clock was set."""
        self.drive.shift_time(by_sec)
        if self.rest is not None:
            self.rest = self.rest.shifted(by_sec)

    def refuse_input(self, reason: str) -> None:
        """Hold, because what came from outside cannot be used; does nothing at rest."""
        self.warning = reason
        if self.state in MOVING:
            self.hold(reason)

    def _take_offer(self, now: Now) -> None:
        """Take note of a new plan whose motion is known, and find out how to go over to it."""
        replanning = self._replanning
        try:
            replanning.take_offer(now.steady_sec)
        except PlanningTimeoutError as error:
            self.refused_plan = self.warning = f'plan refused: {error}'
        except RewardLearningError as error:
            self._refuse_plan(error)
        pending = replanning.pending
        path = replanning.waiting
        if path is None or (pending is not None and pending.new_path is not None):
            return
        if self.goal is not Goal.PLAN:
            replanning.waiting = None
            self.begin_plan(path, now)
        elif self.state is PlaybackState.PLAYING:
            if not replanning.waits_for_rest:
                self._join(path, now)
        elif self.state is PlaybackState.APPROACHING or self.rests(now):
            assert self.rest is not None, 'the arm is on its way along a plan'
            # A new plan holds what was taught: no shift of it.
            parameter = min(self.rest.parameter(now.steady_sec), LAST_PARAMETER)
            replanning.stand(path, parameter, now.steady_sec)

    def _next_motion(self, now: Now) -> Motion | None:
        """Return the motion with which the arm goes on, None if with the one of before."""
        planned = self._take_planned(now)
        if planned is not None:
            return planned
        motion = self.drive.motion
        if self.state is PlaybackState.PLAYING and motion is not None:
            if motion.has_ended(now.steady_sec):
                self._replanning.drop()
                self.goal = Goal.NONE
                self.go(PlaybackState.FINISHED)
            else:
                self._follow_shift(now)
                return self._take_planned(now)
        elif self.state in _ON_THE_WAY and self._replanning.pending is None and self.rests(now):
            return self._arrive(now)
        return None

    def _give_way(self, now: Now) -> Motion | None:
        """Return the motion of the set-point to where somebody pushed the arm, and let go."""
        if self.is_pushed:
            self._note_push(now)
        elif not 0.0 <= now.steady_sec - self._pushed_sec <= _LETTING_GO_SEC:
            self.gives_way = False
            return None
        return self.drive.yielding(self._pushed_to_rad, now.steady_sec)

    def _note_push(self, now: Now) -> None:
        positions = self._view.positions_rad
        assert positions is not None, 'the safety checks need joints'
        self._pushed_sec, self._pushed_to_rad = now.steady_sec, positions

    def _take_planned(self, now: Now) -> Motion | None:
        """Return a motion that was planned, if there is one."""
        pending = self._replanning.pending
        if pending is None:
            return None
        try:
            motion = self._replanning.take(now.steady_sec)
        except RewardLearningError as error:
            is_late = isinstance(error, PlanningTimeoutError)
            if pending.purpose is Purpose.APPROACH:
                self.hold(f'there is no way for the arm: {error}')
            elif pending.new_path is not None and not is_late:
                self._refuse_plan(error)
            elif pending.new_path is not None:
                self.warning = f'the plan waits until the arm stands: {error}'
            else:
                # A person pushes against what the arm can do: it stays where it could go.
                self.warning = f'the plan is not shifted further: {error}'
                self._wanted_shift_m = self.shift_m
                self.is_shift_limited = True
            return None
        if motion is None:
            return None
        if pending.new_path is not None:
            self._note_plan()
        if pending.purpose is Purpose.JOIN:
            self.is_shift_limited = False
        if pending.purpose is Purpose.STAND:
            self.rest = motion
            if self.state is PlaybackState.APPROACHING:
                self._go_on(now)
            return None
        return motion

    def _arrive(self, now: Now) -> Motion | None:
        """Do what comes when the arm stands where it was to go, or go there."""
        target = self._target_rad(now)
        if not self.drive.is_at(target, now.steady_sec):
            self._go_on(now)
            return None
        if self.goal is Goal.HOME:
            self.goal = Goal.NONE
            self.go(PlaybackState.IDLE)
            return None
        assert self.rest is not None, 'an approach that does not go home leads to a plan'
        positions = self._view.positions_rad
        assert positions is not None, 'the safety checks need joints'
        measured, wanted = self.planner.kinematics.tool_poses(np.stack([positions, target]))[0]
        distance = float(np.linalg.norm(measured - wanted))
        if distance <= self._config.start_tolerance_m:
            start_sec = now.steady_sec + self._config.lead_sec
            return self.rest.resumed(start_sec, self._config.brake_sec)
        if self._settle_until_sec is None:
            self._settle_until_sec = now.steady_sec + _SETTLE_SEC
        elif now.steady_sec > self._settle_until_sec:
            self.hold(f'the tool stays {distance:.3f} m from where the plan goes on')
        return None

    def _follow_shift(self, now: Now) -> None:
        change = float(np.linalg.norm(self._wanted_shift_m - self.shift_m))
        is_busy = self._replanning.pending is not None or self._replanning.waiting is not None
        if change < _MIN_SHIFT_CHANGE_M or is_busy or now.steady_sec < self._next_replan_sec:
            return
        self._next_replan_sec = now.steady_sec + self._config.replan_period_sec
        assert self.rest is not None, 'a plan is being played'
        self._join(self.rest.planned_path.shifted(self._wanted_shift_m), now)

    @property
    def shift_m(self) -> Array:
        """By how much the plan is shifted at the end of what was sent, (3,)."""
        return np.zeros(3) if self.rest is None else self.rest.planned_path.shift_m

    def _join(self, path: PlannedPath, now: Now) -> None:
        """Begin to plan how to go over to another plan, or another shift, in mid-motion."""
        motion = self.drive.motion
        assert motion is not None, 'a plan is being played'
        start_sec = max(now.steady_sec + self._replanning.lead_sec, motion.take_over_sec)
        # So near to its end a motion is not changed any more.
        if motion.parameter(start_sec) < LAST_PARAMETER:
            self._replanning.join(motion, path, start_sec, now.steady_sec)

    def begin_plan(self, path: PlannedPath, now: Now) -> None:
        """Be ready to play a plan from its beginning."""
        self.rest = self.planner.standing(path.shifted(np.zeros(3)), 0.0, now_sec=now.steady_sec)
        self._note_plan()

    def _note_plan(self) -> None:
        self._wanted_shift_m = np.zeros(3)
        self.is_shift_limited = False
        self.refused_plan = self.warning = ''

    def _refuse_plan(self, error: RewardLearningError) -> None:
        self.refused_plan = str(error)
        self.refuse_input(f'plan refused: {error}')

    def set_out(self, goal: Goal, now: Now) -> None:
        """Begin to go to what is left of the plan, or home."""
        self.goal = goal
        self._approach(now)
        self.go(PlaybackState.HOMING if goal is Goal.HOME else PlaybackState.APPROACHING)

    def _target_rad(self, now: Now) -> Array:
        if self.goal is Goal.HOME:
            return self.planner.home_rad
        assert self.rest is not None, 'there is a plan'
        return self.rest.state(now.steady_sec).positions_rad

    def _approach(self, now: Now) -> None:
        """Begin to plan the way to where the arm is to stand."""
        self._settle_until_sec = None
        target = self._target_rad(now)
        if not self.drive.is_at(target, now.steady_sec):
            departure = self.drive.departure(self._view, now.steady_sec, self._replanning.lead_sec)
            self._replanning.approach(target, departure, now.steady_sec)

    def _go_on(self, now: Now) -> None:
        try:
            self._approach(now)
        except PlaybackRefusedError as error:
            self.hold(str(error))

    def give_up_pass(self, now: Now) -> None:
        """Forget how far the plan was played."""
        self._replanning.drop()
        self.goal = Goal.NONE
        if self.rest is not None:
            self.begin_plan(self.rest.at(now.steady_sec).planned_path, now)

    def halt(self) -> None:
        """Come to rest on the way, and plan nothing more."""
        self.gives_way = False
        self._replanning.drop()
        self.drive.halt(self._clock().steady_sec)
        self._keep_rest()

    def _keep_rest(self) -> None:
        """Take note of where on the plan the arm comes to rest, and on which one."""
        halted = self.drive.motion
        if self.state is not PlaybackState.PLAYING or self.rest is None or halted is None:
            return
        planned, self.rest = self.rest.planned_path, halted
        if halted.planned_path.plan is not planned.plan:
            # It was to take over a moment later.
            self._replanning.put_back(planned.shifted(np.zeros(3)))

    def hold(self, reason: str, *, gives_way: bool = False) -> None:
        """Come to rest, because something is wrong.

        Args:
            reason: what.
            gives_way: whether the set-point goes to where the arm is and follows it, while
                somebody pushes: the arm does not snap back when they let go.
        """
        self.halt()
        self._fail(reason)
        self.drive.is_anchored = False
        self.gives_way = gives_way
        if gives_way:
            self._note_push(self._clock())

    def _fail(self, reason: str) -> None:
        self.state = PlaybackState.FAULT
        self.fault = self.last_fault = reason
        self.faults += 1

    def go(self, state: PlaybackState) -> None:
        """Go over to a state that is not a fault."""
        self.state = state
        self.fault = ''
