"""The drive: the motion that the arm makes now, and what the controller was told of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.joint_trajectory import MotionState
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.motion import Command, Motion, Now
from reward_learning_ros.playback.motion_planning import MotionPlanner
from reward_learning_ros.playback.safety_checks import ArmView

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
class Departure:
    """State and time at which the next motion can begin.

    Attributes:
        state: in which it begins.
        start_sec: when.
        before: the motion that it takes over from; None if the arm stands.
    """

    state: MotionState
    start_sec: float
    before: Motion | None = None


class Drive:
    """Streams set-points to the controller, and goes from motion to motion without a jump.

    Every command ends at rest.

    Attributes:
        motion: what the arm makes now, None if nobody was told of any.
        is_anchored: whether the controller surely holds, or moves, where it was told to.
        trusts_stamps: whether the controller's clock is known to agree with ours.
    """

    def __init__(self, config: PlaybackParameters, planner: MotionPlanner) -> None:
        self.motion: Motion | None = None
        self.is_anchored = False
        self.trusts_stamps = True
        self._config = config
        self._planner = planner
        # What the controller was told last: the motion, but coming to rest after the horizon.
        self._braked: Motion | None = None

    def is_at(self, joints_rad: Array, now_sec: float) -> bool:
        """Tell whether the controller surely holds at a configuration (7,)."""
        motion = self.motion
        if motion is None or not self.is_anchored or not motion.rests(now_sec):
            return False
        distance = np.abs(joints_rad - motion.state(now_sec).positions_rad).max()
        return bool(distance < _SAME_RAD)

    def can_depart(self, view: ArmView) -> bool:
        """Tell whether a motion can begin where the arm is."""
        if self.motion is not None and self.is_anchored:
            return True
        velocities = view.velocities_rad_s
        assert velocities is not None, 'the safety checks need joints'
        return bool(np.abs(velocities).max() <= _RESTING_RAD_S)

    def departure(self, view: ArmView, now_sec: float, lead_sec: float) -> Departure:
        """Return where a motion to a configuration can begin.

        Args:
            view: where the arm is.
            now_sec: now.
            lead_sec: how far in the future, if the arm moves.

        Raises:
            PlaybackRefusedError: the arm moves without having been told to.
        """
        motion = self.motion
        if motion is not None and self.is_anchored:
            start_sec = max(now_sec + lead_sec, motion.take_over_sec)
            return Departure(
                state=motion.state(start_sec),
                start_sec=start_sec,
                before=None if motion.rests(now_sec) else motion,
            )
        if not self.can_depart(view):
            raise PlaybackRefusedError('the arm is not at rest')
        positions = view.positions_rad
        assert positions is not None, 'the safety checks need joints'
        return Departure(
            state=MotionState(positions_rad=positions), start_sec=now_sec + _ANCHOR_SEC
        )

    def yielding(self, joints_rad: Array, now_sec: float) -> Motion | None:
        """Return the quick motion of the set-point to a configuration; None if it cannot go there.

        Args:
            joints_rad: (7,) where somebody pushed the arm to.
            now_sec: now.
        """
        motion = self.motion
        if motion is None:
            return None
        start_sec = now_sec + self._config.lead_sec
        yielding = self._planner.yielding(joints_rad, motion.state(start_sec), start_sec=start_sec)
        return None if yielding is None else yielding.taking_over(motion, start_sec, now_sec)

    def halt(self, now_sec: float) -> None:
        """Bring the motion to rest along its path, out of what the controller was told."""
        motion, braked = self.motion, self._braked
        if motion is None or braked is None:
            return
        begin_sec = now_sec + self._config.lead_sec
        if braked.time_scaling.start_sec < begin_sec:
            # What was told is already coming to rest.
            self.motion = braked
        elif motion.time_scaling.target_rate != 0.0:
            self.motion = motion.ramped(begin_sec, 0.0, self._config.brake_sec)

    def abandon(self) -> None:
        """Tell the controller nothing more of the motion: the arm does not follow it."""
        self.motion = None
        self.is_anchored = False
        self._braked = None

    def shift_time(self, by_sec: float) -> None:
        """Keep the motion where it is although its clock was set, as in a simulation."""
        if self.motion is not None:
            self.motion = self.motion.shifted(by_sec)
        if self._braked is not None:
            self._braked = self._braked.shifted(by_sec)

    def command(self, now: Now, next_motion: Motion | None = None) -> Command | None:
        """Return what to tell the controller now, if anything.

        Args:
            now: the time.
            next_motion: what the arm makes from now on; None goes on with the motion of before.

        Raises:
            SetPointError: a set-point leaves the limits. The controller is left with what it was
                told before, which ends at rest.
        """
        motion = next_motion or self.motion
        if motion is None:
            return None
        if next_motion is None and motion.rests(now.steady_sec - self._config.lead_sec):
            return None
        braked = motion
        if motion.time_scaling.target_rate != 0.0:
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
            self.motion = self._braked
            self.is_anchored = False
            raise SetPointError(f'set-points leave the limits: {violations[0]}')
        if next_motion is not None:
            self.is_anchored = True
        self.motion, self._braked = motion, braked
        return command
