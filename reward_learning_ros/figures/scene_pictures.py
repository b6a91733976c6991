"""Scenes drawn flat: objects, paths of the tool and names, from above, the side and the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from reward_learning_ros.core.scenery import Prediction, SceneObject
from reward_learning_ros.core.task import Task
from reward_learning_ros.figures.figure_style import BLACK, GREEN, PURPLE, SKY, VERMILION

ROLE_COLORS = {'goal': GREEN, 'obstacle': VERMILION, 'object': SKY, 'person': PURPLE}
POSITION_AXES = ('x', 'y', 'z')
_ROUND = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
_NAME_SIZE = 8.0
# Height of a line and width of a letter, as shares of the size of the letters.
_LINE_HEIGHT, _LETTER_WIDTH = 1.35, 0.62
# What a name costs that covers another name, and each point of a way.
_OVER_NAME, _OVER_WAY = 100.0, 1.0
# Ways carry markers and numbers: a name keeps this many times its own size clear of them.
_CLEARANCE = 1.5
_POINTS_PER_INCH = 72.0


class View(NamedTuple):
    """A side from which a scene is seen: the coordinates across and up."""

    title: str
    across: int
    up: int

    @property
    def axes(self) -> list[int]:
        """Both coordinates."""
        return [self.across, self.up]


FROM_ABOVE = View('seen from above', 0, 1)
FROM_THE_SIDE = View('seen from the side', 0, 2)
FROM_THE_FRONT = View('seen from the front', 1, 2)
VIEWS = (FROM_ABOVE, FROM_THE_SIDE, FROM_THE_FRONT)


def is_spatial(task: Task) -> bool:
    """Tell whether the waypoints of a task are positions of the tool."""
    return set(POSITION_AXES) <= set(task.axis_names)


def can_be_drawn(task: Task) -> bool:
    """Tell whether trajectories of a task are paths in space."""
    return is_spatial(task) or task.predict is not None


def tool_path_of(task: Task, trajectory: np.ndarray) -> np.ndarray:
    """Return positions (S, 3) of the tool along a trajectory."""
    if is_spatial(task):
        columns = [task.axis_names.index(axis) for axis in POSITION_AXES]
        return np.asarray(trajectory[:, columns])
    assert task.predict is not None
    return task.predict(trajectory).tool_positions


def widest_views(objects: Sequence[SceneObject], paths: Sequence[np.ndarray]) -> tuple[View, View]:
    """Return the view from above, and from the side on which more is to be seen."""
    reach = np.ptp(spread(objects, paths, FROM_ABOVE), axis=0)
    return FROM_ABOVE, FROM_THE_SIDE if reach[0] > reach[1] else FROM_THE_FRONT


def draw_object(panel: Any, scene_object: SceneObject, view: View) -> Any:
    """Fill the outline of an object, and return it."""
    corners = outline_of(scene_object, view)
    color = ROLE_COLORS[scene_object.role]
    (outline,) = panel.fill(
        corners[:, 0], corners[:, 1], facecolor=color, edgecolor=color, alpha=0.35, linewidth=1.2
    )
    return outline


def draw_outline(panel: Any, scene_object: SceneObject, view: View, label: str | None) -> None:
    """Draw where an object will be."""
    corners = outline_of(scene_object, view)
    closed = np.concatenate([corners, corners[:1]])
    panel.plot(
        *closed.T, color=ROLE_COLORS[scene_object.role], linestyle=':', linewidth=1.6, label=label
    )


def draw_name(panel: Any, text: str, place: Any) -> Any:
    """Write the name of an object, readable on whatever is below it, and return it."""
    return panel.text(
        *place,
        text,
        ha='center',
        va='center',
        fontsize=_NAME_SIZE,
        color=BLACK,
        clip_on=True,
        zorder=6,
        bbox={'facecolor': 'white', 'edgecolor': 'none', 'alpha': 0.6, 'pad': 0.6},
    )


def draw_names(
    panel: Any,
    objects: Sequence[SceneObject],
    paths: Sequence[np.ndarray],
    view: View,
    limits: np.ndarray,
    width_in: float,
) -> None:
    """Write the name of each object where it covers neither another name nor much of a path.

    Args:
        panel: Where.
        objects: What is named.
        paths: (S, 3) each, not to be covered.
        view: From where it is seen.
        limits: (2, 2) of the view.
        width_in: About how wide the panel is.
    """
    unit = float(np.ptp(limits[:, 0])) / width_in / _POINTS_PER_INCH * _NAME_SIZE
    points = np.concatenate([_dense(way[:, view.axes]) for way in paths])
    taken: list[tuple[np.ndarray, np.ndarray]] = []
    for scene_object in sorted(objects, key=lambda each: float(each.size.max())):
        half = np.array([_LETTER_WIDTH * len(scene_object.name), _LINE_HEIGHT]) * unit / 2
        corners = outline_of(scene_object, view)
        centre = (corners.min(axis=0) + corners.max(axis=0)) / 2
        reach = np.ptp(corners, axis=0) / 2 + half
        # Above, below, inside, beside.
        moves = np.array([[0, 1], [0, -1], [0, 0], [1, 0], [-1, 0]]) * reach
        best = None
        for rank, place in enumerate(centre + moves):
            place = np.clip(place, limits[0] + half, limits[1] - half)
            covered = (np.abs(points - place) < _CLEARANCE * half).all(axis=1).sum()
            names = sum((np.abs(place - other) < half + size).all() for other, size in taken)
            cost = _OVER_NAME * names + _OVER_WAY * covered + 0.1 * rank
            if best is None or cost < best[0]:
                best = (cost, place)
        assert best is not None
        taken.append((best[1], half))
        draw_name(panel, scene_object.name, best[1])


def finish_view(panel: Any, view: View, limits: np.ndarray) -> None:
    """Set title, axes and limits of a view, and one scale for both axes."""
    panel.set_title(view.title)
    panel.set_xlabel(f'{POSITION_AXES[view.across]} (m)')
    panel.set_ylabel(f'{POSITION_AXES[view.up]} (m)')
    panel.set_xlim(limits[:, 0])
    panel.set_ylim(limits[:, 1])
    panel.set_aspect('equal', adjustable='box')
    panel.grid(visible=True, axis='both', alpha=0.6)


def moved_object(scene_object: SceneObject, prediction: Prediction, frame: int) -> SceneObject:
    """Return an object where a prediction has it at one of its samples."""
    return SceneObject(
        name=scene_object.name,
        shape=scene_object.shape,
        size=scene_object.size,
        role=scene_object.role,
        position=prediction.positions[scene_object.name][frame],
        orientation=prediction.orientations[scene_object.name][frame],
    )


def moved_objects(
    scene: Sequence[SceneObject], prediction: Prediction | None
) -> list[SceneObject]:
    """Return the objects that a prediction moves, where they end."""
    if prediction is None:
        return []
    return [
        moved_object(scene_object, prediction, -1)
        for scene_object in scene
        if scene_object.name in prediction.positions
    ]


def outline_of(scene_object: SceneObject, view: View) -> np.ndarray:
    """Return the corners (C, 2) of an object's outline in a view."""
    if scene_object.shape == 'sphere':
        points = np.column_stack([np.cos(_ROUND), np.sin(_ROUND)]) * scene_object.size[0] / 2
        return np.asarray(scene_object.position[view.axes] + points)
    if scene_object.shape == 'box':
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        points = signs * scene_object.size / 2
    else:
        ring = np.column_stack([np.cos(_ROUND), np.sin(_ROUND), np.ones_like(_ROUND)])
        points = np.concatenate([ring, ring * [1.0, 1.0, -1.0]]) * scene_object.size / 2
    turned = scene_object.position + Rotation.from_quat(scene_object.orientation).apply(points)
    flat = turned[:, view.axes]
    return np.asarray(flat[ConvexHull(flat).vertices])


def spread(objects: Sequence[SceneObject], paths: Sequence[np.ndarray], view: View) -> np.ndarray:
    """Return points (P, 2) that a view of objects and paths (S, 3) must show."""
    outlines = [outline_of(scene_object, view) for scene_object in objects]
    return np.concatenate([*outlines, *(way[:, view.axes] for way in paths)])


def square_limits(points: np.ndarray) -> np.ndarray:
    """Return the limits (2, 2) of a square view with some space around points (P, 2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.56 * float(max(high - low))
    return np.asarray((low + high) / 2 + half * np.array([[-1.0], [1.0]]))


def close_limits(points: np.ndarray) -> np.ndarray:
    """Return limits (2, 2) with some space around points (P, 2), and room for a name above."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.07 * float(max(high - low))
    # A flat scene is still to be seen.
    short = np.maximum(0.0, 0.35 * max(high - low) - (high - low)) / 2
    return np.stack([low - margin - short, high + margin + short])


def _dense(way: np.ndarray) -> np.ndarray:
    """Return points (P, 2) along a way (S, 2), so that what lies between waypoints counts too."""
    steps = np.linspace(0.0, len(way) - 1.0, 12 * len(way))
    return np.column_stack([np.interp(steps, np.arange(len(way)), axis) for axis in way.T])
