"""The report of a study's analysis: figures and tables of every measure, and what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from reward_learning_ros.core.text import counted
from reward_learning_ros.figures.figure_style import (
    BLACK,
    PAGE_IN,
    draw_bars,
    new_figure,
    publication_style,
)
from reward_learning_ros.figures.html_page import Tile
from reward_learning_ros.figures.run_report import (
    FigureBlock,
    RunReport,
    Section,
    TableBlock,
    with_uncertainty,
)
from reward_learning_ros.study.ledger import DONE, EXCLUDED, STATES
from reward_learning_ros.study.protocol import Protocol
from reward_learning_ros.study.statistics_tables import (
    comparisons_table,
    effects_table,
    model_table,
)
from reward_learning_ros.study.tidy import TrialRow
from reward_learning_ros.study.trial_analysis import Cell, MeasureAnalysis

_OVER_ALL = 'all tasks'
# In place of a condition, of what is asked at the end.
_EVERYBODY = 'all conditions'


def analysis_report(
    protocol: Protocol, rows: Sequence[TrialRow], analyses: Sequence[MeasureAnalysis]
) -> RunReport:
    """Return what the report of a study's analysis holds."""
    states = Counter(row['state'] for row in rows)
    participants = {row['participant'] for row in rows}
    finished = {row['participant'] for row in rows if row['state'] == DONE}
    with publication_style():
        sections = [_section(protocol, analysis) for analysis in analyses]
    return RunReport(
        title=f'Study {protocol.name}',
        subtitle=f'{", ".join(goal.name for goal in protocol.goals)} under '
        f'{", ".join(condition.name for condition in protocol.conditions)}',
        tiles=[
            Tile(
                label='Participants',
                value=str(len(finished)),
                note=f'of {len(participants)} enrolled',
            ),
            *(
                Tile(label=f'Trials {state}', value=str(states[state]))
                for state in STATES
                if states[state] or state == DONE
            ),
        ],
        sections=[*sections, _left_out(rows)],
        configuration={
            'conditions': '; '.join(
                f'{each.name}: {each.method}, {each.dependence}, {each.mode}'
                for each in protocol.conditions
            ),
            'blocks': protocol.blocks,
            'arm': protocol.arm,
            'participants are': protocol.participant_model,
            'seed': protocol.seed,
        },
    )


def _section(protocol: Protocol, analysis: MeasureAnalysis) -> Section:
    blocks: list[Any] = [
        FigureBlock(
            name=analysis.column.replace('_', '-'),
            figure=measure_figure(analysis),
            caption=f'{analysis.label}: means with 95 % intervals; dots are participants. '
            f'{analysis.better.capitalize()} is better.',
        ),
        _means(analysis.cells),
    ]
    people = counted(len(analysis.participants), 'participant')
    if analysis.effects:
        blocks.append(
            effects_table(
                [('', effect) for effect in analysis.effects],
                'Repeated-measures analysis of variance, degrees of freedom corrected by '
                f'Greenhouse and Geisser, {people}.',
            )
        )
    if analysis.comparisons:
        blocks.append(
            comparisons_table(
                [('', comparison) for comparison in analysis.comparisons],
                f'Paired t-tests of the mean over tasks, {people}; d is Cohen’s d_z.',
            )
        )
    if analysis.model is not None:
        first, task = protocol.conditions[0].name, protocol.goals[0].name
        blocks.append(
            model_table(analysis.model, f'Mixed model of all trials, against {first} in {task}.')
        )
    return Section(title=analysis.label, blocks=blocks, warnings=analysis.remarks)


def measure_figure(analysis: MeasureAnalysis) -> Any:
    """Draw a measure by task and condition; to be called in `publication_style`."""
    goals, conditions = _goals(analysis.cells), _conditions(analysis.cells)
    groups = goals if len(goals) == 1 else [*goals, '']
    cells = {(cell.goal, cell.condition): cell for cell in analysis.cells}
    figure, panels = new_figure(width_in=min(PAGE_IN, 2.0 + 1.4 * len(groups)), height_in=2.8)
    panel = panels[0, 0]
    series = {
        condition: (
            [np.nan_to_num(cells[group, condition].mean) for group in groups],
            [np.nan_to_num(cells[group, condition].half) for group in groups],
        )
        for condition in conditions
    }
    names = [group.replace('/', '\n') or _OVER_ALL for group in groups]
    places = draw_bars(
        panel, names, {name or _EVERYBODY: values for name, values in series.items()}
    )
    for condition in conditions:
        for place, group in zip(places[condition or _EVERYBODY], groups, strict=True):
            dots = sorted(cells[group, condition].values.values())
            shifts = 0.25 * np.linspace(-1, 1, len(dots)) * 0.8 / len(conditions)
            # In an order that spreads neighbours: equal values must not hide each other.
            panel.plot(
                place + shifts[np.argsort(np.arange(len(dots)) % 3, kind='stable')],
                dots,
                'o',
                markersize=2.8,
                color='white',
                markeredgecolor=BLACK,
                markeredgewidth=0.5,
                zorder=3,
            )
    panel.set_ylabel(analysis.label)
    panel.set_ylim(bottom=0.0)
    if len(goals) > 1:
        panel.axvline(len(goals) - 0.5, color=BLACK, linewidth=0.6, linestyle=':')
    figure.legend(
        *panel.get_legend_handles_labels(), loc='outside upper center', ncols=len(conditions)
    )
    return figure


def _goals(cells: Sequence[Cell]) -> list[str]:
    """Return the tasks that a measure was taken in one by one."""
    return list(dict.fromkeys(cell.goal for cell in cells if cell.goal))


def _conditions(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.condition for cell in cells))


def _means(cells: Sequence[Cell]) -> TableBlock:
    conditions = _conditions(cells)
    found = {(cell.goal, cell.condition): cell for cell in cells}
    goals = [*_goals(cells), '']
    return TableBlock(
        columns=('', *(condition or _EVERYBODY for condition in conditions)),
        rows=[
            (
                goal or _OVER_ALL,
                *(
                    f'{with_uncertainty(cell.mean, cell.half)} (n = {cell.count})'
                    for cell in (found[goal, condition] for condition in conditions)
                ),
            )
            for goal in goals
        ],
        caption='Means ± half of their 95 % intervals. Over all tasks: of the participants who '
        'did all of them.',
    )


def _left_out(rows: Sequence[TrialRow]) -> Section:
    """Return the trials that the analysis does without, and why."""
    left = [row for row in rows if row['state'] != DONE]
    return Section(
        title='Trials that are left out',
        paragraphs=[] if left else ['None.'],
        blocks=[
            TableBlock(
                columns=('participant', 'trial', 'task', 'condition', 'state', 'reason'),
                rows=[
                    (
                        row['participant'],
                        str(row['trial']),
                        row['task'],
                        row['condition'],
                        row['state'],
                        row['reason'],
                    )
                    for row in sorted(left, key=lambda row: row['state'] != EXCLUDED)
                ],
                text_columns=(2, 3, 4, 5),
            )
        ],
    )
