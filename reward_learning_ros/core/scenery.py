"""Objects around the arm, and what a trajectory does to them, to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from reward_learning_ros.core.checks import finite_array
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError

SHAPES = ('box', 'sphere', 'cylinder')
# What an object is to the person: somewhere to go, something to keep away from, something that the
# arm moves or presses, or somebody.
ROLES = ('goal', 'obstacle', 'object', 'person')


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneObject:
    """One object of a scene, in the arm's base frame.

    Attributes:
        name: What it is.
        shape: `box`, `sphere` or `cylinder` (upright).
        position: (3,) of its centre, metres.
        size: (3,) extent along its own axes, metres; diameters of a sphere or cylinder.
        role: `goal`, `obstacle`, `object` or `person`.
        orientation: (4,) unit quaternion x, y, z, w.
    """

    name: str
    shape: str
    position: np.ndarray
    size: np.ndarray
    role: str = 'object'
    orientation: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise InvalidInputError(f'name of a scene object is {self.name!r}; it must be a word')
        if self.shape not in SHAPES:
            raise UnknownNameError('shape', self.shape, SHAPES)
        if self.role not in ROLES:
            raise UnknownNameError('role', self.role, ROLES)
        for name, shape in (('position', (3,)), ('size', (3,)), ('orientation', (4,))):
            object.__setattr__(self, name, finite_array(getattr(self, name), name, shape))
        if not (self.size > 0.0).all():
            raise InvalidInputError(f'size of {self.name!r} is {self.size.tolist()}; above 0 each')
        length = float(np.linalg.norm(self.orientation))
        if abs(length - 1.0) > 1e-6:
            raise InvalidInputError(f'orientation of {self.name!r} has length {length:g}, not 1')


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction:
    """What one trajectory does to the scene, at S times.

    Attributes:
        times_sec: (S,) from the start of the motion.
        tool_positions: (S, 3) metres, base frame.
        positions: (S, 3) of the centre of each moving object, by its name.
        orientations: (S, 4) quaternions x, y, z, w of each moving object, by its name.
    """

    times_sec: np.ndarray
    tool_positions: np.ndarray
    positions: Mapping[str, np.ndarray] = field(default_factory=dict)
    orientations: Mapping[str, np.ndarray] = field(default_factory=dict)
