"""A joint trajectory in time, and the states that one motion hands over to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from reward_learning_ros.arm import timing_kernels as kernels
from reward_learning_ros.arm.curve import progress
from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.kinematics import JointPath, Kinematics
from reward_learning_ros.arm.limits import (
    RELATIVE_TOLERANCE,
    ArmLimits,
    LimitError,
    Violation,
    check_braking,
    check_set_points,
)
from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MotionState:
    """Where the commanded joints are and how they move, each (7,)."""

    positions_rad: Array
    velocities_rad_s: Array = field(default_factory=lambda: np.zeros(JOINT_COUNT))
    accelerations_rad_s2: Array = field(default_factory=lambda: np.zeros(JOINT_COUNT))

    def __post_init__(self) -> None:
        for name in ('positions_rad', 'velocities_rad_s', 'accelerations_rad_s2'):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (JOINT_COUNT,) or not np.isfinite(array).all():
                raise InvalidInputError(f'{name} is {array}; allowed: {JOINT_COUNT} finite values')
            array.setflags(write=False)
            object.__setattr__(self, name, array)


@dataclass(frozen=True, kw_only=True)
class SetPoints:
    """Sampled set-points: times (S,), the rest (S, 7)."""

    times_sec: Array
    positions_rad: Array
    velocities_rad_s: Array
    accelerations_rad_s2: Array


@dataclass(frozen=True, kw_only=True)
class JointTrajectory:
    """A motion along a joint path that ends at rest; continuous up to its acceleration.

    Attributes:
        requested_duration_sec: what was asked for; shorter if the limits demanded more.
        waypoint_times_sec: (n,) when the waypoints are met.
    """

    requested_duration_sec: float
    waypoint_times_sec: Array
    _course: kernels.Course = field(repr=False)

    @classmethod
    def settling(
        cls, start: MotionState, joints_rad: Array, duration_sec: float
    ) -> JointTrajectory:
        """Go from a state to rest at a configuration (7,), each joint by a quintic.

        No limit is looked at.
        """
        offset = np.stack(
            [
                start.positions_rad - joints_rad,
                start.velocities_rad_s,
                start.accelerations_rad_s2,
            ]
        )
        coefficients = np.zeros((4, 1, JOINT_COUNT))
        coefficients[3, 0] = joints_rad
        fade = np.empty((6, JOINT_COUNT))
        kernels.fade_out(offset, duration_sec, fade)
        return cls(
            requested_duration_sec=duration_sec,
            waypoint_times_sec=np.array([0.0, duration_sec]),
            _course=kernels.Course(
                knots=np.array([0.0, 1.0]),
                coefficients=coefficients,
                total_sec=duration_sec,
                start_rate=0.0,
                blend_sec=duration_sec,
                fade=fade,
            ),
        )

    @property
    def duration_sec(self) -> float:
        """How long the motion takes."""
        return self._course.total_sec

    @property
    def blend_sec(self) -> float:
        """Time over which the difference to the motion before vanishes."""
        return self._course.blend_sec

    @property
    def slowed(self) -> bool:
        """Whether the motion takes longer than was asked for."""
        return self.duration_sec > self.requested_duration_sec

    def __str__(self) -> str:
        text = f'{self.duration_sec:.2f} s'
        if self.slowed:
            text += f' ({self.requested_duration_sec:.2f} s asked for; the limits demand more)'
        return text

    def sample(self, times_sec: ArrayLike) -> SetPoints:
        """Compute set-points.

        Args:
            times_sec: (S,) from the start; before it the motion stands at its start, after its
                end at its end.

        Returns:
            The set-points.
        """
        times = np.clip(np.atleast_1d(np.asarray(times_sec, np.float64)), 0.0, self.duration_sec)
        points = np.empty((len(times), 4, JOINT_COUNT))
        kernels.set_points(self._course, times, points)
        return SetPoints(
            times_sec=times,
            positions_rad=points[:, kernels.POSITION].copy(),
            velocities_rad_s=points[:, kernels.VELOCITY].copy(),
            accelerations_rad_s2=points[:, kernels.ACCELERATION].copy(),
        )

    def parameter(self, times_sec: ArrayLike) -> Array:
        """Return how far along its path the motion is at times (S,), each in [0, 1]."""
        fractions = np.atleast_1d(np.asarray(times_sec, np.float64)) / self.duration_sec
        return progress(fractions, start_rate=self._course.start_rate).value[:, 0]

    def state(self, time_sec: float) -> MotionState:
        """Return the commanded state at a time, from which another motion may take over."""
        points = self.sample(time_sec)
        return MotionState(
            positions_rad=points.positions_rad[0],
            velocities_rad_s=points.velocities_rad_s[0],
            accelerations_rad_s2=points.accelerations_rad_s2[0],
        )


# Between two samples of the check the motion changes by less than this share of a limit.
_CHECK_MARGIN = 0.005

# How long the difference between the arm's motion and the new path may take to vanish: the
# shortest that the limits allow is taken. A longer one would lead the tool far from the path.
BLEND_TIMES_SEC = (0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.0, 3.0, 4.5)

# A time scaling by more than this is no longer the motion that was asked for.
MAX_TIME_SCALING = 50.0

# Out of a motion, time scalings are tried in steps of this factor, but not more of them than lead
# to the default maximum; then the last step is halved so often, to a thousandth.
_SCALING_STEP = 1.05
_MAX_SCALING_STEPS = math.ceil(math.log(MAX_TIME_SCALING) / math.log(_SCALING_STEP))
_BISECTIONS = 5

# Candidates that one call checks at most, whatever it is given.
MAX_CANDIDATES = (_MAX_SCALING_STEPS + 1 + _BISECTIONS) * len(BLEND_TIMES_SEC)

# From rest the demanded scaling is known from one check; a second one confirms it, up to rounding.
_MAX_RESCALINGS = 3
_ROUNDING = 1.0005


def require_recoverable(start: MotionState, limits: ArmLimits, kinematics: Kinematics) -> None:
    """Refuse a state that is outside the limits, or from which no motion stays inside.

    Raises:
        LimitError: says which joint, and where it could stop at the earliest.
    """
    point = np.zeros((1, 4, JOINT_COUNT))
    point[0, kernels.POSITION] = start.positions_rad
    point[0, kernels.VELOCITY] = start.velocities_rad_s
    point[0, kernels.ACCELERATION] = start.accelerations_rad_s2
    violations = _check(np.zeros(1), point, limits, kinematics) or check_braking(
        limits,
        positions_rad=start.positions_rad,
        velocities_rad_s=start.velocities_rad_s,
        accelerations_rad_s2=start.accelerations_rad_s2,
    )
    if violations:
        raise LimitError(violations)


@dataclass(kw_only=True)
class PathTiming:
    """The motions along one path, and which of them stay inside the limits.

    Attributes:
        path: the joint path.
        limits: on joints and tool.
        kinematics: of the arm.
        start: the state that a motion takes over; None starts at rest on the path.
        start_speed: at which progress along the path begins, 1/s; None for what of the start's
            velocity points along it.
    """

    path: JointPath
    limits: ArmLimits
    kinematics: Kinematics
    start: MotionState | None
    start_speed: float | None = None
    _rest: kernels.Course = field(init=False)
    _bounds: kernels.Bounds = field(init=False)
    _start: Array = field(init=False)  # (3, 7)
    _start_speed: float = field(init=False)
    _hints: NDArray[np.int64] = field(init=False)  # of `first_blend_inside`
    _fractions: tuple[float, Array] = field(init=False)  # start rate, and when knots are met

    def __post_init__(self) -> None:
        spline = CubicSpline(self.path.parameter, self.path.joints_rad)
        self._rest = kernels.Course(
            knots=np.array(spline.x),
            coefficients=np.ascontiguousarray(spline.c),
            total_sec=1.0,
            start_rate=0.0,
            blend_sec=0.0,
            fade=np.zeros((6, JOINT_COUNT)),
        )
        self._bounds = _bounds(self.limits)
        self._hints = np.zeros(len(BLEND_TIMES_SEC), dtype=np.int64)
        self._fractions = (math.nan, np.empty(0))
        if self.start is None:
            return
        self._start = np.stack(
            [
                self.start.positions_rad,
                self.start.velocities_rad_s,
                self.start.accelerations_rad_s2,
            ]
        )
        slope = self._rest.coefficients[2, 0]
        along = float(self.start.velocities_rad_s @ slope) / max(float(slope @ slope), 1e-12)
        self._start_speed = along if self.start_speed is None else float(self.start_speed)

    def fastest(self, duration_sec: float, max_time_scaling: float) -> kernels.Course:
        """Return the fastest motion inside the limits that is not faster than asked for.

        Raises:
            LimitError: none is, up to the largest time scaling.
        """
        search = self._from_rest if self.start is None else self._out_of_motion
        course = search(duration_sec, max_time_scaling)
        if course is None:
            raise LimitError(self._violations(max_time_scaling * duration_sec))
        return course

    def _from_rest(self, duration_sec: float, max_time_scaling: float) -> kernels.Course | None:
        """Return the fastest motion inside the limits: uniform slowing by what they demand."""
        scaling = 1.0
        for _ in range(_MAX_RESCALINGS):
            course = self._rest._replace(total_sec=scaling * duration_sec)
            demanded = self._demand(course)
            if demanded <= 1.0:
                return course
            scaling *= demanded * _ROUNDING
            if scaling > max_time_scaling:
                break
        return None

    def _out_of_motion(
        self, duration_sec: float, max_time_scaling: float
    ) -> kernels.Course | None:
        """Return the fastest motion inside the limits with the shortest blend.

        The blend's own share of velocity and acceleration does not shrink with slowing, so there
        is no formula for the demanded scaling, and steps feel their way.
        """
        steps = math.ceil(math.log(max_time_scaling) / math.log(_SCALING_STEP))
        too_fast, found = 0.0, None
        for scaling in np.geomspace(1.0, max_time_scaling, min(steps, _MAX_SCALING_STEPS) + 1):
            found = self._blended(scaling * duration_sec)
            if found is not None:
                break
            too_fast = scaling
        if found is None or too_fast == 0.0:
            return found
        for _ in range(_BISECTIONS):
            middle = math.sqrt(too_fast * scaling)
            faster = self._blended(middle * duration_sec)
            if faster is None:
                too_fast = middle
            else:
                scaling, found = middle, faster
        return found

    def _violations(self, total_sec: float) -> tuple[Violation, ...]:
        """Return how the motion of a duration leaves the limits, with the best blend."""
        courses = [self._rest._replace(total_sec=total_sec)]
        if self.start is not None:
            course, offset = self._joining(total_sec)
            courses = [
                _with_blend(course, offset, blend_sec) for blend_sec in _blend_times(total_sec)
            ]
        course = min(courses, key=self._demand)
        fractions = self._knot_fractions(course.start_rate)
        # The jerk has a step at a knot: both sides count.
        both_sides = np.concatenate([fractions - 1e-6, fractions + 1e-6])
        times = np.union1d(np.linspace(0.0, 1.0, kernels.MOTION_STEPS + 1), both_sides) * total_sec
        # Ten times as fine as the check, which follows a joint to where it turns round.
        blend = np.linspace(0.0, course.blend_sec, 10 * kernels.BLEND_STEPS + 1)
        times = np.clip(np.union1d(times, blend), 0.0, total_sec)
        points = np.empty((len(times), 4, JOINT_COUNT))
        kernels.set_points(course, times, points)
        return _check(times, points, self.limits, self.kinematics)

    def _joining(self, total_sec: float) -> tuple[kernels.Course, Array]:
        """Return the motion along the path alone, and the offset (3, 7) of the start from it."""
        offset = np.empty((3, JOINT_COUNT))
        start_rate = kernels.start_offset(
            self._rest.coefficients, self._start, self._start_speed, total_sec, offset
        )
        return self._rest._replace(total_sec=total_sec, start_rate=start_rate), offset

    def _blended(self, total_sec: float) -> kernels.Course | None:
        """Return the motion of a duration with the shortest blend inside the limits, if any is."""
        course, offset = self._joining(total_sec)
        if not offset.any():
            return course if self._demand(course) <= 1.0 else None
        blend_times = _blend_times(total_sec)
        index = kernels.first_blend_inside(
            course,
            offset,
            blend_times,
            self._knot_fractions(course.start_rate),
            self.kinematics.chain,
            self._bounds,
            self._hints,
        )
        return None if index < 0 else _with_blend(course, offset, float(blend_times[index]))

    def _demand(self, course: kernels.Course) -> float:
        fractions = self._knot_fractions(course.start_rate)
        demanded, _ = kernels.demanded_scaling(
            course, fractions, self.kinematics.chain, self._bounds, 0, False
        )
        return float(demanded)

    def _knot_fractions(self, start_rate: float) -> Array:
        if self._fractions[0] != start_rate:
            fractions = np.empty(len(self._rest.knots))
            kernels.find_fractions(self._rest.knots, start_rate, fractions)
            self._fractions = (start_rate, fractions)
        return self._fractions[1]


def _blend_times(total_sec: float) -> Array:
    """Return the blend times that a motion may have: all shorter than it, and its own."""
    times = np.array(BLEND_TIMES_SEC)
    count = int(np.count_nonzero(times < total_sec))
    return np.minimum(times[: count + 1], total_sec)


def _with_blend(course: kernels.Course, offset: Array, blend_sec: float) -> kernels.Course:
    fade = np.empty((6, JOINT_COUNT))
    kernels.fade_out(offset, blend_sec, fade)
    return course._replace(blend_sec=blend_sec, fade=fade)


def _bounds(limits: ArmLimits) -> kernels.Bounds:
    """Return what the compiled check compares with: the limits less the margin."""
    size = np.maximum(np.abs(limits.position_lower_rad), np.abs(limits.position_upper_rad))
    share = (1.0 + RELATIVE_TOLERANCE) / (1.0 + _CHECK_MARGIN)
    return kernels.Bounds(
        lower_rad=limits.position_lower_rad - RELATIVE_TOLERANCE * size,
        upper_rad=limits.position_upper_rad + RELATIVE_TOLERANCE * size,
        max_velocity_rad_s=limits.velocity_rad_s * share,
        max_acceleration_rad_s2=limits.acceleration_rad_s2 * share,
        max_jerk_rad_s3=limits.jerk_rad_s3 * share,
        max_tool_speed_m_s=limits.tool_speed_m_s * share,
        max_tool_acceleration_m_s2=limits.tool_acceleration_m_s2 * share,
    )


def _check(
    times_sec: Array, points: Array, limits: ArmLimits, kinematics: Kinematics
) -> tuple[Violation, ...]:
    """Say in words what the compiled check found, at times (S,) with set-points (S, 4, 7)."""
    speeds, accelerations = np.empty(len(points)), np.empty(len(points))
    kernels.tool_motions(kinematics.chain, points, speeds, accelerations)
    allowed = 1.0 + _CHECK_MARGIN
    return check_set_points(
        limits,
        times_sec=times_sec,
        positions_rad=points[:, kernels.POSITION],
        velocities_rad_s=points[:, kernels.VELOCITY] * allowed,
        accelerations_rad_s2=points[:, kernels.ACCELERATION] * allowed,
        jerks_rad_s3=points[:, kernels.JERK] * allowed,
        tool_speeds_m_s=speeds * allowed,
        tool_accelerations_m_s2=accelerations * allowed,
    )
