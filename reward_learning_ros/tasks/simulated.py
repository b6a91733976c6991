"""What the tasks with physics share: libraries of trajectories simulated in a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from reward_learning_ros.arm.scenes import Door, HeldCup, PushableBox
from reward_learning_ros.arm.world import Outcome, World
from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.grid import GridAxis, GridFeatures, grid_trajectories
from reward_learning_ros.core.library import (
    Report,
    TrajectoryLibrary,
    load_or_build,
    neighbour_graph,
)
from reward_learning_ros.core.scenery import Prediction, SceneObject

Array = NDArray[np.float64]

LIBRARY_SIZE = 20_000
# Links of a trajectory to the nearest others: local moves that still change something.
NEIGHBOURS = 12
# Draws after which a trajectory space without reachable trajectories is given up.
_MAX_DRAW_RATIO = 100

# Trajectories that are drawn at a time.
_MAX_BATCH = 2048


@dataclass(frozen=True, kw_only=True)
class SimulatedTrajectories:
    """How the trajectories of a task are drawn, simulated and measured.

    Attributes:
        name: Of the library.
        world: What they are simulated in.
        duration_sec: Of each motion.
        draw: Random trajectories `(count, rng) → (count, n, m)`, the unreachable ones included.
        measure: Features `(trajectories (N, n, m), outcome) → (N, d)`.
        recipe: What else determines them: bounds, and a version of `draw` and `measure` that is
            counted up when one of them changes.
        plan: (n, m) the initial plan, which is the first member.
        size: How many trajectories the library holds.
        directory: Where it is kept; the user's cache by default.
    """

    name: str
    world: World
    duration_sec: float
    draw: Callable[[int, np.random.Generator], Array]
    measure: Callable[[Array, Outcome], Array]
    recipe: Mapping[str, Any]
    plan: Array = field(repr=False)
    size: int = LIBRARY_SIZE
    directory: Path | None = None

    def __post_init__(self) -> None:
        whole_number(self.size, 'library_size', 2)

    def library(self) -> TrajectoryLibrary:
        """Return the library, to be loaded or simulated when it is needed."""
        return TrajectoryLibrary(self._load, self.features_of)

    def features_of(self, trajectories: Array) -> Array:
        """Simulate trajectories (N, n, m) and return their features (N, d)."""
        reachable = self.world.reachable(trajectories)
        if not reachable.all():
            raise InvalidInputError(
                f'trajectory {np.flatnonzero(~reachable)[0]} of {len(trajectories)} is none of '
                f'the library of {self.name!r}, and the arm cannot follow it'
            )
        outcome = self.world.simulate(trajectories, self.duration_sec)
        return self.measure(trajectories, outcome)

    def _load(self) -> Mapping[str, np.ndarray]:
        recipe = {
            **self.recipe,
            'world': self.world.fingerprint,
            'duration_sec': self.duration_sec,
            'plan': self.plan,
            'size': self.size,
            'neighbours': NEIGHBOURS,
        }
        return load_or_build(self.name, recipe, self._build, self.directory)

    def _build(self, report: Report) -> dict[str, np.ndarray]:
        trajectories = self._draw_reachable()
        outcome = self.world.simulate(trajectories, self.duration_sec, report)
        offsets, neighbours = neighbour_graph(trajectories.reshape(self.size, -1), NEIGHBOURS)
        return {
            'trajectories': trajectories,
            'features': self.measure(trajectories, outcome),
            'offsets': offsets,
            'neighbours': neighbours,
        }

    def _draw_reachable(self) -> Array:
        rng = np.random.default_rng(0)
        found = [self.plan[None]]
        count = 1
        batch = min(2 * self.size, _MAX_BATCH)
        for _ in range(1 + _MAX_DRAW_RATIO * self.size // batch):
            drawn = self.draw(batch, rng)
            reachable = drawn[self.world.reachable(drawn)] if len(drawn) else drawn
            found.append(reachable)
            count += len(reachable)
            if count >= self.size:
                return np.concatenate(found)[: self.size]
        raise InvalidInputError(
            f'the arm can follow next to none of the trajectories of {self.name!r}'
        )


def grid_features(
    *,
    name: str,
    world: World,
    duration_sec: float,
    plan: Array,
    axes: tuple[GridAxis, ...],
    measure: Callable[[Outcome], Array],
    version: int,
    kernel: Callable[..., None],
    size: int,
    directory: Path | None,
) -> GridFeatures:
    """Return features that interpolate an outcome on a grid of simulated trajectories.

    Args:
        name: Of the library.
        world: What the trajectories are simulated in.
        duration_sec: Of each motion.
        plan: (n, m) with the coordinates that no axis of the grid changes.
        axes: Of the grid.
        measure: The outcome that is stored, (N,).
        version: Of `measure`, counted up when it changes.
        kernel: Features `(table, trajectory, out)`.
        size: How many features there are.
        directory: Where the library is kept; the user's cache by default.
    """

    def build(report: Report) -> dict[str, np.ndarray]:
        trajectories = grid_trajectories(plan, axes)
        reachable = np.concatenate(
            [world.reachable(part) for part in np.array_split(trajectories, 64) if len(part)]
        )
        outcomes = np.full(len(trajectories), np.nan)
        if reachable.any():
            outcomes[reachable] = measure(
                world.simulate(trajectories[reachable], duration_sec, report)
            )
        return {'outcomes': outcomes}

    def load() -> np.ndarray:
        recipe = {
            'version': version,
            'world': world.fingerprint,
            'duration_sec': duration_sec,
            'plan': plan,
            'axes': [vars(axis) for axis in axes],
        }
        return load_or_build(name, recipe, build, directory)['outcomes']

    return GridFeatures(axes, load, kernel, size)


def objects_of(world: World) -> tuple[SceneObject, ...]:
    """Return the objects of a world as a scene, as they are before anything moves."""
    objects = []
    for scene_object in world.scene.objects:
        if isinstance(scene_object, PushableBox):
            objects.append(
                SceneObject(
                    name='box',
                    shape='box',
                    position=np.array(scene_object.position_m),
                    size=np.array(scene_object.size_m),
                )
            )
        elif isinstance(scene_object, Door):
            position, orientation = _door_pose(scene_object, np.array([scene_object.open_rad]))
            objects.append(
                SceneObject(
                    name='door',
                    shape='box',
                    position=position[0],
                    size=np.array(
                        [scene_object.thickness_m, scene_object.width_m, scene_object.height_m]
                    ),
                    orientation=orientation[0],
                )
            )
    return tuple(objects)


def predict_in(world: World, duration_sec: float) -> Callable[[Array], Prediction]:
    """Return a function that plays one trajectory (n, m) in a world."""

    def predict(trajectory: Array) -> Prediction:
        outcome = world.simulate(np.asarray(trajectory)[None], duration_sec)
        positions, orientations = {}, {}
        for scene_object in world.scene.objects:
            if isinstance(scene_object, PushableBox):
                positions['box'] = outcome.path('box_position')[0]
                orientations['box'] = _scalar_last(outcome.path('box_quaternion')[0])
            elif isinstance(scene_object, Door):
                angles = outcome.path('door_angle')[0, :, 0]
                positions['door'], orientations['door'] = _door_pose(scene_object, angles)
            elif isinstance(scene_object, HeldCup):
                positions['cup'] = outcome.path('tool_position')[0]
                orientations['cup'] = _scalar_last(outcome.path('tool_quaternion')[0])
        return Prediction(
            times_sec=outcome.times_sec,
            tool_positions=outcome.path('tool_position')[0],
            positions=positions,
            orientations=orientations,
        )

    return predict


def _door_pose(door: Door, angles: Array) -> tuple[Array, Array]:
    """Return centres (S, 3) and orientations (S, 4; x, y, z, w) of a door's panel."""
    rotation = Rotation.from_euler('z', -np.asarray(angles)[:, None])
    centre = rotation.apply([0.0, -door.width_m / 2, door.height_m / 2])
    return np.asarray(door.hinge_m) + centre, rotation.as_quat()


def _scalar_last(quaternions: Array) -> Array:
    return np.roll(quaternions, -1, axis=-1)
