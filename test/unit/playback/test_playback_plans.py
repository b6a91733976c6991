"""Plans that replace each other: the one that is named is the one that is played."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.playback_bench import Bench, straight_plan

from reward_learning_ros.arm.limits import JOINT_ACCELERATION_RAD_S2
from reward_learning_ros.interface import Deformation, PlaybackState
from reward_learning_ros.playback.drive import PlaybackRefusedError


@pytest.fixture
def bench() -> Bench:
    return Bench()


def assert_played_plan_is_named(bench: Bench, *plans) -> None:
    """Compare where the tool was led to in the end with the plan that the status names."""
    named = {plan.stamp_ns: plan for plan in plans}[bench.playback.status().plan_stamp_ns]
    np.testing.assert_allclose(bench.tool_set_points()[-1], named.positions[-1], atol=1e-3)


def assert_smooth(bench: Bench) -> None:
    assert bench.largest_step_m() < 1e-3
    assert bench.largest_acceleration() < JOINT_ACCELERATION_RAD_S2


def test_halted_before_its_first_command_a_new_plan_is_played_as_named(bench):
    first = straight_plan(bench.arm.time_ns)
    bench.start(first, play_sec=1.2)
    other = straight_plan(bench.arm.time_ns, end=(0.55, -0.1, 0.3))
    bench.playback.set_plan(other)
    bench.playback.pause()
    bench.run(1.5)
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_played_plan_is_named(bench, first, other)


@pytest.mark.parametrize('end', ['pause', 'fault'])
@pytest.mark.parametrize('delay_sec', [0.02, 0.06, 0.12, 0.3])
def test_halted_around_its_take_over_a_new_plan_is_played_as_named(delay_sec, end):
    bench = Bench(planning_sec=0.04)
    first = straight_plan(bench.arm.time_ns)
    bench.start(first, play_sec=1.2)
    other = straight_plan(bench.arm.time_ns, end=(0.55, -0.1, 0.3))
    bench.playback.set_plan(other)
    bench.run(delay_sec)
    if end == 'pause':
        bench.playback.pause()
    else:
        bench.faults.other_publishers = 1
        bench.run(0.1)
        bench.faults.other_publishers = 0
    bench.run(1.5)
    # Not played yet or halted on its way: in the end it is the newest.
    assert bench.playback.status().plan_stamp_ns == other.stamp_ns
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_played_plan_is_named(bench, first, other)
    assert_smooth(bench)


def test_until_the_new_motion_takes_over_the_old_plan_is_named():
    bench = Bench(planning_sec=0.04)
    first = straight_plan(bench.arm.time_ns)
    bench.start(first, play_sec=1.2)
    other = straight_plan(bench.arm.time_ns, bend=(0.0, 0.05, 0.0))
    bench.playback.set_plan(other)
    bench.run(0.1)
    assert bench.playback.status().plan_stamp_ns == first.stamp_ns
    bench.run(0.3)
    assert bench.playback.status().plan_stamp_ns == other.stamp_ns


@pytest.mark.parametrize('planning_sec', [0.02, 0.15, 0.5])
def test_the_controller_is_fed_while_a_plan_is_planned(planning_sec):
    bench = Bench()
    bench.start(straight_plan(bench.arm.time_ns, duration_sec=8.0), play_sec=1.2)
    bench.executor.work_sec = planning_sec
    bench.commands.clear()
    other = straight_plan(bench.arm.time_ns, bend=(0.0, 0.05, 0.0), duration_sec=8.0)
    bench.playback.set_plan(other)
    bench.run(4.0)
    assert len(bench.commands) == 200
    assert bench.playback.status().plan_stamp_ns == other.stamp_ns
    assert bench.playback.status().faults == 0
    assert_smooth(bench)


def test_a_plan_that_cannot_be_joined_in_time_waits_until_the_arm_stands():
    bench = Bench()
    first = straight_plan(bench.arm.time_ns, duration_sec=8.0)
    bench.start(first, play_sec=0.5)
    other = straight_plan(bench.arm.time_ns, bend=(0.0, 0.05, 0.0))
    bench.executor.work_sec = 0.9
    bench.playback.set_plan(other)
    bench.run(5.0)
    assert bench.playback.state is PlaybackState.PLAYING
    assert 'waits until the arm stands: planning takes longer' in bench.playback.warning
    bench.run_until(PlaybackState.FINISHED)
    assert_played_plan_is_named(bench, first)
    bench.run(0.1)
    assert bench.playback.status().plan_stamp_ns == other.stamp_ns
    assert bench.playback.status().faults == 0


def test_the_arm_goes_on_while_another_plan_takes_long_to_plan():
    bench = Bench()
    first = straight_plan(bench.arm.time_ns)
    bench.start(first, play_sec=0.5)
    bench.executor.work_sec = 5.0
    bench.playback.set_plan(straight_plan(bench.arm.time_ns, bend=(0.0, 0.05, 0.0)))
    bench.run(1.5)
    assert bench.playback.state is PlaybackState.PLAYING
    assert bench.playback.status().plan_stamp_ns == first.stamp_ns
    assert bench.playback.status().faults == 0


def test_a_way_that_takes_too_long_to_plan_is_a_fault():
    bench = Bench()
    bench.playback.set_plan(straight_plan(bench.arm.time_ns))
    bench.executor.work_sec = 5.0
    bench.playback.start()
    bench.run(1.5)
    assert 'planning takes longer' in bench.playback.fault
    assert bench.commands == []


def test_no_start_while_a_newer_plan_is_planned():
    bench = Bench()
    bench.playback.set_plan(straight_plan(bench.arm.time_ns))
    assert bench.playback.not_ready() is None
    bench.run(0.1)
    bench.executor.work_sec = 0.1
    bench.playback.set_plan(straight_plan(bench.arm.time_ns, bend=(0.0, 0.05, 0.0)))
    assert 'still being planned' in bench.playback.not_ready()
    with pytest.raises(PlaybackRefusedError, match='still being planned'):
        bench.playback.start()
    bench.run(0.2)
    bench.playback.start()


def test_a_plan_that_comes_on_the_way_to_the_start_is_gone_to(bench):
    first = straight_plan(bench.arm.time_ns, start=(0.45, 0.2, 0.45))
    bench.give(first)
    bench.playback.start()
    bench.run(0.6)
    assert bench.playback.state is PlaybackState.APPROACHING
    assert bench.speed() > 0.01
    other = straight_plan(bench.arm.time_ns, start=(0.4, -0.2, 0.4), end=(0.55, -0.1, 0.3))
    bench.playback.set_plan(other)
    bench.run_until(PlaybackState.FINISHED)
    assert_played_plan_is_named(bench, other)
    assert_smooth(bench)


def test_a_halt_before_the_way_to_the_start_began_moves_nothing(bench):
    bench.give(straight_plan(bench.arm.time_ns, start=(0.45, 0.2, 0.45)))
    bench.playback.start()
    bench.run(0.2)
    bench.playback.pause()
    bench.run(2.0)
    home = bench.arm.kinematics.description.home_rad
    np.testing.assert_allclose(bench.arm.set_point[0], home, atol=1e-3)


def test_plans_at_random_moments_with_halts_in_between_are_played_as_named():
    rng = np.random.default_rng(16)
    bench = Bench()
    plans = {}
    finished = 0

    def give_plan():
        end = rng.uniform((0.5, -0.3, 0.2), (0.6, 0.3, 0.4))
        plan = straight_plan(bench.arm.time_ns, end=end, duration_sec=2.5)
        plans[plan.stamp_ns] = plan
        bench.playback.set_plan(plan)

    give_plan()
    for _ in range(60):
        bench.executor.work_sec = rng.choice([0.0, 0.005, 0.05, 0.12])
        bench.run(0.02 * rng.integers(1, 50))
        give_plan()
        bench.run(0.02 * rng.integers(0, 12))
        action = rng.choice(['nothing', 'nothing', 'pause', 'shift', 'fault', 'stop'])
        playback = bench.playback
        is_moving = playback.state in (PlaybackState.APPROACHING, PlaybackState.PLAYING)
        if action == 'pause' and is_moving:
            playback.pause()
        elif action == 'stop':
            playback.stop()
        elif action == 'fault' and is_moving:
            playback.refuse_input('made up')
        elif action == 'shift':
            playback.set_deformation(
                Deformation(
                    stamp_ns=bench.arm.time_ns,
                    frame_id='fr3_link0',
                    shift=rng.uniform(-0.03, 0.03, size=3),
                )
            )
        if playback.state is PlaybackState.PLAYING and rng.random() < 0.5:
            bench.executor.work_sec = 0.0
            before = playback.status().plan_stamp_ns
            bench.run_until(PlaybackState.FINISHED)
            named = playback.status().plan_stamp_ns
            assert named >= before
            shift = bench.tool_set_points()[-1] - plans[named].positions[-1]
            assert np.abs(shift).max() < 0.031
            finished += 1
        bench.run(0.02 * rng.integers(0, 60))
        if playback.not_ready() is None:
            in_pass = playback.state in (PlaybackState.PAUSED, PlaybackState.FAULT)
            (playback.resume if in_pass else playback.start)()
            bench.run_until(PlaybackState.PLAYING)
    assert finished > 10
    assert bench.playback.status().last_fault == 'made up'
    assert_smooth(bench)
