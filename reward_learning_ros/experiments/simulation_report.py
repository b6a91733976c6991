"""The tables, texts and page that a run of the paper's simulations leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.experiments import working_example as example
from reward_learning_ros.experiments.method_comparison import MethodCell
from reward_learning_ros.experiments.simulation_analysis import Analysis
from reward_learning_ros.figures.html_page import number
from reward_learning_ros.figures.run_report import (
    FigureBlock,
    Section,
    TableBlock,
    with_uncertainty,
    write_text,
)
from reward_learning_ros.study.statistics_tables import (
    comparisons_table,
    effects_table,
    model_table,
    write_rows,
)


def methods_section(cells: Sequence[MethodCell], drawn: Path) -> Section:
    """Return what methods cost and how near they come, as a section of the page."""
    columns = (
        'task',
        'β',
        'method',
        'people',
        'distance',
        'TV',
        'Error',
        'exact',
        'coverage',
        's',
    )
    rows = [
        (
            cell.task,
            f'{cell.beta:g}',
            cell.method,
            f'{cell.people}' + (f' ({cell.refused} refused)' if cell.refused else ''),
            number(cell.distance, 4),
            number(cell.variation),
            number(cell.error),
            number(cell.exact_error),
            number(cell.coverage, 2),
            number(cell.seconds),
        )
        for cell in cells
    ]
    return Section(
        title='Accuracy and cost of the methods',
        blocks=(
            FigureBlock(
                name='methods',
                figure=drawn,
                caption='How far a component of the mean is from that of the exact posterior, '
                'over the processor time of one inference.',
            ),
            TableBlock(
                columns=columns,
                rows=rows,
                caption='Distance to the mean of the exact posterior, total variation to it, '
                'Error to θ* and that of the exact posterior, coverage of 90 % intervals, '
                'processor time.',
                text_columns=(2,),
            ),
        ),
    )


def write_analysis(analysis: Analysis, folder: Path) -> None:
    """Write summary.csv, tests.csv and statistics.txt, the same for the same rows."""
    write_rows([asdict(cell) for cell in analysis.cells], folder / 'summary.csv')
    tests = [
        {
            'family': family.title,
            'measure': family.measure,
            'place': place,
            **_columns(asdict(comparison)),
        }
        for family in analysis.families
        for place, comparison in family.comparisons
    ]
    if tests:
        write_rows(tests, folder / 'tests.csv')
    text = '\n'.join([*_means(analysis), *_tests(analysis)]) + '\n'
    write_text(folder / 'statistics.txt', text)


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with an interval as two of them."""
    columns: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            columns[f'{name}_low'], columns[f'{name}_high'] = value
        else:
            columns[name] = value
    return columns


def analysis_text(analysis: Analysis) -> str:
    """Return the analysis of the simulations as text."""
    times = ['', 'processor time of one inference, median of people:']
    for (task, dependence, method), value in analysis.seconds.items():
        times.append(f'  {task:<12}{dependence:<13}{method:<15}{value:>8.3f} s')
    return '\n'.join([*_means(analysis), *_tests(analysis), *times])


def analysis_mapping(analysis: Analysis) -> dict[str, Any]:
    """Return the analysis of the simulations as plain values for JSON."""
    return {
        'cells': [asdict(cell) for cell in analysis.cells],
        'effects': [
            {'place': place, 'measure': measure, **_plain(effect)}
            for place, measure, effect in analysis.effects
        ],
        'families': [
            {
                'title': family.title,
                'measure': family.measure,
                'comparisons': [
                    {'place': place, **_plain(comparison)}
                    for place, comparison in family.comparisons
                ],
            }
            for family in analysis.families
        ],
        'models': [
            {'place': place, 'measure': measure, **_plain(model)}
            for place, measure, model in analysis.models
        ],
        'plans': [
            {'place': place, 'measure': measure, **_plain(plan)}
            for place, measure, plan in analysis.plans
        ],
        'seconds': [
            {'task': task, 'dependence': dependence, 'method': method, 'seconds': value}
            for (task, dependence, method), value in analysis.seconds.items()
        ],
    }


def _means(analysis: Analysis) -> Iterable[str]:
    yield (
        f'{"task":<12}{"β":>5} {"dependence":<13}{"method":<15}{"people":>7}'
        f'{"error":>9}{"± s.e.":>8}{"regret":>10}{"± s.e.":>9}'
    )
    for cell in analysis.cells:
        yield (
            f'{cell.task:<12}{cell.beta:>5g} {cell.dependence:<13}{cell.method:<15}'
            f'{cell.count:>7}{cell.error:>9.3f}{cell.error_se:>8.3f}'
            f'{cell.regret:>10.4f}{cell.regret_se:>9.4f}'
        )


def _tests(analysis: Analysis) -> Iterable[str]:
    if analysis.effects:
        yield from ('', 'repeated-measures analysis of variance (Greenhouse–Geisser):')
    for place, measure, effect in analysis.effects:
        yield f'  {place}, {measure}, {effect}'
    for family in analysis.families:
        yield from ('', f'{family.title}, {family.measure} (Holm over all of these):')
        for place, comparison in family.comparisons:
            yield f'  {place}, {comparison}'
    for place, measure, model in analysis.models:
        note = '' if model.converged else ' (did NOT converge)'
        yield from ('', f'mixed model, {place}, {measure}{note}:')
        for coefficient in model.coefficients:
            yield f'  {coefficient}'
        yield (
            f'  spread: participants {model.participant_sd:.3f}, trials {model.trial_sd:.3f}, '
            f'rest {model.residual_sd:.3f}; {model.observations} observations'
        )
    if analysis.plans:
        yield from ('', 'participants for 80 % power, α = .05 over all comparisons:')
    for place, measure, plan in analysis.plans:
        wanted = _number(plan.participants)
        cautious = _number(plan.cautious_participants)
        yield (
            f'  {place}, {measure}, {plan.first} against {plan.second}: {wanted} '
            f'(d = {plan.effect_size:+.2f}); to be safe {cautious} '
            f'(d = {plan.cautious_effect_size:+.2f})'
        )


def _number(participants: int | None) -> str:
    return 'more than anybody would invite' if participants is None else str(participants)


def _plain(value: Any) -> dict[str, Any]:
    """Return a dataclass as plain values; what is not a number, as None."""
    found: dict[str, Any] = _without_nan(asdict(value))
    return found


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def example_section(result: example.WorkingExample, figures: tuple[Path, Path]) -> Section:
    """Return the section of the working example, with the SVG files of its figures."""
    approximations, comparison = figures
    counts = zip(example.SAMPLES, result.sampling_by_count, strict=True)
    compared = zip(
        example.COMPARED_BETAS, result.compared_sampling, result.compared_maximum, strict=True
    )
    return Section(
        title='The working example',
        paragraphs=[
            'Belief error: how far a belief with an approximate normalizer is from the exact one, '
            'by quadrature. Only sampling is random; ± is its standard error over runs.'
        ],
        blocks=[
            FigureBlock(
                name='approximations',
                figure=approximations,
                caption='Ignoring the normalizer, sampling it, and taking its maximum (the '
                'paper’s figure 2).',
            ),
            FigureBlock(
                name='sampling-or-maximum',
                figure=comparison,
                caption=f'Sampling with N = {example.COMPARED_SAMPLES} against the maximum (the '
                'paper’s figure 3).',
            ),
            TableBlock(
                columns=('samples N', 'belief error'),
                rows=[(str(count), with_uncertainty(mean, se, 4)) for count, (mean, se) in counts],
                caption=f'Sampling, β = {example.SAMPLES_BETA:g}.',
            ),
            TableBlock(
                columns=('β', 'sampling', 'maximum'),
                rows=[
                    (f'{beta:g}', with_uncertainty(mean, se, 4), number(float(maximum), 4))
                    for beta, (mean, se), maximum in compared
                ],
                caption=f'Mean over demonstrations; sampling with N = {example.COMPARED_SAMPLES}.',
            ),
        ],
    )


def analysis_section(title: str, analysis: Analysis, figure: Path) -> Section:
    """Return the report's section on the simulations, or on a simulated user study.

    Args:
        title: Of the section.
        analysis: What was found.
        figure: SVG file of Error and Regret.
    """
    blocks: list[TableBlock | FigureBlock] = [
        FigureBlock(
            name=title.lower().replace(' ', '-'),
            figure=figure,
            caption='Error and Regret: means with standard errors; * where Double MH differs, '
            'p < .05 after Holm’s correction.',
        ),
        TableBlock(
            columns=('task', 'β', 'dependence', 'method', 'people', 'Error', 'Regret'),
            rows=[
                (
                    cell.task,
                    f'{cell.beta:g}',
                    cell.dependence,
                    cell.method,
                    str(cell.count),
                    with_uncertainty(cell.error, cell.error_se),
                    with_uncertainty(cell.regret, cell.regret_se, 4),
                )
                for cell in analysis.cells
            ],
            caption='Means ± standard errors.',
            text_columns=(2, 3),
        ),
    ]
    if analysis.effects:
        blocks.append(
            effects_table(
                [(f'{place}, {measure}', effect) for place, measure, effect in analysis.effects],
                'Repeated-measures analysis of variance, degrees of freedom corrected by '
                'Greenhouse and Geisser.',
            )
        )
    blocks += [
        comparisons_table(
            family.comparisons,
            f'{family.title}, {family.measure}: paired t-tests, Holm’s correction over all of '
            'these; d is Cohen’s d_z.',
        )
        for family in analysis.families
    ]
    blocks += [
        model_table(model, f'Mixed model of {measure}, {place}.')
        for place, measure, model in analysis.models
    ]
    if analysis.plans:
        blocks.append(_plans(analysis))
    return Section(title=title, blocks=blocks)


def _plans(analysis: Analysis) -> TableBlock:
    return TableBlock(
        columns=('comparison', 'd', 'participants', 'cautious d', 'participants then'),
        rows=[
            (
                f'{place}, {measure}: {plan.first} against {plan.second}',
                number(plan.effect_size, 2),
                _count(plan.participants),
                number(plan.cautious_effect_size, 2),
                _count(plan.cautious_participants),
            )
            for place, measure, plan in analysis.plans
        ],
        caption='Participants that a study needs for 80 % power, α = .05 over all comparisons: if '
        'the effect is as found here, and if it is at the end of its interval nearer to zero.',
    )


def _count(participants: int | None) -> str:
    return 'too many' if participants is None else str(participants)
