"""A film of a recorded session: the arm plays its plan, a person pushes it, θ is beside it.

python -m tools.film SESSION FILE.gif
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.task import Task
from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.session_records import SessionRecording, session_of
from reward_learning_ros.recording.session_topics import POSE, SessionTopics
from reward_learning_ros.tasks import load_task

Array = NDArray[np.float64]

FRAMES_PER_SECOND = 10
# Seconds of the session per second of the film: a pass takes about five.
_SPEED = 4.0
# How long a new plan is shown before the arm plays it.
_PLAN_SEC = 1.6
_END_SEC = 3.0
# Below this the person does not push: it is noise.
_PUSH_N = 2.0
# A force that was not said again so much later is over.
_FORCE_LASTS_NS = 500_000_000
# Metres of arrow for each newton.
_ARROW_M_N = 0.006
_SIZE_IN, _DPI = (8.0, 3.9), 96
_COLORS = 96


@dataclass(frozen=True, kw_only=True)
class Motion:
    """How one plan was played.

    Attributes:
        plan: (n, 3) what was to be done.
        times_ns: (s,) of the samples.
        tool: (s, 3) where the tool was.
        force: (s, 3) with which the person pushed.
    """

    plan: Array
    times_ns: NDArray[np.int64]
    tool: Array
    force: Array


def make(session: Path, path: Path) -> None:
    """Write the film of a session of a simulated arm.

    Args:
        session: Its folder.
        path: Of the GIF.
    """
    from matplotlib.animation import PillowWriter
    from matplotlib.figure import Figure

    from reward_learning_ros.figures.figure_style import publication_style
    from reward_learning_ros.session.folder import SessionFolder

    task = load_task(SessionFolder(path=session).read_configuration().task)
    motions, records = read(session)
    path.parent.mkdir(parents=True, exist_ok=True)
    with publication_style():
        figure = Figure(figsize=_SIZE_IN)
        stage = _Stage(figure, task, motions, records)
        writer = PillowWriter(fps=FRAMES_PER_SECOND)
        with writer.saving(figure, str(path), dpi=_DPI):
            for number, motion in enumerate(motions):
                stage.begin(number)
                for _ in range(round(_PLAN_SEC * FRAMES_PER_SECOND)):
                    writer.grab_frame()
                step_ns = int(1e9 * _SPEED / FRAMES_PER_SECOND)
                moments = np.arange(motion.times_ns[0], motion.times_ns[-1], step_ns)
                for sample in np.searchsorted(motion.times_ns, moments):
                    stage.show(motion, int(sample))
                    writer.grab_frame()
            stage.end()
            for _ in range(round(_END_SEC * FRAMES_PER_SECOND)):
                writer.grab_frame()
    _compress(path)


def read(session: Path) -> tuple[list[Motion], SessionRecording]:
    """Return how each plan was played, and what was said beside it."""
    with BagReader(session) as bag:
        topics = SessionTopics(bag.path, bag.topics, {})
        records = session_of(bag, topics)
        poses, forces = _streams(bag, topics)
    plans = {plan.stamp_ns: plan for plan in records.distinct_plans}
    motions = []
    for stamp_ns, (start_ns, end_ns) in _playing(records).items():
        inside = (poses[0] >= start_ns) & (poses[0] <= end_ns)
        times_ns = poses[0][inside]
        last = np.searchsorted(forces[0], times_ns, side='right') - 1
        force = np.where((last >= 0)[:, None], forces[1][np.maximum(last, 0)], 0.0)
        force[times_ns - forces[0][np.maximum(last, 0)] > _FORCE_LASTS_NS] = 0.0
        motions.append(
            Motion(
                plan=plans[stamp_ns].positions,
                times_ns=times_ns,
                tool=poses[1][inside],
                force=force,
            )
        )
    return motions, records


def _streams(bag: BagReader, topics: SessionTopics) -> tuple[Any, Any]:
    pose = topics[POSE].name
    wrench = next(name for name in bag.topics if name.endswith('person/wrench'))
    rows: dict[str, list[tuple[int, float, float, float]]] = {pose: [], wrench: []}
    for message in bag.messages([pose, wrench]):
        name = message.topic.name
        content = message.decoded()
        vector = content.pose.position if name == pose else content.wrench.force
        rows[name].append((message.time_ns, vector.x, vector.y, vector.z))
    if not rows[wrench]:
        rows[wrench].append((0, 0.0, 0.0, 0.0))

    def stream(name: str) -> tuple[NDArray[np.int64], Array]:
        times_ns = np.array([row[0] for row in rows[name]], dtype=np.int64)
        return times_ns, np.array([row[1:] for row in rows[name]], dtype=np.float64)

    return stream(pose), stream(wrench)


def _playing(records: SessionRecording) -> dict[int, tuple[int, int]]:
    """Return from when to when each plan was played, by its stamp."""
    found: dict[int, tuple[int, int]] = {}
    for heard in records.playback:
        if heard.record.state is PlaybackState.PLAYING:
            stamp_ns = heard.record.plan_stamp_ns
            start_ns, _ = found.get(stamp_ns, (heard.time_ns, 0))
            found[stamp_ns] = (start_ns, heard.time_ns)
    return found


class _Stage:
    """The picture that is changed from frame to frame: two views of the scene, and θ."""

    def __init__(
        self, figure: Any, task: Task, motions: list[Motion], records: SessionRecording
    ) -> None:
        from reward_learning_ros.figures import scene_pictures as scenes
        from reward_learning_ros.figures.figure_style import BLUE, GREY, ORANGE, VERMILION

        self._records = records
        self._motions = motions
        self._title = figure.suptitle('', fontsize=10)
        # Laid out once: panels must not jump from frame to frame.
        panels = figure.subplots(1, 3, gridspec_kw={'width_ratios': [1.25, 1.25, 1.0]})
        figure.subplots_adjust(left=0.07, right=0.985, bottom=0.13, top=0.84, wspace=0.42)
        ways = [motion.plan for motion in motions] + [motion.tool for motion in motions]
        self._views = scenes.widest_views(task.scene, ways)
        self._lines = []
        for panel, view in zip(panels[:2], self._views, strict=True):
            for scene_object in task.scene:
                scenes.draw_object(panel, scene_object, view)
            limits = scenes.square_limits(scenes.spread(task.scene, ways, view))
            scenes.finish_view(panel, view, limits)
            scenes.draw_names(panel, task.scene, ways, view, limits, 2.4)
            (before,) = panel.plot([], [], color=GREY, linewidth=1.0, linestyle=':')
            (plan,) = panel.plot([], [], color=BLUE, linewidth=1.6, alpha=0.6)
            (done,) = panel.plot([], [], color=ORANGE, linewidth=2.2)
            (push,) = panel.plot([], [], color=VERMILION, linewidth=3.0, solid_capstyle='round')
            (tool,) = panel.plot([], [], marker='o', markersize=7, color='black')
            self._lines.append((view, before, plan, done, push, tool))
        self._weights = panels[2]
        self._names = task.feature_names
        self._wanted = records.participant[-1].record.theta if records.participant else None
        self._draw_weights(None)

    def begin(self, number: int) -> None:
        """Show the plan of a pass before it is played."""
        motion = self._motions[number]
        self._draw_weights(self._theta_at(int(motion.times_ns[0])))
        for view, before, plan, done, push, tool in self._lines:
            if number:
                before.set_data(*self._motions[number - 1].plan[:, view.axes].T)
            plan.set_data(*motion.plan[:, view.axes].T)
            for line in (done, push):
                line.set_data([], [])
            tool.set_data(*motion.plan[:1, view.axes].T)
        self._number = number
        self._title.set_text(f'pass {number + 1}: the arm shows its plan')

    def show(self, motion: Motion, sample: int) -> None:
        """Show where the arm is, and who pushes it."""
        force = motion.force[sample]
        is_pushed = bool(np.linalg.norm(force) > _PUSH_N)
        for view, _, _, done, push, tool in self._lines:
            way = motion.tool[: sample + 1, view.axes]
            here = way[-1]
            done.set_data(*way[:: max(1, len(way) // 200)].T)
            tool.set_data(*here[:, None])
            start = here - _ARROW_M_N * force[view.axes]
            push.set_data(*(np.stack([start, here]).T if is_pushed else ([], [])))
        self._draw_weights(self._theta_at(int(motion.times_ns[sample])))
        doing = 'a person pushes it' if is_pushed else 'the arm plays its plan'
        self._title.set_text(f'pass {self._number + 1}: {doing}')

    def end(self) -> None:
        """Show what was learned in the end."""
        if self._records.thetas:
            self._draw_weights(self._records.thetas[-1].record)
        last, first = self._records.distinct_plans[-1].positions, self._motions[0].plan
        for view, before, plan, done, push, tool in self._lines:
            before.set_data(*first[:, view.axes].T)
            plan.set_data(*last[:, view.axes].T)
            for line in (done, push, tool):
                line.set_data([], [])
        self._title.set_text('the first plan (dotted), and the last')

    def _theta_at(self, time_ns: int) -> Any:
        told = [heard.record for heard in self._records.thetas if heard.time_ns <= time_ns]
        return told[-1] if told else None

    def _draw_weights(self, theta: Any) -> None:
        from reward_learning_ros.figures.figure_style import BLUE, VERMILION

        panel = self._weights
        panel.clear()
        rows = np.arange(len(self._names))[::-1]
        if theta is not None:
            low, high = theta.quantiles[0], theta.quantiles[2]
            panel.hlines(rows, low, high, color=BLUE, linewidth=4.0, alpha=0.5)
            panel.plot(theta.mean, rows, 'o', color=BLUE, markersize=5)
        if self._wanted is not None:
            panel.plot(self._wanted, rows, 'D', color=VERMILION, markersize=4)
        panel.set_xlim(-0.03, 1.03)
        panel.set_ylim(-0.6, len(rows) - 0.4)
        panel.set_yticks(rows, self._names)
        panel.set_xlabel('weight (◆ wanted)')
        panel.set_title('θ, 90 % interval' if theta is not None else 'θ: nothing is known yet')
        panel.grid(axis='x')


def _compress(path: Path) -> None:
    """Write the GIF again with one palette for all frames, and only what changes in each."""
    from PIL import Image, ImageSequence

    with Image.open(path) as film:
        frames = [frame.convert('RGB') for frame in ImageSequence.Iterator(film)]
    # Not every frame has every colour.
    width, height = frames[0].size
    chosen = frames[:: max(1, len(frames) // 12)]
    sheet = Image.new('RGB', (width, height * len(chosen)))
    for row, frame in enumerate(chosen):
        sheet.paste(frame, (0, row * height))
    palette = sheet.quantize(_COLORS)
    reduced = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    duration_ms = 1000 // FRAMES_PER_SECOND
    reduced[0].save(
        path, save_all=True, append_images=reduced[1:], duration=duration_ms, loop=0, optimize=True
    )


def main(arguments: list[str] | None = None) -> int:
    """Make the film that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('session', type=Path, help='folder of a session')
    parser.add_argument('file', type=Path, help='GIF to write')
    options = parser.parse_args(arguments)
    make(options.session, options.file)
    print(f'{options.file}: {options.file.stat().st_size / 1e6:.2f} MB')
    return 0


if __name__ == '__main__':
    sys.exit(main())
