"""A linear mixed model: conditions as fixed effects, participants and their trials as random ones.

Unlike an analysis of variance it keeps every trial, uses those of participants who did not do all
of them, and knows that trials of one participant are alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, MissingExtraError
from reward_learning_ros.study.statistics import p_text


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """A fixed effect, against the reference condition.

    Attributes:
        name: What it is about.
        value: By how much the measure is larger.
        standard_error: Of the value.
        p: Two-sided, by Wald's test.
        interval: 95 %.
    """

    name: str
    value: float
    standard_error: float
    p: float
    interval: tuple[float, float]

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f'{self.name}: {self.value:+.3f} ± {self.standard_error:.3f} '
            f'[{low:+.3f}, {high:+.3f}], {p_text(self.p)}'
        )


@dataclass(frozen=True, kw_only=True)
class MixedModel:
    """The result of fitting a linear mixed model.

    Attributes:
        coefficients: The fixed effects; the first is the mean in the reference conditions.
        participant_sd: Spread between participants.
        trial_sd: Spread between trials of one participant.
        residual_sd: What is left.
        observations: How many there were.
        converged: Whether the fit is one.
    """

    coefficients: tuple[Coefficient, ...]
    participant_sd: float
    trial_sd: float
    residual_sd: float
    observations: int
    converged: bool


def fit_mixed_model(
    measure: Sequence[float],
    *,
    participants: Sequence[Any],
    trials: Sequence[Any],
    factors: Mapping[str, Sequence[str]],
    references: Mapping[str, str],
    interactions: Sequence[tuple[str, str]] = (),
) -> MixedModel:
    """Fit measure ~ factors + (1 | participant) + (1 | participant : trial) by REML.

    Args:
        measure: (N,) what was measured.
        participants: (N,) who.
        trials: (N,) in which trial of theirs; conditions of one trial share its data.
        factors: For each factor, its level (N,).
        references: The level of each factor that the others are compared with.
        interactions: Pairs of factors whose effects may depend on each other.

    Raises:
        MissingExtraError: statsmodels is not installed.
    """
    values = np.asarray(measure, dtype=np.float64)
    names, design = _design(len(values), factors, references, interactions)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise InvalidInputError('some conditions never occur, so their effects cannot be told')
    try:
        from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec
    except ImportError as error:
        raise MissingExtraError('statsmodels', 'study', 'the mixed model') from error
    groups = np.array([str(entry) for entry in participants])
    order = np.argsort(groups, kind='stable')
    groups, values, design = groups[order], values[order], design[order]
    labels = np.array([str(entry) for entry in trials])[order]
    columns, matrices = [], []
    # The order in which statsmodels goes through the groups.
    for group in np.unique(groups):
        own = labels[groups == group]
        present = np.unique(own)
        columns.append([f'trial {name}' for name in present])
        matrices.append((own[:, None] == present).astype(np.float64))
    components = VCSpec(['trial'], [columns], [matrices])
    model = MixedLM(values, design, groups, exog_re=np.ones((len(values), 1)), exog_vc=components)
    with warnings.catch_warnings():
        # A spread of zero lies on the bound, which is no failure; whether the fit is one is told.
        warnings.simplefilter('ignore')
        fit = model.fit(reml=True, method=['lbfgs', 'powell'])
        intervals = np.asarray(fit.conf_int())
    size = design.shape[1]
    return MixedModel(
        coefficients=tuple(
            Coefficient(
                name=name,
                value=float(fit.fe_params[index]),
                standard_error=float(fit.bse_fe[index]),
                p=float(fit.pvalues[index]),
                interval=(float(intervals[index, 0]), float(intervals[index, 1])),
            )
            for index, name in enumerate(names[:size])
        ),
        participant_sd=float(np.sqrt(max(0.0, np.asarray(fit.cov_re)[0, 0]))),
        trial_sd=float(np.sqrt(max(0.0, np.asarray(fit.vcomp)[0]))),
        residual_sd=float(np.sqrt(fit.scale)),
        observations=len(values),
        converged=bool(fit.converged),
    )


def _design(
    count: int,
    factors: Mapping[str, Sequence[str]],
    references: Mapping[str, str],
    interactions: Sequence[tuple[str, str]],
) -> tuple[list[str], np.ndarray]:
    """Return names and columns (N, p): the mean, each level but the reference, and products."""
    names, columns = ['mean'], [np.ones(count)]
    of_factor: dict[str, dict[str, np.ndarray]] = {}
    for factor, levels in factors.items():
        given = np.array(levels)
        if references[factor] not in given:
            raise InvalidInputError(f'{factor} is never {references[factor]!r}')
        others = [level for level in dict.fromkeys(levels) if level != references[factor]]
        of_factor[factor] = {level: (given == level).astype(np.float64) for level in others}
        for level, column in of_factor[factor].items():
            names.append(level)
            columns.append(column)
    for first, second in interactions:
        for level, column in of_factor[first].items():
            for other, other_column in of_factor[second].items():
                names.append(f'{level} × {other}')
                columns.append(column * other_column)
    return names, np.column_stack(columns)
