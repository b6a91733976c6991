"""The smooth curve through a trajectory's waypoints, and the law by which time runs along it.

Prediction, inverse kinematics and playback all follow this one curve, so what is predicted is what
is played.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]

# Share of the duration spent speeding up, and again slowing down. A fifth keeps the cruising speed
# at 1.25 times the average, and waypoints close to even spacing in time.
RAMP_FRACTION = 0.2

# A start faster than this leaves no way to cruise: the first ramp alone would cover the curve.
MAX_START_RATE = 2.0 / RAMP_FRACTION


@dataclass(frozen=True, kw_only=True)
class CurveSamples:
    """Points of a curve with their derivatives by the curve's parameter.

    Attributes:
        value: (..., S, m).
        first: (..., S, m) first derivative.
        second: (..., S, m) second derivative.
    """

    value: Array
    first: Array
    second: Array


def as_waypoints(waypoints: ArrayLike) -> Array:
    """Return waypoints as a float array (..., n, m) after validating them.

    Args:
        waypoints: (..., n, m) with n at least 2.

    Returns:
        The same as a float array.
    """
    array = np.asarray(waypoints, dtype=np.float64)
    if array.ndim < 2 or array.shape[-2] < 2 or array.shape[-1] < 1:
        raise InvalidInputError(
            f'waypoints have shape {array.shape}; allowed: (..., n, m) with n of at least 2'
        )
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidInputError(f'waypoints{list(index)} is {array[index]}; allowed: finite')
    return array


def curve(waypoints: ArrayLike, parameter: ArrayLike) -> CurveSamples:
    """Evaluate the curve through waypoints.

    Each coordinate is a quintic Hermite spline over evenly spaced knots, with the slopes of a
    monotone (PCHIP) interpolant and no second derivative at the knots. So the curve meets every
    waypoint, its second derivative is continuous, a coordinate never leaves the range of two
    neighbouring waypoints (a trajectory inside a box stays inside), and a moved waypoint changes
    only its neighbourhood.

    Args:
        waypoints: (..., n, m).
        parameter: (S,) in [0, 1]; waypoint i is at i / (n - 1).

    Returns:
        The samples, (..., S, m).
    """
    segments, t, start, ends = _segments_at(waypoints, parameter)
    return CurveSamples(
        value=start + _combined(_hermite_values(t), ends),
        first=_combined(_hermite_first(t), ends) * segments,
        second=_combined(_hermite_second(t), ends) * segments**2,
    )


def curve_points(waypoints: ArrayLike, parameter: ArrayLike) -> Array:
    """Return the points of the curve alone, (..., S, m): less than half the work of `curve`."""
    _, t, start, ends = _segments_at(waypoints, parameter)
    return np.asarray(start + _combined(_hermite_values(t), ends))


def _segments_at(
    waypoints: ArrayLike, parameter: ArrayLike
) -> tuple[int, Array, Array, tuple[Array, Array, Array]]:
    """Find the segments that points of the curve are on.

    Returns:
        How many segments there are; where on its segment each point is, (S,), from 0 to 1; the
        segments' starts, (..., S, m); their steps and their slopes at start and end.
    """
    array = as_waypoints(waypoints)
    segments = array.shape[-2] - 1
    scaled = np.clip(np.asarray(parameter, dtype=np.float64), 0.0, 1.0) * segments
    index = np.minimum(scaled.astype(np.int64), segments - 1)  # (S,)
    steps = np.diff(array, axis=-2)  # (..., n - 1, m)
    slopes = _monotone_slopes(steps)
    ends = (steps[..., index, :], slopes[..., index, :], slopes[..., index + 1, :])
    return segments, scaled - index, array[..., index, :], ends


def _combined(basis: tuple[Array, Array, Array], ends: tuple[Array, Array, Array]) -> Array:
    """Weigh step and slopes, (..., S, m) each, with their basis functions, (S,) each."""
    rise, leave, arrive = (weights[:, None] for weights in basis)
    step, slope_start, slope_end = ends
    return np.asarray(rise * step + leave * slope_start + arrive * slope_end)


def _monotone_slopes(steps: Array) -> Array:
    """Slopes at the knots from the steps between them, (..., n - 1, m) → (..., n, m).

    The harmonic mean of neighbouring steps where both go the same way, else zero. It is at most
    twice the smaller step, which keeps the quintic of each segment monotone.
    """
    before, after = steps[..., :-1, :], steps[..., 1:, :]
    product = before * after
    total = before + after
    inner = np.where(product > 0.0, 2.0 * product / np.where(total == 0.0, 1.0, total), 0.0)
    return np.concatenate([steps[..., :1, :], inner, steps[..., -1:, :]], axis=-2)


def _hermite_values(t: Array) -> tuple[Array, Array, Array]:
    """Values of rise, slope at start and slope at end, (S,) each."""
    t3, t4, t5 = t**3, t**4, t**5
    return (
        10 * t3 - 15 * t4 + 6 * t5,
        t - 6 * t3 + 8 * t4 - 3 * t5,
        -4 * t3 + 7 * t4 - 3 * t5,
    )


def _hermite_first(t: Array) -> tuple[Array, Array, Array]:
    """Their first derivatives."""
    t2, t3, t4 = t**2, t**3, t**4
    return (
        30 * t2 - 60 * t3 + 30 * t4,
        1 - 18 * t2 + 32 * t3 - 15 * t4,
        -12 * t2 + 28 * t3 - 15 * t4,
    )


def _hermite_second(t: Array) -> tuple[Array, Array, Array]:
    """Their second derivatives."""
    t2, t3 = t**2, t**3
    return (
        60 * t - 180 * t2 + 120 * t3,
        -36 * t + 96 * t2 - 60 * t3,
        -24 * t + 84 * t2 - 60 * t3,
    )


def progress(time_fraction: ArrayLike, *, start_rate: float = 0.0) -> CurveSamples:
    """How far along the curve one is after a fraction of the duration.

    The speed changes smoothly over `RAMP_FRACTION` from the start rate to a cruising speed, stays,
    and falls to rest, with a continuous acceleration that is zero at both ends.

    Args:
        time_fraction: (S,); below 0 and above 1 the motion stands still.
        start_rate: speed at the start, in curves per duration; 0 starts from rest.

    Returns:
        Progress in [0, 1] and its derivatives by the time fraction, each (S, 1).
    """
    if not 0.0 <= start_rate < MAX_START_RATE:
        raise InvalidInputError(
            f'start_rate is {start_rate}; allowed: from 0 to below {MAX_START_RATE}'
        )
    u = np.clip(np.atleast_1d(np.asarray(time_fraction, dtype=np.float64)), 0.0, 1.0)
    ramp = RAMP_FRACTION
    # Both ramps cover the average of the speeds at their ends; all together cover 1.
    cruise = (1.0 - start_rate * ramp / 2) / (1.0 - ramp)
    into, until = np.minimum(u / ramp, 1.0), np.minimum((1.0 - u) / ramp, 1.0)
    change = cruise - start_rate
    # The speed in a ramp goes by 3 r² − 2 r³; integrated, r³ − r⁴ / 2.
    early = start_rate * ramp * into + change * ramp * (into**3 - into**4 / 2)
    middle = cruise * np.clip(u - ramp, 0.0, 1.0 - 2 * ramp)
    late = cruise * ramp * (0.5 - (until**3 - until**4 / 2))
    speed = start_rate + change * (3 * into**2 - 2 * into**3)
    slowing = 3 * until**2 - 2 * until**3
    acceleration = (change * 6 * into * (1 - into) - cruise * 6 * until * (1 - until)) / ramp
    return CurveSamples(
        value=(early + middle + late)[:, None],
        first=np.where(u > 0.5, cruise * slowing, speed)[:, None],
        second=acceleration[:, None],
    )


def time_fractions(parameter: ArrayLike, *, start_rate: float = 0.0) -> Array:
    """When points of the curve are met, as fractions of the duration.

    Args:
        parameter: (S,) of the curve, in [0, 1].
        start_rate: as in `progress`.

    Returns:
        (S,), exact to about 1e-6.
    """
    grid = np.linspace(0.0, 1.0, 1025)
    samples = progress(grid, start_rate=start_rate)
    wanted = np.asarray(parameter, dtype=np.float64)
    found = np.interp(wanted, samples.value[:, 0], grid)
    # One Newton step from the table; at rest there is nothing to divide by, and no error either.
    refined = progress(found, start_rate=start_rate)
    speed = np.maximum(refined.first[:, 0], 1e-3)
    return np.clip(found + (wanted - refined.value[:, 0]) / speed, 0.0, 1.0)


def travel(waypoints: ArrayLike, time_fraction: ArrayLike) -> CurveSamples:
    """Where the motion along waypoints is after fractions of its duration.

    Args:
        waypoints: (..., n, m).
        time_fraction: (S,).

    Returns:
        Positions, and derivatives by the time fraction (divide by the duration in seconds, and by
        its square), each (..., S, m).
    """
    along = progress(time_fraction)
    path = curve(waypoints, along.value[:, 0])
    return CurveSamples(
        value=path.value,
        first=path.first * along.first,
        second=path.second * along.first**2 + path.first * along.second,
    )


# The tool's rotation in the base frame with the gripper straight down, as at home.
GRIPPER_DOWN: Array = np.diag([1.0, -1.0, -1.0])
GRIPPER_DOWN.setflags(write=False)

# Poses per segment at which the fast check follows a path; plans use more if segments are long.
POSES_PER_SEGMENT = 8
_MAX_STEP_M = 0.03
_MAX_STEP_RAD = 0.1

# Following a pose and timing it cost about a hundred-thousandth of a second: so many keep an
# answer within a twentieth. Many waypoints have fewer poses between them; a plan through more has
# more than a thousand waypoints, or wanders for metres.
MAX_POSES = 2_500

# A rotation vector interpolates orientations well below half a turn only.
_MAX_ROTATION_RAD = 3.0


def sample_trajectories(trajectories_m: ArrayLike) -> tuple[Array, Array]:
    """Parameters (S,) and tool positions (N, S, 3) at which trajectories are followed."""
    trajectories = as_waypoints(trajectories_m)
    if trajectories.ndim != 3 or trajectories.shape[2] != 3:
        raise InvalidInputError(
            f'trajectories have shape {trajectories.shape}; allowed: (N, n, 3)'
        )
    segments = trajectories.shape[1] - 1
    parameter = np.linspace(0.0, 1.0, POSES_PER_SEGMENT * segments + 1)
    return parameter, curve_points(trajectories, parameter)


def as_rotation(rotation: ArrayLike) -> Array:
    """Validate rotation matrices: (3, 3) or (n, 3, 3) → (n, 3, 3)."""
    matrices = np.array(rotation, dtype=np.float64, order='C')
    if matrices.ndim == 2:
        matrices = matrices[None]
    if matrices.ndim != 3 or matrices.shape[1:] != (3, 3):
        raise InvalidInputError(
            f'rotations have shape {matrices.shape}; allowed: (3, 3) or (n, 3, 3)'
        )
    identity = matrices @ matrices.transpose(0, 2, 1)
    proper = np.allclose(identity, np.eye(3), atol=1e-6) and (np.linalg.det(matrices) > 0.0).all()
    if not proper:
        raise InvalidInputError('rotations hold a matrix that is no rotation')
    return matrices


def relative_rotations(rotations: ArrayLike | None, count: int) -> tuple[Array, Rotation]:
    """Rotation vectors of the waypoints relative to the first, (n, 3), and the first itself."""
    matrices = as_rotation(GRIPPER_DOWN if rotations is None else rotations)
    if len(matrices) not in (1, count):
        raise InvalidInputError(
            f'{len(matrices)} rotations for {count} waypoints; allowed: as many'
        )
    first = Rotation.from_matrix(matrices[0])
    vectors = (first.inv() * Rotation.from_matrix(matrices)).as_rotvec()
    largest = float(np.linalg.norm(vectors, axis=1).max())
    if largest > _MAX_ROTATION_RAD:
        raise InvalidInputError(
            f'a waypoint is turned by {largest:.2f} rad from the first; '
            f'allowed: up to {_MAX_ROTATION_RAD}'
        )
    return vectors, first


def rotations_along(vectors: Array, first: Rotation, parameter: Array) -> Array:
    """Tool rotations along the curve, (S, 3, 3), or (1, 3, 3) if they are all the same."""
    if len(vectors) == 1:
        return np.ascontiguousarray(first.as_matrix()[None])
    along = Rotation.from_rotvec(curve_points(vectors, parameter))
    return np.ascontiguousarray((first * along).as_matrix())


def require_pose_count(poses: int) -> None:
    """Refuse a path through so many poses that following it would take too long."""
    if poses > MAX_POSES:
        raise InvalidInputError(f'the path has {poses} poses; allowed: up to {MAX_POSES}')


def usual_poses_per_segment(segments: int) -> int:
    """How many poses a short segment has: fewer if there are many segments, at least two."""
    return max(2, min(POSES_PER_SEGMENT, MAX_POSES // max(segments, 1)))


def poses_per_segment(waypoints: Array, rotation_vectors: Array) -> int:
    """Enough poses that each is a short step from the last."""
    longest_m = float(np.linalg.norm(np.diff(waypoints, axis=0), axis=1).max())
    turns = np.linalg.norm(np.diff(rotation_vectors, axis=0), axis=1)
    longest_rad = float(turns.max(initial=0.0))
    return max(
        usual_poses_per_segment(len(waypoints) - 1),
        math.ceil(longest_m / _MAX_STEP_M),
        math.ceil(longest_rad / _MAX_STEP_RAD),
    )
