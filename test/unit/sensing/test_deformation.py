"""Every deformation model is linear in the displacement and moves what it should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.parameters import ParameterError
from reward_learning_ros.sensing.deformation import (
    DEFORMATIONS,
    LOCAL,
    SMOOTH,
    TAIL_SHIFT,
    DeformationParameters,
    PlanContact,
    deformation_profile,
)


def profile(times, onset, peak=None, **settings):
    contact = PlanContact(onset_sec=onset, peak_sec=onset if peak is None else peak)
    return deformation_profile(
        np.asarray(times, float), contact, DeformationParameters(**settings)
    )


# Plans of one waypoint, of a few and of many, unevenly spaced.
STEPS_SEC = st.lists(st.floats(0.01, 5.0), min_size=1, max_size=200)


@given(st.sampled_from(sorted(DEFORMATIONS)), STEPS_SEC, st.data())
def test_some_waypoint_always_goes_all_the_way_and_none_farther(name, steps_sec, data):
    times = np.cumsum(steps_sec) - 0.01
    last = float(times[-1])
    onsets = st.one_of(st.floats(0.0, last), st.sampled_from([0.0, *times.tolist()]))
    onset = data.draw(onsets, 'onset')
    shares = profile(times, onset, min(onset + 1.0, last), deformation=name)
    assert shares.shape == (len(times),)
    assert shares.max() == 1.0
    assert shares.min() >= 0.0


@pytest.mark.parametrize('name', sorted(DEFORMATIONS))
def test_the_first_waypoint_stays_unless_it_is_movable_or_alone(name):
    assert profile(np.arange(5.0), 0.0, deformation=name)[0] == 0.0
    assert profile([0.0], 0.0, deformation=name)[0] == 1.0
    assert profile([0.0, 1.0], 0.0, deformation=TAIL_SHIFT, first_movable_waypoint=0)[0] == 1.0


def test_tail_shift_moves_the_waypoint_at_the_onset_and_all_later_ones():
    times = np.arange(6.0)
    np.testing.assert_array_equal(profile(times, 2.0), [0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(profile(times, 2.1), [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(profile(times, 99.0), [0, 0, 0, 0, 0, 1])


def test_smooth_leaves_the_past_alone_and_joins_with_the_plan_smoothly():
    times = np.arange(0.0, 20.0, 0.01)
    shares = profile(times, 5.0, deformation=SMOOTH, smooth_window_sec=6.0)
    assert not shares[times <= 5.0].any()
    assert not shares[times >= 11.0].any()
    assert times[np.argmax(shares)] == pytest.approx(8.0, abs=0.02)
    # The third derivative jumps at the ends; position, velocity and acceleration do not.
    assert np.abs(np.diff(shares, 2)).max() / 0.01**2 < 2.0
    edge = np.abs(times - 5.0) < 0.02
    assert np.abs(np.diff(shares, 2)[edge[1:-1]]).max() / 0.01**2 < 0.05


def test_smooth_has_less_jerk_than_any_other_bump_of_the_same_work():
    # Discrete check of the closed form: perturb it, keep the ends, compare ∫ jerk² at equal ∫ x.
    s = np.linspace(0.0, 1.0, 401)
    times = 10.0 * s
    shares = profile(times, 0.0, deformation=SMOOTH, smooth_window_sec=10.0)

    def jerk(values):
        return np.sum(np.diff(values, 3) ** 2) / values.sum() ** 2

    rng = np.random.default_rng(0)
    for _ in range(20):
        bend = s**3 * (1 - s) ** 3 * np.polynomial.polynomial.polyval(s, rng.normal(size=4))
        assert jerk(shares + 5.0 * bend) >= jerk(shares) * (1 - 1e-3)


def test_smooth_frees_the_end_of_a_plan_that_is_nearly_over():
    times = np.arange(0.0, 10.0, 0.1)
    shares = profile(times, 8.0, deformation=SMOOTH, smooth_window_sec=6.0)
    assert np.all(np.diff(shares) >= 0.0)
    assert shares[-1] == 1.0


def test_local_bends_both_sides_of_the_farthest_moment_only():
    times = np.arange(0.0, 20.0, 0.1)
    shares = profile(times, 9.0, 10.0, deformation=LOCAL, local_half_width_sec=2.0)
    assert times[np.argmax(shares)] == pytest.approx(10.0)
    assert not shares[np.abs(times - 10.0) > 2.01].any()
    np.testing.assert_allclose(shares[80:100], shares[101:121][::-1], atol=1e-9)


def test_unknown_names_and_empty_plans_are_refused(monkeypatch):
    with pytest.raises(ParameterError, match='tail_shift'):
        DeformationParameters(deformation='wobble')
    with pytest.raises(InvalidInputError):
        profile([], 0.0)
    monkeypatch.delitem(DEFORMATIONS, LOCAL)
    with pytest.raises(UnknownNameError, match='smooth, tail_shift'):
        profile([0.0, 1.0], 0.0, deformation=LOCAL)
