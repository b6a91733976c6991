"""The poses of the tool at which a path is followed: near to each other, turns included."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.curve import as_waypoints, curve
from reward_learning_ros.core.errors import InvalidInputError

Array = NDArray[np.float64]

# The tool's rotation in the base frame with the gripper straight down, as at home.
GRIPPER_DOWN: Array = np.diag([1.0, -1.0, -1.0])
GRIPPER_DOWN.setflags(write=False)

# Poses per segment at which the fast check follows a path; plans use more if segments are long.
POSES_PER_SEGMENT = 8
_LONGEST_STEP_M = 0.03
_LONGEST_STEP_RAD = 0.1

# Following a pose and timing it cost about a hundred-thousandth of a second: so many keep an
# answer within a twentieth. Many waypoints have fewer poses between them; a plan through more has
# more than a thousand waypoints, or wanders for metres.
MAX_POSES = 2_500

# A rotation vector interpolates orientations well below half a turn only.
_LARGEST_ROTATION_RAD = 3.0


def sample_trajectories(trajectories_m: ArrayLike) -> tuple[Array, Array]:
    """Parameters (S,) and tool positions (N, S, 3) at which trajectories are followed."""
    trajectories = as_waypoints(trajectories_m)
    if trajectories.ndim != 3 or trajectories.shape[2] != 3:
        raise InvalidInputError(
            f'trajectories have shape {trajectories.shape}; allowed: (N, n, 3)'
        )
    segments = trajectories.shape[1] - 1
    parameter = np.linspace(0.0, 1.0, POSES_PER_SEGMENT * segments + 1)
    return parameter, curve(trajectories, parameter).value


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
    if largest > _LARGEST_ROTATION_RAD:
        raise InvalidInputError(
            f'a waypoint is turned by {largest:.2f} rad from the first; '
            f'allowed: up to {_LARGEST_ROTATION_RAD}'
        )
    return vectors, first


def rotations_along(vectors: Array, first: Rotation, parameter: Array) -> Array:
    """Tool rotations along the curve, (S, 3, 3), or (1, 3, 3) if they are all the same."""
    if len(vectors) == 1:
        return np.ascontiguousarray(first.as_matrix()[None])
    along = Rotation.from_rotvec(curve(vectors, parameter).value)
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
        math.ceil(longest_m / _LONGEST_STEP_M),
        math.ceil(longest_rad / _LONGEST_STEP_RAD),
    )
