"""Recordings of a simple compliant arm that people push, with the truth beside the samples.

The arm plays a plan to and fro. A push moves the tool by force / stiffness with a first-order lag
and shows in every joint as Jᵀ F, on top of noise and of a bias that depends on the pose. Signs are
libfranka's: torques and wrench are what the arm does to the person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.sensing.samples import (
    JOINT_COUNT,
    NANOSECONDS,
    Arrivals,
    Stream,
    interleave,
)

# Configurations and Jacobians are computed this often and interpolated in between.
_KNOT_SEC = 0.01


@dataclass(frozen=True, kw_only=True)
class Push:
    """One push at the tool.

    Attributes:
        start_sec: when the force begins to rise.
        duration_sec: until it is zero again.
        force_n: (3,) at its height, base frame, acting on the arm.
        rise_sec: how long it takes to rise, and again to fall; at most half the duration.
    """

    start_sec: float
    duration_sec: float
    force_n: tuple[float, float, float]
    rise_sec: float = 0.08

    @property
    def end_sec(self) -> float:
        """When the force is zero again."""
        return self.start_sec + self.duration_sec

    def force_at(self, time_sec: np.ndarray) -> np.ndarray:
        """Returns the force (n, 3) at times (n,)."""
        rise = min(self.rise_sec, self.duration_sec / 2)
        nearest_edge = np.minimum(time_sec - self.start_sec, self.end_sec - time_sec)
        share = np.clip(nearest_edge / rise, 0.0, 1.0) if rise > 0 else nearest_edge >= 0.0
        return (0.5 - 0.5 * np.cos(np.pi * share))[:, None] * np.array(self.force_n)


@dataclass(frozen=True, kw_only=True)
class ArmModel:
    """How the synthetic arm gives way and errs.

    Attributes:
        stiffness_n_per_m: of the tool, the same in all directions.
        lag_sec: time constant with which it gives way.
        noise_nm: standard deviation of the torque noise of a sample.
        noise_memory_sec: how long the noise resembles itself; 0 for white noise.
        bias_nm: amplitude of the pose-dependent torque bias of every joint.
        drift_nm_per_sec: how fast the bias of every joint drifts away.
        wrench_noise_n: standard deviation of the noise of the force.
        position_noise_m: standard deviation of the noise of the tool's position.
    """

    stiffness_n_per_m: float = 300.0
    lag_sec: float = 0.15
    noise_nm: float = 0.2
    noise_memory_sec: float = 0.0
    bias_nm: float = 2.0
    drift_nm_per_sec: float = 0.0
    wrench_noise_n: float = 0.5
    position_noise_m: float = 1e-4


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The samples of every stream at common stamps, and the truth.

    Attributes:
        time_ns: (n,) stamps.
        torque_nm: (n, 7).
        joints: (n, 14) positions and velocities.
        tool_pose: (n, 7).
        reference_m: (n, 3) where the tool would be if nobody pushed.
        wrench: (n, 6).
        plan_time_sec: (n,) time in the plan; it runs backwards on the way back.
        displacement_m: (n, 3) how far the pushes have moved the tool: the truth.
        force_n: (n, 3) with which people push: the truth.
        pushes: the pushes.
    """

    time_ns: np.ndarray
    torque_nm: np.ndarray
    joints: np.ndarray
    tool_pose: np.ndarray
    reference_m: np.ndarray
    wrench: np.ndarray
    plan_time_sec: np.ndarray
    displacement_m: np.ndarray
    force_n: np.ndarray
    pushes: tuple[Push, ...]

    def arrivals(self) -> Arrivals:
        """Returns all samples in the order of their stamps."""
        return interleave(
            {
                Stream.TORQUE: (self.time_ns, self.torque_nm),
                Stream.JOINTS: (self.time_ns, self.joints),
                Stream.POSE: (self.time_ns, self.tool_pose),
                Stream.REFERENCE: (self.time_ns, self.reference_m),
                Stream.WRENCH: (self.time_ns, self.wrench),
            }
        )

    def peak_displacement_m(self, push: Push) -> np.ndarray:
        """Returns the farthest displacement (3,) from where the tool was when a push began."""
        time_sec = (self.time_ns - self.time_ns[0]) / NANOSECONDS
        during = (time_sec >= push.start_sec) & (time_sec <= push.end_sec)
        moved = self.displacement_m[during] - self.displacement_m[during][0]
        farthest: np.ndarray = moved[np.argmax(np.linalg.norm(moved, axis=1))]
        return farthest


def record(
    *,
    waypoints_m: np.ndarray,
    leg_sec: float,
    duration_sec: float,
    rng: np.random.Generator,
    pushes: Sequence[Push] = (),
    model: ArmModel | None = None,
    rate_hz: float = 1000.0,
    start_ns: int = 1_000 * NANOSECONDS,
    bias_phase_rad: float = 0.7,
) -> Recording:
    """Records an arm that plays a plan to and fro.

    Args:
        waypoints_m: (k, 3) of the plan, base frame.
        leg_sec: duration of the plan once.
        duration_sec: of the recording.
        rng: for the noise.
        pushes: in any order.
        model: of the arm.
        rate_hz: of every stream.
        start_ns: first stamp.
        bias_phase_rad: another phase is another arm with another bias.

    Raises:
        UnreachablePlanError: the arm cannot follow the plan.
    """
    if not leg_sec > 0 or not duration_sec > 0 or not rate_hz > 0:
        raise InvalidInputError('leg_sec, duration_sec and rate_hz must be above 0')
    model = model or ArmModel()
    kinematics = Kinematics()
    path = kinematics.follow(waypoints_m)
    knots_sec = np.arange(0.0, duration_sec + _KNOT_SEC, _KNOT_SEC)
    phase = _to_and_fro(knots_sec / leg_sec)
    planned = _interpolated(phase, path.parameter, path.joints_rad)
    reference = kinematics.tool_poses(planned)[0]
    force = np.zeros_like(reference)
    for push in pushes:
        force += push.force_at(knots_sec)
    displacement = _lagged(force / model.stiffness_n_per_m, _KNOT_SEC / model.lag_sec)
    jacobians = kinematics.jacobians(planned)
    # The least joint motion that moves the tool by the displacement without turning it.
    twist = np.concatenate([displacement, np.zeros_like(displacement)], axis=1)
    moved = planned + (np.linalg.pinv(jacobians) @ twist[:, :, None])[:, :, 0]
    levers = kinematics.jacobians(moved)[:, :3]

    count = round(duration_sec * rate_hz)
    time_sec = np.arange(count) / rate_hz
    joints = _interpolated(time_sec, knots_sec, moved)
    force = np.zeros((count, 3))
    for push in pushes:
        force += push.force_at(time_sec)
    lever = _interpolated(time_sec, knots_sec, levers.reshape(len(knots_sec), -1))
    pushed = np.einsum('nij,ni->nj', lever.reshape(count, 3, JOINT_COUNT), force)
    phases = bias_phase_rad * np.arange(1, JOINT_COUNT + 1)
    bias = model.bias_nm * np.sin(joints + 0.7 * np.roll(joints, 1, axis=1) + phases)
    bias += model.drift_nm_per_sec * time_sec[:, None]
    displacement = _interpolated(time_sec, knots_sec, displacement)
    reference = _interpolated(time_sec, knots_sec, reference)
    position = reference + displacement
    position = position + rng.normal(scale=model.position_noise_m, size=position.shape)
    wrench = np.concatenate([-force, np.zeros_like(force)], axis=1)
    wrench += rng.normal(scale=model.wrench_noise_n, size=wrench.shape)
    return Recording(
        time_ns=start_ns + np.round(time_sec * NANOSECONDS).astype(np.int64),
        torque_nm=-pushed + bias + _noise(model, (count, JOINT_COUNT), 1.0 / rate_hz, rng),
        joints=np.concatenate([joints, np.gradient(joints, 1.0 / rate_hz, axis=0)], axis=1),
        tool_pose=np.concatenate([position, np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))], axis=1),
        reference_m=reference,
        wrench=wrench,
        plan_time_sec=_to_and_fro(time_sec / leg_sec) * leg_sec,
        displacement_m=displacement,
        force_n=force,
        pushes=tuple(pushes),
    )


def random_pushes(
    count: int,
    *,
    rng: np.random.Generator,
    start_sec: float = 3.0,
    force_n: tuple[float, float] = (8.0, 40.0),
    duration_sec: tuple[float, float] = (0.3, 3.0),
    pause_sec: tuple[float, float] = (0.8, 3.0),
) -> tuple[Push, ...]:
    """Returns pushes of random strength, length, direction and steepness, one after another."""
    pushes = []
    time_sec = start_sec
    for _ in range(count):
        time_sec += rng.uniform(*pause_sec)
        direction = rng.normal(size=3)
        force = rng.uniform(*force_n) * direction / np.linalg.norm(direction)
        duration = rng.uniform(*duration_sec)
        pushes.append(
            Push(
                start_sec=time_sec,
                duration_sec=duration,
                force_n=(float(force[0]), float(force[1]), float(force[2])),
                rise_sec=rng.uniform(0.05, 0.5) * duration,
            )
        )
        time_sec += duration
    return tuple(pushes)


def _to_and_fro(legs: np.ndarray) -> np.ndarray:
    """Returns the share of the plan, 0 to 1, at times in legs, standing still at both ends."""
    return 0.5 - 0.5 * np.cos(np.pi * legs)


def _interpolated(at: np.ndarray, knots: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(at, knots, column) for column in values.T], axis=1)


def _lagged(values: np.ndarray, step: float) -> np.ndarray:
    keep = float(np.exp(-step))
    lagged: np.ndarray = lfilter([1.0 - keep], [1.0, -keep], values, axis=0)
    return lagged


def _noise(
    model: ArmModel, shape: tuple[int, int], step_sec: float, rng: np.random.Generator
) -> np.ndarray:
    white = rng.normal(scale=model.noise_nm, size=shape)
    if model.noise_memory_sec == 0.0:
        return white
    keep = float(np.exp(-step_sec / model.noise_memory_sec))
    noise: np.ndarray = lfilter([np.sqrt(1.0 - keep**2)], [1.0, -keep], white, axis=0)
    return noise
