"""How many participants a study needs, against published tables and statsmodels."""

import pytest
from statsmodels.stats.power import TTestPower

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.study.statistics import (
    paired_comparison,
    paired_power,
    participants_needed,
    plan_study,
)


# As G*Power has them for a paired t-test, two-sided, α = .05, power .80.
@pytest.mark.parametrize(('effect', 'needed'), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_participants_are_those_of_gpower(effect, needed):
    assert participants_needed(effect) == needed
    assert participants_needed(-effect) == needed


@pytest.mark.parametrize(('effect', 'count'), [(0.3, 12), (0.5, 34), (1.1, 10)])
def test_power_agrees_with_statsmodels(effect, count):
    expected = TTestPower().power(effect, count, 0.05)
    assert paired_power(effect, count) == pytest.approx(expected, abs=1e-6)


def test_the_number_is_the_smallest_that_is_enough():
    for comparisons in (1, 6):
        needed = participants_needed(0.6, comparisons=comparisons)
        assert paired_power(0.6, needed, comparisons=comparisons) >= 0.8
        assert paired_power(0.6, needed - 1, comparisons=comparisons) < 0.8


def test_more_comparisons_need_more_participants():
    assert participants_needed(0.6, comparisons=6) > participants_needed(0.6)


def test_an_effect_of_nothing_is_refused():
    with pytest.raises(InvalidInputError, match='participants'):
        participants_needed(0.0)
    with pytest.raises(InvalidInputError, match='participants'):
        participants_needed(0.01)


def test_a_plan_is_more_cautious_than_the_pilot():
    pilot = paired_comparison(
        'a', 'b', [2.0, 1.5, 2.5, 3.0, 2.2, 1.9], [1.0, 1.2, 1.4, 1.1, 1.3, 1]
    )
    plan = plan_study(pilot)
    assert 0.0 < plan.cautious_effect_size < plan.effect_size
    assert plan.participants < plan.cautious_participants
    chance = paired_comparison('a', 'b', [1.0, -1.1, 0.4, -0.2], [0.0] * 4)
    assert plan_study(chance).cautious_participants is None
