"""The drive: the motion that the arm makes now, and what the controller was told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.playback.guards import ArmView
from reward_learning_ros.arm.playback.motion import Command, Motion
from reward_learning_ros.arm.playback.parameters import PlaybackParameters
from reward_learning_ros.arm.playback.planning import MotionPlanner
from reward_learning_ros.arm.playback.time_law import Now, TimeLaw
from reward_learning_ros.arm.timing import MotionState
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface.plan import Plan

Array = NDArray[np.float64]

# After a halt the controller may hold where the arm was pushed to: it is given this long to blend
# to where the arm is measured to be.
_ANCHOR_SEC = 0.5
# An arm that moves faster than this, without being asked to, is no place to start from.
_RESTING_RAD_S = 0.15
# Configurations that are the same to any arm.
_SAME_RAD = 1e-4
# Nearer to its end than this a plan is not changed any more.
LAST_PARAMETER = 0.995


class PlaybackRefusedError(RewardLearningError):
    """Playback does not do what it is asked to; says why."""


class SetPointError(RewardLearningError):
    """A set-point leaves the limits; the controller was not told of it."""


@dataclass(frozen=True, kw_only=True)
class _Sent:
    """What the controller was told last.

    Attributes:
        motion: what was meant.
        braked: what was told: the same, but coming to rest at the end of the horizon.
    """

    motion: Motion
    braked: Motion


class Drive:
    """Goes from motion to motion without a jump, and keeps the controller told.

    Every command ends at rest.

    Attributes:
        motion: what the arm makes now, None if nobody was told of any.
        is_anchored: whether the controller surely holds, or moves, where it was told to.
        trusts_stamps: whether the controller's clock is known to agree with ours.
    """

    def __init__(
        self, config: PlaybackParameters, planner: MotionPlanner, clock: Callable[[], Now]
    ) -> None:
        self.motion: Motion | None = None
        self.is_anchored = False
        self.trusts_stamps = True
        self._config = config
        self._planner = planner
        self._clock = clock
        self._sent: _Sent | None = None

    def approach(self, joints_rad: Array, view: ArmView, now_sec: float) -> None:
        """Begin a slow move to a configuration, from where the controller holds or moves."""
        start_sec = now_sec + self._config.replan_lead_sec
        if self.motion is not None and self.is_anchored:
            start = self.motion.state(start_sec)
            is_there = np.abs(joints_rad - start.positions_rad).max() < _SAME_RAD
            if is_there and self.motion.rests(now_sec):
                return
        else:
            positions, velocities = view.positions_rad, view.velocities_rad_s
            assert positions is not None, 'guarded'
            assert velocities is not None, 'guarded'
            if np.abs(velocities).max() > _RESTING_RAD_S:
                raise PlaybackRefusedError('the arm is not at rest')
            start = MotionState(positions_rad=positions)
            start_sec = now_sec + _ANCHOR_SEC
        self.motion = self._planner.to_configuration(joints_rad, start, start_sec=start_sec)
        self.is_anchored = True

    def replace(self, plan: Plan, shift_m: Array, *, is_other: bool) -> bool:
        """Change the rest of the motion without a step in position, velocity or acceleration.

        Args:
            plan: along which it goes on.
            shift_m: (3,) by which the plan is shifted.
            is_other: whether it went along another plan so far.

        Returns:
            Whether it was changed; so near to its end it is not.
        """
        motion = self.motion
        assert motion is not None, 'something is being played'
        lead_sec = self._config.replan_lead_sec
        while lead_sec < self._config.horizon_sec:
            start_sec = self._clock().steady_sec + lead_sec
            parameter = motion.parameter(start_sec)
            if parameter >= LAST_PARAMETER:
                return False
            speed = (motion.parameter(start_sec + 1e-3) - parameter) / 1e-3
            trajectory = self._planner.rest(
                plan, shift_m, parameter, speed, motion.state(start_sec), is_other=is_other
            )
            if self._clock().steady_sec + self._config.lead_sec / 2 < start_sec:
                self.motion = Motion(
                    trajectory=trajectory,
                    law=TimeLaw(start_sec=start_sec),
                    start_parameter=parameter,
                )
                return True
            # Planning took longer than until the new motion was to begin: once more, later.
            lead_sec *= 1.7
        raise PlaybackRefusedError(
            f'planning takes longer than {self._config.horizon_sec:.2f} s on this machine'
        )

    def halt(self, now_sec: float) -> None:
        """Bring the motion to rest along its path, out of what the controller was told."""
        sent = self._sent
        if self.motion is None or sent is None:
            # Nobody was told of a motion yet.
            self.motion = None
            return
        begin_sec = now_sec + self._config.lead_sec
        if self.motion.trajectory is not sent.motion.trajectory:
            self.motion = sent.motion
        if sent.braked.law.start_sec < begin_sec:
            # What was told is already coming to rest.
            self.motion = sent.braked
        elif self.motion.law.target_rate != 0.0:
            self.motion = self.motion.ramped(begin_sec, 0.0, self._config.brake_sec)

    def shift_time(self, by_sec: float) -> None:
        """Keep the motion where it is although its clock was set anew, as in a simulation."""
        if self.motion is not None:
            self.motion = self.motion.shifted(by_sec)
        if self._sent is not None:
            self._sent = _Sent(
                motion=self._sent.motion.shifted(by_sec), braked=self._sent.braked.shifted(by_sec)
            )

    def command(self, now: Now) -> Command | None:
        """Return what to tell the controller now, if anything.

        Raises:
            SetPointError: a set-point leaves the limits. The controller is left with what it was
                told before, which ends at rest.
        """
        motion, sent = self.motion, self._sent
        if motion is None:
            return None
        if (
            sent is not None
            and sent.motion.trajectory is motion.trajectory
            and motion.rests(now.steady_sec - self._config.lead_sec)
        ):
            return None
        braked = motion
        if motion.law.target_rate != 0.0:
            braked = motion.ramped(
                now.steady_sec + self._config.horizon_sec, 0.0, self._config.brake_sec
            )
        command = braked.command(
            first_sec=now.steady_sec + self._config.lead_sec,
            now_sec=now.steady_sec,
            stamp_ns=now.ros_ns if self.trusts_stamps else 0,
        )
        violations = self._planner.violations(command)
        if violations:
            self.motion = None if sent is None else sent.braked
            self.is_anchored = False
            raise SetPointError(f'set-points leave the limits: {violations[0]}')
        self._sent = _Sent(motion=motion, braked=braked)
        return command
