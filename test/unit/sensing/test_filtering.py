"""The filter does what it states: its delay, its cutoff, and no ringing, at any spacing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reward_learning_ros.sensing.filtering import (
    delay_sec,
    low_pass_step,
    median_of_three,
    time_constant_sec,
)

CUTOFF_HZ = 15.0
TAU = time_constant_sec(CUTOFF_HZ)
NUMBERS = st.floats(allow_nan=False)
TRIPLES = arrays(np.float64, 3, elements=st.floats(-100.0, 100.0))


def filtered(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    first, second = np.full(1, values[0]), np.full(1, values[0])
    result = [values[0]]
    for step, value in zip(np.diff(times), values[1:], strict=True):
        low_pass_step(first, second, np.array([value]), step / TAU)
        result.append(second[0])
    return np.array(result)


def test_a_ramp_comes_out_later_by_the_stated_delay():
    times = np.arange(0.0, 1.0, 1e-4)
    lag = (times - filtered(times, times))[-1]
    assert lag == pytest.approx(delay_sec(CUTOFF_HZ), abs=1e-4)


def test_half_the_power_is_left_at_the_cutoff():
    times = np.arange(0.0, 2.0, 1e-4)
    wave = filtered(times, np.sin(2 * math.pi * CUTOFF_HZ * times))
    assert np.abs(wave[-2000:]).max() == pytest.approx(math.sqrt(0.5), abs=0.005)


def test_a_step_does_not_overshoot_and_settles():
    times = np.arange(0.0, 0.5, 1e-3)
    response = filtered(times, (times > 0.0).astype(float))
    assert np.all(np.diff(response) >= 0.0)
    assert 0.999 < response[-1] <= 1.0


@given(TRIPLES, TRIPLES, TRIPLES, st.lists(st.floats(0.0, 2.0), min_size=1, max_size=6))
def test_splitting_a_step_changes_nothing(first, second, value, steps):
    whole, parts = np.array([first, second]), np.array([first, second])
    low_pass_step(whole[0], whole[1], value, sum(steps))
    for step in steps:
        low_pass_step(parts[0], parts[1], value, step)
    largest = np.abs([first, second, value]).max()
    np.testing.assert_allclose(whole, parts, rtol=0.0, atol=1e-14 * max(1.0, largest))


def test_an_endless_step_arrives_at_the_input():
    first, second = np.zeros(1), np.zeros(1)
    low_pass_step(first, second, np.ones(1), 1e6)
    assert first[0] == second[0] == 1.0


@given(st.tuples(NUMBERS, NUMBERS, NUMBERS))
def test_the_median_of_three_is_the_middle_one(numbers):
    assert median_of_three(*numbers) == sorted(numbers)[1]
