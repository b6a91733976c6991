"""URDF from an arm's description, for robot_state_publisher and rigid-body libraries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree import ElementTree

import numpy as np

from reward_learning_ros.arm.description import (
    ArmDescription,
    Capsule,
    Inertial,
    Origin,
    Shape,
    Vector3,
)


def urdf(description: ArmDescription) -> str:
    """Write a description as URDF.

    Capsules become cylinders, because URDF has none.

    Args:
        description: the arm.

    Returns:
        The document, with the base frame as its root link.
    """
    robot = ElementTree.Element('robot', name=description.name)
    _add_link(robot, description.base_frame, None, description.base_shapes)
    parent = description.base_frame
    for joint in description.joints:
        _add_link(robot, joint.link_name, joint.inertial, joint.shapes)
        element = _add_joint(robot, joint.name, 'revolute', parent, joint.link_name, joint.origin)
        ElementTree.SubElement(element, 'axis', xyz='0 0 1')
        ElementTree.SubElement(
            element,
            'limit',
            lower=repr(joint.lower_rad),
            upper=repr(joint.upper_rad),
            velocity=repr(joint.velocity_rad_s),
            effort=repr(joint.effort_nm),
        )
        ElementTree.SubElement(
            element,
            'dynamics',
            damping=repr(joint.damping_nm_s),
            friction=repr(joint.friction_nm),
        )
        parent = joint.link_name
    _add_fixed(robot, parent, description.flange_frame, description.flange_origin)
    hand = description.hand
    if hand is not None:
        _add_link(robot, hand.link_name, hand.inertial, hand.shapes)
        _add_joint(
            robot,
            f'{hand.link_name}_joint',
            'fixed',
            description.flange_frame,
            hand.link_name,
            hand.origin,
        )
        _add_fixed(robot, hand.link_name, hand.tool_frame, hand.tool_origin)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode')


def _numbers(values: Sequence[float]) -> str:
    return ' '.join(repr(float(value)) for value in values)


def _add_link(
    robot: ElementTree.Element, name: str, inertial: Inertial | None, shapes: Sequence[Shape]
) -> None:
    link = ElementTree.SubElement(robot, 'link', name=name)
    if inertial is not None:
        element = ElementTree.SubElement(link, 'inertial')
        ElementTree.SubElement(
            element, 'origin', xyz=_numbers(inertial.centre_of_mass_m), rpy='0 0 0'
        )
        ElementTree.SubElement(element, 'mass', value=repr(inertial.mass_kg))
        names = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        ElementTree.SubElement(
            element,
            'inertia',
            {
                entry: repr(value)
                for entry, value in zip(names, inertial.inertia_kg_m2, strict=True)
            },
        )
    for shape in shapes:
        for purpose in ('visual', 'collision'):
            _add_shape(ElementTree.SubElement(link, purpose), shape)


def _add_shape(parent: ElementTree.Element, shape: Shape) -> None:
    if isinstance(shape, Capsule):
        start, end = np.array(shape.start_m), np.array(shape.end_m)
        length_m = float(np.linalg.norm(end - start))
        _add_origin(parent, tuple((start + end) / 2), _roll_pitch_yaw_of_z(end - start))
        geometry = ElementTree.SubElement(parent, 'geometry')
        ElementTree.SubElement(
            geometry, 'cylinder', radius=repr(shape.radius_m), length=repr(length_m)
        )
    else:
        _add_origin(parent, shape.centre_m, (0.0, 0.0, 0.0))
        geometry = ElementTree.SubElement(parent, 'geometry')
        ElementTree.SubElement(
            geometry, 'box', size=_numbers([2 * half for half in shape.half_size_m])
        )


def _roll_pitch_yaw_of_z(direction: np.ndarray) -> Vector3:
    """Roll, pitch and yaw that turn z into a direction; roll is never needed."""
    x, y, z = (float(value) for value in direction)
    return 0.0, math.atan2(math.hypot(x, y), z), math.atan2(y, x)


def _add_origin(parent: ElementTree.Element, xyz_m: Sequence[float], rpy_rad: Vector3) -> None:
    ElementTree.SubElement(parent, 'origin', xyz=_numbers(xyz_m), rpy=_numbers(rpy_rad))


def _add_joint(
    robot: ElementTree.Element, name: str, kind: str, parent: str, child: str, origin: Origin
) -> ElementTree.Element:
    joint = ElementTree.SubElement(robot, 'joint', name=name, type=kind)
    _add_origin(joint, origin.xyz_m, origin.rpy_rad)
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    return joint


def _add_fixed(robot: ElementTree.Element, parent: str, frame: str, origin: Origin) -> None:
    """Add a frame without mass."""
    _add_link(robot, frame, None, ())
    _add_joint(robot, f'{frame}_joint', 'fixed', parent, frame, origin)
