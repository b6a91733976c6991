"""How many participants a planned study needs, and what a study of a given size can find."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from scipy import stats

from reward_learning_ros.core.checks import number_between, whole_number
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.study.statistics import Comparison, noncentral_t_cdf

POWER = 0.8
ALPHA = 0.05
# Nobody runs larger studies with an arm.
LARGEST_STUDY = 10_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many participants a comparison needs.

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
    if high > 4 * LARGEST_STUDY:
        raise InvalidInputError(
            f'an effect of d = {effect_size:.3g} would need more than {LARGEST_STUDY} participants'
        )
    ceiling = int(high)
    while low < ceiling:
        middle = (low + ceiling) // 2
        if paired_power(effect_size, middle, alpha=alpha, comparisons=comparisons) >= power:
            ceiling = middle
        else:
            low = middle + 1
    if low > LARGEST_STUDY:
        raise InvalidInputError(
            f'an effect of d = {effect_size:.3g} needs {low} participants, more than '
            f'{LARGEST_STUDY}'
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
