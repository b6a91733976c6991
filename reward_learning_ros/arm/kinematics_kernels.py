"""Compiled kinematics of a chain of seven joints that turn about their own z axes.

A chain is an array (8, 3, 4): the fixed transform [rotation | translation] in front of each joint,
and last the tool's in the frame of joint 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.kernel_cache import njit

Array = NDArray[np.float64]

JOINTS = 7

_Function = TypeVar('_Function', bound=Callable[..., Any])
_compiled: Callable[[_Function], _Function] = njit(cache=True, nogil=True)

# Why a pose along a path could not be followed.
SOLVED = 0
NOT_CONVERGED = 1
AT_JOINT_LIMIT = 2
SINGULAR = 3
JUMPED = 4

_POSITION_TOLERANCE_M = 2e-5
_ROTATION_TOLERANCE_RAD = 1e-4

# A pose on the way is a few centimetres from the last: Newton steps need two to four iterations,
# and what needs twenty does not converge. The first pose may be anywhere in the workspace.
_ITERATIONS_ON_THE_WAY = 20
_ITERATIONS_AT_START = 200

# Largest error that one iteration acts on: beyond it the linear model misleads.
_STEP_M = 0.1
_STEP_RAD = 0.4

# Levenberg-Marquardt damping: proportional to the squared error (Sugihara), so that it protects
# far from the solution and does not slow convergence close to it.
_DAMPING_PER_SQUARED_ERROR = 0.05
_DAMPING_FLOOR = 1e-8

# Share of the way home that the null space goes at each pose; applied once per pose, so that the
# posture changes smoothly along the path however many iterations a pose takes.
_POSTURE_GAIN = 0.15
_POSTURE_SETTLED_RAD = 1e-4


@_compiled
def tool_pose_and_jacobian(
    chain: Array, joints_rad: Array, position: Array, rotation: Array, jacobian: Array
) -> None:
    """Compute the tool's pose and geometric Jacobian in the base frame.

    Args:
        chain: (8, 3, 4).
        joints_rad: (7,).
        position: (3,), written.
        rotation: (3, 3), written.
        jacobian: (6, 7), written; rows are linear, then angular velocity.
    """
    r00, r01, r02 = 1.0, 0.0, 0.0
    r10, r11, r12 = 0.0, 1.0, 0.0
    r20, r21, r22 = 0.0, 0.0, 1.0
    x, y, z = 0.0, 0.0, 0.0
    for joint in range(JOINTS + 1):
        f = chain[joint]
        x += r00 * f[0, 3] + r01 * f[1, 3] + r02 * f[2, 3]
        y += r10 * f[0, 3] + r11 * f[1, 3] + r12 * f[2, 3]
        z += r20 * f[0, 3] + r21 * f[1, 3] + r22 * f[2, 3]
        a00 = r00 * f[0, 0] + r01 * f[1, 0] + r02 * f[2, 0]
        a01 = r00 * f[0, 1] + r01 * f[1, 1] + r02 * f[2, 1]
        a02 = r00 * f[0, 2] + r01 * f[1, 2] + r02 * f[2, 2]
        a10 = r10 * f[0, 0] + r11 * f[1, 0] + r12 * f[2, 0]
        a11 = r10 * f[0, 1] + r11 * f[1, 1] + r12 * f[2, 1]
        a12 = r10 * f[0, 2] + r11 * f[1, 2] + r12 * f[2, 2]
        a20 = r20 * f[0, 0] + r21 * f[1, 0] + r22 * f[2, 0]
        a21 = r20 * f[0, 1] + r21 * f[1, 1] + r22 * f[2, 1]
        a22 = r20 * f[0, 2] + r21 * f[1, 2] + r22 * f[2, 2]
        if joint == JOINTS:
            r00, r01, r02 = a00, a01, a02
            r10, r11, r12 = a10, a11, a12
            r20, r21, r22 = a20, a21, a22
            break
        c, s = math.cos(joints_rad[joint]), math.sin(joints_rad[joint])
        r00, r01, r02 = a00 * c + a01 * s, a01 * c - a00 * s, a02
        r10, r11, r12 = a10 * c + a11 * s, a11 * c - a10 * s, a12
        r20, r21, r22 = a20 * c + a21 * s, a21 * c - a20 * s, a22
        # The joint's origin waits here for the tool's position.
        jacobian[0, joint], jacobian[1, joint], jacobian[2, joint] = x, y, z
        jacobian[3, joint], jacobian[4, joint], jacobian[5, joint] = a02, a12, a22
    position[0], position[1], position[2] = x, y, z
    rotation[0, 0], rotation[0, 1], rotation[0, 2] = r00, r01, r02
    rotation[1, 0], rotation[1, 1], rotation[1, 2] = r10, r11, r12
    rotation[2, 0], rotation[2, 1], rotation[2, 2] = r20, r21, r22
    for joint in range(JOINTS):
        dx, dy, dz = x - jacobian[0, joint], y - jacobian[1, joint], z - jacobian[2, joint]
        ax, ay, az = jacobian[3, joint], jacobian[4, joint], jacobian[5, joint]
        jacobian[0, joint] = ay * dz - az * dy
        jacobian[1, joint] = az * dx - ax * dz
        jacobian[2, joint] = ax * dy - ay * dx


@_compiled
def tool_jacobians(chain: Array, joints_rad: Array, jacobians: Array) -> None:
    """Compute the geometric Jacobians (n, 6, 7), written, for joints (n, 7)."""
    position, rotation = np.empty(3), np.empty((3, 3))
    for row in range(len(joints_rad)):
        tool_pose_and_jacobian(chain, joints_rad[row], position, rotation, jacobians[row])


@_compiled
def tool_poses(chain: Array, joints_rad: Array, positions: Array, rotations: Array) -> None:
    """Compute tool poses of many configurations.

    Args:
        chain: (8, 3, 4).
        joints_rad: (S, 7).
        positions: (S, 3), written.
        rotations: (S, 3, 3), written.
    """
    jacobian = np.empty((6, JOINTS))
    for sample in range(joints_rad.shape[0]):
        tool_pose_and_jacobian(
            chain, joints_rad[sample], positions[sample], rotations[sample], jacobian
        )


@_compiled
def pose_error(
    position: Array,
    rotation: Array,
    target_position: Array,
    target_rotation: Array,
    error: Array,
) -> None:
    """Compute target minus pose: metres, and a rotation vector in the base frame; error: (6,)."""
    for axis in range(3):
        error[axis] = target_position[axis] - position[axis]
    x, y, z, trace = 0.0, 0.0, 0.0, 0.0
    for column in range(3):
        ax, ay, az = rotation[0, column], rotation[1, column], rotation[2, column]
        bx, by, bz = (
            target_rotation[0, column],
            target_rotation[1, column],
            target_rotation[2, column],
        )
        x += 0.5 * (ay * bz - az * by)
        y += 0.5 * (az * bx - ax * bz)
        z += 0.5 * (ax * by - ay * bx)
        trace += ax * bx + ay * by + az * bz
    sine = math.sqrt(x * x + y * y + z * z)
    angle = math.atan2(sine, 0.5 * (trace - 1.0))
    scale = angle / sine if sine > 1e-9 else 1.0
    error[3], error[4], error[5] = scale * x, scale * y, scale * z


@_compiled
def factorise(jacobian: Array, free: Any, damping: float, factor: Array) -> None:
    """Cholesky factor (6, 6) of J J^T + damping, over the free joints only."""
    for row in range(6):
        for column in range(row + 1):
            total = damping if row == column else 0.0
            for joint in range(JOINTS):
                if free[joint]:
                    total += jacobian[row, joint] * jacobian[column, joint]
            for k in range(column):
                total -= factor[row, k] * factor[column, k]
            if row == column:
                # Rounding can leave a rank-deficient matrix slightly negative.
                factor[row, row] = math.sqrt(max(total, 1e-18))
            else:
                factor[row, column] = total / factor[column, column]


@_compiled
def solve_factorised(factor: Array, vector: Array) -> None:
    """Solve in place with a Cholesky factor; vector: (6,)."""
    for row in range(6):
        total = vector[row]
        for k in range(row):
            total -= factor[row, k] * vector[k]
        vector[row] = total / factor[row, row]
    for row in range(5, -1, -1):
        total = vector[row]
        for k in range(row + 1, 6):
            total -= factor[k, row] * vector[k]
        vector[row] = total / factor[row, row]


@_compiled
def smallest_singular_value(jacobian: Array) -> float:
    """Smallest singular value of a (6, 7) Jacobian, by inverse iteration on J J^T."""
    free = np.ones(JOINTS, dtype=np.bool_)
    factor = np.empty((6, 6))
    factorise(jacobian, free, 0.0, factor)
    vector = np.empty(6)
    for row in range(6):
        # Any start works that is not orthogonal to the wanted vector; this one has no symmetry.
        vector[row] = 1.0 + 0.137 * row
    norm = 1.0
    for _ in range(8):
        norm = math.sqrt(np.sum(vector * vector))
        for row in range(6):
            vector[row] /= norm
        solve_factorised(factor, vector)
    return 1.0 / math.sqrt(math.sqrt(np.sum(vector * vector)))


@_compiled
def _follow_pose(
    chain: Array,
    target_position: Array,
    target_rotation: Array,
    lower: Array,
    upper: Array,
    home: Array,
    settle: bool,
    joints: Array,
    jacobian: Array,
    free: Any,
) -> bool:
    """Move joints (7,) in place to a tool pose; returns whether it converged.

    With settle, iterates from far away until the posture, too, has come to rest. On return
    jacobian is that of the last iterate, and free tells the joints that no limit held back.
    """
    position, rotation = np.empty(3), np.empty((3, 3))
    error, solution, factor = np.empty(6), np.empty(6), np.empty((6, 6))
    posture, step = np.zeros(JOINTS), np.empty(JOINTS)
    free[:] = True
    for iteration in range(_ITERATIONS_AT_START if settle else _ITERATIONS_ON_THE_WAY):
        tool_pose_and_jacobian(chain, joints, position, rotation, jacobian)
        pose_error(position, rotation, target_position, target_rotation, error)
        linear = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
        angular = math.sqrt(error[3] ** 2 + error[4] ** 2 + error[5] ** 2)
        converged = linear < _POSITION_TOLERANCE_M and angular < _ROTATION_TOLERANCE_RAD
        if converged and not settle and iteration > 0:
            return True
        shrink = min(1.0, _STEP_M / max(linear, 1e-12), _STEP_RAD / max(angular, 1e-12))
        for row in range(6):
            error[row] *= shrink
        squared = (shrink * linear) ** 2 + (shrink * angular) ** 2
        damping = _DAMPING_PER_SQUARED_ERROR * squared + _DAMPING_FLOOR
        for joint in range(JOINTS):
            posture[joint] = 0.0
            if settle or iteration == 0:
                posture[joint] = _POSTURE_GAIN * (home[joint] - joints[joint])
        # Joints that the step would push through a limit are held; the rest is solved again.
        free[:] = True
        for _ in range(JOINTS):
            factorise(jacobian, free, damping, factor)
            for row in range(6):
                solution[row] = error[row]
                for joint in range(JOINTS):
                    if free[joint]:
                        solution[row] -= jacobian[row, joint] * posture[joint]
            solve_factorised(factor, solution)
            held = False
            for joint in range(JOINTS):
                step[joint] = 0.0
                if free[joint]:
                    step[joint] = posture[joint]
                    for row in range(6):
                        step[joint] += jacobian[row, joint] * solution[row]
                    stuck = (joints[joint] <= lower[joint] and step[joint] < 0.0) or (
                        joints[joint] >= upper[joint] and step[joint] > 0.0
                    )
                    if stuck:
                        free[joint] = False
                        held = True
            if not held:
                break
        largest = 0.0
        for joint in range(JOINTS):
            moved = min(max(joints[joint] + step[joint], lower[joint]), upper[joint])
            largest = max(largest, abs(moved - joints[joint]))
            joints[joint] = moved
        if converged and largest < _POSTURE_SETTLED_RAD:
            return True
    tool_pose_and_jacobian(chain, joints, position, rotation, jacobian)
    pose_error(position, rotation, target_position, target_rotation, error)
    linear = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2)
    angular = math.sqrt(error[3] ** 2 + error[4] ** 2 + error[5] ** 2)
    return linear < _POSITION_TOLERANCE_M and angular < _ROTATION_TOLERANCE_RAD


@_compiled
def follow_paths(
    chain: Array,
    positions: Array,
    rotations: Array,
    lower: Array,
    upper: Array,
    home: Array,
    start: Array,
    start_given: bool,
    singularity_margin: float,
    jump_rad: float,
    jump_rad_per_m: float,
    joints_out: Array,
    status_out: NDArray[np.int64],
) -> None:
    """Follow many tool paths, each from its first pose.

    Args:
        chain: (8, 3, 4).
        positions: (N, S, 3).
        rotations: (S, 3, 3) shared by all paths, or (1, 3, 3) if constant.
        lower: (7,) joint limits.
        upper: (7,) joint limits.
        home: (7,) preferred posture.
        start: (7,) configuration near which the first pose is sought.
        start_given: whether the arm is at `start`; else the first posture settles freely.
        singularity_margin: smallest singular value that a pose may have.
        jump_rad: largest joint motion between neighbouring poses, the constant part.
        jump_rad_per_m: the part per metre of the tool's way (a radian of its rotation counts as
            0.3 m).
        joints_out: (N, S, 7) or (1, S, 7) if only the status is wanted; written.
        status_out: (N, 3): reason, sample, joint; written.
    """
    samples = positions.shape[1]
    constant = rotations.shape[0] == 1
    keep = joints_out.shape[0] == positions.shape[0]
    joints, before, jacobian = np.empty(JOINTS), np.empty(JOINTS), np.empty((6, JOINTS))
    free = np.ones(JOINTS, dtype=np.bool_)
    error = np.empty(6)
    # Paths of one task share their first pose: its settled solution is kept for the next path.
    first_joints, first_position = np.empty(JOINTS), np.full(3, np.nan)
    first_solved = False
    for path in range(positions.shape[0]):
        status_out[path, 0], status_out[path, 1], status_out[path, 2] = SOLVED, 0, 0
        row = path if keep else 0
        for sample in range(samples):
            target_rotation = rotations[0] if constant else rotations[sample]
            target = positions[path, sample]
            if sample == 0:
                same = (
                    target[0] == first_position[0]
                    and target[1] == first_position[1]
                    and target[2] == first_position[2]
                )
                if same and first_solved:
                    joints[:] = first_joints
                    joints_out[row, 0] = joints
                    continue
                joints[:] = start
            before[:] = joints
            converged = _follow_pose(
                chain,
                target,
                target_rotation,
                lower,
                upper,
                start if sample == 0 and start_given else home,
                sample == 0,
                joints,
                jacobian,
                free,
            )
            status_out[path, 1] = sample
            if not converged:
                status_out[path, 0] = NOT_CONVERGED
                for joint in range(JOINTS):
                    if not free[joint]:
                        status_out[path, 0] = AT_JOINT_LIMIT
                        status_out[path, 2] = joint
                break
            if smallest_singular_value(jacobian) < singularity_margin:
                status_out[path, 0] = SINGULAR
                break
            joints_out[row, sample] = joints
            if sample == 0:
                first_position[:] = target
                first_joints[:] = joints
                first_solved = True
                continue
            last_rotation = rotations[0] if constant else rotations[sample - 1]
            pose_error(positions[path, sample - 1], last_rotation, target, target_rotation, error)
            way = math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2) + 0.3 * math.sqrt(
                error[3] ** 2 + error[4] ** 2 + error[5] ** 2
            )
            allowed = jump_rad + jump_rad_per_m * way
            for joint in range(JOINTS):
                if abs(joints[joint] - before[joint]) > allowed:
                    status_out[path, 0] = JUMPED
                    status_out[path, 2] = joint
            if status_out[path, 0] != SOLVED:
                break
