"""Between the trajectories of a task and the tool poses that plans and corrections are made of."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.curve import GRIPPER_DOWN
from reward_learning_ros.arm.description import FR3, ArmDescription
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.core.checks import finite_array
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import UNMOVED, CorrectionSequence, tail_shifts
from reward_learning_ros.interface import Correction, PassCorrections, Plan

Array = NDArray[np.float64]

_POSITION_AXES = ('x', 'y', 'z')
# Turns out of the gripper straight down, about the axes of the base frame; a tilted cup leans to
# the front.
_TURN_AXES = {'roll': 0, 'pitch': 1, 'tilt': 1, 'yaw': 2}
# Times of a plan and of its corrections are on the same nanoseconds; what differs by more than
# this is another time.
_SAME_TIME_SEC = 1e-6
_NO_TURN = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class ToolPaths:
    """Converts between a task's trajectories (n, m) and plans of tool poses.

    Coordinates are positions (x, y, z), turns of the tool (roll, pitch or tilt, yaw) or all joints
    of the arm, by the task's axis names. A position that a task does not have is that of home.

    Attributes:
        task: the task.
        description: the arm; another prefix of its joints does not matter.
    """

    task: Task
    description: ArmDescription = FR3
    kinematics: Kinematics = field(init=False, repr=False)
    _home_m: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        axes = self.task.axis_names
        kinematics = Kinematics(description=self.description)
        object.__setattr__(self, 'kinematics', kinematics)
        object.__setattr__(self, '_home_m', kinematics.tool_poses(self.description.home_rad)[0])
        unknown = sorted(set(axes) - {*_POSITION_AXES, *_TURN_AXES})
        if not self._is_of_joints and (unknown or len(axes) != self.task.plan.shape[1]):
            raise InvalidInputError(
                f'a tool cannot follow task {self.task.name!r}: its axes are {", ".join(axes)}; '
                f'allowed: {", ".join((*_POSITION_AXES, *_TURN_AXES))}, or the joints of the arm'
            )
        if len(self.task.plan) < 2:
            raise InvalidInputError(
                f'an arm cannot play task {self.task.name!r}: it has a single waypoint'
            )

    @property
    def _is_of_joints(self) -> bool:
        return self.task.axis_names == FR3.joint_names

    def initial_plan(self, stamp_ns: int) -> Plan:
        """Return the task's own plan, before anybody corrected it."""
        return self.plan_of(self.task.plan, stamp_ns)

    def plan_of(self, trajectory: ArrayLike, stamp_ns: int) -> Plan:
        """Return a trajectory (n, m) as tool poses, evenly over the task's duration."""
        array = finite_array(trajectory, 'trajectory', self.task.plan.shape)
        if self._is_of_joints:
            positions, matrices = self.kinematics.tool_poses(array)
            rotations = Rotation.from_matrix(matrices)
        else:
            positions = np.tile(self._home_m, (len(array), 1))
            turns = np.zeros((len(array), 3))
            for values, axis in zip(array.T, self.task.axis_names, strict=True):
                if axis in _POSITION_AXES:
                    positions[:, _POSITION_AXES.index(axis)] = values
                else:
                    turns[:, _TURN_AXES[axis]] = values
            rotations = Rotation.from_euler('xyz', turns) * Rotation.from_matrix(GRIPPER_DOWN)
        return Plan(
            stamp_ns=stamp_ns,
            frame_id=self.description.base_frame,
            positions=positions,
            orientations=rotations.as_quat(),
            times_sec=np.linspace(0.0, self.task.duration_sec, len(array)),
        )

    def trajectory_of(self, plan: Plan) -> Array:
        """Return tool poses as a trajectory (n, m) of the task.

        Raises:
            InvalidInputError: the plan is in another frame or has another number of waypoints.
            UnreachablePlanError: the task is one of joints, and the arm cannot follow.
        """
        if plan.frame_id != self.description.base_frame:
            raise InvalidInputError(
                f'the plan is in frame {plan.frame_id}; allowed: {self.description.base_frame}'
            )
        if len(plan.positions) != len(self.task.plan):
            raise InvalidInputError(
                f'the plan has {len(plan.positions)} waypoints, but plans of task '
                f'{self.task.name!r} have {len(self.task.plan)}'
            )
        return self._trajectory(plan.positions, Rotation.from_quat(plan.orientations))

    def corrected(self, plan: Plan, corrections: list[Correction]) -> tuple[Array, Array]:
        """Return what corrections of a plan made of it, each of what the one before left.

        Waypoints and coordinates that the task lets nobody choose stay as they are in the plan.

        Args:
            plan: what was corrected.
            corrections: K of that plan, in their order.

        Returns:
            The trajectories (K, n, m), and (K, n) by how much of its displacement each correction
            moves each waypoint.
        """
        before = self.trajectory_of(plan)
        positions, rotations = plan.positions, Rotation.from_quat(plan.orientations)
        fixed = self.task.space.fixed_waypoints
        trajectories, profiles = [], []
        for correction in corrections:
            if len(correction.delta_positions) != len(positions):
                raise InvalidInputError(
                    f'a correction moves {len(correction.delta_positions)} waypoints of a plan '
                    f'that has {len(positions)}'
                )
            positions = positions + correction.delta_positions
            rotations = Rotation.from_quat(correction.delta_orientations) * rotations
            after = self._free(self._trajectory(positions, rotations), before)
            trajectories.append(after)
            profiles.append(_profile(after - before, max(correction.onset_waypoint, fixed)))
            before = after
        return np.array(trajectories), np.array(profiles)

    def pass_sequence(self, plan: Plan, corrections: PassCorrections) -> CorrectionSequence | None:
        """Return what a person did to a pass of a plan, as inference takes it.

        Waypoints and coordinates that the task lets nobody choose stay as they are in the plan: a
        push before the first free waypoint moves that one and all later ones. Waypoints of which
        nothing is known are left out; silence moves nothing at all.

        Returns:
            The sequence; None if nothing is known of the pass.

        Raises:
            InvalidInputError: A time is that of no waypoint, or the frame is another one.
            UnreachablePlanError: The task is one of joints, and the arm cannot follow.
        """
        if corrections.frame_id != plan.frame_id:
            raise InvalidInputError(
                f'corrections are in frame {corrections.frame_id}; allowed: {plan.frame_id}'
            )
        planned = self.trajectory_of(plan)
        fixed = self.task.space.fixed_waypoints
        onsets: list[int] = []
        pushed: list[bool] = []
        corrected: list[Array] = []
        positions, rotations = plan.positions, Rotation.from_quat(plan.orientations)
        after = planned
        for waypoint, is_push, delta, turn in zip(
            _waypoints_at(corrections.times_sec, plan.times_sec),
            corrections.is_push,
            corrections.delta_positions,
            corrections.delta_orientations,
            strict=True,
        ):
            if waypoint < fixed and not is_push:
                continue
            if is_push:
                is_moved = np.arange(len(positions)) >= waypoint
                positions = positions + is_moved[:, None] * delta
                turns = np.where(is_moved[:, None], turn, _NO_TURN)
                rotations = Rotation.from_quat(turns) * rotations
                after = self._free(self._trajectory(positions, rotations), planned)
                # What lies before stays as it was, to the last digit.
                after[:waypoint] = (corrected[-1] if corrected else planned)[:waypoint]
            onset = max(waypoint, fixed)
            if onsets and onsets[-1] == onset:
                # Pushed before the first free waypoint, and perhaps at that one too.
                pushed[-1], corrected[-1] = pushed[-1] or bool(is_push), after
                continue
            onsets.append(onset)
            pushed.append(bool(is_push))
            corrected.append(after)
        if not onsets:
            return None
        return CorrectionSequence(
            plan=planned,
            corrected=np.array(corrected),
            profiles=tail_shifts(onsets, len(planned)),
            pushed=np.array(pushed),
        )

    def _free(self, moved: Array, planned: Array) -> Array:
        """Return a trajectory with what nobody chooses as it is in the plan."""
        fixed = self.task.space.fixed_waypoints
        moved[:fixed] = planned[:fixed]
        for axis in self.task.space.given_axes:
            moved[:, axis] = planned[:, axis]
        return moved

    def _trajectory(self, positions: Array, rotations: Rotation) -> Array:
        if self._is_of_joints:
            path = self.kinematics.follow(
                positions, rotations=rotations.as_matrix(), start_joints_rad=self.task.plan[0]
            )
            return np.array(path.waypoint_joints_rad)
        turns = (rotations * Rotation.from_matrix(GRIPPER_DOWN).inv()).as_euler('xyz')
        columns = [
            positions[:, _POSITION_AXES.index(axis)]
            if axis in _POSITION_AXES
            else turns[:, _TURN_AXES[axis]]
            for axis in self.task.axis_names
        ]
        return np.column_stack(columns)


def _profile(displacement: Array, onset_waypoint: int) -> Array:
    """Return each waypoint's share (n,) of a displacement (n, m); the farthest moved has 1.

    A correction that moves nothing is data too: it could have moved the plan from its onset on.
    """
    farthest = displacement[np.argmax(np.linalg.norm(displacement, axis=1))]
    if not np.abs(farthest).max() > UNMOVED:
        return np.asarray(np.arange(len(displacement)) >= onset_waypoint, dtype=np.float64)
    return np.asarray(displacement @ farthest / (farthest @ farthest))


def _waypoints_at(times_sec: Array, plan_times_sec: Array) -> list[int]:
    """Return which waypoints of a plan are at some times.

    Raises:
        InvalidInputError: There is none at one of them.
    """
    found = []
    for time_sec in times_sec:
        waypoint = int(np.argmin(np.abs(plan_times_sec - time_sec)))
        if abs(plan_times_sec[waypoint] - time_sec) > _SAME_TIME_SEC:
            raise InvalidInputError(
                f'corrections name a waypoint at {time_sec:g} s; those of the plan are at '
                f'{", ".join(f"{time:g}" for time in plan_times_sec)} s'
            )
        found.append(waypoint)
    return found
