"""The filter does what it states: its delay, its cutoff, and no ringing, at any spacing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reward_learning_ros.sensing.filtering import (
    delay_sec,
    low_pass_step,
    median_of_three,
    time_constant_sec,
)

CUTOFF_HZ = 15.0
TAU = time_constant_sec(CUTOFF_HZ)


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


def test_splitting_a_step_changes_nothing():
    rng = np.random.default_rng(0)
    for _ in range(50):
        start, value = rng.normal(size=(2, 3)), rng.normal(size=3)
        whole, parts = start.copy(), start.copy()
        steps = rng.uniform(0.0, 2.0, size=4)
        low_pass_step(whole[0], whole[1], value, steps.sum())
        for step in steps:
            low_pass_step(parts[0], parts[1], value, step)
        np.testing.assert_allclose(whole, parts, atol=1e-12)


def test_an_endless_step_arrives_at_the_input():
    first, second = np.zeros(1), np.zeros(1)
    low_pass_step(first, second, np.ones(1), 1e6)
    assert first[0] == second[0] == 1.0


def test_the_median_of_three_is_the_middle_one():
    rng = np.random.default_rng(1)
    for numbers in rng.normal(size=(100, 3)):
        assert median_of_three(*numbers) == sorted(numbers)[1]
