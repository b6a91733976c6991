"""What an analysis of a simulated study found, as text, tables and plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.experiments.simulation_analysis import Analysis
from reward_learning_ros.figures.run_report import write_text
from reward_learning_ros.study.tables import write_rows


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
    """Return all of it as text, with the times."""
    times = ['', 'processor time of one inference, median of people:']
    for (task, dependence, method), value in analysis.seconds.items():
        times.append(f'  {task:<12}{dependence:<13}{method:<15}{value:>8.3f} s')
    return '\n'.join([*_means(analysis), *_tests(analysis), *times])


def analysis_mapping(analysis: Analysis) -> dict[str, Any]:
    """Return all of it as plain values, for JSON."""
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
