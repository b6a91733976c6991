"""Pictures of a task and of what θ makes of it, and animations of simulated motions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.planner import plan
from reward_learning_ros.core.scenery import Prediction
from reward_learning_ros.core.simulated_human import simulate_corrections
from reward_learning_ros.core.task import Task
from reward_learning_ros.figures import scene_pictures as scenes
from reward_learning_ros.figures.figure_style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    publication_style,
    save_figure,
)

PICTURE_FORMATS = ('.png', '.svg')
# Inches of each view, and of two legends one above the other.
_VIEW_IN = 3.4
_LEGENDS_IN = 2.4


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskPicture:
    """A picture of a task for one θ: its scene, ideal plan and sampled corrections.

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


def compute_picture(
    task: Task, theta: Any, *, beta: float, people: int = 4, seed: int = 0
) -> TaskPicture:
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
    return TaskPicture(task=task, theta=weights, ideal=ideal, sampled=sampled, beta=beta)


def draw_picture(portrait: TaskPicture, path: Path) -> None:
    """Draw scene, initial plan, ideal plan and sampled corrections as PNG or SVG."""
    if path.suffix.lower() not in PICTURE_FORMATS:
        raise InvalidInputError(
            f'{path} must end in {" or ".join(PICTURE_FORMATS)}: it is a picture'
        )
    with publication_style():
        save_figure(_figure(portrait), path)


def _figure(portrait: TaskPicture) -> Any:
    from matplotlib.figure import Figure

    task = portrait.task
    columns = 3 if scenes.can_be_drawn(task) else 2
    height = max(_LEGENDS_IN, 0.9 + 0.5 * task.size)
    figure = Figure(figsize=(columns * _VIEW_IN, _VIEW_IN + height), layout='constrained')
    grid = figure.add_gridspec(2, columns, height_ratios=[_VIEW_IN, height])
    if columns == 3:
        panels = [figure.add_subplot(grid[0, column]) for column in range(3)]
        _draw_views(panels, portrait)
    else:
        panels = [figure.add_subplot(grid[0, :])]
        _draw_coordinates(panels[0], portrait)
    bars = figure.add_subplot(grid[1, : columns - 1])
    _draw_features(bars, portrait)
    beside = figure.add_subplot(grid[1, columns - 1])
    beside.axis('off')
    legends = [
        beside.legend(*panel.get_legend_handles_labels(), loc=place, title=title, alignment='left')
        for panel, place, title in (
            (panels[0], 'upper left', 'trajectories'),
            (bars, 'lower left', 'mean reward θ · φ'),
        )
    ]
    # The second took the place of the first.
    beside.add_artist(legends[0])
    weights = ', '.join(
        f'{name} {value:.2f}'
        for name, value in zip(task.feature_names, portrait.theta, strict=True)
    )
    figure.suptitle(f'{task.name}: {task.description}\nθ: {weights}', fontsize=10)
    return figure


def _draw_views(panels: list[Any], portrait: TaskPicture) -> None:
    """Draw the scene and the trajectories in space, from three sides."""
    task = portrait.task
    initial, ideal = (
        scenes.tool_path_of(task, task.plan),
        scenes.tool_path_of(task, portrait.ideal),
    )
    sampled = [scenes.tool_path_of(task, trajectory) for trajectory in portrait.sampled]
    after = None if task.predict is None else task.predict(portrait.ideal)
    ends = scenes.moved_objects(task.scene, after)
    ways = [initial, ideal, *sampled]
    dots, squares = ('o', 's') if scenes.is_spatial(task) else (None, None)
    for panel, view in zip(panels, scenes.VIEWS, strict=True):
        for scene_object in task.scene:
            scenes.draw_object(panel, scene_object, view)
        for scene_object in ends:
            scenes.draw_outline(
                panel, scene_object, view, f'{scene_object.name} after the ideal plan'
            )
        for index, way in enumerate(sampled):
            panel.plot(
                *way[:, view.axes].T,
                color=ORANGE,
                linewidth=0.9,
                alpha=0.8,
                label=portrait.sampled_label if index == 0 else None,
            )
        panel.plot(
            *initial[:, view.axes].T,
            color=GREY,
            linestyle='--',
            marker=dots,
            label='initial plan',
        )
        panel.plot(
            *ideal[:, view.axes].T, color=BLUE, marker=squares, linewidth=2.0, label='ideal plan'
        )
        panel.plot(
            *initial[0, view.axes],
            marker='*',
            markersize=10,
            color=BLACK,
            linestyle='none',
            label='start',
        )
        limits = scenes.square_limits(scenes.spread([*task.scene, *ends], ways, view))
        scenes.finish_view(panel, view, limits)
        scenes.draw_names(panel, task.scene, [initial, ideal], view, limits, _VIEW_IN - 0.6)


def _draw_coordinates(panel: Any, portrait: TaskPicture) -> None:
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
                color=ORANGE,
                alpha=0.6,
                label=portrait.sampled_label if index == axis == 0 else None,
            )
    for trajectory, color, dashes, name in (
        (task.plan, GREY, '--', 'initial plan'),
        (portrait.ideal, BLUE, '-', 'ideal plan'),
    ):
        for axis, label in enumerate(task.axis_names):
            panel.plot(
                steps, trajectory[:, axis], dashes, color=color, label=None if axis else name
            )
            panel.annotate(label, (steps[-1], trajectory[-1, axis]), fontsize=8)
    panel.set_xlabel('waypoint')
    panel.set_ylabel('coordinate')
    panel.set_title('the trajectories')


def _draw_reward(panel: Any, portrait: TaskPicture) -> None:
    """Draw a choice of a single number: the reward of each, and what was chosen."""
    task = portrait.task
    low, high = (task.plan[0] + bound for bound in (task.space.delta_low, task.space.delta_high))
    values = np.linspace(low[0], high[0], 200)
    panel.plot(
        values,
        task.evaluate(values[:, None, None]) @ portrait.theta,
        color=BLACK,
        label='reward',
    )
    for chosen, color, dashes, name in (
        (task.plan, GREY, '--', 'initial plan'),
        (portrait.ideal, BLUE, '-', 'ideal plan'),
    ):
        panel.axvline(chosen[0, 0], color=color, linestyle=dashes, linewidth=2.0, label=name)
    panel.plot(
        portrait.sampled[:, 0, 0],
        task.evaluate(portrait.sampled) @ portrait.theta,
        'o',
        color=ORANGE,
        label=portrait.sampled_label,
    )
    panel.set_xlabel(f'{task.axis_names[0]} (rad)')
    panel.set_ylabel('reward θ · φ')
    panel.set_title('what each choice is worth')


def _draw_features(panel: Any, portrait: TaskPicture) -> None:
    """Draw the features of the initial plan, the ideal plan and the sampled corrections."""
    task = portrait.task
    rows = np.arange(task.size)
    sampled = task.evaluate(portrait.sampled)
    bars = (
        ('initial plan', task.evaluate(task.plan), GREY, '////'),
        ('ideal plan', task.evaluate(portrait.ideal), BLUE, ''),
        ('sampled ones', sampled.mean(axis=0), ORANGE, r'\\\\'),
    )
    for index, (label, values, color, hatch) in enumerate(bars):
        panel.barh(
            rows + 0.27 * (index - 1),
            values,
            height=0.25,
            color=color,
            hatch=hatch,
            edgecolor='white',
            label=f'{label}: {values @ portrait.theta:.3f}'.replace('-', '−'),
        )
    panel.axvline(0.0, color=BLACK, linewidth=0.8)
    names = [
        f'{name}\n(θ = {value:.2f})'
        for name, value in zip(task.feature_names, portrait.theta, strict=True)
    ]
    panel.set_yticks(rows, names)
    panel.tick_params(axis='y', length=0)
    panel.invert_yaxis()
    panel.set_xlabel('feature value φ')
    panel.grid(visible=False, axis='y')
    panel.grid(visible=True, axis='x')


ANIMATION_FORMAT = '.gif'
_FRAMES_PER_SECOND = 10
# The end stays to be looked at.
_LAST_FRAMES = 12
_DPI = 90


def animate(task: Task, trajectory: np.ndarray, path: Path) -> None:
    """Write an animated GIF of what a trajectory (n, m) does to the scene."""
    if path.suffix.lower() != ANIMATION_FORMAT:
        raise InvalidInputError(f'{path} must end in {ANIMATION_FORMAT}: it is an animation')
    if task.predict is None:
        raise InvalidInputError(
            f'nothing moves in the scene of task {task.name!r}; allowed: a .png or .svg picture'
        )
    prediction = task.predict(trajectory)
    with publication_style():
        _write(task, prediction, path)


def _write(task: Task, prediction: Prediction, path: Path) -> None:
    from matplotlib.animation import PillowWriter
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.1))
    panels = figure.subplots(1, 2)
    # Laid out once: panels must not jump from frame to frame.
    figure.subplots_adjust(left=0.08, right=0.98, bottom=0.12, top=0.88, wspace=0.25)
    views = scenes.widest_views(task.scene, [prediction.tool_positions])
    stages = [
        _Stage(panel, task, prediction, view) for panel, view in zip(panels, views, strict=True)
    ]
    title = figure.suptitle('')
    moments = np.arange(0.0, prediction.times_sec[-1], 1.0 / _FRAMES_PER_SECOND)
    last = len(prediction.times_sec) - 1
    frames = [*np.searchsorted(prediction.times_sec, moments), *[last] * _LAST_FRAMES]
    writer = PillowWriter(fps=_FRAMES_PER_SECOND)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with writer.saving(figure, str(path), dpi=_DPI):
            for frame in frames:
                for stage in stages:
                    stage.show(int(frame))
                title.set_text(f'{task.name}, {prediction.times_sec[frame]:.1f} s')
                writer.grab_frame()
    except OSError as error:
        raise InvalidInputError(f'{path} cannot be written: {error}') from error


class _Stage:
    """One view of a rollout: what does not move is drawn once, the rest is moved."""

    def __init__(self, panel: Any, task: Task, prediction: Prediction, view: scenes.View) -> None:
        self._view = view
        self._prediction = prediction
        self._moving = []
        resting = []
        for scene_object in task.scene:
            outline = scenes.draw_object(panel, scene_object, view)
            if scene_object.name in prediction.positions:
                name = scenes.draw_name(panel, scene_object.name, (0.0, 0.0))
                self._moving.append((scene_object, outline, name))
            else:
                resting.append(scene_object)
        self._path = prediction.tool_positions[:, view.axes]
        panel.plot(*self._path.T, color=BLUE, linewidth=1.0, alpha=0.4)
        (self._done,) = panel.plot([], [], color=BLUE, linewidth=2.2)
        (self._tool,) = panel.plot([], [], marker='o', markersize=7, color='black')
        ends = scenes.moved_objects(task.scene, prediction)
        ways = [prediction.tool_positions]
        limits = scenes.square_limits(scenes.spread([*task.scene, *ends], ways, view))
        scenes.finish_view(panel, view, limits)
        scenes.draw_names(panel, resting, ways, view, limits, 3.2)

    def show(self, frame: int) -> None:
        """Move everything to where it is at a sample of the prediction."""
        for scene_object, outline, name in self._moving:
            there = scenes.moved_object(scene_object, self._prediction, frame)
            corners = scenes.outline_of(there, self._view)
            outline.set_xy(corners)
            name.set_position((corners.min(axis=0) + corners.max(axis=0)) / 2)
        self._done.set_data(*self._path[: frame + 1].T)
        self._tool.set_data(*self._path[frame : frame + 1].T)
