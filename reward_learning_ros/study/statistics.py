"""Tests for repeated measures, with effect sizes and their intervals.

Every function takes plain arrays, one row for each subject, so that simulated people, participants
and trials are treated alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtr

from reward_learning_ros.core.checks import finite_array, number_between, whole_number
from reward_learning_ros.core.errors import InvalidInputError

CONFIDENCE = 0.95
# Between these the noncentrality of an effect is looked for; beyond, the interval is said to end.
_MAX_NONCENTRALITY = 1e4
# Of the integral over the spread of a noncentral t.
_NODES = 400


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One effect of a repeated-measures analysis of variance.

    Attributes:
        name: The factor, or factors with `×` between them.
        f: The F statistic.
        df: Degrees of freedom of the effect and of its error.
        p: Without a correction.
        epsilon: Greenhouse and Geisser's estimate of how far from spherical the data are: 1 is
            spherical, 1 / df is the worst.
        p_corrected: With both degrees of freedom multiplied by epsilon.
        mauchly_p: Of Mauchly's test of sphericity; NaN with two levels, where it always holds.
        eta_squared: Partial η², the share of the variance that the effect explains.
        eta_squared_interval: Its 95 % interval.
    """

    name: str
    f: float
    df: tuple[int, int]
    p: float
    epsilon: float
    p_corrected: float
    mauchly_p: float
    eta_squared: float
    eta_squared_interval: tuple[float, float]

    def __str__(self) -> str:
        first, second = (self.epsilon * value for value in self.df)
        low, high = self.eta_squared_interval
        return (
            f'{self.name}: F({first:.2f}, {second:.1f}) = {self.f:.2f}, {p_text(self.p_corrected)}'
            f' (ε = {self.epsilon:.2f}), partial η² = {self.eta_squared:.2f} '
            f'[{low:.2f}, {high:.2f}]'
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A paired t-test between two conditions.

    Attributes:
        first: One condition.
        second: The other.
        difference: Mean of first − second.
        interval: Its 95 % interval.
        t: The t statistic.
        df: Degrees of freedom.
        p: Of this test alone, two-sided.
        p_holm: Corrected for all comparisons of its family by Holm's method.
        effect_size: Cohen's d_z, the mean difference over the spread of differences.
        effect_size_interval: Its 95 % interval.
    """

    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    t: float
    df: int
    p: float
    p_holm: float
    effect_size: float
    effect_size_interval: tuple[float, float]

    def __str__(self) -> str:
        low, high = self.interval
        small, large = self.effect_size_interval
        return (
            f'{self.first} − {self.second}: {self.difference:+.3f} [{low:+.3f}, {high:+.3f}], '
            f't({self.df}) = {self.t:.2f}, {p_text(self.p_holm)} (Holm), '
            f'd = {self.effect_size:+.2f} [{small:+.2f}, {large:+.2f}]'
        )


def p_text(p: float) -> str:
    """Return a p-value as papers write it."""
    if math.isnan(p):
        return 'p not defined'
    return 'p < .001' if p < 0.001 else f'p = {p:.3f}'.replace('0.', '.', 1)


def repeated_measures_anova(values: Any, factors: Sequence[str]) -> tuple[Effect, ...]:
    """Analyse the variance of a design in which every subject sees every condition.

    Args:
        values: (S, levels of the first factor, levels of the second, …), one row for each subject.
        factors: Names of the factors, in the order of the axes after the first.

    Returns:
        The main effects, then the interactions.
    """
    array = finite_array(values, 'values', (None,) * (1 + len(factors)))
    subjects, *levels = array.shape
    if not factors or min(levels) < 2:
        raise InvalidInputError('a factor needs at least two levels')
    flat = array.reshape(subjects, -1)
    effects = []
    for order in range(1, len(factors) + 1):
        for chosen in combinations(range(len(factors)), order):
            contrasts = reduce(
                np.kron,
                [
                    _contrasts(count) if axis in chosen else np.full((count, 1), count**-0.5)
                    for axis, count in enumerate(levels)
                ],
            )
            name = ' × '.join(factors[axis] for axis in chosen)
            effects.append(_effect(name, flat @ contrasts))
    return tuple(effects)


def _contrasts(count: int) -> np.ndarray:
    """Return Helmert's orthonormal contrasts (count, count − 1)."""
    columns = []
    for index in range(1, count):
        column = np.zeros(count)
        column[:index], column[index] = 1.0, -float(index)
        columns.append(column / np.linalg.norm(column))
    return np.column_stack(columns)


def _effect(name: str, scores: np.ndarray) -> Effect:
    """Test whether the contrast scores (S, k) of the subjects are zero on average."""
    subjects, size = scores.shape
    if subjects < 3:
        raise InvalidInputError(f'{subjects} subjects are too few; at least 3 are needed')
    mean = scores.mean(axis=0)
    rest = scores - mean
    df = (size, size * (subjects - 1))
    explained, unexplained = subjects * float(mean @ mean), float((rest**2).sum())
    if unexplained == 0.0:
        raise InvalidInputError(f'all subjects show the same effect of {name}: nothing to test')
    f = (explained / df[0]) / (unexplained / df[1])
    covariance = np.atleast_2d(rest.T @ rest / (subjects - 1))
    trace = float(np.trace(covariance))
    epsilon = trace**2 / (size * float((covariance**2).sum()))
    return Effect(
        name=name,
        f=f,
        df=df,
        p=float(stats.f.sf(f, *df)),
        epsilon=epsilon,
        p_corrected=float(stats.f.sf(f, epsilon * df[0], epsilon * df[1])),
        mauchly_p=_mauchly(covariance, subjects),
        eta_squared=explained / (explained + unexplained),
        eta_squared_interval=_eta_squared_interval(f, df),
    )


def _mauchly(covariance: np.ndarray, subjects: int) -> float:
    """Return the p-value of Mauchly's test, with the second term of Box's approximation."""
    size = len(covariance)
    sign, log_determinant = np.linalg.slogdet(covariance)
    if size < 2 or subjects <= size or sign <= 0.0:
        return math.nan
    log_w = log_determinant - size * np.log(np.trace(covariance) / size)
    n = subjects - 1
    rho = 1.0 - (2 * size**2 + size + 2) / (6 * size * n)
    df = size * (size + 1) // 2 - 1
    second = (
        (size + 2) * (size - 1) * (size - 2) * (2 * size**3 + 6 * size**2 + 3 * size + 2)
    ) / (288 * (n * size * rho) ** 2)
    chi_squared = -n * rho * log_w
    p = stats.chi2.sf(chi_squared, df)
    return float(p + second * (stats.chi2.sf(chi_squared, df + 4) - p))


def _eta_squared_interval(f: float, df: tuple[int, int]) -> tuple[float, float]:
    low, high = _noncentrality_interval(lambda nc: float(stats.ncf.cdf(f, *df, nc)), 0.0)
    total = df[0] + df[1] + 1
    return low / (low + total), high / (high + total)


def _noncentrality_interval(
    cumulative: Callable[[float], float], smallest: float
) -> tuple[float, float]:
    """Return the noncentralities at which the observed statistic is just not surprising."""
    tail = (1.0 - CONFIDENCE) / 2

    def solve(probability: float) -> float:
        def excess(noncentrality: float) -> float:
            return cumulative(noncentrality) - probability

        if excess(smallest) <= 0.0:
            return smallest
        step = 1.0
        while excess(smallest + step) > 0.0:
            step *= 2.0
            if step > _MAX_NONCENTRALITY:
                return smallest + step
        return float(brentq(excess, smallest, smallest + step))

    return solve(1.0 - tail), solve(tail)


def paired_comparison(first: str, second: str, a: Any, b: Any) -> Comparison:
    """Compare two conditions (S,) and (S,) of the same subjects by a paired t-test."""
    left = finite_array(a, first, (None,))
    right = finite_array(b, second, left.shape)
    count = len(left)
    if count < 3:
        raise InvalidInputError(f'{count} pairs are too few; at least 3 are needed')
    differences = left - right
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread == 0.0:
        if mean != 0.0:
            raise InvalidInputError(f'{first} − {second} is the same for all: nothing to test')
        t, p = 0.0, 1.0
    else:
        t = mean / (spread / math.sqrt(count))
        p = float(2.0 * stats.t.sf(abs(t), count - 1))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * spread / math.sqrt(count)
    low, high = _t_noncentrality_interval(t, count - 1)
    return Comparison(
        first=first,
        second=second,
        difference=mean,
        interval=(mean - half, mean + half),
        t=t,
        df=count - 1,
        p=p,
        p_holm=p,
        effect_size=t / math.sqrt(count),
        effect_size_interval=(low / math.sqrt(count), high / math.sqrt(count)),
    )


def _t_noncentrality_interval(t: float, df: int) -> tuple[float, float]:
    # Far enough on either side for any t: the spread of t grows with it.
    reach = 10.0 * math.sqrt(1.0 + t**2 / df)
    return _noncentrality_interval(lambda nc: noncentral_t_cdf(t, df, nc), t - reach)


def noncentral_t_cdf(t: float, df: int, noncentrality: float) -> float:
    """Return P(T ≤ t) of the noncentral t distribution.

    SciPy's own is not a number in the tails, where an interval's search begins.
    """
    scales, weights = _scales(df)
    return float(weights @ ndtr(t * scales - noncentrality))


@lru_cache(maxsize=64)
def _scales(df: int) -> tuple[np.ndarray, np.ndarray]:
    """Return quadrature nodes of √(χ²/df), and their weights."""
    nodes, weights = _legendre()
    return np.sqrt(stats.chi2.ppf((nodes + 1.0) / 2.0, df) / df), weights / 2.0


@lru_cache(maxsize=1)
def _legendre() -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights


def compare_with(
    reference: str, conditions: Mapping[str, Any], others: Sequence[str]
) -> tuple[Comparison, ...]:
    """Compare a condition with others, Holm's correction over all of them.

    Args:
        reference: The condition that comes first in every comparison.
        conditions: (S,) values of each condition, the same subjects in the same order.
        others: Those to compare it with.
    """
    found = [
        paired_comparison(reference, other, conditions[reference], conditions[other])
        for other in others
    ]
    return with_holm(found)


def with_holm(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return the comparisons as one family, corrected by Holm's method."""
    corrected = holm([comparison.p for comparison in comparisons])
    return tuple(
        Comparison(**{**vars(comparison), 'p_holm': float(p)})
        for comparison, p in zip(comparisons, corrected, strict=True)
    )


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Return p-values (m,) corrected by Holm's step-down method."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind='stable')
    scaled = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return corrected


POWER = 0.8
ALPHA = 0.05
# Nobody runs larger studies with an arm.
MAX_STUDY_SIZE = 10_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The number of participants that a comparison needs, for a given power.

    Attributes:
        first: One condition.
        second: The other.
        effect_size: The d_z that was observed.
        participants: For that effect; None if more than anybody would invite.
        cautious_effect_size: The end of its 95 % interval that is nearer to zero.
        cautious_participants: For that effect: what to invite if the pilot was lucky.
    """

    first: str
    second: str
    effect_size: float
    participants: int | None
    cautious_effect_size: float
    cautious_participants: int | None


def paired_power(
    effect_size: float, participants: int, *, alpha: float = ALPHA, comparisons: int = 1
) -> float:
    """Return the probability that a two-sided paired t-test finds an effect that is there.

    Args:
        effect_size: Cohen's d_z, the mean difference over the spread of differences.
        participants: How many.
        alpha: Of the whole family of tests.
        comparisons: How many tests the family has: each is held to alpha / comparisons, the first
            and hardest step of Holm's method.
    """
    whole_number(participants, 'participants', 2)
    whole_number(comparisons, 'comparisons', 1)
    number_between(alpha, 'alpha', 1e-9, 0.5)
    df = participants - 1
    critical = float(stats.t.isf(alpha / comparisons / 2.0, df))
    noncentrality = abs(effect_size) * math.sqrt(participants)
    missed = noncentral_t_cdf(critical, df, noncentrality)
    return 1.0 - missed + noncentral_t_cdf(-critical, df, noncentrality)


def participants_needed(
    effect_size: float,
    *,
    power: float = POWER,
    alpha: float = ALPHA,
    comparisons: int = 1,
) -> int:
    """Return the smallest number of participants with which an effect is found that often.

    Raises:
        InvalidInputError: The effect is so small that more than ten thousand would be needed.
    """
    number_between(power, 'power', 0.01, 0.9999)
    low = 2
    # A normal distribution in place of t says about where to look.
    normal = NormalDist()
    reach = normal.inv_cdf(1.0 - alpha / comparisons / 2.0) + normal.inv_cdf(power)
    high = max(4.0, 2.0 * (reach / abs(effect_size)) ** 2 + 10.0) if effect_size else math.inf
    if high > 4 * MAX_STUDY_SIZE:
        raise InvalidInputError(
            f'an effect of d = {effect_size:.3g} would need more than {MAX_STUDY_SIZE} '
            'participants'
        )
    ceiling = int(high)
    while low < ceiling:
        middle = (low + ceiling) // 2
        if paired_power(effect_size, middle, alpha=alpha, comparisons=comparisons) >= power:
            ceiling = middle
        else:
            low = middle + 1
    if low > MAX_STUDY_SIZE:
        raise InvalidInputError(
            f'an effect of d = {effect_size:.3g} needs {low} participants, more than '
            f'{MAX_STUDY_SIZE}'
        )
    return low


def plan_study(
    comparison: Comparison,
    *,
    power: float = POWER,
    alpha: float = ALPHA,
    comparisons: int = 1,
) -> Plan:
    """Return how many participants a study needs to find what a pilot or a simulation found."""
    low, high = comparison.effect_size_interval
    cautious = 0.0 if low <= 0.0 <= high else min(low, high, key=abs)

    def needed(effect_size: float) -> int | None:
        try:
            return participants_needed(
                effect_size, power=power, alpha=alpha, comparisons=comparisons
            )
        except InvalidInputError:
            return None

    return Plan(
        first=comparison.first,
        second=comparison.second,
        effect_size=comparison.effect_size,
        participants=needed(comparison.effect_size),
        cautious_effect_size=cautious,
        cautious_participants=needed(cautious),
    )
