"""Animations of a rollout: what a trajectory does to the scene."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.scenery import Prediction
from reward_learning_ros.core.task import Task
from reward_learning_ros.figures import scene_pictures as scenes
from reward_learning_ros.figures.figure_style import BLUE, publication_style

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
        for thing in task.scene:
            outline = scenes.draw_thing(panel, thing, view)
            if thing.name in prediction.positions:
                name = scenes.draw_name(panel, thing.name, (0.0, 0.0))
                self._moving.append((thing, outline, name))
            else:
                resting.append(thing)
        self._path = prediction.tool_positions[:, view.axes]
        panel.plot(*self._path.T, color=BLUE, linewidth=1.0, alpha=0.4)
        (self._done,) = panel.plot([], [], color=BLUE, linewidth=2.2)
        (self._tool,) = panel.plot([], [], marker='o', markersize=7, color='black')
        ends = scenes.moved_things(task.scene, prediction)
        ways = [prediction.tool_positions]
        limits = scenes.square_limits(scenes.spread([*task.scene, *ends], ways, view))
        scenes.finish_view(panel, view, limits)
        scenes.draw_names(panel, resting, ways, view, limits, 3.2)

    def show(self, frame: int) -> None:
        """Move everything to where it is at a sample of the prediction."""
        for thing, outline, name in self._moving:
            there = scenes.moved(thing, self._prediction, frame)
            corners = scenes.outline_of(there, self._view)
            outline.set_xy(corners)
            name.set_position((corners.min(axis=0) + corners.max(axis=0)) / 2)
        self._done.set_data(*self._path[: frame + 1].T)
        self._tool.set_data(*self._path[frame : frame + 1].T)
