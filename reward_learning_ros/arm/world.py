"""What trajectories do to the world: many rollouts at once in MuJoCo."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType, ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import CubicSpline

from reward_learning_ros.arm.curve import (
    RAMP_FRACTION,
    as_waypoints,
    curve_points,
    progress,
    travel,
)
from reward_learning_ros.arm.description import JOINT_COUNT, ArmDescription, Hand
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.mjcf import (
    HAND_SLIDES,
    hand_on_slides,
    impedance_actuators,
    import_mujoco,
    mjcf,
)
from reward_learning_ros.arm.scenes import Scene
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.core.errors import (
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
)

Array = NDArray[np.float64]
Progress = Callable[[int, int], None]

DRIVERS = ('arm', 'hand')

# franka_ros2's gains of its joint trajectory controller: the arm follows its plan closely, as the
# paper's predictive model does.
ARM_STIFFNESS_NM = (600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0)
ARM_DAMPING_NM_S = (30.0, 30.0, 30.0, 30.0, 10.0, 10.0, 5.0)

# The hand alone is about as stiff and heavy as the arm with these gains makes it in the middle of
# the workspace, critically damped, and as strong as the arm's wrist: a path through something that
# cannot give way must not throw it.
HAND_STIFFNESS_N_M = 2000.0
HAND_MOVING_MASS_KG = 5.0
HAND_DAMPING_N_S_M = 210.0
HAND_FORCE_N = 50.0

# The tool's rotation with the gripper down, w, x, y, z.
_GRIPPER_DOWN_QUATERNION = (0.0, 1.0, 0.0, 0.0)

# Coarser than MuJoCo's 1e-8: saves a tenth of the time and moves a box by micrometres.
_SOLVER_TOLERANCE = 1e-5

# Rollouts of one call to MuJoCo: small enough for a progress bar to move and for 100 MB.
_CHUNK = 256

_TOOL_POSITION = 'tool_position'
_TOOL_QUATERNION = 'tool_quaternion'


class UnreachableTrajectoryError(RewardLearningError):
    """Trajectories to be simulated are no part of the trajectory space.

    Attributes:
        indices: of the trajectories that the arm cannot follow.
    """

    def __init__(self, indices: NDArray[np.intp], total: int) -> None:
        self.indices = indices
        super().__init__(
            f'{len(indices)} of {total} trajectories cannot be followed by the arm, the first is '
            f'number {indices[0]}; keep those for which reachable() is true'
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What N trajectories did, sampled at S times; arrays are read-only.

    Attributes:
        times_sec: (S,) from the start of the motion to the end of the settling.
        channels: name → (N, S, width). Always `tool_position` (metres) and `tool_quaternion`
            (w, x, y, z); the others are those of the scene's objects.
    """

    times_sec: Array
    channels: Mapping[str, Array]

    def path(self, name: str) -> Array:
        """Return a channel over time, (N, S, width)."""
        if name not in self.channels:
            raise UnknownNameError('channel', name, self.channels)
        return self.channels[name]

    def initial(self, name: str) -> Array:
        """Return a channel before the motion, (N, width)."""
        return self.path(name)[:, 0]

    def final(self, name: str) -> Array:
        """Return a channel after the motion, (N, width)."""
        return self.path(name)[:, -1]

    @property
    def tool_tilt_rad(self) -> Array:
        """How far the tool leans away from straight down, (N, S): the tilt of a held cup."""
        _, x, y, _ = np.moveaxis(self.path(_TOOL_QUATERNION), -1, 0)
        # The tool's z axis has the height 1 − 2 (x² + y²) in the base frame.
        return np.arccos(np.clip(2.0 * (x**2 + y**2) - 1.0, -1.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class World:
    """A scene with something that follows trajectories in it.

    A trajectory is an array (n, m) of waypoints: tool positions with the gripper down (m = 3), or
    joint angles (m = 7, only with the arm). It is followed along the curve through its waypoints,
    from rest to rest, in the duration that `simulate` is given.

    Attributes:
        scene: the table and the objects.
        driver: `arm` simulates the whole arm under joint impedance; `hand` moves the hand alone,
            held by springs, in three quarters of the time. For a box that is pushed along the
            table both agree (rank correlation 0.99); where the arm presses on things from above
            or touches them with several links, only the arm will do.
        timestep_sec: of the simulation; None takes the scene's.
        settle_sec: how long the arm holds still after the motion, for the objects to come to rest.
        sample_count: how many samples of a rollout the outcome keeps.
        thread_count: rollouts at a time; None takes every core this process may use. It changes
            nothing in the outcome.
        kinematics: of the arm.
    """

    scene: Scene
    driver: str = 'arm'
    timestep_sec: float | None = None
    settle_sec: float = 0.3
    sample_count: int = 41
    thread_count: int | None = None
    kinematics: Kinematics = field(default_factory=Kinematics)
    model_xml: str = field(init=False, repr=False)
    _model: Any = field(init=False, repr=False, compare=False)
    _mujoco: ModuleType = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.driver not in DRIVERS:
            raise UnknownNameError('driver', self.driver, DRIVERS)
        if not 0.0 < self._step_sec <= 0.01:
            raise InvalidInputError(f'timestep_sec is {self.timestep_sec}; allowed: up to 0.01')
        if not 0.0 <= self.settle_sec < 60.0:
            raise InvalidInputError(f'settle_sec is {self.settle_sec}; allowed: 0 to 60')
        if self.sample_count < 2:
            raise InvalidInputError(f'sample_count is {self.sample_count}; allowed: 2 or more')
        if self.thread_count is not None and self.thread_count < 1:
            raise InvalidInputError(f'thread_count is {self.thread_count}; allowed: 1 or more')
        mujoco = import_mujoco('predicting what a trajectory does to the world')
        object.__setattr__(self, '_mujoco', mujoco)
        object.__setattr__(self, 'model_xml', self._write_model())
        object.__setattr__(self, '_model', mujoco.MjModel.from_xml_string(self.model_xml))

    @property
    def _step_sec(self) -> float:
        return self.scene.timestep_sec if self.timestep_sec is None else self.timestep_sec

    @property
    def fingerprint(self) -> str:
        """A hash of everything but the trajectories and the duration that determines outcomes."""
        parts = (
            self.model_xml,
            repr((self.settle_sec, self.sample_count, RAMP_FRACTION)),
            repr(self.kinematics),
            self._mujoco.__version__,
        )
        return hashlib.sha256('\0'.join(parts).encode()).hexdigest()

    def reachable(self, trajectories: ArrayLike) -> NDArray[np.bool_]:
        """Tell which trajectories the arm can follow.

        Tool trajectories: inverse kinematics along the curve, without a joint limit, a singularity
        or a jump. Joint trajectories: inside the joint limits, with the tool above the table.

        Args:
            trajectories: (N, n, 3) or (N, n, 7).

        Returns:
            (N,).
        """
        array = self._as_trajectories(trajectories)
        if array.shape[2] == 3:
            return self.kinematics.reachable(array)
        # The curve stays between its waypoints, joint by joint.
        inside = self.kinematics.within_joint_limits(array).all(axis=1)
        parameter = np.linspace(0.0, 1.0, 8 * (array.shape[1] - 1) + 1)
        heights = self.kinematics.tool_poses(curve_points(array, parameter))[0][..., 2]
        return np.asarray(inside & (heights.min(axis=1) > self.scene.table_height_m))

    def simulate(
        self, trajectories: ArrayLike, duration_sec: float, progress: Progress | None = None
    ) -> Outcome:
        """Play trajectories, each in a world of its own.

        Args:
            trajectories: (N, n, 3) or (N, n, 7).
            duration_sec: of each motion, from rest to rest.
            progress: called with the number of trajectories done and their total.

        Returns:
            The outcome. It is the same for the same input, whatever the number of threads and
            whatever else is simulated in the same call.

        Raises:
            UnreachableTrajectoryError: some trajectories cannot be followed.
        """
        array = self._as_trajectories(trajectories)
        if not 0.0 < duration_sec < 600.0:
            raise InvalidInputError(f'duration_sec is {duration_sec}; allowed: above 0, below 600')
        step_count = round((duration_sec + self.settle_sec) / self._step_sec) + 1
        times: Array = np.arange(step_count, dtype=np.float64) * self._step_sec
        kept = np.unique(np.linspace(0, step_count - 1, self.sample_count).round().astype(int))
        sensed = np.empty((len(array), len(kept), self._model.nsensordata))
        threads = self.thread_count or available_cores()
        datas = [self._mujoco.MjData(self._model) for _ in range(threads)]
        with self._mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0) as rollout:
            for first in range(0, len(array), _CHUNK):
                chunk = slice(first, min(first + _CHUNK, len(array)))
                start, control = self._controls(array[chunk], times / duration_sec, duration_sec)
                _, sensor_data = rollout.rollout(
                    self._model, datas, self._initial_states(datas[0], start), control
                )
                # A sensor shows the state in which its step began.
                sensed[chunk] = sensor_data[:, kept]
                if progress is not None:
                    progress(chunk.stop, len(array))
        sensed.setflags(write=False)
        channels = {}
        for index in range(self._model.nsensor):
            sensor = self._model.sensor(index)
            address, width = int(sensor.adr[0]), int(sensor.dim[0])
            channels[sensor.name] = sensed[..., address : address + width]
        return Outcome(times_sec=times[kept], channels=MappingProxyType(channels))

    def _as_trajectories(self, trajectories: ArrayLike) -> Array:
        array = as_waypoints(trajectories)
        widths = (3, JOINT_COUNT) if self.driver == 'arm' else (3,)
        if array.ndim != 3 or array.shape[2] not in widths:
            allowed = ' or '.join(f'(N, n, {width})' for width in widths)
            raise InvalidInputError(
                f'trajectories have shape {array.shape}; allowed with the {self.driver}: {allowed}'
            )
        return array

    def _controls(
        self, trajectories: Array, time_fraction: Array, duration_sec: float
    ) -> tuple[Array, Array]:
        """Start positions (N, d) of the driven joints, and controls (N, steps, 2 d)."""
        if trajectories.shape[2] == 3 and self.driver == 'arm':
            parameter, joints, followed = self.kinematics.follow_many(trajectories)
            self._require(followed)
            spline = CubicSpline(parameter, joints, axis=1)
            along = progress(time_fraction)
            positions = spline(along.value[:, 0])
            velocities = spline(along.value[:, 0], 1) * along.first / duration_sec
        else:
            self._require(self.reachable(trajectories))
            motion = travel(trajectories, time_fraction)
            positions, velocities = motion.value, motion.first / duration_sec
        return positions[:, 0], np.concatenate([positions, velocities], axis=2)

    def _require(self, followed: NDArray[np.bool_]) -> None:
        if not followed.all():
            raise UnreachableTrajectoryError(np.flatnonzero(~followed), len(followed))

    def _initial_states(self, data: Any, start: Array) -> Array:
        """Full physics states (N, state) with the driven joints at their start, at rest."""
        mujoco, model = self._mujoco, self._model
        mujoco.mj_resetData(model, data)
        driven = [int(model.joint(name).qposadr[0]) for name in self._driven_joints()]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
        states = np.empty((len(start), mujoco.mj_stateSize(model, kind)))
        for row, positions in zip(states, start, strict=True):
            data.qpos[driven] = positions
            mujoco.mj_getState(model, data, row, kind)
        return states

    def _driven_joints(self) -> tuple[str, ...]:
        return HAND_SLIDES if self.driver == 'hand' else self.kinematics.description.joint_names

    def _write_model(self) -> str:
        description = self.kinematics.description
        hand = description.hand
        if hand is None:
            raise InvalidInputError(f'{description.name} has no hand; allowed: an arm with a hand')
        frame = {'objtype': 'site', 'objname': hand.tool_frame}
        sensors = [
            ElementTree.Element('framepos', {'name': _TOOL_POSITION, **frame}),
            ElementTree.Element('framequat', {'name': _TOOL_QUATERNION, **frame}),
            *self.scene.sensors(),
        ]
        if self.driver == 'arm':
            return mjcf(
                _without_dry_friction(description),
                timestep_sec=self._step_sec,
                solver_tolerance=_SOLVER_TOLERANCE,
                gravity_compensation=True,
                bodies=self.scene.bodies(),
                held=self.scene.held(),
                actuators=impedance_actuators(
                    self._driven_joints(), ARM_STIFFNESS_NM, ARM_DAMPING_NM_S
                ),
                sensors=sensors,
            )
        return mjcf(
            None,
            timestep_sec=self._step_sec,
            solver_tolerance=_SOLVER_TOLERANCE,
            bodies=[*self.scene.bodies(), self._hand(hand)],
            actuators=impedance_actuators(
                HAND_SLIDES, [HAND_STIFFNESS_N_M] * 3, [HAND_DAMPING_N_S_M] * 3
            ),
            sensors=sensors,
        )

    def _hand(self, hand: Hand) -> ElementTree.Element:
        return hand_on_slides(
            hand,
            quaternion=_GRIPPER_DOWN_QUATERNION,
            moving_mass_kg=HAND_MOVING_MASS_KG,
            max_force_n=HAND_FORCE_N,
            held=self.scene.held(),
        )


def _without_dry_friction(description: ArmDescription) -> ArmDescription:
    """Leave out what these gains overcome anyway and what costs a tenth of the time."""
    joints = tuple(replace(joint, friction_nm=0.0) for joint in description.joints)
    return replace(description, joints=joints)
