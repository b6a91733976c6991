"""The motions that playback makes: along a plan, and slowly to a configuration."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.curve import RAMP_FRACTION
from reward_learning_ros.arm.description import franka_arm
from reward_learning_ros.arm.joint_trajectory import JointTrajectory, MotionState, SetPoints
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.limits import (
    JOINT_ACCELERATION_RAD_S2,
    ArmLimits,
    Violation,
    WorkspaceBox,
    check_set_points,
)
from reward_learning_ros.arm.timing import plan_joint_motion, plan_motion, time_path
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.motion import Command, Motion, PlannedPath, TimeScaling

Array = NDArray[np.float64]

_MIN_APPROACH_SEC = 1.0
# So near to the edge of the workspace a plan is shifted, and no nearer.
_EDGE_M = 0.01
# The rest of a plan takes at least this long, so that its end has time to slow down in.
_MIN_REST_SEC = 0.3
# While the arm moves, it does not slow down by more than this. But however little is left of a
# plan, another one may be far away: to join it, so much time may be taken.
_MAX_REST_SCALING = 4.0
_MAX_JOIN_SEC = 10.0
# How long the set-point may take to where somebody pushed the arm: the shortest inside the limits.
_SETTLING_SEC = (0.2, 0.3, 0.45, 0.7, 1.0, 1.5)
_CHECK_SPACING_SEC = 0.02


@dataclass(frozen=True, kw_only=True)
class MotionPlanner:
    """Plans motions inside the arm's limits, and checks commands against them.

    Attributes:
        config: of playback.
        kinematics: of the arm.
        limits: that motions are planned in.
        command_limits: that every set-point is checked against: the same, but for accelerations,
            where a halt on the way needs what the arm itself allows.
    """

    config: PlaybackParameters
    kinematics: Kinematics = field(init=False)
    limits: ArmLimits = field(init=False)
    command_limits: ArmLimits = field(init=False)

    def __post_init__(self) -> None:
        description = franka_arm(prefix=self.config.prefix, hand=self.config.hand)
        workspace = WorkspaceBox(
            lower_m=_corner(self.config.workspace_lower_m),
            upper_m=_corner(self.config.workspace_upper_m),
        )
        limits = ArmLimits.of(
            description, speed_scale=self.config.speed_scale, workspace=workspace
        )
        object.__setattr__(self, 'kinematics', Kinematics(description=description))
        object.__setattr__(self, 'limits', limits)
        object.__setattr__(
            self,
            'command_limits',
            replace(
                limits,
                acceleration_rad_s2=np.full(
                    len(limits.acceleration_rad_s2), JOINT_ACCELERATION_RAD_S2
                ),
            ),
        )

        self._warm_up()

    @property
    def home_rad(self) -> Array:
        """The configuration at home, (7,)."""
        return np.array(self.kinematics.description.home_rad)

    def whole(self, plan: Plan) -> PlannedPath:
        """Plan the motion along a plan, from rest.

        Raises:
            InvalidInputError: the plan is in another frame or has a single pose.
            UnreachablePlanError: the arm cannot follow; says at which waypoint and why.
            LimitError: no slowing down brings the motion inside the limits.
        """
        base = self.kinematics.description.base_frame
        if plan.frame_id != base:
            raise InvalidInputError(f'the plan is in frame {plan.frame_id}; allowed: {base}')
        if len(plan.positions) < 2:
            raise InvalidInputError('the plan has a single pose; allowed: two or more')
        whole = self._along(plan, plan.positions, plan.duration_sec, None, 0.0)
        return PlannedPath(plan=plan, whole=whole)

    def joining(
        self, motion: Motion, path: PlannedPath, *, start_sec: float, now_sec: float
    ) -> Motion:
        """Plan the rest of a plan, out of a motion along another one, or along another shift.

        Args:
            motion: along a plan, and not at its end at the start.
            path: along which it goes on.
            start_sec: when it takes over, without a step in position, velocity or acceleration.
            now_sec: now.

        Raises:
            UnreachablePlanError, LimitError: as in `whole`.
        """
        parameter = motion.parameter(start_sec)
        speed = (motion.parameter(start_sec + 1e-3) - parameter) / 1e-3
        made = motion.at(start_sec).path
        is_other = made is None or made.plan is not path.plan
        trajectory = self._rest(path, parameter, speed, motion.state(start_sec), is_other=is_other)
        joined = Motion(
            trajectory=trajectory,
            time_scaling=TimeScaling(start_sec=start_sec),
            path=path,
            start_parameter=parameter,
        )
        return joined.taking_over(motion, start_sec, now_sec)

    def standing(self, path: PlannedPath, parameter: float, *, now_sec: float) -> Motion:
        """Plan the rest of a plan from rest, and let its time stand still.

        Args:
            path: the plan.
            parameter: where on its curve to begin, below 1.
            now_sec: now.

        Raises:
            UnreachablePlanError, LimitError: as in `whole`.
        """
        trajectory = path.whole if parameter == 0.0 else self._rest(path, parameter, 0.0, None)
        return Motion(
            trajectory=trajectory,
            time_scaling=TimeScaling.halted(now_sec, 0.0),
            path=path,
            start_parameter=parameter,
        )

    def _rest(
        self,
        path: PlannedPath,
        parameter: float,
        speed: float,
        start: MotionState | None,
        *,
        is_other: bool = False,
    ) -> JointTrajectory:
        """Plan the rest of a plan.

        Args:
            path: the plan.
            parameter: where on its curve to begin, below 1.
            speed: along the curve at the start, 1/s.
            start: the commanded state at the start; None starts at rest on the curve.
            is_other: whether the motion was along another plan.
        """
        left = 1.0 - parameter
        # The rest goes at the speed that the whole has between its ramps. With c that speed and v
        # the one at the start, both per rest of the curve, and r the share of a ramp:
        # T = 1 / ((1 - r) c + r v / 2), as in `curve.progress`.
        cruise = 1.0 / (path.plan.duration_sec * (1.0 - RAMP_FRACTION)) / left
        duration = 1.0 / ((1.0 - RAMP_FRACTION) * cruise + RAMP_FRACTION / 2 * speed / left)
        duration = max(duration, _MIN_REST_SEC)
        join_scaling = _MAX_JOIN_SEC / duration if is_other else 0.0
        return self._along(
            path.plan,
            self._shifted(path),
            duration,
            start,
            parameter,
            start_speed=speed / left,
            max_time_scaling=max(_MAX_REST_SCALING, join_scaling),
        )

    def _shifted(self, path: PlannedPath) -> Array:
        """Return where the waypoints (n, 3) are shifted to, those of the rest at most to the edge.

        A person who pushes the arm down here does not mean it to hit the table later.
        """
        planned_m = path.plan.positions
        if not path.shift_m.any():
            return planned_m
        lower_m = np.array(self.config.workspace_lower_m) + _EDGE_M
        upper_m = np.array(self.config.workspace_upper_m) - _EDGE_M
        # A plan that is nearer to the edge itself stays where it is.
        return np.clip(
            planned_m + path.shift_m,
            np.minimum(lower_m, planned_m),
            np.maximum(upper_m, planned_m),
        )

    def to_configuration(
        self, joints_rad: Array, start: MotionState, *, start_sec: float
    ) -> Motion:
        """Plan a slow move to a configuration.

        Raises:
            UnreachablePlanError: on the way a joint leaves its limits or the tool its workspace.
            LimitError: no slowing down brings the motion inside the limits.
        """
        distance = float(np.abs(joints_rad - start.positions_rad).max())
        duration = max(distance / self.config.approach_speed_rad_s, _MIN_APPROACH_SEC)
        trajectory = plan_joint_motion(
            np.stack([start.positions_rad, joints_rad]),
            duration_sec=duration,
            limits=self.limits,
            kinematics=self.kinematics,
            start=start,
        )
        return Motion(trajectory=trajectory, time_scaling=TimeScaling(start_sec=start_sec))

    def yielding(
        self, joints_rad: Array, start: MotionState, *, start_sec: float
    ) -> Motion | None:
        """Bring the set-point quickly to a configuration; None if it cannot go there.

        The work is that of a few checks: it may be done in the command loop.
        """
        for duration_sec in _SETTLING_SEC:
            trajectory = JointTrajectory.settling(start, joints_rad, duration_sec)
            count = round(duration_sec / _CHECK_SPACING_SEC) + 1
            if not self.violations(trajectory.sample(np.linspace(0.0, duration_sec, count))):
                return Motion(trajectory=trajectory, time_scaling=TimeScaling(start_sec=start_sec))
        return None

    def violations(self, points: Command | SetPoints) -> tuple[Violation, ...]:
        """Return which limits set-points break."""
        finite = np.isfinite(points.positions_rad).all()
        return check_set_points(
            self.command_limits,
            times_sec=points.times_sec,
            positions_rad=points.positions_rad,
            velocities_rad_s=points.velocities_rad_s,
            accelerations_rad_s2=points.accelerations_rad_s2,
            tool_positions_m=self.kinematics.tool_poses(points.positions_rad)[0]
            if finite
            else None,
        )

    def _warm_up(self) -> None:
        """Load or compile what would otherwise make the first motion wait for seconds."""
        tool, rotation = self.kinematics.tool_poses(self.home_rad)
        path = self.kinematics.follow(np.stack([tool, tool]), rotations=rotation)
        for start in (None, MotionState(positions_rad=self.home_rad + 1e-3)):
            time_path(
                path, duration_sec=1.0, limits=self.limits, kinematics=self.kinematics, start=start
            ).state(0.0)

    def _along(
        self,
        plan: Plan,
        positions_m: Array,
        duration_sec: float,
        start: MotionState | None,
        parameter: float,
        **timing: float,
    ) -> JointTrajectory:
        return plan_motion(
            positions_m,
            duration_sec=duration_sec,
            limits=self.limits,
            kinematics=self.kinematics,
            rotations=Rotation.from_quat(plan.orientations).as_matrix(),
            start=start,
            start_parameter=parameter,
            **timing,
        )


def _corner(values: tuple[float, ...]) -> tuple[float, float, float]:
    x, y, z = values
    return (x, y, z)


T = TypeVar('T')


class PlanningTimeoutError(RewardLearningError):
    """Planning a motion took too long."""

    def __init__(self, max_sec: float) -> None:
        super().__init__(f'planning takes longer than {max_sec:.1f} s on this machine')


class SynchronousExecutor(Executor):
    """Does the work at once, in the thread of the caller: for simulations in lockstep."""

    def submit(self, function: Callable[..., T], /, *arguments: Any, **options: Any) -> Future[T]:
        """Return the result of a function, or its exception, as a future that is done."""
        future: Future[T] = Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as error:  # kept for whoever takes the result, as every executor does
            future.set_exception(error)
        return future


class PlanningSlot(Generic[T]):
    """Runs one planning job at a time in an executor, within a time limit."""

    def __init__(self, executor: Executor, *, max_sec: float) -> None:
        """Begin empty.

        Args:
            executor: does the work; one that does it later keeps its order.
            max_sec: work that takes longer is given up.
        """
        self._executor = executor
        self._max_sec = max_sec
        self._future: Future[T] | None = None
        self._begin_sec = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether there is work whose result was not taken."""
        return self._future is not None

    def submit(self, work: Callable[[], T], now_sec: float) -> None:
        """Hand over work; the result of what was handed over before is not wanted any more."""
        self.drop()
        self._future = self._executor.submit(work)
        self._begin_sec = now_sec

    def drop(self) -> None:
        """Give up the work."""
        if self._future is not None:
            self._future.cancel()
            self._future = None

    def take(self, now_sec: float) -> T | None:
        """Return the result, None if there is none yet.

        Raises:
            PlanningTimeoutError: the work takes too long.
            RewardLearningError: what the work raised.
        """
        future = self._future
        if future is None:
            return None
        if future.done():
            self._future = None
            return future.result()
        # Time may run back, as in a simulation that begins again.
        if abs(now_sec - self._begin_sec) > self._max_sec:
            self.drop()
            raise PlanningTimeoutError(self._max_sec)
        return None
