"""A simulated FR3 that feels, errs, gives way and stops as a real one does; one call a cycle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm import simulation_kernels as kernels
from reward_learning_ros.arm.chain import LinkFrames
from reward_learning_ros.arm.description import JOINT_COUNT, RobotMode, franka_arm
from reward_learning_ros.arm.franka import (
    FRANKA_DAMPING_NM_S,
    FRANKA_STIFFNESS_NM,
)
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.mjcf import import_mujoco, mjcf, torque_actuators
from reward_learning_ros.arm.scenes import load_scene
from reward_learning_ros.arm.simulated_controller import (
    Noise,
    TorqueBias,
    TrajectoryFollower,
    TrajectoryRefusedError,
)
from reward_learning_ros.arm.simulation_parameters import NO_SCENE, SimulationParameters
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.interface.plan import JointTrajectory

Array = NDArray[np.float64]

CYCLE_SEC = 0.001
CYCLE_NS = 1_000_000


class SimulatedArm:
    """The arm, its trajectory controller and its surroundings, at a thousand cycles a second.

    Attributes:
        config: what it was made of.
        kinematics: of the arm.
        time_ns: of the present cycle.
        mode: what the arm tells about itself.
        mode_reason: why it is in that mode, empty if it just works.
        observation: what the arm told last; its parts are the slices of `simulation_kernels`.
        set_point: (3, 7) position, velocity and acceleration that the controller asks for.
    """

    def __init__(self, config: SimulationParameters | None = None, *, start_ns: int = 0) -> None:
        self.config = config or SimulationParameters()
        description = franka_arm(prefix=self.config.prefix, hand=self.config.hand)
        self.kinematics = Kinematics(description=description)
        self.time_ns = start_ns
        self.mode = RobotMode.MOVE
        self.mode_reason = ''
        # Of a reflex that was not recovered from; empty without one.
        self._reflex_reason = ''
        self._start_ns = start_ns
        self._mujoco = import_mujoco('the simulated arm')
        self._model = self._make_model()
        self._data = self._mujoco.MjData(self._model)
        # MuJoCo puts the arm first in the tree, so its joints are the first of every array.
        self._joints = self._data.qpos[:JOINT_COUNT]
        self._joint_speeds = self._data.qvel[:JOINT_COUNT]
        self._gravity_torque = self._data.qfrc_gravcomp[:JOINT_COUNT]
        self._torque = self._data.ctrl
        # Not as a wrench on the tool's body: where that acts on a body without mass is MuJoCo's
        # secret, and differs between its versions.
        self._pushed_torque = self._data.qfrc_applied[:JOINT_COUNT]
        self._joints[:] = description.home_rad
        self._mujoco.mj_forward(self._model, self._data)
        self._follower = TrajectoryFollower(
            description.joint_names, start_rad=self._joints.copy(), epoch_ns=start_ns
        )
        self._gains = np.empty((3, JOINT_COUNT))
        self._set_gains(braking=False)
        self._chain = self.kinematics.chain
        self._keep = (
            math.exp(-CYCLE_SEC / self.config.torque_filter_sec)
            if self.config.torque_filter_sec > 0.0
            else 0.0
        )
        rng = np.random.default_rng(self.config.seed)
        self._bias = TorqueBias.drawn(self.config.torque_bias_nm, rng)
        self._noise = Noise(rng)
        self._noise_scales = np.array(
            [
                self.config.position_noise_rad,
                self.config.velocity_noise_rad_s,
                self.config.torque_noise_nm,
            ]
        )
        self._felt = np.zeros((3, JOINT_COUNT))
        self._push_until_ns: int | None = None
        self._link_frames = LinkFrames(description)
        # What pushes a link, in its frame; None while nobody does.
        self._link_push: tuple[str, Array] | None = None
        self._is_touching = False
        self.set_point = self._follower.sample(start_ns)
        self.observation = np.zeros(kernels.OBSERVATION_SIZE)
        self.observe()

    @property
    def joints_rad(self) -> Array:
        """The true joint positions, (7,)."""
        return self._joints.copy()

    @property
    def joint_speeds_rad_s(self) -> Array:
        """The true joint velocities, (7,)."""
        return self._joint_speeds.copy()

    @property
    def commanded_torque_nm(self) -> Array:
        """What the controller asks of the motors besides the arm's weight, (7,); a live view."""
        torque: Array = self._torque
        return torque

    @property
    def external_torque_nm(self) -> Array:
        """What the world does to the joints, filtered but without bias, noise or sign, (7,)."""
        return self._felt[kernels.EXTERNAL].copy()

    def tool_position_m(self) -> Array:
        """The true position of the tool, (3,) base frame."""
        return self.kinematics.tool_poses(self._joints)[0]

    def object_position(self, joint: str) -> float:
        """The position of a joint of the scene: how far a button is pressed, a door open."""
        return float(self._data.joint(joint).qpos[0])

    def step(self) -> None:
        """Advance by one cycle."""
        self.time_ns += CYCLE_NS
        if self._push_until_ns is not None and self.time_ns > self._push_until_ns:
            self._release()
        if self._link_push is not None:
            self._felt[kernels.PUSH] = self._push_at_tool(*self._link_push)
        follower = self._follower
        result = kernels.control(
            self._chain,
            self._joints,
            self._joint_speeds,
            follower.knots_sec,
            follower.coefficients,
            (self.time_ns - self._start_ns) * 1e-9,
            self._gains,
            self.config.reflex_force_n,
            self.config.path_tolerance_rad,
            self._keep,
            self._felt,
            self.set_point,
            self._torque,
            self._pushed_torque,
        )
        self._mujoco.mj_step(self._model, self._data)
        if self._data.ncon:
            self._feel_contacts()
        elif self._is_touching:
            self._felt[kernels.CONTACT] = 0.0
            self._is_touching = False
        if result != kernels.FINE and self.mode is RobotMode.MOVE:
            self._react(result)

    def observe(self) -> Array:
        """Measure, with noise and bias; returns `observation`, overwritten."""
        kernels.observe(
            self._chain,
            self._joints,
            self._joint_speeds,
            self._torque,
            self._gravity_torque,
            self._felt[kernels.EXTERNAL],
            self.set_point,
            float(self.config.external_sign),
            self._bias.directions,
            self._bias.phases_rad,
            self._bias.amplitude_nm,
            self._noise_scales,
            self._noise.draw(),
            self.config.singularity_margin,
            self.observation,
        )
        return self.observation

    def command(self, trajectory: JointTrajectory) -> None:
        """Follow another trajectory from now on.

        Raises:
            TrajectoryRefusedError: the controller ignores it; says why.
        """
        if not self.mode.follows_commands:
            raise TrajectoryRefusedError(f'the arm is in mode {self.mode.text}')
        state = self._follower.sample(self.time_ns)
        if not self.config.interpolate_from_desired_state:
            state = np.stack([self._joints, self._joint_speeds, np.zeros(JOINT_COUNT)])
        self._follower.accept(trajectory, self.time_ns, state)

    def push(self, wrench: ArrayLike, *, frame: str = '') -> None:
        """Let a person push, until the push times out or another one replaces it.

        Args:
            wrench: (6,) force in N and torque in N·m.
            frame: Empty, or the base frame: on the tool, along the axes of the base. Any other
                frame of the arm: at its origin and along its axes.

        Raises:
            InvalidInputError: The wrench is not six finite values, or there is no such frame.
        """
        array = np.array(wrench, dtype=np.float64)
        if array.shape != (6,) or not np.isfinite(array).all():
            raise InvalidInputError(f'wrench is {array}; allowed: 6 finite values')
        if frame in ('', self.kinematics.description.base_frame):
            self._felt[kernels.PUSH] = [*array, JOINT_COUNT]
            self._link_push = None
        else:
            self._link_frames.moving_joints(frame)
            self._link_push = (frame, array)
        self._push_until_ns = self.time_ns + round(self.config.push_timeout_sec * 1e9)

    def set_user_stop(self, pressed: bool) -> None:
        """Press or release the user stop; released, the arm holds where it is.

        A reflex of before is still one, and wants its recovery.
        """
        if pressed:
            self._stop(RobotMode.USER_STOPPED, 'the user stop is pressed')
        elif self.mode is RobotMode.USER_STOPPED and self._reflex_reason:
            self._stop(RobotMode.REFLEX, self._reflex_reason)
        elif self.mode is RobotMode.USER_STOPPED:
            self._restart()

    def recover(self) -> None:
        """End a reflex, as `error_recovery` does; the arm holds where it is.

        Raises:
            RewardLearningError: the user stop is pressed.
        """
        if self.mode is RobotMode.USER_STOPPED:
            raise RewardLearningError('the user stop is pressed: release it first')
        if self.mode is RobotMode.REFLEX:
            self._restart()

    def _make_model(self) -> Any:
        scene = None if self.config.scene == NO_SCENE else load_scene(self.config.scene)
        description = self.kinematics.description
        return self._mujoco.MjModel.from_xml_string(
            mjcf(
                description,
                timestep_sec=CYCLE_SEC,
                gravity_compensation=True,
                actuators=torque_actuators(description),
                bodies=() if scene is None else scene.bodies(),
                held=() if scene is None else scene.held(),
            )
        )

    def _push_at_tool(self, frame: str, wrench: Array) -> Array:
        """Return a push on a link as the kernel takes it (7,): moved to the tool, base axes."""
        poses = self._link_frames.poses(self._joints)
        rotation, position = poses[frame][:3, :3], poses[frame][:3, 3]
        tool = poses[self.kinematics.description.tool_frame][:3, 3]
        force = rotation @ wrench[:3]
        torque = rotation @ wrench[3:] + np.cross(position - tool, force)
        return np.array([*force, *torque, self._link_frames.moving_joints(frame)])

    def _release(self) -> None:
        self._felt[kernels.PUSH] = 0.0
        self._link_push = None
        self._push_until_ns = None

    def _feel_contacts(self) -> None:
        """Take the torques of contacts on the joints from the constraint solver."""
        mujoco, data = self._mujoco, self._data
        force = np.where(
            data.efc_type >= int(mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS),
            data.efc_force,
            0.0,
        )
        torque = np.zeros(self._model.nv)
        mujoco.mj_mulJacTVec(self._model, data, torque, force)
        self._felt[kernels.CONTACT] = torque[:JOINT_COUNT]
        self._is_touching = True

    def _react(self, result: int) -> None:
        """Stop in a reflex if something pushes too hard; hold if it moved the arm too far."""
        if result == kernels.OFF_THE_PATH:
            self._follower.hold(self._joints.copy(), self.time_ns)
        elif result == kernels.TOO_MUCH_FORCE:
            force = float(np.linalg.norm(self._felt[kernels.PUSH, :3]))
            self._stop(
                RobotMode.REFLEX,
                f'external force {force:.1f} N; allowed: {self.config.reflex_force_n:.1f}',
            )
        else:
            self._stop(
                RobotMode.REFLEX,
                f'{self.kinematics.description.joint_names[result]}: external torque '
                f'{self._felt[kernels.EXTERNAL, result]:.1f} N·m; allowed: '
                f'{self.config.reflex_torque_nm[result]:.1f}',
            )

    def _stop(self, mode: RobotMode, reason: str) -> None:
        self.mode, self.mode_reason = mode, reason
        if mode is RobotMode.REFLEX:
            self._reflex_reason = reason
        self._set_gains(braking=True)
        self._follower.hold(self._joints.copy(), self.time_ns)

    def _restart(self) -> None:
        self.mode, self.mode_reason = RobotMode.MOVE, ''
        self._reflex_reason = ''
        self._set_gains(braking=False)
        self._follower.hold(self._joints.copy(), self.time_ns)

    def _set_gains(self, *, braking: bool) -> None:
        # In a reflex the real arm's brakes hold it; here Franka's own stiff gains do.
        self._gains[0] = FRANKA_STIFFNESS_NM if braking else self.config.stiffness_nm
        self._gains[1] = FRANKA_DAMPING_NM_S if braking else self.config.damping_nm_s
        self._gains[2] = self.config.reflex_torque_nm
