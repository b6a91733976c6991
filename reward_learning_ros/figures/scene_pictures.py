"""Scenes drawn flat: things, ways of the tool and their names, from above, the side, the front."""

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
    """Tell whether trajectories of a task are ways in space."""
    return is_spatial(task) or task.predict is not None


def way_of(task: Task, trajectory: np.ndarray) -> np.ndarray:
    """Return positions (S, 3) of the tool along a trajectory."""
    if is_spatial(task):
        columns = [task.axis_names.index(axis) for axis in POSITION_AXES]
        return np.asarray(trajectory[:, columns])
    assert task.predict is not None
    return task.predict(trajectory).tool_positions


def widest_views(things: Sequence[SceneObject], ways: Sequence[np.ndarray]) -> tuple[View, View]:
    """Return the view from above, and from the side on which more is to be seen."""
    reach = np.ptp(spread(things, ways, FROM_ABOVE), axis=0)
    return FROM_ABOVE, FROM_THE_SIDE if reach[0] > reach[1] else FROM_THE_FRONT


def draw_thing(panel: Any, thing: SceneObject, view: View) -> Any:
    """Fill the outline of a thing, and return it."""
    corners = outline_of(thing, view)
    color = ROLE_COLORS[thing.role]
    (outline,) = panel.fill(
        corners[:, 0], corners[:, 1], facecolor=color, edgecolor=color, alpha=0.35, linewidth=1.2
    )
    return outline


def draw_outline(panel: Any, thing: SceneObject, view: View, label: str | None) -> None:
    """Draw where a thing will be."""
    corners = outline_of(thing, view)
    closed = np.concatenate([corners, corners[:1]])
    panel.plot(*closed.T, color=ROLE_COLORS[thing.role], linestyle=':', linewidth=1.6, label=label)


def draw_name(panel: Any, text: str, place: Any) -> Any:
    """Write the name of a thing, readable on whatever is below it, and return it."""
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
    things: Sequence[SceneObject],
    ways: Sequence[np.ndarray],
    view: View,
    limits: np.ndarray,
    width_in: float,
) -> None:
    """Write the name of each thing where it covers neither another name nor much of a way.

    Args:
        panel: Where.
        things: What is named.
        ways: (S, 3) each, not to be covered.
        view: From where it is seen.
        limits: (2, 2) of the view.
        width_in: About how wide the panel is.
    """
    unit = float(np.ptp(limits[:, 0])) / width_in / _POINTS_PER_INCH * _NAME_SIZE
    points = np.concatenate([_dense(way[:, view.axes]) for way in ways])
    taken: list[tuple[np.ndarray, np.ndarray]] = []
    for thing in sorted(things, key=lambda each: float(each.size.max())):
        half = np.array([_LETTER_WIDTH * len(thing.name), _LINE_HEIGHT]) * unit / 2
        corners = outline_of(thing, view)
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
        draw_name(panel, thing.name, best[1])


def finish_view(panel: Any, view: View, limits: np.ndarray) -> None:
    """Set title, axes and limits of a view, and one scale for both axes."""
    panel.set_title(view.title)
    panel.set_xlabel(f'{POSITION_AXES[view.across]} (m)')
    panel.set_ylabel(f'{POSITION_AXES[view.up]} (m)')
    panel.set_xlim(limits[:, 0])
    panel.set_ylim(limits[:, 1])
    panel.set_aspect('equal', adjustable='box')
    panel.grid(visible=True, axis='both', alpha=0.6)


def moved(thing: SceneObject, prediction: Prediction, frame: int) -> SceneObject:
    """Return a thing where a prediction has it at one of its samples."""
    return SceneObject(
        name=thing.name,
        shape=thing.shape,
        size=thing.size,
        role=thing.role,
        position=prediction.positions[thing.name][frame],
        orientation=prediction.orientations[thing.name][frame],
    )


def moved_things(scene: Sequence[SceneObject], prediction: Prediction | None) -> list[SceneObject]:
    """Return the things that a prediction moves, where they end."""
    if prediction is None:
        return []
    return [moved(thing, prediction, -1) for thing in scene if thing.name in prediction.positions]


def outline_of(thing: SceneObject, view: View) -> np.ndarray:
    """Return the corners (C, 2) of a thing's outline in a view."""
    if thing.shape == 'sphere':
        points = np.column_stack([np.cos(_ROUND), np.sin(_ROUND)]) * thing.size[0] / 2
        return np.asarray(thing.position[view.axes] + points)
    if thing.shape == 'box':
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        points = signs * thing.size / 2
    else:
        ring = np.column_stack([np.cos(_ROUND), np.sin(_ROUND), np.ones_like(_ROUND)])
        points = np.concatenate([ring, ring * [1.0, 1.0, -1.0]]) * thing.size / 2
    turned = thing.position + Rotation.from_quat(thing.orientation).apply(points)
    flat = turned[:, view.axes]
    return np.asarray(flat[ConvexHull(flat).vertices])


def spread(things: Sequence[SceneObject], ways: Sequence[np.ndarray], view: View) -> np.ndarray:
    """Return points (P, 2) that a view of things and ways (S, 3) must show."""
    outlines = [outline_of(thing, view) for thing in things]
    return np.concatenate([*outlines, *(way[:, view.axes] for way in ways)])


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
