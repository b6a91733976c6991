"""What the rows of a simulated study say: means, tests, models, and how many people to invite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.human_model import DEPENDENT, INDEPENDENT
from reward_learning_ros.experiments.budget import METHODS, ONE_AUXILIARY
from reward_learning_ros.experiments.rows import Row, Timing
from reward_learning_ros.experiments.simulations import EXACT
from reward_learning_ros.study.mixed_model import MixedModel, fit_mixed_model
from reward_learning_ros.study.statistics import (
    Comparison,
    Effect,
    Plan,
    paired_comparison,
    plan_study,
    repeated_measures_anova,
    with_holm,
)

MEASURES = ('error', 'regret')
BASELINES = ('ignore', 'sampling', 'maximum')
OURS = 'double_mh'
# Pairs that say what is left of an error: one auxiliary against K, and either against the exact
# posterior, which has only the error of the data.
FURTHER = (
    *((ONE_AUXILIARY, other) for other in BASELINES),
    (OURS, ONE_AUXILIARY),
    (OURS, EXACT),
    ('sampling', EXACT),
)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Means over people in one condition, with standard errors."""

    task: str
    beta: float
    dependence: str
    method: str
    count: int
    error: float
    error_se: float
    regret: float
    regret_se: float


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of tests that are corrected for multiple comparisons together.

    Attributes:
        title: What they are about.
        measure: `error` or `regret`.
        comparisons: For each place (a task and a β), the comparisons made there.
    """

    title: str
    measure: str
    comparisons: tuple[tuple[str, Comparison], ...]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """Everything that is reported of a simulated study.

    Attributes:
        cells: Means by condition.
        effects: Analyses of variance: where, of which measure, and each effect.
        families: Comparisons.
        models: Mixed models: where, of which measure.
        plans: How many participants would be needed, by place and measure.
        seconds: Processor time of each method by task, the median of people; not reproducible.
    """

    cells: tuple[Cell, ...]
    effects: tuple[tuple[str, str, Effect], ...]
    families: tuple[Family, ...]
    models: tuple[tuple[str, str, MixedModel], ...] = ()
    plans: tuple[tuple[str, str, Plan], ...] = ()
    seconds: Mapping[tuple[str, str, str], float] = field(default_factory=dict)

    def cell(self, **wanted: Any) -> Cell:
        """Return the one cell with these values."""
        found = [
            cell
            for cell in self.cells
            if all(getattr(cell, name) == value for name, value in wanted.items())
        ]
        if len(found) != 1:
            raise InvalidInputError(f'{len(found)} cells have {wanted}')
        return found[0]


def analyse_simulations(rows: Sequence[Row], timings: Sequence[Timing] = ()) -> Analysis:
    """Analyse simulations: in each place, every person was seen by every method."""
    places = _places(rows)
    effects: list[tuple[str, str, Effect]] = []
    families = []
    for measure in MEASURES:
        ours: list[tuple[str, Comparison]] = []
        further: list[tuple[str, Comparison]] = []
        for place, here in places.items():
            values = _by_subject(here, measure, lambda row: row.human, lambda row: row.method)
            table = np.column_stack([values[method] for method in METHODS])
            effects.extend((place, measure, e) for e in _anova(table, ('method',)))
            ours.extend((place, _compare(values, OURS, other)) for other in BASELINES)
            further.extend((place, _compare(values, *pair)) for pair in FURTHER)
        families.append(_family('Double MH against the other methods', measure, ours))
        families.append(_family('further comparisons', measure, further))
    return Analysis(
        cells=_cells(rows),
        effects=tuple(effects),
        families=tuple(families),
        seconds=_seconds(timings),
    )


def analyse_study(rows: Sequence[Row], timings: Sequence[Timing] = ()) -> Analysis:
    """Analyse a user study: as the paper does, by participant and task, and by a mixed model."""
    effects: list[tuple[str, str, Effect]] = []
    plans: list[tuple[str, str, Plan]] = []
    families, models = [], []
    by_beta: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_beta[f'β = {row.beta:g}'].append(row)
    dependent = [(f'{OURS} {DEPENDENT}', f'{other} {DEPENDENT}') for other in BASELINES]
    # Ignoring the normalizer gives the same θ either way.
    against_independent = [
        *((f'{m} {DEPENDENT}', f'{m} {INDEPENDENT}') for m in METHODS if m != 'ignore'),
        (f'{OURS} {DEPENDENT}', f'{ONE_AUXILIARY} {INDEPENDENT}'),
    ]
    for measure in MEASURES:
        first: list[tuple[str, Comparison]] = []
        second: list[tuple[str, Comparison]] = []
        for place, here in by_beta.items():
            values = _by_subject(here, measure, lambda row: (row.human, row.task), _condition)
            table = np.stack(
                [
                    np.column_stack([values[f'{method} {dependence}'] for method in METHODS])
                    for dependence in (INDEPENDENT, DEPENDENT)
                ],
                axis=1,
            )
            found = _anova(table, ('dependence', 'method'))
            effects.extend((place, measure, effect) for effect in found)
            first.extend((place, _compare(values, *pair)) for pair in against_independent)
            second.extend((place, _compare(values, *pair)) for pair in dependent)
            models.append((place, measure, _model(here, measure)))
            people = _by_subject(here, measure, lambda row: row.human, _condition)
            pairs = [*against_independent, *dependent]
            plans.extend(
                (place, measure, plan_study(_compare(people, *pair), comparisons=len(pairs)))
                for pair in pairs
            )
        families.append(_family('dependent against independent', measure, first))
        families.append(_family('Double MH against the others, dependent', measure, second))
    return Analysis(
        cells=_cells(rows),
        effects=tuple(effects),
        families=tuple(families),
        models=tuple(models),
        plans=tuple(plans),
        seconds=_seconds(timings),
    )


def _condition(row: Row) -> str:
    return f'{row.method} {row.dependence}'


def _places(rows: Iterable[Row]) -> dict[str, list[Row]]:
    places: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        places[f'{row.task}, β = {row.beta:g}'].append(row)
    return places


def _by_subject(
    rows: Iterable[Row], measure: str, subject: Any, condition: Any
) -> dict[str, np.ndarray]:
    """Return for each condition the means (S,) of the subjects, in one order for all."""
    collected: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        collected[condition(row)][subject(row)].append(getattr(row, measure))
    subjects = sorted(next(iter(collected.values())))
    for name, values in collected.items():
        if sorted(values) != subjects:
            raise InvalidInputError(f'not every subject was seen in condition {name!r}')
    return {
        name: np.array([np.mean(values[one]) for one in subjects])
        for name, values in collected.items()
    }


def _anova(table: np.ndarray, factors: Sequence[str]) -> tuple[Effect, ...]:
    """Return the effects; none where there is nothing to test, such as a regret of zero."""
    try:
        return repeated_measures_anova(table, factors)
    except InvalidInputError:
        return ()


def _compare(values: Mapping[str, np.ndarray], first: str, second: str) -> Comparison:
    return paired_comparison(first, second, values[first], values[second])


def _family(title: str, measure: str, found: Sequence[tuple[str, Comparison]]) -> Family:
    corrected = with_holm([comparison for _, comparison in found])
    places = (place for place, _ in found)
    return Family(
        title=title, measure=measure, comparisons=tuple(zip(places, corrected, strict=True))
    )


def _model(rows: Sequence[Row], measure: str) -> MixedModel:
    compared = [row for row in rows if row.method in METHODS]
    factors = {
        'method': [row.method for row in compared],
        'dependence': [row.dependence for row in compared],
        'task': [row.task for row in compared],
    }
    if len(set(factors['task'])) == 1:
        del factors['task']
    return fit_mixed_model(
        [getattr(row, measure) for row in compared],
        participants=[row.human for row in compared],
        trials=[f'{row.task} {row.goal}' for row in compared],
        factors=factors,
        references={'method': OURS, 'dependence': DEPENDENT, 'task': compared[0].task},
        interactions=[('method', 'dependence')],
    )


def _cells(rows: Iterable[Row]) -> tuple[Cell, ...]:
    groups: dict[tuple[str, float, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.task, row.beta, row.dependence, row.method].append(row)
    cells = []
    for (task, beta, dependence, method), found in groups.items():
        numbers = {}
        for measure in MEASURES:
            values = np.array([getattr(row, measure) for row in found])
            numbers[measure] = float(values.mean())
            numbers[f'{measure}_se'] = float(values.std(ddof=1) / np.sqrt(len(values)))
        cells.append(
            Cell(
                task=task,
                beta=beta,
                dependence=dependence,
                method=method,
                count=len(found),
                **numbers,
            )
        )
    return tuple(cells)


def _seconds(timings: Iterable[Timing]) -> dict[tuple[str, str, str], float]:
    groups: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for timing in timings:
        groups[timing.task, timing.dependence, timing.method].append(timing.seconds)
    return {key: median(values) for key, values in groups.items()}
