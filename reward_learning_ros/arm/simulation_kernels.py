"""Compiled inner loop of the simulated arm: set-points, joint impedance, external torque."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.arm.kinematics_kernels import (
    JOINTS,
    factorise,
    smallest_singular_value,
    solve_factorised,
    tool_pose_and_jacobian,
)
from reward_learning_ros.core.kernel_cache import njit

Array = NDArray[np.float64]

_Function = TypeVar('_Function', bound=Callable[..., Any])
_compiled: Callable[[_Function], _Function] = njit(cache=True, nogil=True)

# Rows of a set-point, and of what acts on the arm.
POSITION, VELOCITY, ACCELERATION = 0, 1, 2
EXTERNAL, CONTACT, PUSH = 0, 1, 2

# What a cycle may come to, besides the index of a joint.
FINE, TOO_MUCH_FORCE, OFF_THE_PATH = -1, -2, -3

# What `observe` writes, one after another.
MEASURED = slice(0, 21)  # joint positions, velocities, torques
EXTERNAL_TORQUE = slice(21, 28)
WRENCH_IN_BASE = slice(28, 34)
WRENCH_IN_STIFFNESS = slice(34, 40)
POSE = slice(40, 47)  # x, y, z and quaternion x, y, z, w
DESIRED_POSE = slice(47, 54)
OBSERVATION_SIZE = 54
NOISE_SIZE = 21


@_compiled
def sample_spline(knots_sec: Array, coefficients: Array, time_sec: float, point: Array) -> None:
    """Evaluate a set-point of piecewise polynomials; after their end it rests there.

    Args:
        knots_sec: (k + 1,) increasing.
        coefficients: (k, 6, 7) of each piece by the time since its knot, constant term first.
        time_sec: when; before the first knot the motion stands at its start.
        point: (3, 7) position, velocity, acceleration, written.
    """
    pieces = coefficients.shape[0]
    time = min(max(time_sec, knots_sec[0]), knots_sec[pieces])
    piece = 0
    while piece < pieces - 1 and time >= knots_sec[piece + 1]:
        piece += 1
    t = time - knots_sec[piece]
    at_rest = time_sec >= knots_sec[pieces]
    for joint in range(JOINTS):
        position, velocity, acceleration = 0.0, 0.0, 0.0
        for power in range(5, -1, -1):
            acceleration = acceleration * t + 2.0 * velocity
            velocity = velocity * t + position
            position = position * t + coefficients[piece, power, joint]
        point[POSITION, joint] = position
        point[VELOCITY, joint] = 0.0 if at_rest else velocity
        point[ACCELERATION, joint] = 0.0 if at_rest else acceleration


@_compiled
def control(
    chain: Array,
    joints: Array,
    joint_speeds: Array,
    knots_sec: Array,
    coefficients: Array,
    time_sec: float,
    gains: Array,
    max_force: float,
    path_tolerance: float,
    keep: float,
    felt: Array,
    point: Array,
    torque: Array,
    pushed_torque: Array,
) -> int:
    """Compute the torques of one cycle, and let the estimate of the external torque follow.

    Args:
        chain: (8, 3, 4) of the kinematics.
        joints: (7,) rad.
        joint_speeds: (7,) rad/s.
        knots_sec: of the motion, see `sample_spline`.
        coefficients: likewise.
        time_sec: likewise.
        gains: (3, 7) stiffness, damping, and the external torque that is too much.
        max_force: external force that is too much, N.
        path_tolerance: distance of a joint from its set-point that is too much, rad; 0 for none.
        keep: share of the external torque's estimate that a cycle keeps.
        felt: (3, 7), rows: filtered external torque, updated; torque of contacts with the world;
            force and torque of a person at the tool, base frame, and how many joints, counted
            from the base, feel it.
        point: (3, 7) set-point, written.
        torque: (7,) command, written.
        pushed_torque: (7,) what the person does to the joints, written.

    Returns:
        `FINE`, `TOO_MUCH_FORCE`, `OFF_THE_PATH`, or the index of the joint with too much torque.
    """
    sample_spline(knots_sec, coefficients, time_sec, point)
    wrench = felt[PUSH]
    pushed = False
    for axis in range(6):
        if wrench[axis] != 0.0:
            pushed = True
    jacobian = np.zeros((6, JOINTS))
    if pushed:
        tool_pose_and_jacobian(chain, joints, np.empty(3), np.empty((3, 3)), jacobian)
    result = FINE
    for joint in range(JOINTS):
        distance = point[POSITION, joint] - joints[joint]
        if path_tolerance > 0.0 and abs(distance) > path_tolerance:
            result = OFF_THE_PATH
        torque[joint] = gains[0, joint] * distance + gains[1, joint] * (
            point[VELOCITY, joint] - joint_speeds[joint]
        )
        pushing = 0.0
        if joint < wrench[6]:
            for axis in range(6):
                pushing += jacobian[axis, joint] * wrench[axis]
        pushed_torque[joint] = pushing
        acting = felt[CONTACT, joint] + pushing
        estimate = keep * felt[EXTERNAL, joint] + (1.0 - keep) * acting
        # Numbers too small to be normal ones make the processor a hundred times slower.
        felt[EXTERNAL, joint] = estimate if abs(estimate) > 1e-15 else 0.0
    if wrench[0] ** 2 + wrench[1] ** 2 + wrench[2] ** 2 > max_force**2:
        result = TOO_MUCH_FORCE
    for joint in range(JOINTS):
        if abs(felt[EXTERNAL, joint]) > gains[2, joint]:
            result = joint
    return result


@_compiled
def observe(
    chain: Array,
    joints: Array,
    joint_speeds: Array,
    torque: Array,
    gravity_torque: Array,
    external_torque: Array,
    point: Array,
    sign: float,
    bias_directions: Array,
    bias_phases: Array,
    bias: Array,
    noise_scales: Array,
    noise: Array,
    singularity_margin: float,
    observation: Array,
) -> None:
    """Compute what the arm tells about itself, with the errors that a real one has.

    Args:
        chain: (8, 3, 4) of the kinematics.
        joints: (7,) true positions, rad.
        joint_speeds: (7,) rad/s.
        torque: (7,) commanded, N·m.
        gravity_torque: (7,) that carries the arm's weight.
        external_torque: (7,) what the world does to the arm.
        point: (3, 7) set-point.
        sign: of published external torques and wrenches; libfranka's is -1.
        bias_directions: (7, 7) how the bias of each joint varies with the configuration.
        bias_phases: (7,).
        bias: (7,) amplitude, N·m.
        noise_scales: (3,) of position, velocity and external torque.
        noise: (21,) standard normal.
        singularity_margin: smallest singular value below which the wrench is zero.
        observation: (54,) written.
    """
    jacobian = np.empty((6, JOINTS))
    position, rotation = np.empty(3), np.empty((3, 3))
    for joint in range(JOINTS):
        observation[joint] = joints[joint] + noise_scales[0] * noise[joint]
        observation[7 + joint] = joint_speeds[joint] + noise_scales[1] * noise[7 + joint]
        observation[14 + joint] = torque[joint] + gravity_torque[joint]
        phase = bias_phases[joint]
        for other in range(JOINTS):
            phase += bias_directions[joint, other] * joints[other]
        observation[21 + joint] = (
            sign * external_torque[joint]
            + bias[joint] * math.sin(phase)
            + noise_scales[2] * noise[14 + joint]
        )
    measured = observation[0:7]
    tool_pose_and_jacobian(chain, measured, position, rotation, jacobian)
    _write_pose(position, rotation, observation[40:47])
    wrench = observation[28:34]
    in_stiffness = observation[34:40]
    for row in range(6):
        wrench[row], in_stiffness[row] = 0.0, 0.0
    if smallest_singular_value(jacobian) >= singularity_margin:
        # The wrench that explains the torques best: (J Jᵀ) F = J τ.
        factor = np.empty((6, 6))
        factorise(jacobian, np.ones(JOINTS, dtype=np.bool_), 0.0, factor)
        for row in range(6):
            for joint in range(JOINTS):
                wrench[row] += jacobian[row, joint] * observation[21 + joint]
        solve_factorised(factor, wrench)
        for row in range(3):
            for axis in range(3):
                in_stiffness[row] += rotation[axis, row] * wrench[axis]
                in_stiffness[3 + row] += rotation[axis, row] * wrench[3 + axis]
    tool_pose_and_jacobian(chain, point[POSITION], position, rotation, jacobian)
    _write_pose(position, rotation, observation[47:54])


@_compiled
def _write_pose(position: Array, rotation: Array, pose: Array) -> None:
    """Write a pose as x, y, z and quaternion x, y, z, w, (7,)."""
    for axis in range(3):
        pose[axis] = position[axis]
    # Of the four squared components the largest is divided by: the others may vanish.
    trace = rotation[0, 0] + rotation[1, 1] + rotation[2, 2]
    if trace > 0.0:
        root = math.sqrt(1.0 + trace)
        pose[6] = 0.5 * root
        pose[3] = 0.5 * (rotation[2, 1] - rotation[1, 2]) / root
        pose[4] = 0.5 * (rotation[0, 2] - rotation[2, 0]) / root
        pose[5] = 0.5 * (rotation[1, 0] - rotation[0, 1]) / root
        return
    i = 0
    if rotation[1, 1] > rotation[0, 0]:
        i = 1
    if rotation[2, 2] > rotation[i, i]:
        i = 2
    j, k = (i + 1) % 3, (i + 2) % 3
    root = math.sqrt(max(1.0 + rotation[i, i] - rotation[j, j] - rotation[k, k], 0.0))
    pose[3 + i] = 0.5 * root
    pose[3 + j] = 0.5 * (rotation[j, i] + rotation[i, j]) / root
    pose[3 + k] = 0.5 * (rotation[k, i] + rotation[i, k]) / root
    pose[6] = 0.5 * (rotation[k, j] - rotation[j, k]) / root
