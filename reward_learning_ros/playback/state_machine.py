"""Playback: what the arm does next, and when it holds; no ROS, time comes from outside."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.curve import curve_points
from reward_learning_ros.interface.plan import (
    NO_PLAN,
    Deformation,
    Plan,
    PlaybackState,
    PlaybackStatus,
)
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.drive import PlaybackRefusedError
from reward_learning_ros.playback.motion import Command, Now
from reward_learning_ros.playback.motion_planning import MotionPlanner, SynchronousExecutor
from reward_learning_ros.playback.pilot import MOVING, Goal, Pilot
from reward_learning_ros.playback.safety_checks import ArmView, SafetyChecks, SafetyViolation

Array = NDArray[np.float64]

_NANOSECONDS = 1_000_000_000

_WATCHED = (*MOVING, PlaybackState.PAUSED)
# Where the next motion begins a plan, and where it goes on with one.
STARTABLE = (PlaybackState.IDLE, PlaybackState.STOPPED, PlaybackState.FINISHED)
_RESUMABLE = (PlaybackState.PAUSED, PlaybackState.FAULT)


class Playback:
    """The state machine of playback: plays plans on an arm, and holds when a safety check fails.

    Every command that it hands out ends at rest, so an arm whose playback dies holds within
    `config.hold_within_sec`. Motions follow the steady clock. Planning is done by an executor,
    and what it finds is taken at a tick.

    Attributes:
        config: how it plays.
        view: what is known about the arm; whoever listens to the arm writes it.
        planner: makes its motions.
        is_clear: whether nothing forbade a motion at the last tick.
    """

    def __init__(
        self,
        config: PlaybackParameters,
        clock: Callable[[], Now],
        executor: Executor | None = None,
    ) -> None:
        """Begin idle, without a plan.

        Args:
            config: how to play.
            clock: the time.
            executor: where motions are planned; by default in the thread that asks for them.
        """
        self.config = config
        self.planner = MotionPlanner(config=config)
        self.view = ArmView()
        self.is_clear = True
        self._clock = clock
        self._checks = SafetyChecks(config=config, kinematics=self.planner.kinematics)
        self._pilot = Pilot(self.planner, self.view, clock, executor or SynchronousExecutor())
        self._last: Now | None = None

    @property
    def state(self) -> PlaybackState:
        """What it does."""
        return self._pilot.state

    @property
    def fault(self) -> str:
        """Why it holds, empty unless the state is FAULT."""
        return self._pilot.fault

    @property
    def warning(self) -> str:
        """What could not be done without holding, empty if all is well."""
        return self._pilot.warning

    def warn(self, reason: str) -> None:
        """Tell what could not be done, without holding."""
        self._pilot.warning = reason

    def status(self) -> PlaybackStatus:
        """Return what it does, with which plan, and how far it is."""
        plan_stamp_ns, plan_time, progress = 0, 0.0, 0.0
        now = self._clock()
        pilot, rest = self._pilot, self._pilot.rest
        if rest is not None:
            plan = rest.at(now.steady_sec).planned_path.plan
            parameter = rest.parameter(now.steady_sec)
            shares = np.linspace(0.0, 1.0, len(plan.times_sec))
            plan_stamp_ns = plan.stamp_ns
            plan_time = float(np.interp(parameter, shares, plan.times_sec))
            progress = min(plan_time / plan.duration_sec, 1.0)
        return PlaybackStatus(
            state=pilot.state,
            plan_stamp_ns=plan_stamp_ns,
            plan_time_sec=plan_time,
            progress=progress,
            fault=pilot.fault,
            faults=pilot.faults,
            last_fault=pilot.last_fault,
            stamp_ns=max(now.ros_ns, 0),
            shift_m=self._shift_m(now),
            is_shift_limited=pilot.is_shift_limited,
        )

    def _shift_m(self, now: Now) -> Array:
        """Return how far (3,) the set-point is off the plan now, by the shift and its ramps."""
        pilot, motion = self._pilot, self._pilot.drive.motion
        if pilot.state is not PlaybackState.PLAYING or motion is None or pilot.rest is None:
            return pilot.shift_m
        plan = pilot.rest.at(now.steady_sec).planned_path.plan
        planned_m = curve_points(plan.positions, [pilot.rest.parameter(now.steady_sec)])[0]
        joints_rad = motion.state(now.steady_sec).positions_rad
        return np.asarray(self.planner.kinematics.tool_poses(joints_rad)[0] - planned_m)

    def not_ready(self) -> str | None:
        """Say why a start, or where one can resume a resume, would be refused; None if not."""
        now = self._clock()
        if self.state in MOVING:
            return f'playback is {self.state.value}'
        if self.state in _RESUMABLE:
            return self._replanned() or self._obstacle(now)
        return self._unplayable(now) or self._obstacle(now)

    @property
    def plan_start_m(self) -> Array | None:
        """Where the plan begins, (3,) in the base frame; None without a plan."""
        rest = self._pilot.rest
        return None if rest is None else rest.planned_path.plan.positions[0]

    def set_plan(self, plan: Plan) -> None:
        """Replace the plan as soon as the motion along the new one is planned, also in mid-motion.

        One that cannot be played becomes a warning. If the arm was moving, it holds then, and a
        resume goes on with the plan before.

        Raises:
            PlaybackRefusedError: it is older than the one in use.
        """
        newest = self._pilot.newest_plan
        if newest is not None and plan.stamp_ns <= newest.stamp_ns:
            if plan == newest:
                return
            raise PlaybackRefusedError('the plan is older than the one in use')
        self._pilot.offer(plan, self._clock())

    def set_deformation(self, deformation: Deformation) -> None:
        """Shift the rest of the plan by a little more or less, while it is played."""
        self._pilot.deform(deformation)

    def refuse_input(self, reason: str) -> None:
        """Hold, because what came from outside cannot be used; does nothing at rest."""
        self._pilot.refuse_input(reason)

    def start(self) -> None:
        """Go slowly to the start of the plan, then play it.

        Raises:
            PlaybackRefusedError: not now; says why.
        """
        self._require(*STARTABLE)
        now = self._clock()
        unplayable = self._unplayable(now)
        if unplayable is not None:
            raise PlaybackRefusedError(unplayable)
        self._require_clear(now)
        rest = self._pilot.rest
        assert rest is not None, 'a plan that can be played has its motion'
        self._pilot.begin_plan(rest.planned_path, now)
        self._pilot.set_out(Goal.PLAN, now)

    def home(self) -> None:
        """Go slowly home.

        Raises:
            PlaybackRefusedError: not now; says why.
        """
        self._require(*STARTABLE, *_RESUMABLE)
        now = self._clock()
        self._require_clear(now)
        self._pilot.give_up_pass(now)
        self._pilot.set_out(Goal.HOME, now)

    def pause(self) -> None:
        """Come to rest on the way; a resume goes on from there.

        Raises:
            PlaybackRefusedError: nothing moves.
        """
        self._require(*MOVING)
        self._pilot.halt()
        self._pilot.go(PlaybackState.PAUSED)

    def resume(self) -> None:
        """Go on after a pause or a fault.

        Raises:
            PlaybackRefusedError: not now; says why.
        """
        self._require(*_RESUMABLE)
        now = self._clock()
        replanned = self._replanned()
        if replanned is not None:
            raise PlaybackRefusedError(replanned)
        self._require_clear(now)
        pilot = self._pilot
        if pilot.goal is Goal.NONE:
            pilot.go(PlaybackState.STOPPED)
            return
        if pilot.rest is not None:
            pilot.rest = pilot.rest.halted(now.steady_sec)
        pilot.set_out(pilot.goal, now)

    def stop(self) -> None:
        """Come to rest and give up what is being done; the next start begins the plan again."""
        self._pilot.halt()
        self._pilot.give_up_pass(self._clock())
        self._pilot.go(PlaybackState.STOPPED)

    def tick(self) -> Command | None:
        """Run the safety checks, and return the next command for the controller, if there is one.

        To be called every few hundredths of a second.
        """
        now = self._clock()
        last, self._last = self._last, now
        violation = self._jump(now, last) or self._violation(now, last)
        self.is_clear = violation is None
        if violation is not None:
            # Whatever the controller was told last, it may no longer hold there.
            self._pilot.drive.is_anchored = False
            if self.state in _WATCHED:
                self._pilot.hold(violation.reason, gives_way=violation.is_push)
            elif self._pilot.gives_way and not violation.is_push:
                self._pilot.halt()
            if not self.view.follows_commands:
                # What it was still to be told would move it when its brakes are released, or when
                # its controller is activated again, which then holds where the arm is.
                self._pilot.drive.abandon()
        self._pilot.is_pushed = self._checks.is_pushed(self.view)
        return self._pilot.command(now)

    def _jump(self, now: Now, last: Now | None) -> SafetyViolation | None:
        """Say that a clock jumped between two ticks, None if none did."""
        if last is None:
            return None
        steady_sec = now.steady_sec - last.steady_sec
        jump_sec = (now.ros_ns - last.ros_ns) / _NANOSECONDS - steady_sec
        if abs(jump_sec) > self.config.clock_tolerance_sec:
            self._pilot.drive.trusts_stamps = False
            return SafetyViolation(reason=f'the clock jumped by {jump_sec:.2f} s')
        if steady_sec < 0.0:
            self._pilot.drive.trusts_stamps = False
            self._pilot.shift_time(steady_sec)
            return SafetyViolation(reason=f'time ran back by {-steady_sec:.2f} s')
        return None

    def _violation(self, now: Now, last: Now | None) -> SafetyViolation | None:
        """Say what else forbids that the arm moves, None if nothing does."""
        gap_sec = 0.0 if last is None else now.steady_sec - last.steady_sec
        if gap_sec > self.config.horizon_sec and self.state in MOVING:
            return SafetyViolation(reason=f'playback was asleep for {gap_sec:.2f} s')
        violation = self._checks.violation(self.view, steady_sec=now.steady_sec, ros_ns=now.ros_ns)
        if (
            violation is None
            and self._pilot.drive.motion is not None
            and self._pilot.drive.is_anchored
        ):
            point = self._pilot.drive.motion.state(now.steady_sec).positions_rad
            violation = self._checks.deviation(self.view, point)
        return violation

    def _require(self, *states: PlaybackState) -> None:
        if self.state not in states:
            allowed = ', '.join(state.value for state in states)
            raise PlaybackRefusedError(f'playback is {self.state.value}; allowed when: {allowed}')

    def _require_clear(self, now: Now) -> None:
        obstacle = self._obstacle(now)
        if obstacle is not None:
            raise PlaybackRefusedError(obstacle)
        self._pilot.drive.trusts_stamps = True

    def _obstacle(self, now: Now) -> str | None:
        """Say why the arm must not begin to move, None if it may."""
        violation = self._checks.violation(self.view, steady_sec=now.steady_sec, ros_ns=now.ros_ns)
        if violation is not None:
            return violation.reason
        tool_mismatch = self._checks.tool_mismatch(self.view, steady_sec=now.steady_sec)
        if tool_mismatch is not None:
            return tool_mismatch
        if self._pilot.gives_way or not self._pilot.rests(now):
            return 'the arm is still coming to rest'
        if not self._pilot.drive.can_depart(self.view):
            return 'the arm is not at rest'
        return None

    def _replanned(self) -> str | None:
        """Say that a new plan is on its way, None if none is."""
        return 'the new plan is still being planned' if self._pilot.is_replanning else None

    def _unplayable(self, now: Now) -> str | None:
        """Say why there is no plan to start, None if there is one."""
        replanned = self._replanned()
        if replanned is not None:
            return replanned
        rest = self._pilot.rest
        if rest is None:
            return self._pilot.refused_plan or NO_PLAN
        age_sec = (now.ros_ns - rest.planned_path.plan.stamp_ns) / _NANOSECONDS
        if -self.config.clock_tolerance_sec <= age_sec <= self.config.plan_max_age_sec:
            return None
        return (
            f'the plan is stale: it was made {age_sec:.1f} s ago; '
            f'allowed: 0 to {self.config.plan_max_age_sec:.0f}'
        )
