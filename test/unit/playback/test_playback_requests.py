"""Requests that waited in a queue are no consent."""

from __future__ import annotations

import pytest

from reward_learning_ros.playback.requests import MAX_REQUEST_AGE_SEC, RequestAges


class Clock:
    now_sec = 100.0

    def __call__(self) -> float:
        return self.now_sec


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ages(clock) -> RequestAges:
    return RequestAges(max_gap_sec=0.3, clock=clock)


def wake_after(clock: Clock, ages: RequestAges, sec: float) -> None:
    clock.now_sec += sec
    ages.stay_awake()


@pytest.mark.parametrize('age_sec', [-0.9, 0.0, 0.9])
def test_a_request_of_now_is_a_consent(ages, age_sec):
    assert ages.refusal(age_sec) is None


def test_a_request_that_waited_is_refused_with_its_age(ages):
    assert 'asked 1.20 s ago' in ages.refusal(MAX_REQUEST_AGE_SEC + 0.2)


def test_a_request_from_a_clock_far_ahead_is_refused(ages):
    assert 'synchronize the clocks' in ages.refusal(-3.0)


def test_a_request_made_after_a_sleep_is_a_consent_at_once(clock, ages):
    wake_after(clock, ages, 5.0)
    assert ages.refuses_all() is None
    clock.now_sec += 0.05
    assert ages.refusal(0.02) is None


@pytest.mark.parametrize('age_sec', [0.1, 0.5, 0.95])
def test_a_request_made_during_a_sleep_is_refused_however_short_it_was(clock, ages, age_sec):
    wake_after(clock, ages, 0.9)
    clock.now_sec += 0.05
    assert 'during a sleep' in ages.refusal(age_sec)
    clock.now_sec += 1.0
    assert ages.refusal(age_sec) is None


def test_a_request_made_before_the_arm_was_stopped_is_refused(clock, ages):
    ages.withdraw()
    clock.now_sec += 0.1
    assert 'before the arm was stopped' in ages.refusal(0.15)
    assert ages.refusal(0.05) is None


def test_without_known_ages_all_are_refused_for_a_second_after_a_stop(clock, ages):
    assert ages.refusal(None) is None
    ages.withdraw()
    assert 'in a second' in ages.refusal(None)
    clock.now_sec += 1.0
    assert ages.refusal(None) is None


def test_without_known_ages_all_are_refused_for_a_second_after_a_sleep(clock, ages):
    assert ages.refusal(None) is None
    wake_after(clock, ages, 0.2)
    assert ages.refuses_all() is None
    wake_after(clock, ages, 5.0)
    assert 'asleep' in ages.refusal(None)
    assert ages.refuses_all() == ages.refusal(None)
    clock.now_sec += 1.0
    assert ages.refuses_all() is None
    assert ages.refusal(None) is None
