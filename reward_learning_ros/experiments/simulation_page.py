"""The report of simulated experiments: what `reward_learning simulate` found, on one page."""

from __future__ import annotations

from pathlib import Path

from reward_learning_ros.experiments import working_example as example
from reward_learning_ros.experiments.simulation_analysis import Analysis
from reward_learning_ros.figures.html_page import number
from reward_learning_ros.figures.run_report import FigureBlock, Section, TableBlock, give_or_take
from reward_learning_ros.study.statistics_tables import (
    comparisons_table,
    effects_table,
    model_table,
)


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
                rows=[(str(count), give_or_take(mean, se, 4)) for count, (mean, se) in counts],
                caption=f'Sampling, β = {example.SAMPLES_BETA:g}.',
            ),
            TableBlock(
                columns=('β', 'sampling', 'maximum'),
                rows=[
                    (f'{beta:g}', give_or_take(mean, se, 4), number(float(maximum), 4))
                    for beta, (mean, se), maximum in compared
                ],
                caption=f'Mean over demonstrations; sampling with N = {example.COMPARED_SAMPLES}.',
            ),
        ],
    )


def analysis_section(title: str, analysis: Analysis, figure: Path) -> Section:
    """Return the section of simulations or of a simulated user study.

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
                    give_or_take(cell.error, cell.error_se),
                    give_or_take(cell.regret, cell.regret_se, 4),
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
