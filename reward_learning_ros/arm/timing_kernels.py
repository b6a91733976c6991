"""Compiled set-points of a joint trajectory, and the check of all of them against the limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.curve import MAX_START_RATE, RAMP_FRACTION
from reward_learning_ros.arm.kinematics_kernels import JOINTS
from reward_learning_ros.core.kernel_cache import njit

Array = NDArray[np.float64]

_Function = TypeVar('_Function', bound=Callable[..., Any])
_compiled: Callable[[_Function], _Function] = njit(cache=True, nogil=True, error_model='numpy')

# Rows of a set-point.
POSITION, VELOCITY, ACCELERATION, JERK = 0, 1, 2, 3

# The limits are checked at so many even steps of the motion and again of the blend, and at the
# knots of the path, where acceleration peaks.
MOTION_STEPS = 500
BLEND_STEPS = 100

# A progress that begins faster would have to slow down hard in its first ramp.
_START_RATE_BOUND = 0.3 * MAX_START_RATE

# A path that turns round exactly at a limit leaves it by less than this between its knots; no
# encoder would tell.
_TURN_TOLERANCE_RAD = 1e-6

# Motion below this is rest: a blend out of it would be invisible.
_AT_REST = 1e-9


class Course(NamedTuple):
    """A motion along a path of cubics, to which a quintic is added while it is being joined.

    Attributes:
        knots: (S,) parameters from 0 to 1 at which one cubic follows another.
        coefficients: (4, S - 1, 7) of the cubics, highest power first, as SciPy has them.
        total_sec: duration.
        start_rate: of progress along the path, in paths per duration.
        blend_sec: time over which the quintic fades; 0 if there is none.
        fade: (6, 7) coefficients of the quintic by the fraction of that time, highest power first.
    """

    knots: Array
    coefficients: Array
    total_sec: float
    start_rate: float
    blend_sec: float
    fade: Array


class Bounds(NamedTuple):
    """Limits that a motion is checked against: of the joints, each (7,), and of the tool."""

    lower_rad: Array
    upper_rad: Array
    max_velocity_rad_s: Array
    max_acceleration_rad_s2: Array
    max_jerk_rad_s3: Array
    max_tool_speed_m_s: float
    max_tool_acceleration_m_s2: float


@_compiled
def progress_at(fraction: float, start_rate: float) -> tuple[float, float, float, float]:
    """Compute `curve.progress` at one fraction in [0, 1], with its third derivative."""
    ramp = RAMP_FRACTION
    cruise = (1.0 - start_rate * ramp / 2) / (1.0 - ramp)
    if fraction <= ramp:
        r = fraction / ramp
        change = cruise - start_rate
        return (
            start_rate * fraction + change * ramp * (r**3 - r**4 / 2),
            start_rate + change * (3 * r**2 - 2 * r**3),
            change * 6 * r * (1 - r) / ramp,
            change * 6 * (1 - 2 * r) / ramp**2,
        )
    if fraction >= 1.0 - ramp:
        r = (1.0 - fraction) / ramp
        return (
            1.0 - cruise * ramp * (r**3 - r**4 / 2),
            cruise * (3 * r**2 - 2 * r**3),
            -cruise * 6 * r * (1 - r) / ramp,
            cruise * 6 * (1 - 2 * r) / ramp**2,
        )
    value = (start_rate + cruise) * ramp / 2 + cruise * (fraction - ramp)
    return value, cruise, 0.0, 0.0


@_compiled
def find_fractions(knots: Array, start_rate: float, fractions: Array) -> None:
    """Find when the knots (S,) of a path are met, as fractions (S,) of the duration, written."""
    for index in range(len(knots)):
        low, high = 0.0, 1.0
        guess = knots[index]
        # Newton's method, kept inside a bracket: at both ends the motion may rest.
        for _ in range(30):
            value, rate, _, _ = progress_at(guess, start_rate)
            error = value - knots[index]
            if abs(error) < 1e-9:
                break
            if error > 0.0:
                high = guess
            else:
                low = guess
            guess = guess - error / rate if rate > 1e-9 else low
            if not low < guess < high:
                guess = 0.5 * (low + high)
        fractions[index] = guess
    fractions[0], fractions[-1] = 0.0, 1.0


@_compiled
def start_offset(
    coefficients: Array, start: Array, start_speed: float, total_sec: float, offset: Array
) -> float:
    """Compute how a commanded state differs from the beginning of a path.

    Args:
        coefficients: (4, S - 1, 7) of the path.
        start: (3, 7) position, velocity, acceleration.
        start_speed: at which progress along the path is to begin, 1/s.
        total_sec: duration of the motion.
        offset: (3, 7) state minus path, written; zero if it is too small to be seen.

    Returns:
        The rate at which progress begins, in paths per duration.
    """
    start_rate = min(max(start_speed, 0.0) * total_sec, _START_RATE_BOUND)
    rate = start_rate / total_sec
    most = 0.0
    for joint in range(JOINTS):
        offset[0, joint] = start[0, joint] - coefficients[3, 0, joint]
        # What of the present velocity is not progress along the path fades.
        offset[1, joint] = start[1, joint] - coefficients[2, 0, joint] * rate
        offset[2, joint] = start[2, joint] - 2 * coefficients[1, 0, joint] * rate**2
        for order in range(3):
            most = max(most, abs(offset[order, joint]))
    if most < _AT_REST:
        offset[:] = 0.0
    return start_rate


@_compiled
def fade_out(offset: Array, blend_sec: float, fade: Array) -> None:
    """Find the quintics that bring an offset (3, 7) to rest at zero; fade (6, 7), written."""
    for joint in range(JOINTS):
        at = offset[0, joint]
        slope = offset[1, joint] * blend_sec
        bend = offset[2, joint] * blend_sec**2
        fade[0, joint] = -6 * at - 3 * slope - 0.5 * bend
        fade[1, joint] = 15 * at + 8 * slope + 1.5 * bend
        fade[2, joint] = -10 * at - 6 * slope - 1.5 * bend
        fade[3, joint] = 0.5 * bend
        fade[4, joint] = slope
        fade[5, joint] = at


@_compiled
def _piece_at(knots: Array, parameter: float) -> int:
    """Return the index of the cubic that holds a parameter."""
    low, high = 0, len(knots) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if parameter >= knots[middle]:
            low = middle
        else:
            high = middle
    return low


@_compiled
def _set_point(course: Course, fraction: float, piece: int, point: Array) -> None:
    """Compute position, velocity, acceleration and jerk at a fraction of the duration.

    Args:
        course: the motion.
        fraction: in [0, 1].
        piece: index of the cubic to use: at a knot there are two; -1 for the one after it.
        point: (4, 7), written.
    """
    total_sec, blend_sec, fade = course.total_sec, course.blend_sec, course.fade
    parameter, rate, rate_change, rate_jerk = progress_at(fraction, course.start_rate)
    rate /= total_sec
    rate_change /= total_sec**2
    rate_jerk /= total_sec**3
    if piece < 0:
        piece = _piece_at(course.knots, parameter)
    h = parameter - course.knots[piece]
    for joint in range(JOINTS):
        c0, c1 = course.coefficients[0, piece, joint], course.coefficients[1, piece, joint]
        c2, c3 = course.coefficients[2, piece, joint], course.coefficients[3, piece, joint]
        slope = (3 * c0 * h + 2 * c1) * h + c2
        bend = 6 * c0 * h + 2 * c1
        point[POSITION, joint] = ((c0 * h + c1) * h + c2) * h + c3
        point[VELOCITY, joint] = slope * rate
        point[ACCELERATION, joint] = bend * rate**2 + slope * rate_change
        point[JERK, joint] = 6 * c0 * rate**3 + 3 * bend * rate * rate_change + slope * rate_jerk
    time_sec = fraction * total_sec
    if time_sec < blend_sec:
        x = time_sec / blend_sec
        for joint in range(JOINTS):
            a, b, c = fade[0, joint], fade[1, joint], fade[2, joint]
            d, e, f = fade[3, joint], fade[4, joint], fade[5, joint]
            point[POSITION, joint] += ((((a * x + b) * x + c) * x + d) * x + e) * x + f
            first = (((5 * a * x + 4 * b) * x + 3 * c) * x + 2 * d) * x + e
            second = ((20 * a * x + 12 * b) * x + 6 * c) * x + 2 * d
            third = (60 * a * x + 24 * b) * x + 6 * c
            point[VELOCITY, joint] += first / blend_sec
            point[ACCELERATION, joint] += second / blend_sec**2
            point[JERK, joint] += third / blend_sec**3


@_compiled
def set_points(course: Course, times_sec: Array, points: Array) -> None:
    """Compute set-points (S, 4, 7), written, at times (S,) from 0 to the duration."""
    for sample in range(len(times_sec)):
        _set_point(course, times_sec[sample] / course.total_sec, -1, points[sample])


@_compiled
def tool_motion(chain: Array, point: Array) -> tuple[float, float]:
    """Return the tool's speed and magnitude of acceleration at a set-point (at least 3, 7)."""
    r00, r01, r02 = 1.0, 0.0, 0.0
    r10, r11, r12 = 0.0, 1.0, 0.0
    r20, r21, r22 = 0.0, 0.0, 1.0
    # Angular velocity and acceleration of the link; velocity and acceleration of its origin.
    wx, wy, wz, ux, uy, uz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    vx, vy, vz, ax, ay, az = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for joint in range(JOINTS + 1):
        f = chain[joint]
        dx = r00 * f[0, 3] + r01 * f[1, 3] + r02 * f[2, 3]
        dy = r10 * f[0, 3] + r11 * f[1, 3] + r12 * f[2, 3]
        dz = r20 * f[0, 3] + r21 * f[1, 3] + r22 * f[2, 3]
        sx, sy, sz = wy * dz - wz * dy, wz * dx - wx * dz, wx * dy - wy * dx
        vx, vy, vz = vx + sx, vy + sy, vz + sz
        ax += uy * dz - uz * dy + wy * sz - wz * sy
        ay += uz * dx - ux * dz + wz * sx - wx * sz
        az += ux * dy - uy * dx + wx * sy - wy * sx
        if joint == JOINTS:
            break
        a00 = r00 * f[0, 0] + r01 * f[1, 0] + r02 * f[2, 0]
        a01 = r00 * f[0, 1] + r01 * f[1, 1] + r02 * f[2, 1]
        a02 = r00 * f[0, 2] + r01 * f[1, 2] + r02 * f[2, 2]
        a10 = r10 * f[0, 0] + r11 * f[1, 0] + r12 * f[2, 0]
        a11 = r10 * f[0, 1] + r11 * f[1, 1] + r12 * f[2, 1]
        a12 = r10 * f[0, 2] + r11 * f[1, 2] + r12 * f[2, 2]
        a20 = r20 * f[0, 0] + r21 * f[1, 0] + r22 * f[2, 0]
        a21 = r20 * f[0, 1] + r21 * f[1, 1] + r22 * f[2, 1]
        a22 = r20 * f[0, 2] + r21 * f[1, 2] + r22 * f[2, 2]
        angle, speed = point[POSITION, joint], point[VELOCITY, joint]
        acceleration = point[ACCELERATION, joint]
        c, s = math.cos(angle), math.sin(angle)
        r00, r01, r02 = a00 * c + a01 * s, a01 * c - a00 * s, a02
        r10, r11, r12 = a10 * c + a11 * s, a11 * c - a10 * s, a12
        r20, r21, r22 = a20 * c + a21 * s, a21 * c - a20 * s, a22
        # The joint turns about its own z axis, which the links before it carry round.
        ux += a02 * acceleration + (wy * a22 - wz * a12) * speed
        uy += a12 * acceleration + (wz * a02 - wx * a22) * speed
        uz += a22 * acceleration + (wx * a12 - wy * a02) * speed
        wx, wy, wz = wx + a02 * speed, wy + a12 * speed, wz + a22 * speed
    return math.sqrt(vx * vx + vy * vy + vz * vz), math.sqrt(ax * ax + ay * ay + az * az)


@_compiled
def tool_motions(chain: Array, points: Array, speeds: Array, accelerations: Array) -> None:
    """Compute the tool's speeds and accelerations (S,), written, at set-points (S, ..., 7)."""
    for sample in range(len(points)):
        speeds[sample], accelerations[sample] = tool_motion(chain, points[sample])


@_compiled
def _joint_demand(point: Array, bounds: Bounds, step_sec: float) -> float:
    """Return by which factor the joints are too fast at a set-point (4, 7).

    Velocities and accelerations are checked with a margin for what happens between samples. A
    position has none: where a joint turns round within the next step, it is checked there, too.

    Slowing down changes no position: outside, the factor is infinite, as for what is no number.
    """
    worst_velocity, worst_acceleration, worst_jerk, total = 0.0, 0.0, 0.0, 0.0
    for joint in range(JOINTS):
        position, velocity = point[POSITION, joint], point[VELOCITY, joint]
        acceleration, jerk = point[ACCELERATION, joint], point[JERK, joint]
        if not bounds.lower_rad[joint] <= position <= bounds.upper_rad[joint]:
            return np.inf
        turn = -velocity / acceleration
        if 0.0 < turn < step_sec:
            # One step of Newton's method; the error is of fourth order in the step.
            left = velocity + (acceleration + jerk * turn / 2) * turn
            turn -= left / (acceleration + jerk * turn)
            position += (velocity + (acceleration / 2 + jerk * turn / 6) * turn) * turn
            excess = max(bounds.lower_rad[joint] - position, position - bounds.upper_rad[joint])
            if 0.0 < turn < 2 * step_sec and excess > _TURN_TOLERANCE_RAD:
                return np.inf
        of_velocity = abs(velocity) / bounds.max_velocity_rad_s[joint]
        of_acceleration = abs(acceleration) / bounds.max_acceleration_rad_s2[joint]
        of_jerk = abs(jerk) / bounds.max_jerk_rad_s3[joint]
        worst_velocity = max(worst_velocity, of_velocity)
        worst_acceleration = max(worst_acceleration, of_acceleration)
        worst_jerk = max(worst_jerk, of_jerk)
        # A maximum forgets what is not a number; a sum does not.
        total += of_velocity + of_acceleration + of_jerk
    if not total < np.inf:
        return np.inf
    return max(worst_velocity, math.sqrt(worst_acceleration), worst_jerk ** (1.0 / 3.0))


@_compiled
def _tool_demand(chain: Array, point: Array, bounds: Bounds) -> float:
    """Return by which factor the tool is too fast at a set-point."""
    speed, acceleration = tool_motion(chain, point)
    if not speed + acceleration < np.inf:
        return np.inf
    return max(
        speed / bounds.max_tool_speed_m_s,
        math.sqrt(acceleration / bounds.max_tool_acceleration_m_s2),
    )


@_compiled
def demanded_scaling(
    course: Course,
    knot_fractions: Array,
    chain: Array,
    bounds: Bounds,
    hint: int,
    stops: bool,
) -> tuple[float, int]:
    """Find the factor by which a motion must be slowed down to stay inside the limits.

    Uniform time scaling divides velocities by the factor, accelerations by its square, jerks by
    its cube. That holds for what follows the path; a blend has its own time.

    Args:
        course: the motion.
        knot_fractions: (S,) when its knots are met, as fractions of its duration.
        chain: (8, 3, 4) of the arm.
        bounds: of joints and tool.
        hint: the sample to look at first: where the last motion of this kind left the limits, the
            next one is likely to.
        stops: whether to stop at the first sample outside.

    Returns:
        The factor, at most 1 if all is inside, and the sample that demands it.
    """
    point = np.empty((4, JOINTS))
    blended = BLEND_STEPS if course.blend_sec > 0.0 else 0
    knots_from = blended + MOTION_STEPS + 1
    count = knots_from + len(knot_fractions)
    # Strides of the golden ratio, from the hint on, soon look everywhere: where one sample is
    # outside, its neighbours often are.
    stride = int(0.618 * count)
    while math.gcd(stride, count) > 1:
        stride += 1
    sample = (hint - stride) % count
    worst, worst_sample = 0.0, 0
    for _ in range(count):
        sample = (sample + stride) % count
        before, after = -1, -1
        if sample < blended:
            fraction = sample * course.blend_sec / (BLEND_STEPS * course.total_sec)
        elif sample < knots_from:
            fraction = (sample - blended) / MOTION_STEPS
        else:
            # The jerk has a step at a knot: both sides count.
            before = sample - knots_from - 1
            after = min(before + 1, len(knot_fractions) - 2)
            fraction = knot_fractions[before + 1]
        step_sec = course.total_sec / MOTION_STEPS
        if fraction * course.total_sec < course.blend_sec:
            step_sec = min(step_sec, course.blend_sec / BLEND_STEPS)
        demand = 0.0
        if before >= 0:
            _set_point(course, fraction, before, point)
            demand = _joint_demand(point, bounds, step_sec)
        _set_point(course, fraction, after, point)
        demand = max(demand, _joint_demand(point, bounds, step_sec))
        if demand <= 1.0 or (demand < np.inf and not stops):
            demand = max(demand, _tool_demand(chain, point, bounds))
        if demand > worst:
            worst, worst_sample = demand, sample
            if worst == np.inf or (stops and worst > 1.0):
                break
    return worst, worst_sample


@_compiled
def first_blend_inside(
    course: Course,
    offset: Array,
    blend_times_sec: Array,
    knot_fractions: Array,
    chain: Array,
    bounds: Bounds,
    hints: NDArray[np.int64],
) -> int:
    """Return the index of the first blend time that keeps a motion inside the limits, -1 if none.

    Args:
        course: the motion; its blend is replaced.
        offset: (3, 7) that fades.
        blend_times_sec: (B,) none of them longer than the motion.
        knot_fractions, chain, bounds: as in `demanded_scaling`.
        hints: (B,) samples to look at first; written.
    """
    fade = np.empty((6, JOINTS))
    for index in range(len(blend_times_sec)):
        blend_sec = blend_times_sec[index]
        fade_out(offset, blend_sec, fade)
        blended = Course(
            course.knots,
            course.coefficients,
            course.total_sec,
            course.start_rate,
            blend_sec,
            fade,
        )
        demand, hints[index] = demanded_scaling(
            blended, knot_fractions, chain, bounds, hints[index], True
        )
        if demand <= 1.0:
            return index
    return -1
