"""The collision thresholds of the arm, as one set: where it reports contact, where it stops."""

from __future__ import annotations

from dataclasses import dataclass

from reward_learning_ros.arm.description import JOINT_COUNT
from reward_learning_ros.parameters import (
    ParameterError,
    Parameters,
    parameter,
    specifications,
)
from reward_learning_ros.parameters.shared_thresholds import (
    DETECTION_TORQUE_NM,
    REFLEX_FORCE_N,
    REFLEX_TORQUE_NM,
)

# Of a wrench: three forces, three moments.
_WRENCH_SIZE = 6


@dataclass(frozen=True, kw_only=True)
class CollisionParameters(Parameters):
    """External torques and forces at which the arm reports a contact or stops in a reflex."""

    reflex_torque_nm: tuple[float, ...] = parameter(
        REFLEX_TORQUE_NM,
        description='External torque of each joint at which the arm stops in a reflex',
        minimum=0.1,
        maximum=87.0,
        unit='N·m',
    )
    reflex_force_n: float = parameter(
        REFLEX_FORCE_N,
        description='External force at the tool, along each axis, at which the arm stops in a '
        'reflex',
        minimum=1.0,
        maximum=140.0,
        unit='N',
    )
    reflex_moment_nm: float = parameter(
        25.0,
        description='External moment at the tool, about each axis, at which the arm stops in a '
        'reflex',
        minimum=0.1,
        maximum=87.0,
        unit='N·m',
    )
    contact_share: float = parameter(
        0.5,
        description='Share of each of these at which the arm reports a contact and moves on',
        minimum=0.01,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.reflex_torque_nm) != JOINT_COUNT:
            raise ParameterError(
                type(self).__name__,
                'reflex_torque_nm',
                self.reflex_torque_nm,
                f'must be {JOINT_COUNT} numbers',
            )


@dataclass(frozen=True, kw_only=True)
class ThresholdParameters(CollisionParameters):
    """Where a contact is noticed, and where the arm stops in a reflex."""

    detection_torque_nm: float = parameter(
        DETECTION_TORQUE_NM,
        description='External torque at which a contact is noticed',
        minimum=0.01,
        unit='N·m',
    )


# What must be the same for playback, and for what sets the thresholds of the arm.
THRESHOLD_NAMES = (*specifications(ThresholdParameters), 'stop_torque_nm')


def collision_request(config: CollisionParameters) -> dict[str, list[float]]:
    """Return the fields of franka_msgs/SetFullCollisionBehavior.

    The thresholds are the same while the arm accelerates: a person pushes at any moment.
    """
    upper_torque = list(config.reflex_torque_nm)
    upper_force = [config.reflex_force_n] * 3 + [config.reflex_moment_nm] * (_WRENCH_SIZE - 3)
    fields = {}
    for phase in ('acceleration', 'nominal'):
        for kind, upper in (('torque', upper_torque), ('force', upper_force)):
            fields[f'upper_{kind}_thresholds_{phase}'] = upper
            fields[f'lower_{kind}_thresholds_{phase}'] = [
                config.contact_share * value for value in upper
            ]
    return fields
