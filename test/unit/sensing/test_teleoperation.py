"""A device's correction begins and ends with the person, and a lost device does not go on."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.sensing_scenarios import PLAN

from reward_learning_ros.parameters import ParameterError
from reward_learning_ros.sensing.samples import NANOSECONDS
from reward_learning_ros.sensing.teleoperation import (
    TELEOPERATION,
    JoyRecord,
    TeleoperationParameters,
    TeleoperationRecorder,
    TwistRecord,
)
from reward_learning_ros.sensing.timeline import PlaybackMoment, PlaybackTimeline

PERIOD_NS = 20_000_000
START_NS = 100 * NANOSECONDS


def recorder(max_shift_m: float = 1.0, **settings) -> TeleoperationRecorder:
    timeline = PlaybackTimeline()
    timeline.add(PlaybackMoment(time_ns=START_NS, plan=PLAN, plan_time_sec=0.0, is_moving=True))
    return TeleoperationRecorder(
        timeline, TeleoperationParameters(**settings), max_shift_m=max_shift_m
    )


def joy(tick: int, x: float = 0.0, y: float = 0.0, held: bool = True) -> JoyRecord:
    return JoyRecord(
        time_ns=START_NS + tick * PERIOD_NS,
        axes=[y, x, 0.0, 0.0, 0.0],
        buttons=[0, 0, 0, 0, int(held)],
    )


def twist(tick: int, *velocity: float) -> TwistRecord:
    return TwistRecord(time_ns=START_NS + tick * PERIOD_NS, linear_m_s=velocity)


def test_a_held_deflection_moves_the_plan_at_its_speed():
    device = recorder()
    ended = []
    for tick in range(100):
        ended += device.add_joy(joy(tick, x=1.0 if 10 <= tick < 60 else 0.0))
    (correction,) = ended
    np.testing.assert_allclose(correction.displacement_m, [0.1, 0.0, 0.0], atol=1e-9)
    assert correction.onset_ns == START_NS + 10 * PERIOD_NS
    assert correction.end_ns == START_NS + 59 * PERIOD_NS
    assert correction.source == TELEOPERATION
    assert correction.confidence == 1.0
    np.testing.assert_allclose(device.shift_m, correction.displacement_m)


def test_without_the_deadman_nothing_moves_and_letting_go_ends_at_once():
    device = recorder()
    for tick in range(50):
        assert device.add_joy(joy(tick, x=1.0, held=False)) == []
    assert not device.shift_m.any()
    for tick in range(50, 70):
        assert device.add_joy(joy(tick, x=1.0)) == []
    (correction,) = device.add_joy(joy(70, x=1.0, held=False))
    assert correction.end_ns == START_NS + 70 * PERIOD_NS


def test_a_silent_device_ends_the_correction_where_it_was_last_heard():
    device = recorder()
    for tick in range(30):
        device.add_joy(joy(tick, x=1.0))
    shift = device.shift_m.copy()
    last_ns = START_NS + 29 * PERIOD_NS
    assert device.advance(last_ns + 200_000_000) == []
    (correction,) = device.advance(last_ns + 300_000_000)
    assert correction.end_ns == last_ns
    np.testing.assert_array_equal(device.shift_m, shift)
    assert device.advance(last_ns + NANOSECONDS) == []
    # Back again: nothing is made up for the silence.
    assert device.add_joy(joy(500, x=1.0)) == []
    np.testing.assert_array_equal(device.shift_m, shift)
    assert device.counts.timeouts == 1


def test_a_recording_ends_corrections_as_the_live_clock_does():
    live, replayed = recorder(), recorder()
    made, found = [], []
    for tick in [*range(30), *range(200, 230)]:
        made += live.advance(START_NS + tick * PERIOD_NS)
        made += live.add_joy(joy(tick, x=0.5))
        found += replayed.add_joy(joy(tick, x=0.5))
    assert len(made) == len(found) == 1
    np.testing.assert_array_equal(made[0].displacement_m, found[0].displacement_m)
    assert made[0].end_ns == found[0].end_ns


def test_the_dead_zone_is_still_and_continuous():
    device = recorder(dead_zone=0.1)
    for tick in range(20):
        device.add_joy(joy(tick, x=0.1))
    assert not device.in_correction
    device.add_joy(joy(20, x=0.1001))
    device.add_joy(joy(21, x=0.1001))
    assert 0.0 < np.linalg.norm(device.shift_m) < 1e-6


def test_velocity_commands_take_the_same_path_and_are_bounded():
    device = recorder(max_device_speed_m_s=0.2)
    ended = []
    for tick in range(100):
        ended += device.add_twist(twist(tick, 0.0, -3.0 if tick < 50 else 0.0, 4.0 * (tick < 50)))
    (correction,) = ended
    np.testing.assert_allclose(correction.displacement_m, [0.0, -0.12, 0.16], atol=1e-9)


def test_a_short_stop_does_not_split_a_correction():
    device = recorder()
    ended = []
    for tick in range(120):
        moving = tick < 40 or 50 <= tick < 80
        ended += device.add_twist(twist(tick, 0.05 * moving, 0.0, 0.0))
    assert len(ended) == 1


def test_bad_and_old_messages_are_counted_and_survived():
    device = recorder()
    device.add_joy(joy(1, x=1.0))
    device.add_joy(joy(2, x=float('nan')))
    device.add_joy(JoyRecord(time_ns=START_NS + 3 * PERIOD_NS, axes=[], buttons=[]))
    device.add_twist(TwistRecord(time_ns=START_NS + 3 * PERIOD_NS, linear_m_s=(1.0,)))
    device.add_joy(joy(0, x=1.0))
    device.add_joy(joy(1, x=1.0))
    device.add_joy(joy(4, x=1.0))
    assert device.counts.received == 7
    assert device.counts.malformed == 3
    assert device.counts.out_of_order == 2
    np.testing.assert_allclose(device.shift_m, [0.1 * 0.06, 0.0, 0.0])


def test_a_clock_that_jumps_backwards_ends_the_correction():
    device = recorder()
    for tick in range(200, 250):
        device.add_joy(joy(tick, x=1.0))
    (correction,) = device.add_joy(joy(0, x=1.0))
    assert correction.end_ns == START_NS + 249 * PERIOD_NS
    assert device.in_correction


def test_without_a_plan_there_is_no_correction():
    device = TeleoperationRecorder(PlaybackTimeline())
    for tick in range(30):
        device.add_joy(joy(tick, x=1.0))
    assert device.add_joy(joy(30, held=False)) == []


def test_nothing_is_learned_from_a_shift_that_playback_does_not_take():
    device = recorder(max_shift_m=0.15)
    ended = []
    for tick in range(1, 101):
        ended += device.add_joy(joy(tick, x=1.0, y=0.3))
        # Playback refuses a shift that exceeds its limit by ever so little.
        assert np.linalg.norm(device.shift_m) <= 0.15
    ended += device.add_joy(joy(101, held=False))
    (correction,) = ended
    assert np.linalg.norm(correction.displacement_m) == pytest.approx(0.15)
    np.testing.assert_allclose(correction.displacement_m, device.shift_m)
    # Once more against the limit: nothing moves, so nothing was taught.
    for tick in range(120, 150):
        device.add_joy(joy(tick, x=1.0, y=0.3))
    assert device.add_joy(joy(150, held=False)) == []


def test_three_axes_are_needed():
    with pytest.raises(ParameterError, match='axes'):
        TeleoperationParameters(axes=(1, 2))
