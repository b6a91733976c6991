"""Joint trajectories in time: smooth, inside the limits, from rest or out of a motion."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from reward_learning_ros.arm.curve import (
    LARGEST_START_RATE,
    as_waypoints,
    curve,
    progress,
    time_fractions,
)
from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.kinematics import (
    JointPath,
    Kinematics,
    Reason,
    UnreachablePlanError,
)
from reward_learning_ros.arm.limits import ArmLimits, LimitError, Violation, check_set_points
from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]

# Samples on which limits are checked, besides the knots of the path, where acceleration peaks:
# between two of them the motion changes by less than the margin below.
_CHECK_SAMPLES = 501
_CHECK_MARGIN = 0.005

# How long the difference between the arm's motion and the new path may take to vanish: the
# shortest that the limits allow is taken. A longer one would lead the tool far from the path.
_BLEND_TIMES_SEC = (0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.0, 3.0, 4.5)

# Slowing down by more than this is no longer the motion that was asked for.
SLOWEST_FACTOR = 50.0
_SLOWING_STEP = 1.15

# Motion below this is rest: a blend out of it would be invisible.
_AT_REST = 1e-9


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
        duration_sec: of the motion.
        requested_duration_sec: what was asked for; shorter if the limits demanded more.
        waypoint_times_sec: (n,) when the waypoints are met.
        blend_sec: time over which the difference to the motion before vanishes.
    """

    duration_sec: float
    requested_duration_sec: float
    waypoint_times_sec: Array
    blend_sec: float
    _path: CubicSpline = field(repr=False)
    _start_rate: float = field(repr=False)
    _blend: Array = field(repr=False)  # (6, 7) polynomial coefficients, highest power first

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
        along = progress(times / self.duration_sec, start_rate=self._start_rate)
        parameter = along.value[:, 0]
        rate = along.first / self.duration_sec  # (S, 1), 1/s
        rate_change = along.second / self.duration_sec**2
        slope = self._path(parameter, 1)
        positions = self._path(parameter)
        velocities = slope * rate
        accelerations = self._path(parameter, 2) * rate**2 + slope * rate_change
        if self.blend_sec > 0.0:
            early = np.flatnonzero(times < self.blend_sec)
            fraction = times[early, None] / self.blend_sec
            for order, values in enumerate((positions, velocities, accelerations)):
                values[early] += _polynomial(self._blend, fraction, order) / self.blend_sec**order
        return SetPoints(
            times_sec=times,
            positions_rad=positions,
            velocities_rad_s=velocities,
            accelerations_rad_s2=accelerations,
        )

    def parameter(self, times_sec: ArrayLike) -> Array:
        """Return how far along its path the motion is at times (S,), each in [0, 1]."""
        fractions = np.atleast_1d(np.asarray(times_sec, np.float64)) / self.duration_sec
        return progress(fractions, start_rate=self._start_rate).value[:, 0]

    def knot_times_sec(self) -> Array:
        """Return when the knots of the joint path are met: there its acceleration may peak."""
        fractions = time_fractions(self._path.x, start_rate=self._start_rate)
        return fractions * self.duration_sec

    def state(self, time_sec: float) -> MotionState:
        """Return the commanded state at a time, from which another motion may take over."""
        points = self.sample(time_sec)
        return MotionState(
            positions_rad=points.positions_rad[0],
            velocities_rad_s=points.velocities_rad_s[0],
            accelerations_rad_s2=points.accelerations_rad_s2[0],
        )


def joint_space_path(joints_rad: ArrayLike, kinematics: Kinematics) -> JointPath:
    """Make a path through waypoints that are given in joint space.

    Args:
        joints_rad: (n, 7).
        kinematics: of the arm.

    Returns:
        The path along the curve through them.
    """
    waypoints = as_waypoints(joints_rad)
    if waypoints.ndim != 2 or waypoints.shape[1] != JOINT_COUNT:
        raise InvalidInputError(f'joints_rad has shape {waypoints.shape}; allowed: (n, 7)')
    parameter = np.linspace(0.0, 1.0, 8 * (len(waypoints) - 1) + 1)
    joints = curve(waypoints, parameter).value
    return JointPath(
        parameter=parameter,
        joints_rad=joints,
        tool_positions_m=kinematics.tool_poses(joints)[0],
        waypoint_count=len(waypoints),
    )


def time_path(
    path: JointPath,
    *,
    duration_sec: float,
    limits: ArmLimits,
    kinematics: Kinematics,
    start: MotionState | None = None,
    start_speed: float | None = None,
    slowest_factor: float = SLOWEST_FACTOR,
) -> JointTrajectory:
    """Run along a path in a given time, or in the shortest longer time that the limits allow.

    Args:
        path: the joint path.
        duration_sec: the time asked for.
        limits: on joints and tool; the workspace is not checked here.
        kinematics: of the arm, for the tool's speed.
        start: what the arm is commanded at the start; None starts at rest on the path. The motion
            takes over position, velocity and acceleration without a step and joins the path.
        start_speed: in paths per second, at which progress along the path begins; by default the
            part of the start's velocity that points along it. Somebody who pushes the arm gives
            it a velocity, but no progress.
        slowest_factor: slowing down by more than this is given up.

    Returns:
        The trajectory.

    Raises:
        LimitError: no slowing down brings the motion inside the limits.
    """
    if not 0.0 < duration_sec < np.inf:
        raise InvalidInputError(f'duration_sec is {duration_sec}; allowed: above 0')
    spline = CubicSpline(path.parameter, path.joints_rad)
    longest_sec = slowest_factor * duration_sec
    total_sec = duration_sec
    violations: tuple[Violation, ...] = ()
    while total_sec <= longest_sec:
        demanded: list[float] = []
        for blend_sec in _BLEND_TIMES_SEC:
            trajectory = _assemble(
                path, spline, total_sec, duration_sec, start, start_speed, blend_sec
            )
            violations, factor = _check(trajectory, limits, kinematics)
            if not violations:
                return trajectory
            demanded.append(factor)
            if trajectory.blend_sec == 0.0 or blend_sec >= total_sec:
                break
        # Without a blend uniform slowing by the demanded factor suffices; a blend's own share
        # does not shrink with it, so there smaller steps feel their way.
        step = min(demanded) if len(demanded) == 1 else min(min(demanded), _SLOWING_STEP)
        total_sec *= max(step, 1.001)
    raise LimitError(violations)


def plan_motion(
    positions_m: ArrayLike,
    *,
    duration_sec: float,
    limits: ArmLimits,
    kinematics: Kinematics,
    rotations: ArrayLike | None = None,
    start: MotionState | None = None,
    start_parameter: float = 0.0,
    start_speed: float | None = None,
    slowest_factor: float = SLOWEST_FACTOR,
) -> JointTrajectory:
    """Turn a plan's tool waypoints into a joint trajectory.

    Args:
        positions_m: (n, 3) waypoints in the base frame.
        duration_sec: the time asked for.
        limits: on joints and tool.
        kinematics: of the arm.
        rotations: as in `Kinematics.follow`.
        start: as in `time_path`; its posture also guides inverse kinematics.
        start_parameter: where on the curve through the waypoints, in [0, 1), to begin.
        start_speed, slowest_factor: as in `time_path`; the path is what is left of the curve.

    Returns:
        The trajectory.

    Raises:
        UnreachablePlanError: the arm cannot follow, or the tool leaves the workspace.
        LimitError: no slowing down brings the motion inside the limits.
    """
    path = kinematics.follow(
        positions_m,
        rotations=rotations,
        start_joints_rad=None if start is None else start.positions_rad,
        start_parameter=start_parameter,
    )
    _require_inside(path, limits)
    return time_path(
        path,
        duration_sec=duration_sec,
        limits=limits,
        kinematics=kinematics,
        start=start,
        start_speed=start_speed,
        slowest_factor=slowest_factor,
    )


def plan_joint_motion(
    joints_rad: ArrayLike,
    *,
    duration_sec: float,
    limits: ArmLimits,
    kinematics: Kinematics,
    start: MotionState | None = None,
) -> JointTrajectory:
    """Turn waypoints in joint space into a joint trajectory, for moves to a start or to home.

    Args:
        joints_rad: (n, 7).
        duration_sec: the time asked for.
        limits: on joints and tool.
        kinematics: of the arm.
        start: as in `time_path`.

    Returns:
        The trajectory.

    Raises:
        UnreachablePlanError: a joint leaves its limits or the tool its workspace.
        LimitError: no slowing down brings the motion inside the limits.
    """
    path = joint_space_path(joints_rad, kinematics)
    _require_inside(path, limits)
    return time_path(
        path, duration_sec=duration_sec, limits=limits, kinematics=kinematics, start=start
    )


def _require_inside(path: JointPath, limits: ArmLimits) -> None:
    """Refuse a path that leaves the joint limits or the workspace, naming where it first does."""

    def check(samples: slice) -> tuple[Violation, ...]:
        return check_set_points(
            limits,
            times_sec=path.parameter[samples],
            positions_rad=path.joints_rad[samples],
            tool_positions_m=path.tool_positions_m[samples],
        )

    if not check(slice(None)):
        return
    sample = next(i for i in range(len(path.parameter)) if check(slice(i, i + 1)))
    violation = check(slice(sample, sample + 1))[0]
    waypoint = float(path.parameter[sample]) * (path.waypoint_count - 1)
    of_tool = violation.what.startswith('tool')
    raise UnreachablePlanError(
        waypoint=int(np.ceil(waypoint - 1e-9)),
        on_the_way=abs(waypoint - round(waypoint)) > 1e-9,
        position_m=path.tool_positions_m[sample],
        reason=Reason.WORKSPACE if of_tool else Reason.JOINT_LIMIT,
        detail=f'{violation.what} is {violation.value:.3f}; '
        f'allowed: {violation.lower} to {violation.upper}',
        joint=None if of_tool else violation.what,
    )


def _assemble(
    path: JointPath,
    spline: CubicSpline,
    total_sec: float,
    requested_sec: float,
    start: MotionState | None,
    start_speed: float | None,
    blend_sec: float,
) -> JointTrajectory:
    """Build the trajectory of one duration and one blend time, not yet checked."""
    start_rate = 0.0
    blend = np.zeros((6, JOINT_COUNT))
    blend_sec = min(blend_sec, total_sec)
    if start is None:
        blend_sec = 0.0
    else:
        slope, bend = spline(0.0, 1), spline(0.0, 2)
        # What of the present velocity is not progress along the path fades.
        if start_speed is None:
            start_speed = float(start.velocities_rad_s @ slope) / max(float(slope @ slope), 1e-12)
        start_rate = min(max(start_speed, 0.0) * total_sec, 0.3 * LARGEST_START_RATE)
        rate = start_rate / total_sec
        offset = start.positions_rad - spline(0.0)
        offset_velocity = start.velocities_rad_s - slope * rate
        offset_acceleration = start.accelerations_rad_s2 - bend * rate**2
        largest = max(
            float(np.abs(part).max()) for part in (offset, offset_velocity, offset_acceleration)
        )
        if largest < _AT_REST:
            blend_sec = 0.0
        else:
            blend = _fade_out(
                offset, offset_velocity * blend_sec, offset_acceleration * blend_sec**2
            )
    waypoints = np.linspace(0.0, 1.0, path.waypoint_count)
    fractions = time_fractions(waypoints, start_rate=start_rate)
    return JointTrajectory(
        duration_sec=total_sec,
        requested_duration_sec=requested_sec,
        waypoint_times_sec=fractions * total_sec,
        blend_sec=blend_sec,
        _path=spline,
        _start_rate=start_rate,
        _blend=blend,
    )


def _check(
    trajectory: JointTrajectory, limits: ArmLimits, kinematics: Kinematics
) -> tuple[tuple[Violation, ...], float]:
    """Return the violations, and the factor by which uniform slowing would end them."""
    times = np.union1d(
        np.linspace(0.0, trajectory.duration_sec, _CHECK_SAMPLES), trajectory.knot_times_sec()
    )
    if trajectory.blend_sec > 0.0:
        times = np.union1d(times, np.linspace(0.0, trajectory.blend_sec, 101))
    points = trajectory.sample(times)
    jerks = (
        np.diff(points.accelerations_rad_s2, axis=0) / np.maximum(np.diff(times), 1e-6)[:, None]
    )
    tool_velocities, tool_accelerations = _tool_motion(points, kinematics)
    allowed = 1.0 + _CHECK_MARGIN
    violations = check_set_points(
        limits,
        times_sec=times,
        positions_rad=points.positions_rad,
        velocities_rad_s=points.velocities_rad_s * allowed,
        accelerations_rad_s2=points.accelerations_rad_s2 * allowed,
        jerks_rad_s3=np.vstack([jerks, jerks[-1]]) * allowed,
        tool_speeds_m_s=tool_velocities * allowed,
        tool_accelerations_m_s2=tool_accelerations * allowed,
    )
    powers = {'position': np.inf, 'velocity': 1.0, 'speed': 1.0, 'acceleration': 2.0, 'jerk': 3.0}
    factor = max(
        (
            (abs(violation.value) / violation.upper) ** (1.0 / powers[violation.quantity])
            for violation in violations
        ),
        default=1.0,
    )
    return violations, factor * 1.0005


def _tool_motion(points: SetPoints, kinematics: Kinematics) -> tuple[Array, Array]:
    """Speed and magnitude of acceleration of the tool, (S,) each, by differences in time."""
    step = 1e-4
    before, here, after = (
        kinematics.tool_poses(
            points.positions_rad
            + sign * step * points.velocities_rad_s
            + 0.5 * step**2 * points.accelerations_rad_s2 * abs(sign)
        )[0]
        for sign in (-1.0, 0.0, 1.0)
    )
    speeds = np.linalg.norm(after - before, axis=1) / (2 * step)
    accelerations = np.linalg.norm(after - 2 * here + before, axis=1) / step**2
    return speeds, accelerations


def _fade_out(offset: Array, slope: Array, bend: Array) -> Array:
    """Quintic over [0, 1] from (offset, slope, bend) to all zero; (6, 7), highest power first."""
    return np.stack(
        [
            -6 * offset - 3 * slope - 0.5 * bend,
            15 * offset + 8 * slope + 1.5 * bend,
            -10 * offset - 6 * slope - 1.5 * bend,
            0.5 * bend,
            slope,
            offset,
        ]
    )


def _polynomial(coefficients: Array, at: Array, order: int) -> Array:
    """Evaluate a derivative of polynomials (6, 7) at (S, 1) → (S, 7)."""
    result = np.zeros((len(at), coefficients.shape[1]))
    degree = len(coefficients) - 1
    for index, coefficient in enumerate(coefficients):
        power = degree - index
        if power < order:
            break
        factor = 1.0
        for k in range(order):
            factor *= power - k
        result += factor * coefficient * at ** (power - order)
    return result
