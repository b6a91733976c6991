"""The figures of a session's report; each to be drawn in `publication_style`."""

from __future__ import annotations

from typing import Any

import numpy as np

from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.figures import scene_pictures as scenes
from reward_learning_ros.figures.figure_style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PAGE_IN,
    PALETTE,
    new_figure,
)
from reward_learning_ros.session.session_data import SessionData

# Draws in one panel of the pair plot: more make the page heavy and the cloud no clearer.
_SHOWN_DRAWS = 300
_BINS = 24
_PAIR_IN = 1.45
_MARKERS = 'osD^vPX*'
# A label of a correction stands this many points off its arrow.
_LABEL_OFFSET = 5


def plans_figure(data: SessionData) -> Any:
    """Draw scene, plans before and after, and corrections."""
    if not scenes.can_be_drawn(data.task):
        return _coordinates_figure(data)
    task = data.task
    plans = _plans(data)
    ways = {label: scenes.tool_path_of(task, plan) for label, plan, *_ in plans}
    steps = [
        (scenes.tool_path_of(task, before), scenes.tool_path_of(task, after))
        for before, after in _pushes(data)
    ]
    after = None if task.predict is None else task.predict(_last_plan(data))
    ends = scenes.moved_objects(task.scene, after)
    shown = [*ways.values(), *(way for pair in steps for way in pair)]
    views = scenes.widest_views([*task.scene, *ends], shown)
    limits = [scenes.close_limits(scenes.spread([*task.scene, *ends], shown, v)) for v in views]
    widths = [float(np.ptp(limit[:, 0])) for limit in limits]
    heights = [float(np.ptp(limit[:, 1])) for limit in limits]
    # Panels of one scale side by side, no taller than wide.
    scale = min((PAGE_IN - 1.2) / sum(widths), 4.2 / max(heights))
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE_IN, scale * max(heights) + 1.1), layout='constrained')
    panels = figure.subplots(1, 2, width_ratios=widths)
    for panel, view, limit in zip(panels, views, limits, strict=True):
        for scene_object in task.scene:
            scenes.draw_object(panel, scene_object, view)
        for scene_object in ends:
            scenes.draw_outline(panel, scene_object, view, f'{scene_object.name} after it')
        for index, (before, corrected) in enumerate(steps):
            _draw_push(panel, view, before, corrected, index)
        for label, _, color, dashes, marker in plans:
            panel.plot(
                *ways[label][:, view.axes].T,
                color=color,
                linestyle=dashes,
                marker=marker if scenes.is_spatial(task) else None,
                linewidth=1.8,
                label=label,
            )
        first = next(iter(ways.values()))[0, view.axes]
        panel.plot(*first, '*', color=BLACK, markersize=9, label='start')
        scenes.finish_view(panel, view, limit)
        width_in = scale * float(np.ptp(limit[:, 0]))
        scenes.draw_names(panel, task.scene, shown, view, limit, width_in)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside lower center', ncols=min(5, len(labels)))
    return figure


def intervals_figure(data: SessionData, posterior: Posterior) -> Any:
    """Draw the intervals of each component of θ, and of β if it was inferred."""
    has_beta = not posterior.beta_is_fixed
    rows = len(posterior.feature_names)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE_IN, 0.85 + 0.27 * rows), layout='constrained')
    panels = figure.subplots(
        1, 2 if has_beta else 1, squeeze=False, width_ratios=[3, 2][: 1 + has_beta]
    )
    panel = panels[0, 0]
    low, _, high = data.prior.quantiles
    panel.hlines(
        np.arange(rows), low, high, color=GREY, linewidth=7.0, alpha=0.25, label='prior, 90 %'
    )
    _draw_intervals(panel, posterior.samples, posterior.feature_names, data.theta_star)
    panel.set_xlabel('weight θ')
    if has_beta:
        beta = None if data.beta_star is None else np.array([data.beta_star])
        _draw_intervals(panels[0, 1], posterior.beta_samples[:, None], ('β',), beta)
        panels[0, 1].set_xscale('log')
        _label_decades(panels[0, 1].xaxis)
        panels[0, 1].set_xlabel('rationality β')
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside upper center', ncols=len(labels))
    return figure


def pairs_figure(data: SessionData, posterior: Posterior) -> Any:
    """Draw the draws of each pair of components, and the histogram of each."""
    from matplotlib.figure import Figure

    columns = [*posterior.samples.T]
    names = [*posterior.feature_names]
    truth: list[float | None] = [None] * len(names)
    if data.theta_star is not None:
        truth = [float(value) for value in data.theta_star]
    if not posterior.beta_is_fixed:
        columns.append(np.log10(posterior.beta_samples))
        names.append('log₁₀ β')
        truth.append(None if data.beta_star is None else float(np.log10(data.beta_star)))
    size = len(names)
    side = min(PAGE_IN, 0.5 + _PAIR_IN * size)
    figure = Figure(figsize=(side, side), layout='constrained')
    panels = figure.subplots(size, size, sharex='col', squeeze=False)
    chosen = np.linspace(0, len(columns[0]) - 1, min(_SHOWN_DRAWS, len(columns[0]))).astype(int)
    for row in range(size):
        for column in range(size):
            panel = panels[row, column]
            panel.grid(visible=False)
            if column > row:
                panel.set_axis_off()
                continue
            if column == row:
                panel.hist(columns[row], bins=_BINS, color=BLUE, alpha=0.75)
                panel.set_yticks([])
                panel.spines['left'].set_visible(False)
            else:
                _draw_cloud(panel, columns[column][chosen], columns[row][chosen])
                if truth[row] is not None:
                    panel.axhline(truth[row], color=GREEN, linewidth=1.1, linestyle='--')
            if truth[column] is not None:
                panel.axvline(truth[column], color=GREEN, linewidth=1.1, linestyle='--')
            panel.locator_params(axis='x', nbins=3)
            if row == size - 1:
                panel.set_xlabel(names[column])
            if column == 0 and row > 0:
                panel.set_ylabel(names[row])
            elif column > 0 and column < row:
                panel.tick_params(labelleft=False)
            if column < row:
                panel.locator_params(axis='y', nbins=3)
    return figure


def timeline_figure(data: SessionData) -> Any:
    """Draw θ, and Regret and Error where they are known, from the prior on and after each pass."""
    from matplotlib.ticker import MaxNLocator

    known = data.theta_star is not None
    figure, panels = new_figure(height_in=2.9, columns=2 if known else 1)
    learned = [(0, data.prior)]
    learned += [(n, each.theta) for n, each in enumerate(data.passes, 1) if each.theta is not None]
    counts = np.array([count for count, _ in learned])
    panel = panels[0, 0]
    size = data.task.size
    shifts = (np.arange(size) - (size - 1) / 2) * min(0.12, 0.6 / size)
    for index, name in enumerate(data.task.feature_names):
        color = PALETTE[index % len(PALETTE)]
        mean = np.array([theta.mean[index] for _, theta in learned])
        low = np.array([theta.quantiles[0, index] for _, theta in learned])
        high = np.array([theta.quantiles[2, index] for _, theta in learned])
        panel.errorbar(
            counts + shifts[index],
            mean,
            yerr=[np.maximum(0.0, mean - low), np.maximum(0.0, high - mean)],
            color=color,
            marker=_MARKERS[index % len(_MARKERS)],
            elinewidth=0.8,
            label=name,
        )
        if data.theta_star is not None:
            panel.axhline(data.theta_star[index], color=color, linewidth=0.9, linestyle=':')
    panel.set_ylabel('weight θ')
    panel.set_title('θ: mean and 90 % interval' + ('; dotted: wanted' if known else ''))
    panel.legend(loc='upper center', bbox_to_anchor=(0.5, -0.2), ncols=min(4, size))
    if known:
        _draw_measures(panels[0, 1], data, learned)
    for panel in panels[0]:
        panel.set_xlabel('passes (0: before anybody was asked)')
        panel.set_xlim(-0.5, max(len(data.passes), 1) + 0.5)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    return figure


def _draw_measures(panel: Any, data: SessionData, learned: list[tuple[int, Any]]) -> None:
    """Draw the Error, and on an axis of its own the Regret, which is a tenth of it or less."""
    errors = [(count, data.error_of(theta.mean)) for count, theta in learned]
    lines = panel.plot(*zip(*errors, strict=True), 'D--', color=PALETTE[3], label='Error of θ')
    panel.set_ylabel('Error')
    panel.set_ylim(bottom=0.0)
    other = panel.twinx()
    other.grid(visible=False)
    other.spines['right'].set_visible(True)
    planned = [
        (count, data.regret_of(each.trajectory))
        for count, each in enumerate(data.passes, 1)
        if each.trajectory is not None
    ]
    rows = [(0, data.unasked_regret), *planned]
    lines += other.plot(*zip(*rows, strict=True), 'o-', color=BLUE, label='Regret of the plan')
    lines.append(
        other.axhline(data.unasked_regret, color=BLUE, linestyle=':', label='Regret if unasked')
    )
    other.set_ylabel('Regret')
    other.set_ylim(bottom=0.0)
    panel.set_title('how far from what is wanted')
    panel.legend(handles=lines, loc='upper center', bbox_to_anchor=(0.5, -0.2), ncols=3)


def _draw_intervals(
    panel: Any, samples: np.ndarray, names: tuple[str, ...], truth: np.ndarray | None
) -> None:
    rows = np.arange(len(names))
    low, lower, middle, upper, high = np.quantile(samples, [0.05, 0.25, 0.5, 0.75, 0.95], axis=0)
    panel.hlines(rows, low, high, color=BLUE, linewidth=1.4, label='90 %')
    panel.hlines(rows, lower, upper, color=BLUE, linewidth=4.5, label='50 %')
    panel.plot(
        middle, rows, 'o', color='white', markeredgecolor=BLUE, markersize=5, label='median'
    )
    if truth is not None:
        panel.plot(truth, rows, 'd', color=GREEN, markersize=6, label='wanted')
    panel.set_yticks(rows, names)
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.grid(visible=False, axis='y')
    panel.grid(visible=True, axis='x')
    panel.tick_params(axis='y', length=0)


def _label_decades(axis: Any) -> None:
    """Label a logarithmic axis with plain numbers: formulas are not read in our figures."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
    axis.set_minor_formatter(NullFormatter())


def _draw_cloud(panel: Any, x: np.ndarray, y: np.ndarray) -> None:
    """Draw points as one path of strokes without length: a tenth of the size of markers."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = np.column_stack([x, y])
    path = Path(np.repeat(points, 2, axis=0), np.tile([Path.MOVETO, Path.LINETO], len(points)))
    # Simplified, strokes without length would be left out.
    path.should_simplify = False
    panel.add_patch(
        PathPatch(path, fill=False, edgecolor=BLUE, alpha=0.45, linewidth=2.0, capstyle='round')
    )
    panel.autoscale_view()


def _draw_push(
    panel: Any, view: scenes.View, before: np.ndarray, after: np.ndarray, index: int
) -> None:
    """Draw the plan that one correction left, and an arrow with its number where it began."""
    panel.plot(
        *after[:, view.axes].T,
        color=ORANGE,
        linewidth=0.9,
        alpha=0.7,
        label='corrected' if index == 0 else None,
    )
    distances = np.linalg.norm(after - before, axis=1)
    onset = int(np.argmax(distances > 0.5 * distances.max())) if distances.max() > 0.0 else 0
    start, end = before[onset, view.axes], after[onset, view.axes]
    panel.annotate(
        '', end, start, arrowprops={'arrowstyle': '->', 'color': ORANGE, 'linewidth': 1.5}
    )
    panel.annotate(
        str(index + 1),
        end,
        (_LABEL_OFFSET, _LABEL_OFFSET),
        textcoords='offset points',
        fontsize=7.5,
        fontweight='bold',
        zorder=7,
    )


def _coordinates_figure(data: SessionData) -> Any:
    """Draw plans that are not in space: each coordinate over the waypoints."""
    columns = data.task.plan.shape[1]
    figure, panels = new_figure(height_in=2.4, columns=columns)
    steps = np.arange(len(data.task.plan))
    for axis, panel in enumerate(panels[0]):
        for index, (_, corrected) in enumerate(_pushes(data)):
            panel.plot(
                steps,
                corrected[:, axis],
                'x-',
                color=ORANGE,
                linewidth=0.9,
                label=None if index else 'corrected',
            )
        for label, plan, color, dashes, marker in _plans(data):
            panel.plot(steps, plan[:, axis], marker + dashes, color=color, label=label)
        panel.set_title(data.task.axis_names[axis])
        panel.set_xlabel('waypoint')
        panel.xaxis.get_major_locator().set_params(integer=True)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside lower center', ncols=len(labels))
    return figure


def _plans(data: SessionData) -> list[tuple[str, np.ndarray, str, str, str]]:
    """Return the plans to draw: label, trajectory (n, m), colour, dashes, marker."""
    assert data.initial_plan is not None
    plans = [('plan before', data.initial_plan, GREY, '--', 'o')]
    if data.ideal is not None:
        plans.append(('ideal plan', data.ideal, GREEN, ':', 'd'))
    if data.final_plan is not None:
        plans.append(('plan after', data.final_plan, BLUE, '-', 's'))
    return plans


def _last_plan(data: SessionData) -> np.ndarray:
    assert data.initial_plan is not None
    return data.initial_plan if data.final_plan is None else data.final_plan


def _pushes(data: SessionData) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the trajectories (n, m) before and after each correction; silence moves nothing."""
    pairs = []
    for sequence in data.sequences:
        before = sequence.plan
        for corrected, is_push in zip(sequence.corrected, sequence.is_push, strict=True):
            if is_push:
                pairs.append((before, corrected))
            before = corrected
    return pairs
