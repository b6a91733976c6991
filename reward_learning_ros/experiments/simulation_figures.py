"""The paper's figures, drawn from results: working example, simulations and user study."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.human_model import DEPENDENCES, DEPENDENT
from reward_learning_ros.experiments import working_example as example
from reward_learning_ros.experiments.method_comparison import MethodCell
from reward_learning_ros.experiments.simulation_analysis import MEASURES, OURS, Analysis, Family
from reward_learning_ros.figures.figure_style import (
    METHOD_STYLES,
    PAGE_IN,
    PALETTE,
    SeriesStyle,
    check_figure_path,
    draw_bars,
    draw_line,
    mark_significance,
    new_figure,
    publication_style,
    save_figure,
)

ALPHA = 0.05
_DASHES = ('-', '--', '-.', ':')
_MEASURE_LABELS = {'error': 'Error ‖θ − θ̂‖', 'regret': 'Regret'}


def draw_approximations(result: example.WorkingExample, path: Path) -> None:
    """Draw the paper's figure 2: the belief error of ignoring, sampling and the maximum."""
    with publication_style():
        check_figure_path(path)
        figure, panels = new_figure(columns=3)
        left, middle, right = panels[0]
        for index, (beta, errors) in enumerate(
            zip(example.SHOWN_BETAS, result.ignore, strict=True)
        ):
            style = SeriesStyle(
                label=f'β = {beta:g}',
                color=PALETTE[index],
                dashes=_DASHES[index % len(_DASHES)],
            )
            draw_line(left, result.angles_rad, errors, style=style, markers=False)
        left.set(
            title='Ignore', xlabel='demonstrated angle ξ (rad)', ylabel='belief error', ylim=(0, 1)
        )
        left.legend()
        mean, error = result.sampling_by_count.T
        draw_line(middle, example.SAMPLES, mean, error, style=METHOD_STYLES['sampling'])
        middle.set(
            title=f'Sampling, β = {example.SAMPLES_BETA:g}',
            xlabel='samples N',
            xscale='log',
            ylim=(0, None),
        )
        styles = METHOD_STYLES
        draw_line(right, example.BETAS, result.maximum_by_beta, style=styles['maximum'])
        draw_line(right, example.BETAS, result.ignore_by_beta, style=styles['ignore'])
        right.set(title='Maximum', xlabel='β', xscale='log', ylim=(0, None))
        right.legend()
        save_figure(figure, path)


def draw_comparison(result: example.WorkingExample, path: Path) -> None:
    """Draw the paper's figure 3: sampling against the maximum."""
    with publication_style():
        check_figure_path(path)
        figure, panels = new_figure(columns=3)
        close_ups = zip(
            panels[0][:2],
            example.CLOSE_UP_BETAS,
            result.close_up_sampling,
            result.close_up_maximum,
            strict=True,
        )
        for panel, beta, sampling, maximum in close_ups:
            draw_line(
                panel,
                result.angles_rad,
                sampling[:, 0],
                sampling[:, 1],
                style=METHOD_STYLES['sampling'],
                markers=False,
            )
            style = METHOD_STYLES['maximum']
            draw_line(panel, result.angles_rad, maximum, style=style, markers=False)
            panel.set(title=f'β = {beta:g}', xlabel='demonstrated angle ξ (rad)', ylim=(0, None))
        panels[0][0].set_ylabel('belief error')
        panels[0][0].legend()
        right = panels[0][2]
        draw_bars(
            right,
            [f'{beta:g}' for beta in example.COMPARED_BETAS],
            {
                'sampling': (result.compared_sampling[:, 0], result.compared_sampling[:, 1]),
                # Exact: no samples, no error.
                'maximum': (result.compared_maximum, np.zeros(len(result.compared_maximum))),
            },
        )
        right.set(title='mean over demonstrations', xlabel='β')
        save_figure(figure, path)


def draw_methods(cells: Sequence[MethodCell], path: Path) -> None:
    """Draw how near each method comes to the exact posterior, over what it costs."""
    places = list(dict.fromkeys((cell.task, cell.beta) for cell in cells))
    with publication_style():
        check_figure_path(path)
        columns = min(3, len(places))
        rows = -(-len(places) // columns)
        figure, panels = new_figure(height_in=0.5 + 2.1 * rows, rows=rows, columns=columns)
        for panel, place in itertools.zip_longest(panels.reshape(-1), places):
            if place is None:
                panel.set_axis_off()
                continue
            for cell in cells:
                if (cell.task, cell.beta) != place or not cell.people:
                    continue
                style = METHOD_STYLES[cell.method]
                panel.plot(
                    [cell.seconds],
                    [cell.distance],
                    marker=style.marker,
                    color=style.color,
                    linestyle='',
                    markersize=6.0,
                    label=style.label,
                )
            panel.set(
                title=f'{place[0]}, β = {place[1]:g}',
                xlabel='core-seconds',
                xscale='log',
                yscale='log',
            )
            panel.grid(axis='both')
        panels[0][0].set_ylabel('distance to the exact mean')
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc='outside lower center', ncols=4)
        save_figure(figure, path)


def draw_simulations(analysis: Analysis, path: Path) -> None:
    """Draw the paper's figures 4 to 6: Error and Regret of each method, by task and β."""
    tasks = list(dict.fromkeys(cell.task for cell in analysis.cells))
    betas = list(dict.fromkeys(cell.beta for cell in analysis.cells))
    methods = list(dict.fromkeys(cell.method for cell in analysis.cells))

    def draw(panel: Any, column: int, measure: str) -> None:
        task = tasks[column]
        cells = [[analysis.cell(task=task, beta=b, method=m) for b in betas] for m in methods]
        bars = _bars(methods, cells, measure)
        places = draw_bars(panel, [f'β = {beta:g}' for beta in betas], bars)
        panel.set_title(task.capitalize())
        for group, beta in enumerate(betas):
            _mark(panel, analysis, measure, f'{task}, β = {beta:g}', places, bars, group, '{}')

    _draw_measures(len(tasks), draw, path)


def draw_study(analysis: Analysis, path: Path) -> None:
    """Draw the paper's figure 7: Error and Regret of each method, independent and dependent."""
    betas = list(dict.fromkeys(cell.beta for cell in analysis.cells))
    methods = list(dict.fromkeys(cell.method for cell in analysis.cells))

    def draw(panel: Any, column: int, measure: str) -> None:
        beta = betas[column]
        heights: dict[str, tuple[list[float], list[float]]] = {}
        for method in methods:
            values, errors = [], []
            for dependence in DEPENDENCES:
                wanted = {'beta': beta, 'method': method, 'dependence': dependence}
                found = [
                    cell
                    for cell in analysis.cells
                    if all(getattr(cell, name) == value for name, value in wanted.items())
                ]
                values.append(_mean([getattr(cell, measure) for cell in found]))
                # Tasks are of equal size and were seen by the same people.
                squares = [getattr(cell, f'{measure}_se') ** 2 for cell in found]
                errors.append(float(np.sqrt(np.sum(squares))) / max(1, len(found)))
            heights[method] = (values, errors)
        places = draw_bars(panel, [name.capitalize() for name in DEPENDENCES], heights)
        panel.set_title(f'β = {beta:g}')
        group = DEPENDENCES.index(DEPENDENT)
        name = f'{{}} {DEPENDENT}'
        _mark(panel, analysis, measure, f'β = {beta:g}', places, heights, group, name)

    _draw_measures(len(betas), draw, path)


def _mean(values: Sequence[float]) -> float:
    # A condition that there is not has no bar.
    return float(np.mean(values)) if values else float('nan')


def _draw_measures(columns: int, draw: Callable[[Any, int, str], None], path: Path) -> None:
    """Draw one row of panels for each measure, with one legend for all."""
    with publication_style():
        check_figure_path(path)
        width = min(PAGE_IN, 1.0 + 2.4 * columns)
        figure, panels = new_figure(width_in=width, height_in=4.6, rows=2, columns=columns)
        for row, measure in enumerate(MEASURES):
            for column in range(columns):
                draw(panels[row][column], column, measure)
            panels[row][0].set_ylabel(_MEASURE_LABELS[measure])
        handles, labels = panels[0][0].get_legend_handles_labels()
        # One column is narrow: the longest label needs half of it.
        figure.legend(handles, labels, loc='outside lower center', ncols=2 if columns == 1 else 3)
        save_figure(figure, path)


def _bars(
    methods: Sequence[str], cells: Sequence[Sequence[Any]], measure: str
) -> dict[str, tuple[list[float], list[float]]]:
    return {
        method: (
            [getattr(cell, measure) for cell in row],
            [getattr(cell, f'{measure}_se') for cell in row],
        )
        for method, row in zip(methods, cells, strict=True)
    }


def _mark(
    panel: Any,
    analysis: Analysis,
    measure: str,
    place: str,
    places: dict[str, np.ndarray],
    bars: dict[str, tuple[list[float], list[float]]],
    group: int,
    name: str,
) -> None:
    """Draw a star from Double MH to each method that differs from it, p < .05 by Holm."""
    family = _family(analysis, measure)
    tops = [heights[group] + errors[group] for heights, errors in bars.values()]
    step = 0.09 * panel.get_ylim()[1]
    height = float(np.nanmax(tops)) + 0.5 * step
    for at, comparison in family.comparisons:
        if at != place or comparison.p_holm >= ALPHA:
            continue
        for method, x in places.items():
            if name.format(method) == comparison.second:
                mark_significance(panel, x[group], places[OURS][group], height, '*')
                height += step
    panel.set_ylim(0.0, max(panel.get_ylim()[1], height))


def _family(analysis: Analysis, measure: str) -> Family:
    return next(
        family
        for family in analysis.families
        if family.measure == measure and family.title.startswith('Double MH against')
    )
