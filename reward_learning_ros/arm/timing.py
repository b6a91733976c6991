"""Timing of joint paths: smooth, inside the limits, from rest or out of a motion."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm.curve import (
    as_waypoints,
    curve_points,
    require_pose_count,
    time_fractions,
    usual_poses_per_segment,
)
from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.arm.joint_trajectory import (
    MAX_TIME_SCALING,
    PathTiming,
    require_recoverable,
)
from reward_learning_ros.arm.joint_trajectory import JointTrajectory as JointTrajectory
from reward_learning_ros.arm.joint_trajectory import MotionState as MotionState
from reward_learning_ros.arm.kinematics import (
    JointPath,
    Kinematics,
    Reason,
    UnreachablePlanError,
)
from reward_learning_ros.arm.limits import ArmLimits, Violation, check_set_points
from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]


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
    segments = len(waypoints) - 1
    steps = usual_poses_per_segment(segments) * segments
    require_pose_count(steps)
    parameter = np.linspace(0.0, 1.0, steps + 1)
    joints = curve_points(waypoints, parameter)
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
    max_time_scaling: float = MAX_TIME_SCALING,
) -> JointTrajectory:
    """Run along a path in a given time, or in the shortest longer time that the limits allow.

    The work is bounded: at most `MAX_CANDIDATES` motions are checked.

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
        max_time_scaling: slowing down by more than this factor is given up.

    Returns:
        The trajectory.

    Raises:
        LimitError: no slowing down brings the motion inside the limits.
    """
    if not 0.0 < duration_sec < np.inf:
        raise InvalidInputError(f'duration_sec is {duration_sec}; allowed: above 0')
    if not 1.0 <= max_time_scaling < np.inf:
        raise InvalidInputError(f'max_time_scaling is {max_time_scaling}; allowed: 1 or above')
    if start_speed is not None and not np.isfinite(start_speed):
        raise InvalidInputError(f'start_speed is {start_speed}; allowed: finite')
    if start is not None:
        require_recoverable(start, limits, kinematics)
    timing = PathTiming(
        path=path, limits=limits, kinematics=kinematics, start=start, start_speed=start_speed
    )
    course = timing.fastest(float(duration_sec), float(max_time_scaling))
    waypoints = np.linspace(0.0, 1.0, path.waypoint_count)
    fractions = time_fractions(waypoints, start_rate=course.start_rate)
    return JointTrajectory(
        requested_duration_sec=duration_sec,
        waypoint_times_sec=fractions * course.total_sec,
        _course=course,
    )


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
    max_time_scaling: float = MAX_TIME_SCALING,
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
        start_speed, max_time_scaling: as in `time_path`; the path is what is left of the curve.

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
        max_time_scaling=max_time_scaling,
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
    count = len(path.parameter)
    sample = bisect_left(range(count), True, key=lambda last: bool(check(slice(last + 1))))
    violation = check(slice(sample, sample + 1))[0]
    waypoint = float(path.parameter[sample]) * (path.waypoint_count - 1)
    raise UnreachablePlanError(
        waypoint=int(np.ceil(waypoint - 1e-9)),
        on_the_way=abs(waypoint - round(waypoint)) > 1e-9,
        position_m=path.tool_positions_m[sample],
        reason=Reason.JOINT_LIMIT if violation.joint else Reason.WORKSPACE,
        detail=f'{violation.what} is {violation.value:.3f}; '
        f'allowed: {violation.lower} to {violation.upper}',
        joint=violation.joint,
    )
