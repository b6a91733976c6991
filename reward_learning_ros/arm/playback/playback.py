"""Playback: what the arm does next, and when it holds; no ROS, time comes from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.kinematics import UnreachablePlanError
from reward_learning_ros.arm.limits import LimitError
from reward_learning_ros.arm.playback.drive import (
    LAST_PARAMETER,
    Drive,
    PlaybackRefusedError,
    SetPointError,
)
from reward_learning_ros.arm.playback.guards import ArmView, Guards
from reward_learning_ros.arm.playback.motion import Command, Motion
from reward_learning_ros.arm.playback.parameters import PlaybackParameters
from reward_learning_ros.arm.playback.planning import MotionPlanner
from reward_learning_ros.arm.playback.time_law import Now, TimeLaw
from reward_learning_ros.arm.timing import JointTrajectory
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.interface.playback import Deformation, PlaybackState, PlaybackStatus

Array = NDArray[np.float64]

_NANOSECONDS = 1_000_000_000

# How long the tool may take to come to rest near the start of a plan.
_SETTLE_SEC = 3.0
# Changes of the shift below this are not worth a new motion.
_SMALLEST_SHIFT_M = 5e-4

_MOVING = (PlaybackState.HOMING, PlaybackState.PLAYING)
_WATCHED = (*_MOVING, PlaybackState.PAUSED)


class Playback:
    """Plays plans on an arm, and holds whenever something is wrong.

    Every command that it hands out ends at rest, so an arm whose playback dies holds within
    `config.hold_within_sec`. Motions follow the steady clock.

    Attributes:
        config: how it plays.
        view: what is known about the arm; whoever listens to the arm writes it.
        state: what it does.
        fault: why it holds, empty unless the state is FAULT.
        faults: how often it held so far.
        last_fault: why it held last.
        warning: what it could not do without holding, empty if all is well.
        planner: makes its motions.
    """

    def __init__(self, config: PlaybackParameters, clock: Callable[[], Now]) -> None:
        self.config = config
        self.planner = MotionPlanner(config=config)
        self.view = ArmView()
        self.state = PlaybackState.IDLE
        self.fault = ''
        self.faults = 0
        self.last_fault = ''
        self.warning = ''
        self._clock = clock
        self._guards = Guards(config=config, kinematics=self.planner.kinematics)
        self._plan: Plan | None = None
        self._refused_plan = ''
        self._whole: JointTrajectory | None = None
        # What the arm makes now, and what of the plan is left to be played.
        self._drive = Drive(config, self.planner, clock)
        self._rest: Motion | None = None
        self._goes_home = False
        self._settle_until_sec: float | None = None
        self._shift_m = np.zeros(3)
        self._wanted_shift_m = np.zeros(3)
        self._next_replan_sec = -np.inf
        self._last: Now | None = None

    def status(self) -> PlaybackStatus:
        """Return what it does, with which plan, and how far it is."""
        plan_time, progress = 0.0, 0.0
        plan, now = self._plan, self._clock()
        if plan is not None and self._rest is not None:
            parameter = self._rest.parameter(now.steady_sec)
            shares = np.linspace(0.0, 1.0, len(plan.times_sec))
            plan_time = float(np.interp(parameter, shares, plan.times_sec))
            progress = min(plan_time / plan.duration_sec, 1.0)
        return PlaybackStatus(
            state=self.state,
            plan_stamp_ns=0 if plan is None else plan.stamp_ns,
            plan_time_sec=plan_time,
            progress=progress,
            fault=self.fault,
            faults=self.faults,
            last_fault=self.last_fault,
            stamp_ns=max(now.ros_ns, 0),
        )

    @property
    def plan_start_m(self) -> Array | None:
        """Where the plan begins, (3,) in the base frame; None without a plan."""
        return None if self._plan is None else self._plan.positions[0]

    def set_plan(self, plan: Plan) -> None:
        """Take a new plan: now if one is being played, else at the next start.

        Raises:
            RewardLearningError: it cannot be played; says why. If the arm was moving, it holds,
                and a resume goes on with the plan before.
        """
        if self._plan is not None and plan.stamp_ns <= self._plan.stamp_ns:
            if plan == self._plan:
                return
            raise PlaybackRefusedError('the plan is older than the one in use')
        try:
            whole = self.planner.whole(plan)
            if self._rest is not None and self.state in (*_WATCHED, PlaybackState.FAULT):
                self._take_over(plan, whole)
        except RewardLearningError as error:
            if self._plan is None:
                self._refused_plan = str(error)
            self.refuse_input(f'plan refused: {error}')
            raise
        self._plan, self._whole, self._refused_plan = plan, whole, ''
        self.warning = ''

    def set_deformation(self, deformation: Deformation) -> None:
        """Shift the rest of the plan by a little more or less, while it is played."""
        if self._plan is None or deformation.stamp_ns < self._plan.stamp_ns:
            return
        size = float(np.linalg.norm(deformation.shift))
        if size > self.config.largest_shift_m:
            self.warning = (
                f'a shift of {size:.2f} m is not taken; allowed: {self.config.largest_shift_m:.2f}'
            )
            return
        self._wanted_shift_m = np.array(deformation.shift)

    def refuse_input(self, reason: str) -> None:
        """Hold, because what came from outside cannot be used; does nothing at rest."""
        self.warning = reason
        if self.state in _MOVING:
            self._hold(reason)

    def start(self) -> None:
        """Go slowly to the start of the plan, then play it.

        Raises:
            RewardLearningError: not now; says why.
        """
        self._require(PlaybackState.IDLE, PlaybackState.STOPPED, PlaybackState.FINISHED)
        now = self._clock()
        if self._plan is None or self._whole is None:
            raise PlaybackRefusedError(self._refused_plan or 'there is no plan')
        age_sec = (now.ros_ns - self._plan.stamp_ns) / _NANOSECONDS
        if not -self.config.clock_tolerance_sec <= age_sec <= self.config.plan_max_age_sec:
            raise PlaybackRefusedError(
                f'the plan is stale: it was made {age_sec:.1f} s ago; '
                f'allowed: 0 to {self.config.plan_max_age_sec:.0f}'
            )
        self._require_clear(now)
        rest = Motion(trajectory=self._whole, law=_halted(now.steady_sec, 0.0))
        self._shift_m = np.zeros(3)
        self._wanted_shift_m = np.zeros(3)
        self._approach(rest.state(now.steady_sec).positions_rad)
        self._rest = rest
        self._goes_home = False
        self._go(PlaybackState.HOMING)

    def home(self) -> None:
        """Go slowly home.

        Raises:
            RewardLearningError: not now; says why.
        """
        self._require(
            PlaybackState.IDLE,
            PlaybackState.STOPPED,
            PlaybackState.FINISHED,
            PlaybackState.PAUSED,
        )
        now = self._clock()
        self._require_clear(now)
        self._approach(self.planner.home_rad)
        self._rest = None
        self._goes_home = True
        self._go(PlaybackState.HOMING)

    def pause(self) -> None:
        """Come to rest on the way; a resume goes on from there.

        Raises:
            PlaybackRefusedError: nothing moves.
        """
        self._require(*_MOVING)
        self._halt()
        self._go(PlaybackState.PAUSED)

    def resume(self) -> None:
        """Go on after a pause or a fault.

        Raises:
            RewardLearningError: not now; says why.
        """
        self._require(PlaybackState.PAUSED, PlaybackState.FAULT)
        now = self._clock()
        self._require_clear(now)
        if self._goes_home:
            self._approach(self.planner.home_rad)
            self._go(PlaybackState.HOMING)
            return
        if self._rest is None:
            self._go(PlaybackState.STOPPED)
            return
        self._rest = replace(self._rest, law=_halted(now.steady_sec, self._elapsed(self._rest)))
        self._approach(self._rest.state(now.steady_sec).positions_rad)
        self._go(PlaybackState.HOMING)

    def stop(self) -> None:
        """Come to rest and give up what is being done; the next start begins anew."""
        if self.state in _MOVING:
            self._halt()
        self._rest = None
        self._goes_home = False
        self._go(PlaybackState.STOPPED)

    def tick(self) -> Command | None:
        """Look whether all is well, and return what to tell the controller, if anything.

        To be called every few hundredths of a second.
        """
        now = self._clock()
        last, self._last = self._last, now
        objection = self._jump(now, last) or self._objection(now, last)
        if objection is not None:
            # Whatever the controller was told last, it may no longer hold there.
            self._drive.is_anchored = False
            if self.state in _WATCHED:
                self._hold(objection)
        self._advance(now)
        if self.state is PlaybackState.IDLE:
            return None
        try:
            return self._drive.command(now)
        except SetPointError as error:
            self._keep_rest()
            self._fail(str(error))
            return None

    def _jump(self, now: Now, last: Now | None) -> str | None:
        """Say that a clock jumped between two ticks, None if none did."""
        if last is None:
            return None
        steady_sec = now.steady_sec - last.steady_sec
        jump_sec = (now.ros_ns - last.ros_ns) / _NANOSECONDS - steady_sec
        if abs(jump_sec) > self.config.clock_tolerance_sec:
            self._drive.trusts_stamps = False
            return f'the clock jumped by {jump_sec:.2f} s'
        if steady_sec < 0.0:
            self._drive.trusts_stamps = False
            self._drive.shift_time(steady_sec)
            if self._rest is not None:
                self._rest = self._rest.shifted(steady_sec)
            return f'time ran back by {-steady_sec:.2f} s'
        return None

    def _objection(self, now: Now, last: Now | None) -> str | None:
        """Say what else forbids that the arm moves, None if nothing does."""
        gap_sec = 0.0 if last is None else now.steady_sec - last.steady_sec
        if gap_sec > self.config.horizon_sec and self.state in _MOVING:
            return f'playback was asleep for {gap_sec:.2f} s'
        objection = self._guards.objection(self.view, steady_sec=now.steady_sec, ros_ns=now.ros_ns)
        if objection is None and self._drive.motion is not None and self._drive.is_anchored:
            point = self._drive.motion.state(now.steady_sec).positions_rad
            objection = self._guards.deviation(self.view, point)
        return objection

    def _advance(self, now: Now) -> None:
        """Go from one motion to the next where one has ended."""
        motion = self._drive.motion
        if motion is None or self.state not in _MOVING:
            return
        if self.state is PlaybackState.PLAYING:
            if motion.has_ended(now.steady_sec):
                self._go(PlaybackState.FINISHED)
            else:
                self._follow_shift(now)
            return
        if not motion.rests(now.steady_sec):
            return
        if self._goes_home:
            self._goes_home = False
            self._go(PlaybackState.IDLE)
        elif self._rest is not None:
            self._begin_to_play(motion, now)

    def _begin_to_play(self, approach: Motion, now: Now) -> None:
        assert self._rest is not None, 'an approach that does not go home leads to a plan'
        positions = self.view.positions_rad
        assert positions is not None, 'guarded'
        wanted = approach.state(now.steady_sec).positions_rad
        measured, target = self.planner.kinematics.tool_poses(np.stack([positions, wanted]))[0]
        distance = float(np.linalg.norm(measured - target))
        if distance > self.config.start_tolerance_m:
            if self._settle_until_sec is None:
                self._settle_until_sec = now.steady_sec + _SETTLE_SEC
            elif now.steady_sec > self._settle_until_sec:
                self._hold(f'the tool stays {distance:.3f} m from where the plan goes on')
            return
        start_sec = now.steady_sec + self.config.lead_sec
        elapsed = self._elapsed(self._rest)
        law = _halted(start_sec, elapsed).ramped(start_sec, 1.0, self.config.brake_sec)
        self._drive.motion = self._rest = replace(self._rest, law=law)
        self._go(PlaybackState.PLAYING)

    def _follow_shift(self, now: Now) -> None:
        change = float(np.linalg.norm(self._wanted_shift_m - self._shift_m))
        if change < _SMALLEST_SHIFT_M or now.steady_sec < self._next_replan_sec:
            return
        self._next_replan_sec = now.steady_sec + self.config.replan_period_sec
        assert self._plan is not None, 'a plan is being played'
        try:
            self._replace(self._plan, self._wanted_shift_m)
        except (UnreachablePlanError, LimitError) as error:
            # A person pushes against what the arm can do: it stays where it could go.
            self.warning = f'the plan is not shifted further: {error}'
            self._wanted_shift_m = self._shift_m.copy()

    def _take_over(self, plan: Plan, whole: JointTrajectory) -> None:
        """Go over to another plan where the one before is."""
        assert self._rest is not None, 'checked by the caller'
        # A new plan holds what was taught: no shift of it.
        if self.state is PlaybackState.PLAYING:
            self._replace(plan, np.zeros(3))
        else:
            now_sec = self._clock().steady_sec
            parameter = min(self._rest.parameter(now_sec), LAST_PARAMETER)
            trajectory = (
                whole
                if parameter == 0.0
                else self.planner.rest(plan, np.zeros(3), parameter, 0.0, None)
            )
            rest = Motion(
                trajectory=trajectory, law=_halted(now_sec, 0.0), start_parameter=parameter
            )
            if self.state is PlaybackState.HOMING:
                self._approach(rest.state(now_sec).positions_rad)
            self._rest = rest
        self._shift_m = np.zeros(3)
        self._wanted_shift_m = np.zeros(3)

    def _replace(self, plan: Plan, shift_m: Array) -> None:
        if self._drive.replace(plan, shift_m, is_other=plan is not self._plan):
            self._rest = self._drive.motion
            self._shift_m = np.array(shift_m)

    def _approach(self, joints_rad: Array) -> None:
        self._settle_until_sec = None
        self._drive.approach(joints_rad, self.view, self._clock().steady_sec)

    def _halt(self) -> None:
        self._drive.halt(self._clock().steady_sec)
        self._keep_rest()

    def _keep_rest(self) -> None:
        if self._rest is not None and self.state is PlaybackState.PLAYING:
            self._rest = self._drive.motion

    def _hold(self, reason: str) -> None:
        self._halt()
        self._fail(reason)
        self._drive.is_anchored = False

    def _fail(self, reason: str) -> None:
        self.state = PlaybackState.FAULT
        self.fault = self.last_fault = reason
        self.faults += 1

    def _elapsed(self, motion: Motion) -> float:
        return float(motion.law.at(self._clock().steady_sec)[0][0])

    def _require(self, *states: PlaybackState) -> None:
        if self.state not in states:
            allowed = ', '.join(state.value for state in states)
            raise PlaybackRefusedError(f'playback is {self.state.value}; allowed when: {allowed}')

    def _require_clear(self, now: Now) -> None:
        objection = self._guards.objection(self.view, steady_sec=now.steady_sec, ros_ns=now.ros_ns)
        if objection is not None:
            raise PlaybackRefusedError(objection)
        if self._drive.motion is not None and not self._drive.motion.rests(now.steady_sec):
            raise PlaybackRefusedError('the arm is still coming to rest')
        self._drive.trusts_stamps = True

    def _go(self, state: PlaybackState) -> None:
        self.state = state
        self.fault = ''


def _halted(time_sec: float, elapsed_sec: float) -> TimeLaw:
    """A law under which time stands still."""
    return TimeLaw(start_sec=time_sec, elapsed_sec=elapsed_sec, rate=0.0, target_rate=0.0)
