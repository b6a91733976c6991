"""Pictures of a task: its scene, its plans, sampled corrections, and what a rollout does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.planner import plan
from reward_learning_ros.core.scenery import Prediction, Thing
from reward_learning_ros.core.simulated_human import simulate_corrections
from reward_learning_ros.core.task import Task
from reward_learning_ros.study.figure_style import require_matplotlib

PICTURE_FORMATS = ('.png', '.svg')
ANIMATION_FORMAT = '.gif'

# The palette of Okabe and Ito, which colour-blind people can tell apart; lines also differ in
# dashes and markers.
_GREY, _BLUE, _ORANGE = '#4d4d4d', '#0072B2', '#E69F00'
_ROLE_COLORS = {
    'goal': '#009E73',
    'obstacle': '#D55E00',
    'object': '#56B4E9',
    'person': '#CC79A7',
}
_POSITION_AXES = ('x', 'y', 'z')
# Horizontal and vertical coordinate of each view.
_VIEWS = (('seen from above', 0, 1), ('seen from the side', 0, 2), ('seen from the front', 1, 2))
_ROUND = np.linspace(0.0, 2.0 * np.pi, 25)[:-1]
_FRAMES_PER_SECOND = 10
_LAST_FRAMES = 12


@dataclass(frozen=True, kw_only=True, eq=False)
class Portrait:
    """What is drawn of a task for one θ.

    Attributes:
        task: The task.
        theta: (d,) the reward weights.
        ideal: (n, m) the best trajectory for them.
        sampled: (N, n, m) what people with these weights made of the plan.
        beta: How rational those people are.
    """

    task: Task
    theta: np.ndarray
    ideal: np.ndarray
    sampled: np.ndarray
    beta: float

    @property
    def sampled_label(self) -> str:
        """What the sampled trajectories are."""
        kind = 'corrections' if self.task.library is None else 'demonstrations'
        return f'sampled {kind}, β = {self.beta:g}'


def portray(task: Task, theta: Any, *, beta: float, people: int = 4, seed: int = 0) -> Portrait:
    """Find the ideal plan and sample corrections.

    Args:
        task: The task.
        theta: (d,) reward weights.
        beta: Rationality of the simulated people.
        people: How many of them there are.
        seed: Of all random numbers.
    """
    weights = np.asarray(theta, dtype=np.float64)
    ideal = plan(task, weights, seed=seed)
    streams = np.random.SeedSequence(seed).spawn(people)
    if task.library is not None:
        sequence = simulate_corrections(
            task, weights, beta=beta, count=people, dependence='independent', seed=streams[0]
        )
        sampled = np.array(sequence.corrected)
    else:
        free = len(task.plan) - task.space.fixed_waypoints
        sampled = np.array(
            [
                simulate_corrections(task, weights, beta=beta, count=free, seed=stream).corrected[
                    -1
                ]
                for stream in streams
            ]
        )
    return Portrait(task=task, theta=weights, ideal=ideal, sampled=sampled, beta=beta)


def draw_portrait(portrait: Portrait, path: Path) -> None:
    """Draw scene, initial plan, ideal plan and sampled corrections as PNG or SVG."""
    if path.suffix.lower() not in PICTURE_FORMATS:
        raise InvalidInputError(
            f'{path} is no {" or ".join(PICTURE_FORMATS)} file; a picture must be'
        )
    require_matplotlib()
    from matplotlib.figure import Figure

    task = portrait.task
    spatial = _is_spatial(task) or task.predict is not None
    if spatial:
        figure = Figure(figsize=(11.0, 10.0), layout='constrained')
        panels = figure.subplots(2, 2).ravel()
        _draw_views(panels[:3], portrait)
        _draw_features(panels[3], portrait)
        legend_of = panels[0]
    else:
        figure = Figure(figsize=(12.0, 4.8), layout='constrained')
        panels = figure.subplots(1, 2)
        _draw_coordinates(panels[0], portrait)
        _draw_features(panels[1], portrait)
        legend_of = panels[0]
    handles, labels = legend_of.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc='outside lower center', ncols=min(4, len(labels)), frameon=False
    )
    weights = ', '.join(
        f'{name} {value:.2f}'
        for name, value in zip(task.feature_names, portrait.theta, strict=True)
    )
    figure.suptitle(f'{task.name}: {task.description}\nθ: {weights}', fontsize=13)
    _save(lambda target: figure.savefig(target, dpi=110), path)


def animate(task: Task, trajectory: np.ndarray, path: Path) -> None:
    """Write an animated GIF of what a trajectory (n, m) does to the scene."""
    if path.suffix.lower() != ANIMATION_FORMAT:
        raise InvalidInputError(f'{path} is no {ANIMATION_FORMAT} file; an animation must be')
    if task.predict is None:
        raise InvalidInputError(
            f'nothing moves in the scene of task {task.name!r}; allowed: '
            f'{" or ".join(PICTURE_FORMATS)}'
        )
    require_matplotlib()
    from matplotlib.animation import PillowWriter
    from matplotlib.figure import Figure

    prediction = task.predict(trajectory)
    figure = Figure(figsize=(9.0, 4.8))
    panels = figure.subplots(1, 2)
    # Laid out once: panels must not jump from frame to frame.
    figure.subplots_adjust(left=0.09, right=0.98, bottom=0.12, top=0.86, wspace=0.25)
    stages = [
        _Stage(panel, task, prediction, view)
        for panel, view in zip(panels, _widest_views(task, prediction), strict=True)
    ]
    title = figure.suptitle('')
    moments = np.arange(0.0, prediction.times_sec[-1], 1.0 / _FRAMES_PER_SECOND)
    last = len(prediction.times_sec) - 1
    # The end stays to be looked at.
    frames = [*np.searchsorted(prediction.times_sec, moments), *[last] * _LAST_FRAMES]
    writer = PillowWriter(fps=_FRAMES_PER_SECOND)

    def write(target: str) -> None:
        with writer.saving(figure, target, dpi=80):
            for frame in frames:
                for stage in stages:
                    stage.show(int(frame))
                title.set_text(f'{task.name}, {prediction.times_sec[frame]:.1f} s')
                writer.grab_frame()

    _save(write, path)


class _Stage:
    """One view of a rollout: what does not move is drawn once, the rest is moved."""

    def __init__(
        self, panel: Any, task: Task, prediction: Prediction, view: tuple[str, int, int]
    ) -> None:
        title, self._horizontal, self._vertical = view
        self._prediction = prediction
        self._moving = []
        for thing in task.scene:
            drawn = _draw_thing(panel, thing, self._horizontal, self._vertical)
            if thing.name in prediction.positions:
                self._moving.append((thing, *drawn))
        self._path = prediction.tool_positions[:, [self._horizontal, self._vertical]]
        panel.plot(*self._path.T, color=_BLUE, linewidth=1.0, alpha=0.4)
        (self._done,) = panel.plot([], [], color=_BLUE, linewidth=2.6)
        (self._tool,) = panel.plot([], [], marker='o', markersize=9, color='black')
        points = _extent(task.scene, prediction, self._horizontal, self._vertical)
        _finish(panel, title, self._horizontal, self._vertical, _limits(points))

    def show(self, frame: int) -> None:
        """Move everything to where it is at a sample of the prediction."""
        for thing, outline, name in self._moving:
            moved = _moved(thing, self._prediction, frame)
            corners = _outline(moved, self._horizontal, self._vertical)
            outline.set_xy(corners)
            name.xy = _above(corners)
        self._done.set_data(*self._path[: frame + 1].T)
        self._tool.set_data(*self._path[frame : frame + 1].T)


def _widest_views(task: Task, prediction: Prediction) -> list[tuple[str, int, int]]:
    """Return the view from above, and from the side on which more is to be seen."""
    reach = np.ptp(_extent(task.scene, prediction, 0, 1), axis=0)
    return [_VIEWS[0], _VIEWS[1] if reach[0] > reach[1] else _VIEWS[2]]


def _draw_views(panels: Sequence[Any], portrait: Portrait) -> None:
    """Draw the scene and the trajectories in space, from three sides."""
    task = portrait.task
    initial, ideal = _way(task, task.plan), _way(task, portrait.ideal)
    sampled = [_way(task, trajectory) for trajectory in portrait.sampled]
    after = None if task.predict is None else task.predict(portrait.ideal)
    ways = [initial, ideal, *sampled]
    for panel, (title, horizontal, vertical) in zip(panels, _VIEWS, strict=True):
        for thing in task.scene:
            _draw_thing(panel, thing, horizontal, vertical)
            if after is not None and thing.name in after.positions:
                moved = _moved(thing, after, -1)
                _draw_outline(panel, moved, horizontal, vertical, f'{thing.name} afterwards')
        for index, way in enumerate(sampled):
            panel.plot(
                way[:, horizontal],
                way[:, vertical],
                color=_ORANGE,
                linewidth=1.2,
                alpha=0.75,
                label=portrait.sampled_label if index == 0 else None,
            )
        dots = 'o' if _is_spatial(task) else None
        squares = 's' if _is_spatial(task) else None
        panel.plot(
            initial[:, horizontal],
            initial[:, vertical],
            color=_GREY,
            linestyle='--',
            marker=dots,
            markersize=4.5,
            linewidth=1.8,
            label='initial plan',
        )
        panel.plot(
            ideal[:, horizontal],
            ideal[:, vertical],
            color=_BLUE,
            marker=squares,
            markersize=5.0,
            linewidth=2.6,
            label='ideal plan',
        )
        panel.plot(
            *initial[0, [horizontal, vertical]],
            marker='*',
            markersize=14,
            color='black',
            linestyle='none',
            label='start',
        )
        things = list(task.scene)
        if after is not None:
            things += [
                _moved(thing, after, -1) for thing in things if thing.name in after.positions
            ]
        _finish(
            panel,
            title,
            horizontal,
            vertical,
            _limits(_spread(things, ways, horizontal, vertical)),
        )


def _draw_thing(panel: Any, thing: Thing, horizontal: int, vertical: int) -> tuple[Any, Any]:
    """Fill the outline of a thing and write its name above it; return both."""
    corners = _outline(thing, horizontal, vertical)
    color = _ROLE_COLORS[thing.role]
    (outline,) = panel.fill(
        corners[:, 0], corners[:, 1], facecolor=color, edgecolor=color, alpha=0.35, linewidth=1.5
    )
    name = panel.annotate(
        thing.name,
        _above(corners),
        xytext=(0, 3),
        textcoords='offset points',
        ha='center',
        fontsize=9,
        color='black',
        annotation_clip=True,
        bbox={'facecolor': 'white', 'alpha': 0.65, 'edgecolor': 'none', 'pad': 0.5},
        zorder=5,
    )
    return outline, name


def _draw_outline(panel: Any, thing: Thing, horizontal: int, vertical: int, label: str) -> None:
    """Draw where a thing will be."""
    corners = _outline(thing, horizontal, vertical)
    closed = np.concatenate([corners, corners[:1]])
    color = _ROLE_COLORS[thing.role]
    panel.plot(*closed.T, color=color, linestyle=':', linewidth=2.0, label=label)


def _above(corners: np.ndarray) -> tuple[float, float]:
    """Return where the name of a thing with this outline is written."""
    return float(corners[:, 0].min() + corners[:, 0].max()) / 2, float(corners[:, 1].max())


def _draw_coordinates(panel: Any, portrait: Portrait) -> None:
    """Draw trajectories that are not in space: each coordinate over the waypoints."""
    task = portrait.task
    if task.plan.shape == (1, 1):
        _draw_reward(panel, portrait)
        return
    steps = np.arange(len(task.plan))
    for index, trajectory in enumerate(portrait.sampled):
        for axis in range(task.plan.shape[1]):
            panel.plot(
                steps,
                trajectory[:, axis],
                color=_ORANGE,
                alpha=0.6,
                label=portrait.sampled_label if index == axis == 0 else None,
            )
    for trajectory, color, dashes, name in (
        (task.plan, _GREY, '--', 'initial plan'),
        (portrait.ideal, _BLUE, '-', 'ideal plan'),
    ):
        for axis, label in enumerate(task.axis_names):
            panel.plot(
                steps, trajectory[:, axis], dashes, color=color, label=None if axis else name
            )
            panel.annotate(label, (steps[-1], trajectory[-1, axis]), fontsize=9)
    panel.set_xlabel('waypoint')
    panel.set_ylabel('coordinate')
    panel.set_title('the trajectories')


def _draw_reward(panel: Any, portrait: Portrait) -> None:
    """Draw a choice of a single number: the reward of each, and what was chosen."""
    task = portrait.task
    low, high = (task.plan[0] + bound for bound in (task.space.delta_low, task.space.delta_high))
    values = np.linspace(low[0], high[0], 200)
    panel.plot(
        values,
        task.evaluate(values[:, None, None]) @ portrait.theta,
        color='black',
        linewidth=1.6,
        label='reward',
    )
    for chosen, color, dashes, name in (
        (task.plan, _GREY, '--', 'initial plan'),
        (portrait.ideal, _BLUE, '-', 'ideal plan'),
    ):
        panel.axvline(chosen[0, 0], color=color, linestyle=dashes, linewidth=2.4, label=name)
    panel.plot(
        portrait.sampled[:, 0, 0],
        task.evaluate(portrait.sampled) @ portrait.theta,
        'o',
        color=_ORANGE,
        label=portrait.sampled_label,
    )
    panel.set_xlabel(f'{task.axis_names[0]} (rad)')
    panel.set_ylabel('reward θ · φ')
    panel.set_title('what each choice is worth')
    panel.grid(alpha=0.3)


def _draw_features(panel: Any, portrait: Portrait) -> None:
    """Draw the features of the initial plan, the ideal plan and the sampled corrections."""
    task = portrait.task
    rows = np.arange(task.size)
    sampled = task.evaluate(portrait.sampled)
    bars = (
        ('initial plan', task.evaluate(task.plan), _GREY, '//'),
        ('ideal plan', task.evaluate(portrait.ideal), _BLUE, ''),
        ('sampled ones (mean)', sampled.mean(axis=0), _ORANGE, '..'),
    )
    for index, (label, values, color, hatch) in enumerate(bars):
        panel.barh(
            rows + 0.27 * (index - 1),
            values,
            height=0.25,
            color=color,
            hatch=hatch,
            edgecolor='white',
            label=f'{label}: reward {values @ portrait.theta:.3f}',
        )
    panel.axvline(0.0, color='black', linewidth=0.8)
    names = [
        f'{name}\n(θ = {value:.2f})'
        for name, value in zip(task.feature_names, portrait.theta, strict=True)
    ]
    panel.set_yticks(rows, names)
    panel.invert_yaxis()
    panel.set_xlabel('feature value φ')
    panel.set_title('features and rewards')
    # Beside the bars it would hide some of them.
    panel.legend(fontsize=9, loc='upper center', bbox_to_anchor=(0.5, -0.13), frameon=False)
    panel.grid(axis='x', alpha=0.3)


def _finish(panel: Any, title: str, horizontal: int, vertical: int, limits: np.ndarray) -> None:
    panel.set_title(title)
    panel.set_xlabel(f'{_POSITION_AXES[horizontal]} (m)')
    panel.set_ylabel(f'{_POSITION_AXES[vertical]} (m)')
    panel.set_xlim(limits[:, 0])
    panel.set_ylim(limits[:, 1])
    panel.set_aspect('equal', adjustable='box')
    panel.grid(alpha=0.3)


def _way(task: Task, trajectory: np.ndarray) -> np.ndarray:
    """Return positions (S, 3) of the tool along a trajectory."""
    if _is_spatial(task):
        columns = [task.axis_names.index(axis) for axis in _POSITION_AXES]
        return np.asarray(trajectory[:, columns])
    assert task.predict is not None
    return task.predict(trajectory).tool_positions


def _is_spatial(task: Task) -> bool:
    return set(_POSITION_AXES) <= set(task.axis_names)


def _moved(thing: Thing, prediction: Prediction, frame: int) -> Thing:
    return Thing(
        name=thing.name,
        shape=thing.shape,
        size=thing.size,
        role=thing.role,
        position=prediction.positions[thing.name][frame],
        orientation=prediction.orientations[thing.name][frame],
    )


def _outline(thing: Thing, horizontal: int, vertical: int) -> np.ndarray:
    """Return the corners (C, 2) of a thing's outline in a view."""
    if thing.shape == 'sphere':
        points = np.column_stack([np.cos(_ROUND), np.sin(_ROUND)]) * thing.size[0] / 2
        return np.asarray(thing.position[[horizontal, vertical]] + points)
    if thing.shape == 'box':
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        points = signs * thing.size / 2
    else:
        ring = np.column_stack([np.cos(_ROUND), np.sin(_ROUND), np.ones_like(_ROUND)])
        points = np.concatenate([ring, ring * [1.0, 1.0, -1.0]]) * thing.size / 2
    turned = thing.position + Rotation.from_quat(thing.orientation).apply(points)
    flat = turned[:, [horizontal, vertical]]
    return np.asarray(flat[ConvexHull(flat).vertices])


def _extent(
    scene: Sequence[Thing], prediction: Prediction, horizontal: int, vertical: int
) -> np.ndarray:
    """Return points (P, 2) that a view of a rollout must show."""
    moved = [
        _moved(thing, prediction, -1) for thing in scene if thing.name in prediction.positions
    ]
    return _spread([*scene, *moved], [prediction.tool_positions], horizontal, vertical)


def _spread(
    things: Sequence[Thing], ways: Sequence[np.ndarray], horizontal: int, vertical: int
) -> np.ndarray:
    outlines = [_outline(thing, horizontal, vertical) for thing in things]
    return np.concatenate([*outlines, *(way[:, [horizontal, vertical]] for way in ways)])


def _limits(points: np.ndarray) -> np.ndarray:
    """Return the limits (2, 2) of a square view with some space around points (P, 2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.56 * float(max(high - low))
    return np.asarray((low + high) / 2 + half * np.array([[-1.0], [1.0]]))


def _save(write: Any, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(str(path))
    except OSError as error:
        raise InvalidInputError(f'{path} cannot be written: {error}') from error
