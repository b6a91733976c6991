"""The FR3 and its hand as one frozen description; MuJoCo, URDF and kinematics derive from it."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from reward_learning_ros.core.errors import InvalidInputError

Vector3 = tuple[float, float, float]

JOINT_COUNT = 7


@dataclass(frozen=True, kw_only=True)
class Origin:
    """A fixed transform from a parent frame: translation, then roll-pitch-yaw about fixed axes.

    Attributes:
        xyz_m: translation in the parent frame, metres.
        rpy_rad: rotation as in URDF, radians.
    """

    xyz_m: Vector3 = (0.0, 0.0, 0.0)
    rpy_rad: Vector3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Inertial:
    """Mass, centre of mass and rotational inertia of one rigid body, in the body's own frame.

    Attributes:
        mass_kg: mass.
        centre_of_mass_m: (3,) in the body's frame.
        inertia_kg_m2: ixx, ixy, ixz, iyy, iyz, izz about the centre of mass.
    """

    mass_kg: float
    centre_of_mass_m: Vector3
    inertia_kg_m2: tuple[float, float, float, float, float, float]

    def __post_init__(self) -> None:
        if not self.mass_kg > 0.0:
            raise InvalidInputError(f'mass_kg is {self.mass_kg}; allowed: above 0')


@dataclass(frozen=True, kw_only=True)
class Capsule:
    """A capsule between two points of its body's frame, metres."""

    start_m: Vector3
    end_m: Vector3
    radius_m: float


@dataclass(frozen=True, kw_only=True)
class Cuboid:
    """A box aligned with its body's frame, metres."""

    centre_m: Vector3
    half_size_m: Vector3


Shape = Capsule | Cuboid


@dataclass(frozen=True, kw_only=True)
class Joint:
    """A revolute joint about its own z axis, and the link that it moves.

    Attributes:
        name: the joint's name, as in `joint_states`.
        link_name: the frame of the link behind the joint.
        origin: of the joint's frame in the previous link's frame.
        lower_rad, upper_rad: position limits.
        velocity_rad_s: largest speed.
        effort_nm: largest torque.
        inertial: of the link behind the joint.
        armature_kg_m2: the rotor's inertia seen through the gear.
        damping_nm_s: viscous friction.
        friction_nm: dry friction that the torque controller leaves over.
        shapes: collision and visual geometry of the link.
    """

    name: str
    link_name: str
    origin: Origin
    lower_rad: float
    upper_rad: float
    velocity_rad_s: float
    effort_nm: float
    inertial: Inertial
    armature_kg_m2: float
    damping_nm_s: float
    friction_nm: float
    shapes: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        if not self.lower_rad < self.upper_rad:
            raise InvalidInputError(
                f'{self.name}: lower_rad {self.lower_rad} is not below upper_rad {self.upper_rad}'
            )
        for quantity in ('velocity_rad_s', 'effort_nm'):
            if not getattr(self, quantity) > 0.0:
                raise InvalidInputError(
                    f'{self.name}: {quantity} is {getattr(self, quantity)}; allowed: above 0'
                )
        for quantity in ('armature_kg_m2', 'damping_nm_s', 'friction_nm'):
            if not getattr(self, quantity) >= 0.0:
                raise InvalidInputError(
                    f'{self.name}: {quantity} is {getattr(self, quantity)}; allowed: 0 or above'
                )


@dataclass(frozen=True, kw_only=True)
class Hand:
    """The closed gripper, rigidly mounted on the flange.

    Attributes:
        link_name: the hand's frame.
        origin: of the hand's frame in the flange's frame.
        tool_frame: the frame of the tool centre point.
        tool_origin: of the tool's frame in the hand's frame.
        inertial: of hand and fingers together, in the hand's frame.
        shapes: collision and visual geometry, in the hand's frame.
    """

    link_name: str
    origin: Origin
    tool_frame: str
    tool_origin: Origin
    inertial: Inertial
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, kw_only=True)
class ArmDescription:
    """A seven-joint arm: base, joints in order from the base, flange, and a hand if there is one.

    Attributes:
        name: of the robot.
        base_frame: the frame in which positions are given.
        base_shapes: geometry of the fixed base, in the base frame.
        joints: the seven joints.
        flange_frame: the frame at the end of the arm.
        flange_origin: of the flange in the last link's frame.
        hand: the gripper; None leaves the flange as the tool.
        home_rad: (7,) the resting configuration, also the posture that inverse kinematics prefers.
    """

    name: str
    base_frame: str
    base_shapes: tuple[Shape, ...]
    joints: tuple[Joint, ...]
    flange_frame: str
    flange_origin: Origin
    hand: Hand | None
    home_rad: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.joints) != JOINT_COUNT or len(self.home_rad) != JOINT_COUNT:
            raise InvalidInputError(
                f'{self.name} has {len(self.joints)} joints and a home of {len(self.home_rad)}; '
                f'allowed: {JOINT_COUNT} of each'
            )
        for joint, angle in zip(self.joints, self.home_rad, strict=True):
            if not joint.lower_rad <= angle <= joint.upper_rad:
                raise InvalidInputError(
                    f'home of {joint.name} is {angle:.4f} rad; '
                    f'allowed: {joint.lower_rad} to {joint.upper_rad}'
                )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the joints, from the base to the hand."""
        return tuple(joint.name for joint in self.joints)

    @property
    def tool_frame(self) -> str:
        """The frame whose pose the arm is asked to reach."""
        return self.flange_frame if self.hand is None else self.hand.tool_frame


@dataclass(frozen=True, kw_only=True)
class _JointFacts:
    """One row of the published tables."""

    origin: Origin
    lower_upper_rad: tuple[float, float]
    velocity_rad_s: float
    effort_nm: float
    inertial: Inertial
    armature_kg_m2: float
    shapes: tuple[Shape, ...] = field(default=())


# Damping and friction are chosen, not measured: what a Franka's torque loop leaves over of them is
# published nowhere. Both are small enough to cost the tool about a millimetre of tracking each, at
# 0.2 rad/s and a sixth of franka_ros2's gains (0.1 N·m against 100 N·m/rad, at 0.6 m), and large
# enough that a joint that is let go comes to rest.
_DAMPING_NM_S = (0.5, 0.5, 0.5, 0.5, 0.2, 0.2, 0.1)
_FRICTION_NM = (0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.02)

# Armatures are the reflected rotor inertias that Franka gives for the FR3, as quoted in Drake's
# model of it. The capsules are drawn by hand inside the arm's outline: they need to collide
# plausibly, not to look good.
_FR3_FACTS = (
    _JointFacts(
        origin=Origin(xyz_m=(0.0, 0.0, 0.333)),
        lower_upper_rad=(-2.7437, 2.7437),
        velocity_rad_s=2.62,
        effort_nm=87.0,
        inertial=Inertial(
            mass_kg=2.92747,
            centre_of_mass_m=(0.00000, -0.01813, -0.03860),
            inertia_kg_m2=(0.023927, 0.000013, -0.000114, 0.022482, -0.001995, 0.006350),
        ),
        armature_kg_m2=0.606,
        shapes=(Capsule(start_m=(0.0, 0.0, -0.19), end_m=(0.0, 0.0, -0.05), radius_m=0.06),),
    ),
    _JointFacts(
        origin=Origin(rpy_rad=(-math.pi / 2, 0.0, 0.0)),
        lower_upper_rad=(-1.7837, 1.7837),
        velocity_rad_s=2.62,
        effort_nm=87.0,
        inertial=Inertial(
            mass_kg=2.93554,
            centre_of_mass_m=(0.00318, -0.07432, 0.00881),
            inertia_kg_m2=(0.041939, 0.000203, 0.004078, 0.025145, -0.004225, 0.061702),
        ),
        armature_kg_m2=0.606,
        shapes=(Capsule(start_m=(0.0, 0.0, -0.06), end_m=(0.0, 0.0, 0.06), radius_m=0.06),),
    ),
    _JointFacts(
        origin=Origin(xyz_m=(0.0, -0.316, 0.0), rpy_rad=(math.pi / 2, 0.0, 0.0)),
        lower_upper_rad=(-2.9007, 2.9007),
        velocity_rad_s=2.62,
        effort_nm=87.0,
        inertial=Inertial(
            mass_kg=2.24490,
            centre_of_mass_m=(0.04070, -0.00482, -0.02897),
            inertia_kg_m2=(0.024101, 0.002405, -0.002856, 0.019741, -0.002104, 0.019044),
        ),
        armature_kg_m2=0.462,
        shapes=(Capsule(start_m=(0.0, 0.0, -0.22), end_m=(0.0, 0.0, -0.07), radius_m=0.06),),
    ),
    _JointFacts(
        origin=Origin(xyz_m=(0.0825, 0.0, 0.0), rpy_rad=(math.pi / 2, 0.0, 0.0)),
        lower_upper_rad=(-3.0421, -0.1518),
        velocity_rad_s=2.62,
        effort_nm=87.0,
        inertial=Inertial(
            mass_kg=2.61560,
            centre_of_mass_m=(-0.04591, 0.06305, -0.00852),
            inertia_kg_m2=(0.034530, 0.013226, 0.010151, 0.028882, -0.000976, 0.041255),
        ),
        armature_kg_m2=0.462,
        shapes=(Capsule(start_m=(0.0, 0.0, -0.06), end_m=(0.0, 0.0, 0.06), radius_m=0.06),),
    ),
    _JointFacts(
        origin=Origin(xyz_m=(-0.0825, 0.384, 0.0), rpy_rad=(-math.pi / 2, 0.0, 0.0)),
        lower_upper_rad=(-2.8065, 2.8065),
        velocity_rad_s=5.26,
        effort_nm=12.0,
        inertial=Inertial(
            mass_kg=2.32712,
            centre_of_mass_m=(-0.00160, 0.02925, -0.09730),
            inertia_kg_m2=(0.051610, -0.005715, -0.003567, 0.047877, 0.010674, 0.016424),
        ),
        armature_kg_m2=0.206,
        shapes=(
            Capsule(start_m=(0.0, 0.0, -0.26), end_m=(0.0, 0.03, -0.16), radius_m=0.055),
            Capsule(start_m=(0.0, 0.06, -0.14), end_m=(0.0, 0.07, -0.04), radius_m=0.03),
        ),
    ),
    _JointFacts(
        origin=Origin(rpy_rad=(math.pi / 2, 0.0, 0.0)),
        lower_upper_rad=(0.5445, 4.5169),
        velocity_rad_s=4.18,
        effort_nm=12.0,
        inertial=Inertial(
            mass_kg=1.81704,
            centre_of_mass_m=(0.05971, -0.04103, -0.01017),
            inertia_kg_m2=(0.005412, 0.006193, 0.001422, 0.014058, -0.001314, 0.016081),
        ),
        armature_kg_m2=0.206,
        shapes=(Capsule(start_m=(0.0, 0.0, -0.04), end_m=(0.06, 0.0, 0.0), radius_m=0.05),),
    ),
    _JointFacts(
        origin=Origin(xyz_m=(0.088, 0.0, 0.0), rpy_rad=(math.pi / 2, 0.0, 0.0)),
        lower_upper_rad=(-3.0159, 3.0159),
        velocity_rad_s=5.26,
        effort_nm=12.0,
        inertial=Inertial(
            mass_kg=0.62714,
            centre_of_mass_m=(0.00452, 0.00863, -0.01616),
            # The published 0.000211, 0.000177, 0.000060 are rounded such that no real body has
            # them (two principal moments sum to 1.3e-7 less than the third): 2e-7 more on each.
            inertia_kg_m2=(0.0002112, -0.000024, 0.000046, 0.0001772, 0.000087, 0.0000602),
        ),
        armature_kg_m2=0.206,
        shapes=(Capsule(start_m=(0.0, 0.0, 0.0), end_m=(0.0, 0.0, 0.06), radius_m=0.045),),
    ),
)


def franka_arm(*, prefix: str = 'fr3', hand: bool = True) -> ArmDescription:
    """Describe the FR3 with the names that franka_ros2 uses.

    Args:
        prefix: of every joint and frame.
        hand: whether the Franka Hand is mounted.

    Returns:
        The arm; its tool frame is the hand's tool centre point, or the flange without a hand.
    """
    joints = tuple(
        Joint(
            name=f'{prefix}_joint{number}',
            link_name=f'{prefix}_link{number}',
            origin=facts.origin,
            lower_rad=facts.lower_upper_rad[0],
            upper_rad=facts.lower_upper_rad[1],
            velocity_rad_s=facts.velocity_rad_s,
            effort_nm=facts.effort_nm,
            inertial=facts.inertial,
            armature_kg_m2=facts.armature_kg_m2,
            damping_nm_s=damping_nm_s,
            friction_nm=friction_nm,
            shapes=facts.shapes,
        )
        for number, (facts, damping_nm_s, friction_nm) in enumerate(
            zip(_FR3_FACTS, _DAMPING_NM_S, _FRICTION_NM, strict=True), start=1
        )
    )
    return ArmDescription(
        name=prefix,
        base_frame=f'{prefix}_link0',
        base_shapes=(Capsule(start_m=(-0.06, 0.0, 0.06), end_m=(0.0, 0.0, 0.06), radius_m=0.06),),
        joints=joints,
        flange_frame=f'{prefix}_link8',
        flange_origin=Origin(xyz_m=(0.0, 0.0, 0.107)),
        hand=_franka_hand(prefix) if hand else None,
        home_rad=(0.0, -math.pi / 4, 0.0, -3 * math.pi / 4, 0.0, math.pi / 2, math.pi / 4),
    )


def _franka_hand(prefix: str) -> Hand:
    """Describe the Franka Hand with its fingers closed; mass and inertia as in its manual."""
    return Hand(
        link_name=f'{prefix}_hand',
        origin=Origin(rpy_rad=(0.0, 0.0, -math.pi / 4)),
        tool_frame=f'{prefix}_hand_tcp',
        tool_origin=Origin(xyz_m=(0.0, 0.0, 0.1034)),
        inertial=Inertial(
            mass_kg=0.73,
            centre_of_mass_m=(-0.01, 0.0, 0.03),
            inertia_kg_m2=(0.001, 0.0, 0.0, 0.0025, 0.0, 0.0017),
        ),
        shapes=(
            Cuboid(centre_m=(0.0, 0.0, 0.033), half_size_m=(0.0315, 0.102, 0.033)),
            Cuboid(centre_m=(0.0, 0.0, 0.089), half_size_m=(0.0105, 0.021, 0.0235)),
        ),
    )


FR3 = franka_arm()


class RobotMode(enum.IntEnum):
    """`robot_mode` of franka_msgs/FrankaRobotState."""

    OTHER = 0
    IDLE = 1
    MOVE = 2
    GUIDING = 3
    REFLEX = 4
    USER_STOPPED = 5
    AUTOMATIC_ERROR_RECOVERY = 6

    @property
    def text(self) -> str:
        """The mode as one says it."""
        return self.name.lower().replace('_', ' ')

    @property
    def follows_commands(self) -> bool:
        """Whether a controller can move the arm in this mode."""
        # Idle is what an arm says whose controller is about to start; `other` is all that has no
        # name of its own, such as locked brakes.
        return self in (RobotMode.IDLE, RobotMode.MOVE)

    @classmethod
    def of(cls, number: int) -> RobotMode:
        """Return the mode of a number; one that has no name is `other`."""
        try:
            return cls(number)
        except ValueError:
            return cls.OTHER
