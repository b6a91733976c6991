"""The analysis of a study's trials: means with intervals, tests with corrections, effect sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.study.ledger import DONE
from reward_learning_ros.study.mixed_model import MixedModel, fit_mixed_model
from reward_learning_ros.study.protocol import Protocol
from reward_learning_ros.study.questionnaires import AFTER_TRIAL, AT_END, LOWER
from reward_learning_ros.study.statistics import (
    CONFIDENCE,
    Comparison,
    Effect,
    paired_comparison,
    repeated_measures_anova,
    with_holm,
)
from reward_learning_ros.study.tidy import TrialRow


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure that is compared between conditions, such as Regret.

    Attributes:
        column: In the table of trials.
        name: In reports.
        unit: Of its values; empty without one.
        better: `lower` or `higher`.
        due: Whether it is measured after each trial, after each condition or at the end.
    """

    column: str
    name: str
    unit: str = ''
    better: str = LOWER
    due: str = AFTER_TRIAL

    @property
    def label(self) -> str:
        """Its name with its unit."""
        return f'{self.name} ({self.unit})' if self.unit else self.name


# Of every session; the scores of questionnaires come after them.
MEASURES = (
    Measure(column='error', name='Error'),
    Measure(column='regret', name='Regret'),
    Measure(column='corrections', name='Corrections'),
    Measure(column='duration_sec', name='Duration', unit='s'),
)

# Values by participant, then by task and condition.
_Values = dict[str, dict[tuple[str, str], float]]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The mean of a measure over participants, in one task (or over all) and one condition.

    Attributes:
        goal: The task; empty for the mean of each participant over all tasks, and for what is
            asked of all of them at once.
        condition: The condition; empty for what is asked once, at the end.
        count: How many participants.
        mean: Over them; NaN if there is none.
        half: Half the length of its 95 % interval; NaN with one participant.
        values: By participant.
    """

    goal: str
    condition: str
    count: int
    mean: float
    half: float
    values: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class MeasureAnalysis:
    """The analysis of one measure: means, ANOVA, comparisons and mixed model.

    Attributes:
        column: In the table of trials.
        label: With its unit.
        better: `lower` or `higher`.
        cells: Means by condition, over all tasks and in each.
        participants: Those who did all that is compared, whom the tests are about.
        effects: Of a repeated-measures analysis of variance.
        comparisons: Of each pair of conditions, corrected by Holm's method.
        model: A mixed model of all trials, also of participants who did not do all.
        remarks: Why a test is missing.
    """

    column: str
    label: str
    better: str
    cells: tuple[Cell, ...]
    participants: tuple[str, ...]
    effects: tuple[Effect, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    model: MixedModel | None = None
    remarks: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        """Return it as plain types for JSON."""
        content: dict[str, Any] = _plain(asdict(self))
        return content


def analyse_trials(
    protocol: Protocol, rows: Sequence[TrialRow], further: Sequence[Measure] = ()
) -> tuple[MeasureAnalysis, ...]:
    """Analyse the trials of a study that are done.

    Args:
        protocol: The study.
        rows: As `tidy.trial_rows` returns them, with the columns of further measures.
        further: Measures besides `MEASURES`; one that no trial has is left out.

    Raises:
        InvalidInputError: No trial is done.
    """
    done = [row for row in rows if row['state'] == DONE]
    if not done:
        raise InvalidInputError(f'no trial of study {protocol.name} is done: nothing to analyse')
    found = []
    for measure in (*MEASURES, *further):
        values: _Values = {}
        for row in done:
            if row.get(measure.column) is not None:
                goal = row['goal'] if measure.due == AFTER_TRIAL else ''
                condition = '' if measure.due == AT_END else row['condition']
                own = values.setdefault(row['participant'], {})
                own[goal, condition] = float(row[measure.column])
        if values:
            found.append(_analyse(protocol, values, measure))
    return tuple(found)


def _analyse(protocol: Protocol, values: _Values, measure: Measure) -> MeasureAnalysis:
    goals = [goal.name for goal in protocol.goals] if measure.due == AFTER_TRIAL else ['']
    conditions = [condition.name for condition in protocol.conditions]
    if measure.due == AT_END:
        conditions = ['']
    whole = len(goals) * len(conditions)
    complete = tuple(name for name, cells in values.items() if len(cells) == whole)
    # (S, goals, conditions)
    array = np.array(
        [[[values[name][g, c] for c in conditions] for g in goals] for name in complete]
    ).reshape(len(complete), len(goals), len(conditions))
    over_all = [
        _cell('', condition, dict(zip(complete, array[:, :, index].mean(axis=1), strict=True)))
        for index, condition in enumerate(conditions)
    ]
    in_each = [
        _cell(g, c, {name: cells[g, c] for name, cells in values.items() if (g, c) in cells})
        for g in goals
        for c in conditions
        if g
    ]
    effects: tuple[Effect, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    model, remarks = None, []
    if measure.due == AT_END:
        remarks.append('Asked once of each participant: nothing to compare.')
    elif len(conditions) < 2:
        remarks.append('There is one condition: nothing to compare.')
    else:
        try:
            effects, comparisons = _tests(goals, conditions, array)
        except InvalidInputError as error:
            remarks.append(f'No tests: {error}.')
        if measure.due == AFTER_TRIAL:
            try:
                model = _model(goals, conditions, values)
            except (InvalidInputError, np.linalg.LinAlgError) as error:
                remarks.append(f'No mixed model: {error}.')
    return MeasureAnalysis(
        column=measure.column,
        label=measure.label,
        better=measure.better,
        cells=tuple(over_all + in_each),
        participants=complete,
        effects=effects,
        comparisons=comparisons,
        model=model,
        remarks=tuple(remarks),
    )


def _cell(goal: str, condition: str, values: dict[str, float]) -> Cell:
    numbers = np.array(list(values.values()))
    count = len(numbers)
    half = math.nan
    if count > 1:
        quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1))
        half = quantile * float(numbers.std(ddof=1)) / math.sqrt(count)
    return Cell(
        goal=goal,
        condition=condition,
        count=count,
        mean=float(numbers.mean()) if count else math.nan,
        half=half,
        values={name: float(value) for name, value in values.items()},
    )


def _tests(
    goals: Sequence[str], conditions: Sequence[str], array: np.ndarray
) -> tuple[tuple[Effect, ...], tuple[Comparison, ...]]:
    if len(goals) > 1:
        effects = repeated_measures_anova(array, ('task', 'condition'))
    else:
        effects = repeated_measures_anova(array[:, 0], ('condition',))
    means = array.mean(axis=1)
    comparisons = with_holm(
        [
            paired_comparison(conditions[a], conditions[b], means[:, a], means[:, b])
            for a, b in combinations(range(len(conditions)), 2)
        ]
    )
    return effects, comparisons


def _model(goals: Sequence[str], conditions: Sequence[str], values: _Values) -> MixedModel:
    if len(goals) < 2:
        raise InvalidInputError('with one task it says what the analysis of variance does')
    if len(values) < 3:
        raise InvalidInputError(f'{len(values)} participants are too few; at least 3 are needed')
    rows = [
        (name, *cell, value) for name, cells in values.items() for cell, value in cells.items()
    ]
    participants, tasks, given, measure = (list(column) for column in zip(*rows, strict=True))
    return fit_mixed_model(
        measure,
        participants=participants,
        trials=tasks,
        factors={'condition': given, 'task': tasks},
        references={'condition': conditions[0], 'task': goals[0]},
    )


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: what is not a number is null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
