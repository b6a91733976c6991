"""Things that the arm pushes, closes, presses and carries, as elements of a MuJoCo model.

An object adds bodies to the world or to the hand, and sensors; a sensor's name is the name under
which the outcome of a rollout holds its values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol
from xml.etree import ElementTree

from reward_learning_ros.arm.description import Vector3
from reward_learning_ros.arm.mjcf import ARM_COLLISION, OBJECT_COLLISION, numbers
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError

_ORANGE, _YELLOW, _RED, _GREY, _WHITE = (
    '1.0 0.5 0.0 1',
    '0.8 0.8 0.3 1',
    '0.8 0.1 0.1 1',
    '0.5 0.5 0.5 1',
    '0.9 0.9 0.9 1',
)


class PhysicalObject(Protocol):
    """Base of the objects that MuJoCo simulates in a scene."""

    def bodies(self) -> list[ElementTree.Element]:
        """Elements of the world."""

    def held(self) -> list[ElementTree.Element]:
        """Elements fixed to the tool, in the tool's frame."""

    def sensors(self) -> list[ElementTree.Element]:
        """What a rollout reports of the object."""


def _require_positive(owner: object, *names: str) -> None:
    for name in names:
        value = getattr(owner, name)
        values = value if isinstance(value, tuple) else (value,)
        if not all(entry > 0.0 for entry in values):
            raise InvalidInputError(f'{type(owner).__name__}.{name} is {value}; allowed: above 0')


@dataclass(frozen=True, kw_only=True)
class PushableBox:
    """A box of uniform density that stands free and slides when pushed.

    Reports `box_position` (3) in metres and `box_quaternion` (4; w, x, y, z).

    Attributes:
        position_m: of its centre; its underside should touch the table.
        size_m: its edges.
        mass_kg: its mass.
        friction: coefficient against the table and the hand.
    """

    position_m: Vector3
    size_m: Vector3
    mass_kg: float
    friction: float

    def __post_init__(self) -> None:
        _require_positive(self, 'size_m', 'mass_kg', 'friction')

    def bodies(self) -> list[ElementTree.Element]:
        """Elements of the world."""
        body = ElementTree.Element('body', name='box', pos=numbers(self.position_m))
        ElementTree.SubElement(body, 'freejoint', name='box')
        ElementTree.SubElement(
            body,
            'geom',
            OBJECT_COLLISION,
            name='box',
            type='box',
            size=numbers(edge / 2 for edge in self.size_m),
            mass=repr(self.mass_kg),
            friction=numbers((self.friction, 0.005, 0.0001)),
            # The friction of a pair is this one's, not the larger of the two.
            priority='1',
            rgba=_ORANGE,
        )
        return [body]

    def held(self) -> list[ElementTree.Element]:
        """Elements fixed to the tool: none."""
        return []

    def sensors(self) -> list[ElementTree.Element]:
        """Pose of the box."""
        frame = {'objtype': 'xbody', 'objname': 'box'}
        return [
            ElementTree.Element('framepos', {'name': 'box_position', **frame}),
            ElementTree.Element('framequat', {'name': 'box_quaternion', **frame}),
        ]


@dataclass(frozen=True, kw_only=True)
class Door:
    """A door on a vertical hinge; closed, it spans from the hinge along −y; open, it swings to −x.

    Reports `door_angle` (1) in radians: 0 closed, positive open.

    Attributes:
        hinge_m: of the hinge at the door's lower edge.
        width_m, height_m, thickness_m: of the panel.
        mass_kg: of the panel.
        open_rad: opening angle at the start.
        damping_nm_s: of the hinge. Enough to stop the panel when the hand leaves it.
    """

    hinge_m: Vector3
    width_m: float
    height_m: float
    open_rad: float
    thickness_m: float = 0.04
    mass_kg: float = 1.0
    damping_nm_s: float = 1.0

    def __post_init__(self) -> None:
        _require_positive(self, 'width_m', 'height_m', 'thickness_m', 'mass_kg', 'damping_nm_s')
        if not 0.0 <= self.open_rad <= 2.0:
            raise InvalidInputError(f'Door.open_rad is {self.open_rad}; allowed: 0 to 2')

    def bodies(self) -> list[ElementTree.Element]:
        """Elements of the world."""
        # The body's rest pose is closed; `ref` makes the model start open.
        body = ElementTree.Element('body', name='door', pos=numbers(self.hinge_m))
        body.set('euler', numbers((0.0, 0.0, -self.open_rad)))
        ElementTree.SubElement(
            body,
            'joint',
            name='door',
            axis='0 0 -1',
            range=numbers((0.0, 2.0)),
            ref=repr(self.open_rad),
            damping=repr(self.damping_nm_s),
        )
        ElementTree.SubElement(
            body,
            'geom',
            OBJECT_COLLISION,
            name='door',
            type='box',
            pos=numbers((0.0, -self.width_m / 2, self.height_m / 2)),
            size=numbers((self.thickness_m / 2, self.width_m / 2, self.height_m / 2)),
            mass=repr(self.mass_kg),
            friction=numbers((0.4, 0.005, 0.0001)),
            priority='1',
            rgba=_YELLOW,
        )
        return [body]

    def held(self) -> list[ElementTree.Element]:
        """Elements fixed to the tool: none."""
        return []

    def sensors(self) -> list[ElementTree.Element]:
        """Opening angle."""
        return [ElementTree.Element('jointpos', name='door_angle', joint='door')]


@dataclass(frozen=True, kw_only=True)
class Button:
    """A sprung button on a pedestal, pressed downwards.

    Reports `button_depth` (1) in metres: how far it is pressed.

    Attributes:
        position_m: of its top.
        radius_m: of its cap.
        travel_m: how far it can be pressed.
        stiffness_n_m: of its spring.
    """

    position_m: Vector3
    radius_m: float = 0.04
    travel_m: float = 0.01
    stiffness_n_m: float = 500.0

    def __post_init__(self) -> None:
        _require_positive(self, 'radius_m', 'travel_m', 'stiffness_n_m')

    def bodies(self) -> list[ElementTree.Element]:
        """Elements of the world."""
        x, y, z = self.position_m
        # The cap is twice as high as its travel, and pressed home it stops short of the pedestal.
        pedestal_half = 0.02
        pedestal_top = z - 3 * self.travel_m - 0.001
        pedestal = ElementTree.Element(
            'geom',
            OBJECT_COLLISION,
            name='button_pedestal',
            type='cylinder',
            pos=numbers((x, y, pedestal_top - pedestal_half)),
            size=numbers((1.2 * self.radius_m, pedestal_half)),
            rgba=_GREY,
        )
        cap = ElementTree.Element('body', name='button', pos=numbers((x, y, z - self.travel_m)))
        ElementTree.SubElement(
            cap,
            'joint',
            name='button',
            type='slide',
            axis='0 0 -1',
            range=numbers((0.0, self.travel_m)),
            stiffness=repr(self.stiffness_n_m),
            # Preloaded by a tenth of its travel, so that it rests against its stop.
            springref=repr(-0.1 * self.travel_m),
            damping='2.0',
            # MuJoCo makes a stop as stiff as what it stops is heavy; the cap alone is too light.
            armature='0.5',
            solreflimit='0.01 1',
            solimplimit='0.99 0.999 0.001',
        )
        ElementTree.SubElement(
            cap,
            'geom',
            OBJECT_COLLISION,
            name='button',
            type='cylinder',
            size=numbers((self.radius_m, self.travel_m)),
            mass='0.02',
            rgba=_RED,
        )
        return [pedestal, cap]

    def held(self) -> list[ElementTree.Element]:
        """Elements fixed to the tool: none."""
        return []

    def sensors(self) -> list[ElementTree.Element]:
        """How far it is pressed."""
        return [ElementTree.Element('jointpos', name='button_depth', joint='button')]


@dataclass(frozen=True, kw_only=True)
class HeldCup:
    """A cup between the fingers, upright while the gripper points down.

    It reports nothing of its own: its tilt is that of the tool (`Outcome.tool_tilt_rad`).

    Attributes:
        radius_m, height_m: of the cup.
        mass_kg: with coffee.
    """

    radius_m: float = 0.035
    height_m: float = 0.1
    mass_kg: float = 0.35

    def __post_init__(self) -> None:
        _require_positive(self, 'radius_m', 'height_m', 'mass_kg')

    def bodies(self) -> list[ElementTree.Element]:
        """Elements of the world: none."""
        return []

    def held(self) -> list[ElementTree.Element]:
        """The cup around the tool's centre, carried for free as the hand is."""
        body = ElementTree.Element('body', name='cup', gravcomp='1')
        ElementTree.SubElement(
            body,
            'geom',
            ARM_COLLISION,
            name='cup',
            type='cylinder',
            size=numbers((self.radius_m, self.height_m / 2)),
            mass=repr(self.mass_kg),
            rgba=_WHITE,
        )
        return [body]

    def sensors(self) -> list[ElementTree.Element]:
        """Return none: the tool's pose is always reported."""
        return []


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A table and what stands on it, in the arm's base frame.

    Attributes:
        name: of the scene.
        table_height_m: of the table's top; the arm's base stands at 0.
        objects: what is on the table or in the hand.
        timestep_sec: a time step at which outcomes agree with those of 1 ms steps. Measured over
            the published trajectory spaces: correlations of 0.9975 (push) and 0.9999 (close) at
            5 ms, and of 0.9999 (push_cabinet) at 8 ms.
    """

    name: str
    table_height_m: float
    objects: tuple[PhysicalObject, ...] = ()
    timestep_sec: float = 0.005

    def __post_init__(self) -> None:
        if not 0.0 < self.timestep_sec <= 0.01:
            raise InvalidInputError(f'timestep_sec is {self.timestep_sec}; allowed: up to 0.01')
        if not math.isfinite(self.table_height_m):
            raise InvalidInputError(f'table_height_m is {self.table_height_m}; allowed: finite')

    def bodies(self) -> list[ElementTree.Element]:
        """Elements of the world: the table's top, a light, and the objects."""
        table = ElementTree.Element(
            'geom',
            OBJECT_COLLISION,
            name='table',
            # Endless: what is pushed over an edge would only fall.
            type='plane',
            pos=numbers((0.5, 0.0, self.table_height_m)),
            size='1 1.5 0.05',
            rgba='0.75 0.68 0.58 1',
        )
        light = ElementTree.Element('light', pos='0.5 0 2.5', dir='0 0 -1')
        return [table, light, *(body for thing in self.objects for body in thing.bodies())]

    def held(self) -> list[ElementTree.Element]:
        """Elements fixed to the tool."""
        return [body for thing in self.objects for body in thing.held()]

    def sensors(self) -> list[ElementTree.Element]:
        """What rollouts report of the objects."""
        return [sensor for thing in self.objects for sensor in thing.sensors()]


# Sizes, masses, places and friction of the boxes are those of the paper's published simulations;
# each table is as high as its box needs it, and inertias follow from uniform density.
_ALL = (
    # Simulations, Push: a 0.4 m cube to the left of the arm.
    Scene(
        name='push',
        table_height_m=0.0,
        objects=(
            PushableBox(
                position_m=(0.5, 0.4, 0.2), size_m=(0.4, 0.4, 0.4), mass_kg=1.0, friction=0.4
            ),
        ),
    ),
    # Simulations, Close: half a radian open, as published, but low enough that the height at which
    # the tool passes decides whether it meets the door, and near enough for a gripper that points
    # down.
    Scene(
        name='close',
        table_height_m=0.0,
        objects=(Door(hinge_m=(0.68, 0.25, 0.01), width_m=0.4, height_m=0.35, open_rad=0.5),),
    ),
    # Simulations, Pour: a cup in the hand above an empty table.
    Scene(name='pour', table_height_m=0.0, objects=(HeldCup(),)),
    # User study, Press: the button of the published features.
    Scene(
        name='press',
        table_height_m=0.0,
        objects=(Button(position_m=(0.6, -0.1, 0.15)),),
    ),
    # User study, Push: the cabinet in front of the arm, pushed slowly along the table.
    Scene(
        name='push_cabinet',
        table_height_m=-0.03,
        timestep_sec=0.008,
        objects=(
            PushableBox(
                position_m=(0.6, 0.0, 0.12), size_m=(0.28, 0.4, 0.3), mass_kg=3.0, friction=0.3
            ),
        ),
    ),
)

SCENES = MappingProxyType({scene.name: scene for scene in _ALL})


def load_scene(name: str) -> Scene:
    """Return one of the paper's scenes by name."""
    if name not in SCENES:
        raise UnknownNameError('scene', name, SCENES)
    return SCENES[name]
