"""What stands around the arm, to be shown."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np

from reward_learning_ros.interface.records import FloatArray, Record


class Shape(enum.Enum):
    """The shapes that a scene is made of."""

    BOX = 'box'
    SPHERE = 'sphere'
    CYLINDER = 'cylinder'


@dataclass(frozen=True, kw_only=True, eq=False)
class SceneObject(Record):
    """One thing of the scene, in the plan's frame."""

    name: str
    shape: Shape
    position: FloatArray
    """(3,) of its centre, in metres."""
    size: FloatArray
    """(3,) extent along its own axes, in metres: diameters for a sphere or cylinder."""
    orientation: FloatArray = field(default_factory=lambda: np.array([0.0, 0.0, 0.0, 1.0]))
    """(4,) unit quaternion x y z w."""
    color: FloatArray = field(default_factory=lambda: np.array([0.6, 0.6, 0.6, 1.0]))
    """(4,) red, green, blue and opacity, each 0 to 1."""

    def __post_init__(self) -> None:
        self._check_text('name')
        try:
            self._set('shape', Shape(self.shape))
        except ValueError:
            shapes = ', '.join(shape.value for shape in Shape)
            raise self.refusal('shape', self.shape, f'must be one of {shapes}') from None
        self._set_array('position', (3,))
        size = self._set_array('size', (3,))
        if (size <= 0.0).any():
            raise self.refusal('size', size.tolist(), 'must be positive')
        self._set_quaternions('orientation', (4,))
        color = self._set_array('color', (4,))
        if (color < 0.0).any() or (color > 1.0).any():
            raise self.refusal('color', color.tolist(), 'must be 0 to 1 each')
