"""Where the tool is for given joints, and which joints bring it along a Cartesian path."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm import kinematics_kernels as kernels
from reward_learning_ros.arm.chain import chain_of, wrist_geometry
from reward_learning_ros.arm.curve import (
    GRIPPER_DOWN,
    POSES_PER_SEGMENT,
    as_rotation,
    as_waypoints,
    curve_points,
    poses_per_segment,
    relative_rotations,
    require_pose_count,
    rotations_along,
    sample_trajectories,
    usual_poses_per_segment,
)
from reward_learning_ros.arm.description import FR3, JOINT_COUNT, ArmDescription
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError

Array = NDArray[np.float64]


class Reason(Enum):
    """Why the arm cannot follow a plan."""

    OUT_OF_REACH = 'out of reach'
    JOINT_LIMIT = 'joint limit'
    SINGULARITY = 'singularity'
    JOINT_JUMP = 'joint jump'
    WORKSPACE = 'outside the workspace'


class UnreachablePlanError(RewardLearningError):
    """A plan cannot be followed; says at which waypoint and why.

    Attributes:
        waypoint: index of the waypoint at which, or on the way to which, the arm fails.
        reason: the kind of failure.
        joint: name of the joint that fails, if one does.
    """

    def __init__(
        self,
        *,
        waypoint: int,
        on_the_way: bool,
        position_m: ArrayLike,
        reason: Reason,
        detail: str,
        joint: str | None = None,
    ) -> None:
        self.waypoint = waypoint
        self.reason = reason
        self.joint = joint
        x, y, z = np.asarray(position_m, dtype=np.float64)
        where = 'on the way to' if on_the_way else 'at'
        super().__init__(
            f'{where} waypoint {waypoint}, tool at ({x:.3f}, {y:.3f}, {z:.3f}) m: '
            f'{reason.value}: {detail}'
        )


@dataclass(frozen=True, kw_only=True)
class JointPath:
    """Joint configurations that bring the tool along the curve through a plan's waypoints.

    Attributes:
        parameter: (S,) of the curve, from 0 to 1.
        joints_rad: (S, 7).
        tool_positions_m: (S, 3) in the base frame.
        waypoint_count: of the plan; waypoint i is at parameter i / (waypoint_count - 1). A path
            that begins between the waypoints of a plan counts only its own two ends.
    """

    parameter: Array
    joints_rad: Array
    tool_positions_m: Array
    waypoint_count: int

    @property
    def waypoint_joints_rad(self) -> Array:
        """The configurations at the waypoints, (n, 7)."""
        stride = (len(self.parameter) - 1) // (self.waypoint_count - 1)
        return self.joints_rad[::stride]


@dataclass(frozen=True, kw_only=True)
class Kinematics:
    """Forward and inverse kinematics of one arm.

    Attributes:
        description: the arm.
        joint_margin_rad: distance that inverse kinematics keeps from joint limits.
        singularity_margin: smallest singular value of the Jacobian (metres and radians mixed) that
            a path may have. At home it is about 0.2; at 0.03 a tool speed of 0.1 m/s can cost
            3 rad/s.
        jump_rad_per_m: joint motion per metre of tool motion that counts as a jump. Ordinary
            motion costs 3 to 5; an elbow that swings round a joint limit 15 and more.
        jump_rad: joint motion between neighbouring poses that is never a jump.
    """

    description: ArmDescription = FR3
    joint_margin_rad: float = 0.02
    singularity_margin: float = 0.03
    jump_rad_per_m: float = 12.0
    jump_rad: float = 0.05
    _chain: Array = field(init=False, repr=False, compare=False)
    _lower_rad: Array = field(init=False, repr=False, compare=False)
    _upper_rad: Array = field(init=False, repr=False, compare=False)
    _home_rad: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ('joint_margin_rad', 'singularity_margin', 'jump_rad_per_m', 'jump_rad'):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InvalidInputError(f'{name} is {getattr(self, name)}; allowed: 0 or above')
        joints = self.description.joints
        lower = np.array([joint.lower_rad for joint in joints]) + self.joint_margin_rad
        upper = np.array([joint.upper_rad for joint in joints]) - self.joint_margin_rad
        if not (lower < upper).all():
            raise InvalidInputError(
                f'joint_margin_rad is {self.joint_margin_rad}; allowed: less than half the range '
                'of every joint'
            )
        object.__setattr__(self, '_chain', chain_of(self.description))
        object.__setattr__(self, '_lower_rad', lower)
        object.__setattr__(self, '_upper_rad', upper)
        object.__setattr__(self, '_home_rad', np.array(self.description.home_rad))

    @property
    def chain(self) -> Array:
        """The fixed transforms (8, 3, 4) that `kinematics_kernels` take."""
        return self._chain

    def tool_poses(self, joints_rad: ArrayLike) -> tuple[Array, Array]:
        """Compute tool poses.

        Args:
            joints_rad: (..., 7).

        Returns:
            Positions (..., 3) in metres and rotations (..., 3, 3), both in the base frame.
        """
        joints = _as_joints(joints_rad)
        flat = np.ascontiguousarray(joints.reshape(-1, JOINT_COUNT))
        positions, rotations = np.empty((len(flat), 3)), np.empty((len(flat), 3, 3))
        kernels.tool_poses(self._chain, flat, positions, rotations)
        shape = joints.shape[:-1]
        return positions.reshape(*shape, 3), rotations.reshape(*shape, 3, 3)

    def jacobian(self, joints_rad: ArrayLike) -> Array:
        """Compute the tool's Jacobian (6, 7) in the base frame: linear rows, then angular."""
        jacobian = np.empty((6, JOINT_COUNT))
        kernels.tool_pose_and_jacobian(
            self._chain, _as_joints(joints_rad), np.empty(3), np.empty((3, 3)), jacobian
        )
        return jacobian

    def jacobians(self, joints_rad: ArrayLike) -> Array:
        """Compute the Jacobians (n, 6, 7) of joints (n, 7), each as `jacobian` does."""
        joints = _as_joints(joints_rad)
        jacobians = np.empty((len(joints), 6, JOINT_COUNT))
        kernels.tool_jacobians(self._chain, joints, jacobians)
        return jacobians

    def smallest_singular_value(self, joints_rad: ArrayLike) -> float:
        """How far a configuration is from singular: the Jacobian's smallest singular value."""
        return float(kernels.smallest_singular_value(self.jacobian(joints_rad)))

    def follow(
        self,
        positions_m: ArrayLike,
        *,
        rotations: ArrayLike | None = None,
        start_joints_rad: ArrayLike | None = None,
        start_parameter: float = 0.0,
    ) -> JointPath:
        """Find joints that bring the tool along the curve through waypoints.

        Args:
            positions_m: (n, 3) waypoints in the base frame.
            rotations: tool rotations in the base frame, (n, 3, 3), or (3, 3) for all; None keeps
                the gripper down.
            start_joints_rad: (7,) where the arm is; the path begins near it. None lets the posture
                settle near home.
            start_parameter: where on the curve, in [0, 1), the path begins.

        Returns:
            The joint path; its own parameter runs from 0 to 1 over the part that is followed.

        Raises:
            UnreachablePlanError: the arm cannot follow; says at which waypoint and why.
        """
        waypoints = as_waypoints(positions_m)
        if waypoints.ndim != 2 or waypoints.shape[1] != 3:
            raise InvalidInputError(f'positions_m has shape {waypoints.shape}; allowed: (n, 3)')
        count = len(waypoints)
        require_pose_count(usual_poses_per_segment(count - 1) * (count - 1))
        self._require_near(waypoints)
        rotation_vectors, base_rotation = relative_rotations(rotations, count)
        if not 0.0 <= start_parameter < 1.0:
            raise InvalidInputError(
                f'start_parameter is {start_parameter}; allowed: from 0 to below 1'
            )
        stride = poses_per_segment(waypoints, rotation_vectors)
        require_pose_count(stride * (count - 1))
        steps = max(math.ceil(stride * (count - 1) * (1.0 - start_parameter)), POSES_PER_SEGMENT)
        parameter = np.linspace(0.0, 1.0, steps + 1)
        along = start_parameter + (1.0 - start_parameter) * parameter
        positions = curve_points(waypoints, along)
        poses = rotations_along(rotation_vectors, base_rotation, along)
        joints = np.empty((1, len(parameter), JOINT_COUNT))
        status = np.empty((1, 3), dtype=np.int64)
        start = self._home_rad if start_joints_rad is None else _as_joints(start_joints_rad)
        self._run(positions[None], poses, start, start_joints_rad is not None, joints, status)
        if status[0, 0] != kernels.SOLVED:
            sample = int(status[0, 1])
            raise self._explain(
                status[0],
                positions[sample],
                poses[min(sample, len(poses) - 1)],
                float(along[sample]) * (count - 1),
            )
        return JointPath(
            parameter=parameter,
            joints_rad=joints[0],
            tool_positions_m=positions,
            waypoint_count=count if start_parameter == 0.0 else 2,
        )

    def follow_many(
        self, trajectories_m: ArrayLike, *, rotation: ArrayLike = GRIPPER_DOWN
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Find joints along many trajectories at once, with a constant tool rotation.

        Args:
            trajectories_m: (N, n, 3) waypoints in the base frame.
            rotation: (3, 3) of the tool in the base frame.

        Returns:
            Parameters (S,) of the curves, joints (N, S, 7) there, and (N,) which trajectories the
            arm can follow, as in `reachable`; the joints of the others mean nothing.
        """
        parameter, positions = sample_trajectories(trajectories_m)
        joints = np.zeros((*positions.shape[:2], JOINT_COUNT))
        status = np.empty((len(positions), 3), dtype=np.int64)
        self._run(positions, as_rotation(rotation), self._home_rad, False, joints, status)
        return parameter, joints, np.asarray(status[:, 0] == kernels.SOLVED)

    def reachable(
        self, trajectories_m: ArrayLike, *, rotation: ArrayLike = GRIPPER_DOWN
    ) -> NDArray[np.bool_]:
        """Tell which trajectories the arm can follow without a jump, at a constant tool rotation.

        Each trajectory is judged for itself: the answer does not depend on the others.

        Args:
            trajectories_m: (N, n, 3) waypoints in the base frame.
            rotation: (3, 3) of the tool in the base frame.

        Returns:
            (N,).
        """
        parameter, positions = sample_trajectories(trajectories_m)
        joints = np.empty((1, len(parameter), JOINT_COUNT))
        status = np.empty((len(positions), 3), dtype=np.int64)
        self._run(positions, as_rotation(rotation), self._home_rad, False, joints, status)
        return np.asarray(status[:, 0] == kernels.SOLVED)

    def within_joint_limits(self, joints_rad: ArrayLike) -> NDArray[np.bool_]:
        """Tell which configurations (..., 7) keep the margin from all joint limits, (...)."""
        joints = _as_joints(joints_rad)
        return np.asarray(((joints >= self._lower_rad) & (joints <= self._upper_rad)).all(axis=-1))

    def _run(
        self,
        positions: Array,
        rotations: Array,
        start: Array,
        start_given: bool,
        joints: Array,
        status: NDArray[np.int64],
    ) -> None:
        kernels.follow_paths(
            self._chain,
            np.ascontiguousarray(positions),
            rotations,
            self._lower_rad,
            self._upper_rad,
            self._home_rad,
            start,
            start_given,
            self.singularity_margin,
            self.jump_rad,
            self.jump_rad_per_m,
            joints,
            status,
        )

    def _explain(
        self, status: NDArray[np.int64], position: Array, rotation: Array, waypoint: float
    ) -> UnreachablePlanError:
        """Turn the kernel's status into words; the waypoint may lie between two of them."""
        code, _, joint_index = (int(value) for value in status)
        joint = self.description.joints[joint_index]
        distance = self._beyond_reach(position, rotation)
        joint_name: str | None = None
        if code in (kernels.NOT_CONVERGED, kernels.AT_JOINT_LIMIT) and distance is not None:
            reason, detail = Reason.OUT_OF_REACH, distance
        elif code == kernels.AT_JOINT_LIMIT:
            reason, joint_name = Reason.JOINT_LIMIT, joint.name
            detail = (
                f'{joint.name} would leave {joint.lower_rad} to {joint.upper_rad} rad '
                f'(with a margin of {self.joint_margin_rad})'
            )
        elif code == kernels.SINGULAR:
            reason = Reason.SINGULARITY
            detail = f'smallest singular value below {self.singularity_margin}'
        elif code == kernels.JUMPED:
            reason, joint_name = Reason.JOINT_JUMP, joint.name
            detail = (
                f'{joint.name} would move by more than {self.jump_rad_per_m} rad per metre of tool'
            )
        else:
            reason, detail = Reason.OUT_OF_REACH, 'no joint configuration found'
        return UnreachablePlanError(
            waypoint=math.ceil(waypoint - 1e-9),
            on_the_way=abs(waypoint - round(waypoint)) > 1e-9,
            position_m=position,
            reason=reason,
            detail=detail,
            joint=joint_name,
        )

    def _require_near(self, waypoints: Array) -> None:
        """Refuse waypoints (n, 3) beyond the length of the arm: the way there has no bound."""
        length = float(np.linalg.norm(self._chain[:, :, 3], axis=1).sum())
        outside = np.flatnonzero(np.abs(waypoints).max(axis=1) > length)
        if len(outside) == 0:
            return
        position = waypoints[outside[0]]
        raise UnreachablePlanError(
            waypoint=int(outside[0]),
            on_the_way=False,
            position_m=position,
            reason=Reason.OUT_OF_REACH,
            detail=f'{np.abs(position).max() - length:.3f} m too far from the base',
        )

    def _beyond_reach(self, position: Array, rotation: Array) -> str | None:
        """Tell whether the wrist would be too far from or too near to the shoulder for any elbow.

        The wrist (where axes 5 and 6 meet) lies on a circle about axis 7, given the tool's pose,
        and at a distance from the shoulder (where axes 1 and 2 meet) that joint 4 alone decides.
        """
        shoulder, nearest, farthest = wrist_geometry(self.description, self._chain)
        radius = float(np.hypot(*self.description.joints[6].origin.xyz_m[:2]))
        axis = rotation[:, 2]
        offset = shoulder - (position - self._chain[JOINT_COUNT, 2, 3] * axis)
        along = float(offset @ axis)
        across = float(np.linalg.norm(offset - along * axis))
        closest = math.hypot(along, across - radius)
        if closest > farthest:
            return f'{closest - farthest:.3f} m too far from the base'
        widest = math.hypot(along, across + radius)
        if widest < nearest:
            return f'{nearest - widest:.3f} m too near to the base'
        return None


def _as_joints(joints_rad: ArrayLike) -> Array:
    # A copy: to Numba a read-only array is another type, which would be compiled for again.
    joints = np.array(joints_rad, dtype=np.float64, order='C')
    if joints.ndim < 1 or joints.shape[-1] != JOINT_COUNT:
        raise InvalidInputError(f'joints have shape {joints.shape}; allowed: (..., {JOINT_COUNT})')
    if not np.isfinite(joints).all():
        raise InvalidInputError('joints hold a value that is not finite')
    return joints
