"""The scenes of the paper's tasks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from xml.etree import ElementTree

from reward_learning_ros.arm.mjcf import OBJECT_COLLISION, numbers
from reward_learning_ros.arm.worlds.objects import (
    Button,
    Door,
    HeldCup,
    PushableBox,
    SceneObject,
)
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError


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
    objects: tuple[SceneObject, ...] = ()
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
