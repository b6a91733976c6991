"""MuJoCo XML from an arm's description; nothing here imports MuJoCo."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from types import ModuleType
from xml.etree import ElementTree

from reward_learning_ros.arm.description import (
    ArmDescription,
    Capsule,
    Hand,
    Inertial,
    Origin,
    Shape,
)
from reward_learning_ros.core.errors import InvalidInputError, MissingExtraError

# Two geoms collide when one's contype meets the other's conaffinity: parts of the arm collide with
# objects, objects with everything, the arm never with itself (its plans stay near home, and the
# capsules of neighbouring links overlap).
ARM_COLLISION = {'contype': '1', 'conaffinity': '2'}
OBJECT_COLLISION = {'contype': '2', 'conaffinity': '3'}

HAND_SLIDES = ('hand_x', 'hand_y', 'hand_z')

_ARM_COLOUR = '0.92 0.92 0.94 1'
_HAND_COLOUR = '0.25 0.27 0.30 1'


def mjcf(
    description: ArmDescription | None,
    *,
    timestep_sec: float = 0.001,
    solver_tolerance: float = 1e-8,
    gravity_compensation: bool = False,
    bodies: Iterable[ElementTree.Element] = (),
    held: Iterable[ElementTree.Element] = (),
    actuators: Iterable[ElementTree.Element] = (),
    sensors: Iterable[ElementTree.Element] = (),
) -> str:
    """Write a MuJoCo model of an arm and what surrounds it.

    Args:
        description: the arm; None leaves it out.
        timestep_sec: of the simulation.
        solver_tolerance: at which the contact solver stops; the default is MuJoCo's.
        gravity_compensation: whether the arm's weight is carried for free, as a Franka's is.
        bodies: elements of the world beside the arm: bodies, geoms, lights.
        held: elements fixed to the tool, in the tool's frame; the arm needs a hand then.
        actuators: elements of the actuator section, in the order of the controls.
        sensors: elements of the sensor section, in the order of the sensor data.

    Returns:
        The document. The tool's site, and each body and joint, bears the description's names.
    """
    model = ElementTree.Element(
        'mujoco', model='world' if description is None else description.name
    )
    ElementTree.SubElement(model, 'compiler', angle='radian', autolimits='true')
    # implicitfast keeps stiff, damped joints stable at several milliseconds. With an elliptic cone
    # a box slides equally easily in every direction.
    ElementTree.SubElement(
        model,
        'option',
        timestep=repr(timestep_sec),
        tolerance=repr(solver_tolerance),
        integrator='implicitfast',
        cone='elliptic',
    )
    world = ElementTree.SubElement(model, 'worldbody')
    if description is not None:
        world.append(_arm_body(description, gravity_compensation, held))
    world.extend(bodies)
    ElementTree.SubElement(model, 'actuator').extend(actuators)
    ElementTree.SubElement(model, 'sensor').extend(sensors)
    ElementTree.indent(model)
    return ElementTree.tostring(model, encoding='unicode')


def torque_actuators(description: ArmDescription) -> list[ElementTree.Element]:
    """Make one torque input per joint, limited to the joint's effort; named as the joint."""
    return [
        ElementTree.Element(
            'motor',
            name=joint.name,
            joint=joint.name,
            ctrlrange=numbers((-joint.effort_nm, joint.effort_nm)),
        )
        for joint in description.joints
    ]


def impedance_actuators(
    joint_names: Sequence[str], stiffness: Sequence[float], damping: Sequence[float]
) -> list[ElementTree.Element]:
    """Make a spring and a damper per joint, towards a desired position and a desired velocity.

    Args:
        joint_names: (d,) the joints.
        stiffness: (d,) N·m/rad, or N/m for a sliding joint.
        damping: (d,) N·m·s/rad, or N·s/m.

    Returns:
        2 d actuators; the controls are d desired positions, then d desired velocities.
    """
    if not len(joint_names) == len(stiffness) == len(damping):
        raise InvalidInputError(
            f'{len(joint_names)} joints with {len(stiffness)} stiffnesses and {len(damping)} '
            'dampings; allowed: one of each for every joint'
        )
    springs = [
        ElementTree.Element('position', name=f'{name}_spring', joint=name, kp=repr(float(gain)))
        for name, gain in zip(joint_names, stiffness, strict=True)
    ]
    dampers = [
        ElementTree.Element('velocity', name=f'{name}_damper', joint=name, kv=repr(float(gain)))
        for name, gain in zip(joint_names, damping, strict=True)
    ]
    return springs + dampers


def hand_on_slides(
    hand: Hand,
    *,
    quaternion: Sequence[float],
    moving_mass_kg: float,
    max_force_n: float,
    held: Iterable[ElementTree.Element] = (),
) -> ElementTree.Element:
    """Make the hand alone, moved along x, y and z of the base frame at a constant rotation.

    Args:
        hand: the hand.
        quaternion: w, x, y, z of the tool in the base frame.
        moving_mass_kg: what moves with the hand along each axis: the inertia of the missing arm.
        max_force_n: that moves the hand along each axis.
        held: elements fixed to the tool, in the tool's frame.

    Returns:
        A body with the joints `HAND_SLIDES`, whose positions are the tool's in metres.
    """
    carriage = ElementTree.Element('body', name=f'{hand.link_name}_carriage')
    for name, axis in zip(HAND_SLIDES, ('1 0 0', '0 1 0', '0 0 1'), strict=True):
        ElementTree.SubElement(
            carriage,
            'joint',
            name=name,
            type='slide',
            axis=axis,
            armature=repr(moving_mass_kg),
            actuatorfrcrange=numbers((-max_force_n, max_force_n)),
        )
    tool = ElementTree.SubElement(
        carriage, 'body', name=f'{hand.tool_frame}_body', quat=numbers(quaternion)
    )
    ElementTree.SubElement(tool, 'site', name=hand.tool_frame)
    tool.extend(held)
    offset_m = tuple(-value for value in hand.tool_origin.xyz_m)
    body = ElementTree.SubElement(
        tool, 'body', name=hand.link_name, pos=numbers(offset_m), gravcomp='1'
    )
    _add_inertial(body, hand.inertial)
    _add_shapes(body, hand.link_name, hand.shapes, _HAND_COLOUR)
    return carriage


def numbers(values: Iterable[float]) -> str:
    """Write numbers as MuJoCo reads them, without loss."""
    return ' '.join(repr(float(value)) for value in values)


def _arm_body(
    description: ArmDescription, gravity_compensation: bool, held: Iterable[ElementTree.Element]
) -> ElementTree.Element:
    base = ElementTree.Element('body', name=description.base_frame)
    _add_shapes(base, description.base_frame, description.base_shapes, _ARM_COLOUR)
    parent = base
    for joint in description.joints:
        parent = ElementTree.SubElement(
            parent, 'body', {'name': joint.link_name, **_placement(joint.origin)}
        )
        if gravity_compensation:
            parent.set('gravcomp', '1')
        _add_inertial(parent, joint.inertial)
        ElementTree.SubElement(
            parent,
            'joint',
            name=joint.name,
            axis='0 0 1',
            range=numbers((joint.lower_rad, joint.upper_rad)),
            armature=repr(joint.armature_kg_m2),
            damping=repr(joint.damping_nm_s),
            frictionloss=repr(joint.friction_nm),
            actuatorfrcrange=numbers((-joint.effort_nm, joint.effort_nm)),
        )
        _add_shapes(parent, joint.link_name, joint.shapes, _ARM_COLOUR)
    flange = ElementTree.SubElement(
        parent, 'body', {'name': description.flange_frame, **_placement(description.flange_origin)}
    )
    hand = description.hand
    held = tuple(held)
    if hand is None:
        if held:
            raise InvalidInputError(f'{description.name} has no hand to hold anything')
        ElementTree.SubElement(flange, 'site', name=description.flange_frame)
        return base
    body = ElementTree.SubElement(
        flange, 'body', {'name': hand.link_name, **_placement(hand.origin)}
    )
    if gravity_compensation:
        body.set('gravcomp', '1')
    _add_inertial(body, hand.inertial)
    _add_shapes(body, hand.link_name, hand.shapes, _HAND_COLOUR)
    tool = ElementTree.SubElement(
        body, 'body', {'name': f'{hand.tool_frame}_body', **_placement(hand.tool_origin)}
    )
    ElementTree.SubElement(tool, 'site', name=hand.tool_frame)
    tool.extend(held)
    return base


def _placement(origin: Origin) -> dict[str, str]:
    return {'pos': numbers(origin.xyz_m), 'quat': numbers(_quaternion(origin))}


def _quaternion(origin: Origin) -> tuple[float, float, float, float]:
    """The rotation of an origin as w, x, y, z."""
    (cr, sr), (cp, sp), (cy, sy) = (
        (math.cos(angle / 2), math.sin(angle / 2)) for angle in origin.rpy_rad
    )
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def _add_inertial(body: ElementTree.Element, inertial: Inertial) -> None:
    ixx, ixy, ixz, iyy, iyz, izz = inertial.inertia_kg_m2
    ElementTree.SubElement(
        body,
        'inertial',
        pos=numbers(inertial.centre_of_mass_m),
        mass=repr(inertial.mass_kg),
        fullinertia=numbers((ixx, iyy, izz, ixy, ixz, iyz)),
    )


def _add_shapes(
    body: ElementTree.Element, name: str, shapes: Sequence[Shape], colour: str
) -> None:
    for index, shape in enumerate(shapes):
        geom = ElementTree.SubElement(
            body, 'geom', ARM_COLLISION, name=f'{name}_{index}', rgba=colour
        )
        if isinstance(shape, Capsule):
            geom.set('type', 'capsule')
            geom.set('fromto', numbers((*shape.start_m, *shape.end_m)))
            geom.set('size', repr(shape.radius_m))
        else:
            geom.set('type', 'box')
            geom.set('pos', numbers(shape.centre_m))
            geom.set('size', numbers(shape.half_size_m))


def import_mujoco(purpose: str) -> ModuleType:
    """Import MuJoCo and its rollout module, or say which extra installs them.

    Args:
        purpose: what needs it, for the message.

    Raises:
        MissingExtraError: MuJoCo is not installed.
    """
    try:
        import mujoco
        import mujoco.rollout
    except ImportError as error:
        raise MissingExtraError('mujoco', 'sim', purpose) from error
    module: ModuleType = mujoco
    return module
