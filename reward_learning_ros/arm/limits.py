"""What the arm may be asked to do, and the check of set-points against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reward_learning_ros.arm.description import JOINT_COUNT, ArmDescription, Vector3
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError

Array = NDArray[np.float64]

# Franka's interface limits of the FR3, equal for all joints, and of its tool.
JOINT_ACCELERATION_RAD_S2 = 10.0
JOINT_JERK_RAD_S3 = 5000.0
TOOL_SPEED_M_S = 3.0
TOOL_ACCELERATION_M_S2 = 9.0

# Rounding of a computed set-point is not a violation.
RELATIVE_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class WorkspaceBox:
    """Where the tool may be, in the base frame, metres.

    The default holds every task here: in front of the base, above the table, inside the reach.
    """

    lower_m: Vector3 = (0.2, -0.65, 0.02)
    upper_m: Vector3 = (0.85, 0.65, 0.9)

    def __post_init__(self) -> None:
        for axis, lower, upper in zip('xyz', self.lower_m, self.upper_m, strict=True):
            if not lower < upper:
                raise InvalidInputError(
                    f'workspace in {axis} is {lower} to {upper}; allowed: lower below upper'
                )


@dataclass(frozen=True, kw_only=True)
class ArmLimits:
    """Limits on every set-point; per joint (7,), read-only.

    Attributes:
        joint_names: the joints.
        position_lower_rad, position_upper_rad: joint positions.
        velocity_rad_s, acceleration_rad_s2, jerk_rad_s3: largest magnitudes.
        tool_speed_m_s, tool_acceleration_m_s2: of the tool's origin.
        workspace: where the tool may be.
    """

    joint_names: tuple[str, ...]
    position_lower_rad: Array
    position_upper_rad: Array
    velocity_rad_s: Array
    acceleration_rad_s2: Array
    jerk_rad_s3: Array
    tool_speed_m_s: float = TOOL_SPEED_M_S
    tool_acceleration_m_s2: float = TOOL_ACCELERATION_M_S2
    workspace: WorkspaceBox = field(default_factory=WorkspaceBox)

    def __post_init__(self) -> None:
        for name in (
            'position_lower_rad',
            'position_upper_rad',
            'velocity_rad_s',
            'acceleration_rad_s2',
            'jerk_rad_s3',
        ):
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (JOINT_COUNT,) or not np.isfinite(array).all():
                raise InvalidInputError(f'{name} is {array}; allowed: {JOINT_COUNT} finite values')
            if not name.startswith('position') and not (array > 0.0).all():
                raise InvalidInputError(f'{name} is {array}; allowed: above 0')
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not (self.position_lower_rad < self.position_upper_rad).all():
            raise InvalidInputError(
                'position_lower_rad is not below position_upper_rad everywhere'
            )

    @classmethod
    def of(
        cls,
        description: ArmDescription,
        *,
        speed_scale: float = 1.0,
        workspace: WorkspaceBox | None = None,
    ) -> ArmLimits:
        """Take the limits of an arm.

        Args:
            description: the arm.
            speed_scale: share of the arm's speeds and accelerations to allow, in (0, 1].
            workspace: where the tool may be; None for the default box.
        """
        if not 0.0 < speed_scale <= 1.0:
            raise InvalidInputError(f'speed_scale is {speed_scale}; allowed: above 0, at most 1')
        joints = description.joints
        return cls(
            joint_names=description.joint_names,
            position_lower_rad=np.array([joint.lower_rad for joint in joints]),
            position_upper_rad=np.array([joint.upper_rad for joint in joints]),
            velocity_rad_s=speed_scale * np.array([joint.velocity_rad_s for joint in joints]),
            acceleration_rad_s2=np.full(JOINT_COUNT, speed_scale * JOINT_ACCELERATION_RAD_S2),
            jerk_rad_s3=np.full(JOINT_COUNT, JOINT_JERK_RAD_S3),
            tool_speed_m_s=speed_scale * TOOL_SPEED_M_S,
            tool_acceleration_m_s2=speed_scale * TOOL_ACCELERATION_M_S2,
            workspace=WorkspaceBox() if workspace is None else workspace,
        )


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One limit that set-points break, where they break it most.

    Attributes:
        what: the joint's name, or `tool`, `tool x`, `tool y`, `tool z`.
        quantity: `position`, `velocity`, `acceleration`, `jerk` or `speed`.
        unit: of the values.
        time_sec: of the set-point.
        value: what was asked for; NaN if that is what it was.
        lower, upper: what is allowed.
        joint: whose limit it is; None if it is the tool's.
    """

    what: str
    quantity: str
    unit: str
    time_sec: float
    value: float
    lower: float
    upper: float
    joint: str | None = None

    def __str__(self) -> str:
        return (
            f'{self.what}: {self.quantity} {self.value:.4g} {self.unit} at {self.time_sec:.3f} s; '
            f'allowed: {self.lower:.4g} to {self.upper:.4g}'
        )


class LimitError(RewardLearningError):
    """Set-points leave the limits; `violations` says which and where."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__('; '.join(str(violation) for violation in self.violations))


def check_set_points(
    limits: ArmLimits,
    *,
    times_sec: ArrayLike,
    positions_rad: ArrayLike,
    velocities_rad_s: ArrayLike | None = None,
    accelerations_rad_s2: ArrayLike | None = None,
    jerks_rad_s3: ArrayLike | None = None,
    tool_positions_m: ArrayLike | None = None,
    tool_speeds_m_s: ArrayLike | None = None,
    tool_accelerations_m_s2: ArrayLike | None = None,
) -> tuple[Violation, ...]:
    """Check sampled set-points; what is not given is not checked.

    Args:
        limits: what is allowed.
        times_sec: (S,).
        positions_rad: (S, 7).
        velocities_rad_s: (S, 7).
        accelerations_rad_s2: (S, 7).
        jerks_rad_s3: (S, 7).
        tool_positions_m: (S, 3) in the base frame.
        tool_speeds_m_s: (S,) magnitudes.
        tool_accelerations_m_s2: (S,) magnitudes.

    Returns:
        The worst violation of each limit, empty if there is none.
    """
    times = np.asarray(times_sec, dtype=np.float64)
    names = limits.joint_names
    box = limits.workspace
    axes = ('tool x', 'tool y', 'tool z')
    checks = (
        (
            'position',
            'rad',
            names,
            positions_rad,
            limits.position_lower_rad,
            limits.position_upper_rad,
        ),
        (
            'velocity',
            'rad/s',
            names,
            velocities_rad_s,
            -limits.velocity_rad_s,
            limits.velocity_rad_s,
        ),
        (
            'acceleration',
            'rad/s²',
            names,
            accelerations_rad_s2,
            -limits.acceleration_rad_s2,
            limits.acceleration_rad_s2,
        ),
        ('jerk', 'rad/s³', names, jerks_rad_s3, -limits.jerk_rad_s3, limits.jerk_rad_s3),
        ('position', 'm', axes, tool_positions_m, np.array(box.lower_m), np.array(box.upper_m)),
        (
            'speed',
            'm/s',
            ('tool',),
            tool_speeds_m_s,
            np.zeros(1),
            np.array([limits.tool_speed_m_s]),
        ),
        (
            'acceleration',
            'm/s²',
            ('tool',),
            tool_accelerations_m_s2,
            np.zeros(1),
            np.array([limits.tool_acceleration_m_s2]),
        ),
    )
    return tuple(
        violation
        for quantity, unit, columns, values, lower, upper in checks
        if values is not None
        for violation in _worst(quantity, unit, columns, times, values, lower, upper)
    )


def check_braking(
    limits: ArmLimits,
    *,
    positions_rad: ArrayLike,
    velocities_rad_s: ArrayLike,
    accelerations_rad_s2: ArrayLike,
) -> tuple[Violation, ...]:
    """Check whether every joint can still come to rest inside its position limits.

    The hardest stop goes to full deceleration at full jerk and stays there. No other motion inside
    the limits goes less far, so what this one violates cannot be avoided.

    Args:
        limits: what is allowed.
        positions_rad: (7,) now.
        velocities_rad_s: (7,) now.
        accelerations_rad_s2: (7,) now, inside the limits.

    Returns:
        For each joint that cannot stop in time, where and when it would at the earliest.
    """
    position, velocity, acceleration = (
        np.asarray(values, dtype=np.float64)
        for values in (positions_rad, velocities_rad_s, accelerations_rad_s2)
    )
    direction = np.array([[-1.0], [1.0]])
    distance, times = _braking_distance(
        direction * velocity,
        direction * acceleration,
        limits.acceleration_rad_s2,
        limits.jerk_rad_s3,
    )
    reached = position + direction * distance  # (2, 7)
    return tuple(
        replace(violation, time_sec=float(times[row, limits.joint_names.index(violation.what)]))
        for row in range(2)
        for violation in _worst(
            'position',
            'rad',
            limits.joint_names,
            np.zeros(1),
            reached[row],
            limits.position_lower_rad,
            limits.position_upper_rad,
        )
    )


def _braking_distance(
    velocity: Array, acceleration: Array, max_acceleration: Array, max_jerk: Array
) -> tuple[Array, Array]:
    """How far forwards joints go at least, and when they are there; (..., 7) each."""
    # At full jerk the velocity is v + a t - j t² / 2, until the deceleration is full.
    until_full = np.maximum((acceleration + max_acceleration) / max_jerk, 0.0)
    squared = acceleration**2 + 2.0 * max_jerk * velocity
    goes_forwards = squared >= 0.0
    until_rest = (acceleration + np.sqrt(np.maximum(squared, 0.0))) / max_jerk
    jerking = np.maximum(np.minimum(until_rest, until_full), 0.0)
    left = velocity + acceleration * jerking - max_jerk * jerking**2 / 2
    left = np.where(until_rest > until_full, left, 0.0)
    distance = (
        velocity * jerking
        + acceleration * jerking**2 / 2
        - max_jerk * jerking**3 / 6
        + left**2 / (2.0 * max_acceleration)
    )
    forwards = goes_forwards & (distance > 0.0)
    time = np.where(forwards, jerking + left / max_acceleration, 0.0)
    return np.where(forwards, distance, 0.0), time


def _worst(
    quantity: str,
    unit: str,
    columns: Sequence[str],
    times_sec: Array,
    values: ArrayLike,
    lower: Array,
    upper: Array,
) -> Iterator[Violation]:
    """Yield the worst violation in each column."""
    array = np.asarray(values, dtype=np.float64).reshape(-1, len(columns))
    if len(array) != len(times_sec):
        raise InvalidInputError(
            f'{len(array)} set-points of {quantity} for {len(times_sec)} times; allowed: as many'
        )
    excess = np.maximum(lower - array, array - upper)
    # Anything that is not a number is worse than any number.
    excess = np.where(np.isfinite(array), excess, np.inf)
    tolerance = RELATIVE_TOLERANCE * np.maximum(np.abs(lower), np.abs(upper))
    for column in map(int, np.flatnonzero((excess > tolerance).any(axis=0))):
        row = int(np.argmax(excess[:, column]))
        yield Violation(
            what=columns[column],
            joint=columns[column] if len(columns) == JOINT_COUNT else None,
            quantity=quantity,
            unit=unit,
            time_sec=float(times_sec[row]),
            value=float(array[row, column]),
            lower=float(lower[column]),
            upper=float(upper[column]),
        )
