"""Tests of repeated measures, against textbook data and what statsmodels and SciPy say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.anova import AnovaRM
from statsmodels.stats.multitest import multipletests

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.study.statistics import (
    compare_with,
    holm,
    noncentral_t_cdf,
    p_text,
    paired_comparison,
    repeated_measures_anova,
)

# Seconds until each of eight people retched at each of four foods (A. Field, Discovering
# Statistics, the "bushtucker" data).
BUSHTUCKER = np.array(
    [
        [8, 7, 1, 6],
        [9, 5, 2, 5],
        [6, 2, 3, 8],
        [5, 3, 1, 9],
        [8, 4, 5, 8],
        [7, 5, 6, 7],
        [10, 2, 7, 2],
        [12, 6, 8, 1],
    ]
)


def test_anova_gives_the_numbers_of_the_textbook():
    (effect,) = repeated_measures_anova(BUSHTUCKER, ['food'])
    assert effect.df == (3, 21)
    assert effect.f == pytest.approx(3.79, abs=0.005)
    assert effect.p == pytest.approx(0.026, abs=0.0005)
    assert effect.epsilon == pytest.approx(0.533, abs=0.0005)
    assert effect.p_corrected == pytest.approx(0.063, abs=0.0005)
    assert effect.mauchly_p == pytest.approx(0.047, abs=0.0005)
    # 83.125 of 83.125 + 153.375
    assert effect.eta_squared == pytest.approx(0.3515, abs=0.0005)


def test_anova_of_two_factors_agrees_with_statsmodels():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(12, 2, 4)) + rng.normal(size=(12, 1, 1))
    values[:, 1] += 0.6
    values[:, :, 2] += 0.4
    index = pd.MultiIndex.from_product(
        [range(12), list('ab'), list('wxyz')], names=['who', 'f', 'g']
    )
    table = pd.DataFrame({'value': values.ravel()}, index=index).reset_index()
    expected = AnovaRM(table, 'value', 'who', within=['f', 'g']).fit().anova_table
    effects = repeated_measures_anova(values, ['f', 'g'])
    assert [effect.name for effect in effects] == ['f', 'g', 'f × g']
    for effect, (_, row) in zip(effects, expected.iterrows(), strict=True):
        assert effect.f == pytest.approx(row['F Value'])
        assert effect.df == (row['Num DF'], row['Den DF'])
        assert effect.p == pytest.approx(row['Pr > F'])


def test_a_factor_of_two_levels_is_a_paired_t_test_and_always_spherical():
    (effect,) = repeated_measures_anova(BUSHTUCKER[:, :2], ['food'])
    t, p = stats.ttest_rel(BUSHTUCKER[:, 0], BUSHTUCKER[:, 1])
    assert effect.f == pytest.approx(t**2)
    assert effect.p_corrected == pytest.approx(p)
    assert effect.epsilon == pytest.approx(1.0)
    assert np.isnan(effect.mauchly_p)


def test_epsilon_is_worst_where_one_contrast_holds_all_the_spread():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 1)) * np.array([[1.0, 0.0, 0.0, -1.0]])
    values += 1e-6 * rng.normal(size=values.shape)
    (effect,) = repeated_measures_anova(values, ['level'])
    assert effect.epsilon == pytest.approx(1 / 3, abs=1e-3)
    spherical = repeated_measures_anova(rng.normal(size=(2000, 4)), ['level'])[0]
    assert spherical.epsilon > 0.99


def test_comparison_agrees_with_scipy():
    a, b = BUSHTUCKER[:, 0], BUSHTUCKER[:, 3]
    found = paired_comparison('a', 'b', a, b)
    expected = stats.ttest_rel(a, b)
    assert (found.t, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    interval = expected.confidence_interval(0.95)
    assert found.interval == pytest.approx((interval.low, interval.high))
    assert found.effect_size == pytest.approx(found.t / np.sqrt(8))


def test_interval_of_the_effect_size_is_that_of_the_noncentral_t():
    found = paired_comparison('a', 'b', BUSHTUCKER[:, 0], BUSHTUCKER[:, 1])
    low, high = (bound * np.sqrt(8) for bound in found.effect_size_interval)
    assert stats.nct.cdf(found.t, 7, low) == pytest.approx(0.975, abs=1e-5)
    assert stats.nct.cdf(found.t, 7, high) == pytest.approx(0.025, abs=1e-5)


def test_effect_size_intervals_cover_the_true_effect():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        differences = rng.normal(0.5, 1.0, 20)
        low, high = paired_comparison('a', 'b', differences, np.zeros(20)).effect_size_interval
        covered += low <= 0.5 <= high
    # 95 % of 300, within four standard deviations of a binomial.
    assert 270 <= covered <= 300


@pytest.mark.parametrize(('t', 'df', 'shift'), [(2.0, 10, 1.0), (0.5, 5, -1.0), (8.0, 99, 7.0)])
def test_noncentral_t_agrees_with_scipy_where_scipy_has_a_number(t, df, shift):
    assert noncentral_t_cdf(t, df, shift) == pytest.approx(stats.nct.cdf(t, df, shift), abs=1e-6)


def test_noncentral_t_is_a_number_far_out_too():
    assert noncentral_t_cdf(4.8, 7, -6.8) == pytest.approx(1.0)
    assert noncentral_t_cdf(-60.0, 99, 70.0) == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=20)
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_holm_agrees_with_statsmodels(p_values):
    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method='holm')[1])


def test_a_family_is_corrected_together():
    conditions = {str(index): BUSHTUCKER[:, index] for index in range(4)}
    found = compare_with('0', conditions, ['1', '2', '3'])
    np.testing.assert_allclose([c.p_holm for c in found], holm([c.p for c in found]))
    assert all(c.p_holm >= c.p for c in found)


def test_equal_conditions_do_not_differ():
    found = paired_comparison('a', 'b', np.arange(5.0), np.arange(5.0))
    assert (found.t, found.p) == (0.0, 1.0)
    low, high = found.effect_size_interval
    assert low < 0.0 < high


def test_what_cannot_be_tested_is_refused():
    with pytest.raises(InvalidInputError, match='same effect'):
        repeated_measures_anova(np.ones((5, 3)), ['level'])
    with pytest.raises(InvalidInputError, match='two levels'):
        repeated_measures_anova(np.ones((5, 1)), ['level'])
    with pytest.raises(InvalidInputError, match='too few'):
        paired_comparison('a', 'b', [1.0, 2.0], [0.0, 1.5])


def test_p_values_are_written_as_papers_do():
    assert [p_text(p) for p in (0.0001, 0.0421, 1.0)] == ['p < .001', 'p = .042', 'p = 1.000']
