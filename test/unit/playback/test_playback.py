"""Playback on the simulated arm: smooth, inside the limits, and holding when it must."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.playback_bench import SECOND_NS, Bench, straight_plan

from reward_learning_ros.arm.limits import JOINT_ACCELERATION_RAD_S2
from reward_learning_ros.interface import Deformation, PlaybackState
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.drive import PlaybackRefusedError
from reward_learning_ros.sensing.timeline import planned_position_m

HOLD_SEC = PlaybackParameters().hold_within_sec


@pytest.fixture
def bench() -> Bench:
    return Bench()


def assert_smooth(bench: Bench) -> None:
    assert bench.largest_step_m() < 1e-3
    assert bench.largest_acceleration() < JOINT_ACCELERATION_RAD_S2


def test_nothing_moves_before_the_start(bench):
    bench.run(1.0)
    bench.playback.set_plan(straight_plan(bench.arm.time_ns))
    bench.run(2.0)
    assert bench.commands == []
    assert bench.playback.state is PlaybackState.IDLE


def test_a_plan_is_followed_within_five_millimetres(bench):
    bench.start(straight_plan(bench.arm.time_ns, duration_sec=6.0))
    bench.run_until(PlaybackState.FINISHED)
    playing = np.array([state is PlaybackState.PLAYING for state in bench.states])
    errors = np.linalg.norm(bench.tool_set_points() - bench.tool_measured(), axis=1)[playing]
    assert np.sqrt(np.mean(errors**2)) < 0.005
    assert bench.playback.status().progress == 1.0
    np.testing.assert_allclose(bench.arm.tool_position_m(), [0.6, 0.3, 0.2], atol=0.005)
    assert_smooth(bench)


def test_the_time_in_the_plan_tells_where_the_tool_should_be(bench):
    plan = straight_plan(bench.arm.time_ns, bend=(0.0, 0.0, 0.08))
    distances = []

    def compare():
        if bench.playback.state is PlaybackState.PLAYING:
            planned = planned_position_m(plan, [bench.playback.status().plan_time_sec])
            told = bench.arm.kinematics.tool_poses(bench.arm.set_point[0])[0]
            distances.append(np.linalg.norm(planned - told))

    bench.start(plan)
    bench.run(3.0, compare)
    assert len(distances) > 100
    assert max(distances) < 5e-4


def test_every_command_ends_at_rest_and_inside_the_limits(bench):
    bench.start()
    bench.run_until(PlaybackState.FINISHED)
    assert len(bench.commands) > 100
    for command in bench.commands:
        assert not command.velocities_rad_s[-1].any()
        assert not command.accelerations_rad_s2[-1].any()
        assert bench.playback.planner.violations(command) == ()


def test_replacing_the_plan_ten_times_makes_no_step(bench):
    rng = np.random.default_rng(3)
    bench.start(play_sec=0.5)
    for _ in range(10):
        bend = rng.uniform(-0.06, 0.06, size=3)
        bench.playback.set_plan(straight_plan(bench.arm.time_ns, bend=bend))
        bench.run(0.2)
        assert bench.playback.state is PlaybackState.PLAYING
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


def test_a_new_plan_goes_on_where_the_old_one_was(bench):
    bench.start(play_sec=1.2)
    before = bench.playback.status().progress
    bench.playback.set_plan(straight_plan(bench.arm.time_ns, bend=(0.0, 0.05, 0.0)))
    bench.run(0.1)
    assert before <= bench.playback.status().progress < before + 0.1


def test_a_plan_far_away_is_joined_even_where_little_is_left(bench):
    bench.start(straight_plan(bench.arm.time_ns, duration_sec=8.0), play_sec=7.2)
    assert 0.85 < bench.playback.status().progress < 0.99
    far = straight_plan(bench.arm.time_ns, end=(0.6, -0.3, 0.45), duration_sec=8.0)
    bench.playback.set_plan(far)
    bench.run_until(PlaybackState.FINISHED)
    assert bench.playback.status().faults == 0
    assert_smooth(bench)


def test_a_deformation_shifts_the_rest_of_the_plan(bench):
    bench.start(play_sec=1.0)
    shift = np.zeros(3)

    def push():
        shift[1] = max(shift[1] - 0.004, -0.05)
        bench.playback.set_deformation(
            Deformation(stamp_ns=bench.arm.time_ns, frame_id='fr3_link0', shift=shift)
        )

    bench.run(2.0, push)
    bench.run_until(PlaybackState.FINISHED)
    np.testing.assert_allclose(bench.tool_set_points()[-1], [0.6, 0.25, 0.2], atol=1e-3)
    assert_smooth(bench)


@pytest.mark.parametrize('direction', [(0.9, 0.4, 0.0), (-0.9, -0.4, 0.0), (0.0, 0.0, 1.0)])
def test_pushing_the_arm_does_not_make_the_plan_run_faster(bench, direction):
    plan = straight_plan(bench.arm.time_ns, end=(0.5, 0.1, 0.4), duration_sec=20.0)
    bench.start(plan, play_sec=6.0)
    began_sec = bench.playback.status().plan_time_sec
    shift = np.zeros(3)

    def push():
        if np.linalg.norm(shift) < 0.1:
            shift[:] += 0.1 * 0.02 * np.array(direction)
        bench.playback.set_deformation(
            Deformation(stamp_ns=bench.arm.time_ns, frame_id='fr3_link0', shift=shift)
        )

    bench.run(2.0, push)
    # Between its ramps a plan goes at 1.25 times its average speed.
    passed_sec = bench.playback.status().plan_time_sec - began_sec
    assert passed_sec == pytest.approx(2.5, rel=0.1)


def test_a_shift_beyond_reach_is_followed_as_far_as_it_goes(bench):
    bench.start(play_sec=1.0)
    far = Deformation(stamp_ns=bench.arm.time_ns, frame_id='fr3_link0', shift=[0.39, 0.0, 0.0])
    bench.playback.set_deformation(far)
    bench.run_until(PlaybackState.FINISHED)
    assert 'not shifted further' in bench.playback.warning
    status = bench.playback.status()
    assert status.is_shift_limited
    np.testing.assert_array_equal(status.shift_m, 0.0)
    assert_smooth(bench)


def test_the_status_tells_the_shift_that_the_arm_follows(bench):
    bench.start(play_sec=0.5)
    shift = [0.0, -0.03, 0.0]
    near = Deformation(stamp_ns=bench.arm.time_ns, frame_id='fr3_link0', shift=shift)
    bench.playback.set_deformation(near)
    bench.run(1.0)
    status = bench.playback.status()
    np.testing.assert_allclose(status.shift_m, shift, atol=1e-6)
    assert not status.is_shift_limited
    far = dataclasses.replace(near, stamp_ns=bench.arm.time_ns, shift=[0.39, 0.0, 0.0])
    bench.playback.set_deformation(far)
    bench.run(0.5)
    status = bench.playback.status()
    np.testing.assert_allclose(status.shift_m, shift, atol=1e-6)
    assert status.is_shift_limited
    bench.playback.set_deformation(dataclasses.replace(far, shift=[0.0, -0.02, 0.0]))
    bench.run(0.5)
    assert not bench.playback.status().is_shift_limited


def test_paused_it_rests_on_its_path_and_resumes_from_there(bench):
    bench.start(play_sec=1.2)
    bench.playback.pause()
    bench.run(1.0)
    progress = bench.playback.status().progress
    assert bench.speed() == 0.0
    bench.run(1.0)
    assert bench.playback.status().progress == progress
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


def test_stopped_it_rests_and_starts_anew(bench):
    bench.start(play_sec=1.2)
    bench.playback.stop()
    bench.run(1.0)
    assert bench.speed() == 0.0
    assert bench.playback.status().progress == 0.0
    bench.playback.start()
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


def test_home_brings_it_home(bench):
    bench.start(play_sec=1.2)
    bench.playback.pause()
    bench.run(1.0)
    bench.playback.home()
    assert bench.playback.state is PlaybackState.HOMING
    bench.run_until(PlaybackState.IDLE)
    bench.run(0.1)
    home = bench.arm.kinematics.description.home_rad
    np.testing.assert_allclose(bench.arm.set_point[0], home, atol=1e-9)
    assert_smooth(bench)


def test_a_plan_takes_the_time_it_is_given(bench):
    bench.start()
    begun = len(bench.states)
    bench.run_until(PlaybackState.FINISHED)
    assert (len(bench.states) - begun) / 1000 == pytest.approx(3.5, abs=0.5)


def test_killed_in_mid_motion_it_holds_soon_on_its_path(bench):
    bench.start(play_sec=1.2)
    assert bench.speed() > 0.01
    bench.faults.playback_dead = True
    bench.run(HOLD_SEC + 0.001)
    assert bench.speed() == 0.0
    held = bench.arm.set_point[0].copy()
    bench.run(3.0)
    np.testing.assert_array_equal(bench.arm.set_point[0], held)
    assert np.abs(bench.arm.joints_rad - held).max() < 0.01
    assert_smooth(bench)


def silent_joints(bench):
    bench.faults.joints_silent = True


def silent_torque(bench):
    bench.faults.torque_silent = True


def nan_joints(bench):
    bench.faults.joints_nan = True


def nan_torque(bench):
    bench.faults.torque_nan = True


def silent_mode(bench):
    bench.faults.mode_silent = True


def clock_ahead(bench):
    bench.faults.clock_offset_ns = 5 * SECOND_NS


def clock_behind(bench):
    bench.faults.clock_offset_ns = -5 * SECOND_NS


def second_publisher(bench):
    bench.faults.other_publishers = 1


def lost_controller(bench):
    bench.faults.controller_lost = True


def inactive_controller(bench):
    bench.faults.controller_inactive = True


FAULTS = [
    (silent_joints, 'robot state is'),
    (silent_torque, 'external torque is'),
    (nan_joints, 'robot state holds a value that is not a number'),
    (nan_torque, 'external torque holds a value that is not a number'),
    (silent_mode, 'the mode of the arm is'),
    (clock_ahead, 'the clock jumped by 5.00 s'),
    (clock_behind, 'the clock jumped by -5.00 s'),
    (second_publisher, 'other publisher'),
    (lost_controller, 'no controller listens'),
    (inactive_controller, 'not active: controller'),
]


@pytest.mark.parametrize(
    ('inject', 'words'), FAULTS, ids=lambda value: getattr(value, '__name__', '')
)
def test_a_fault_makes_it_hold_say_why_and_wait_for_a_resume(bench, inject, words):
    bench.start(play_sec=1.2)
    healthy = dataclasses.replace(bench.faults)
    inject(bench)
    bench.run(0.3)
    assert bench.playback.state is PlaybackState.FAULT
    assert words in bench.playback.fault
    bench.run(HOLD_SEC)
    assert bench.speed() == 0.0
    held = bench.arm.set_point[0].copy()
    if inject not in (clock_ahead, clock_behind):
        with pytest.raises(PlaybackRefusedError):
            bench.playback.resume()
    # The cause is gone, and yet nothing moves by itself.
    bench.faults = healthy
    bench.run(1.0)
    assert bench.playback.state is PlaybackState.FAULT
    np.testing.assert_array_equal(bench.arm.set_point[0], held)
    progress = bench.playback.status().progress
    bench.playback.resume()
    bench.run_until(PlaybackState.PLAYING)
    assert bench.playback.status().progress == pytest.approx(progress, abs=0.02)
    bench.run(0.5)
    status = bench.playback.status()
    assert status.progress > progress
    assert (status.fault, status.faults) == ('', 1)
    assert words in status.last_fault
    assert_smooth(bench)


@pytest.mark.parametrize('state', [PlaybackState.APPROACHING, PlaybackState.PLAYING])
def test_a_fault_is_noticed_on_every_way(bench, state):
    bench.playback.set_plan(straight_plan(bench.arm.time_ns))
    bench.playback.start()
    bench.run_until(state)
    bench.run(0.7)
    bench.faults.other_publishers = 1
    bench.run(0.1 + HOLD_SEC)
    assert bench.playback.state is PlaybackState.FAULT
    assert bench.speed() == 0.0
    bench.faults.other_publishers = 0
    bench.run(0.1)
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


def test_too_large_a_force_makes_it_hold(bench):
    bench.start(play_sec=1.2)
    bench.run(0.5, lambda: bench.arm.push([0.0, 45.0, 0.0, 0.0, 0.0, 8.0]))
    assert 'too large a force' in bench.playback.fault
    bench.run(HOLD_SEC + 2.0)
    assert bench.speed() == 0.0
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


def test_a_push_to_be_learned_from_does_not_stop_it(bench):
    bench.start(play_sec=1.0)
    bench.run(1.5, lambda: bench.arm.push([0.0, 20.0, 0.0, 0.0, 0.0, 0.0]))
    assert bench.playback.state is PlaybackState.PLAYING


def reflex(bench):
    bench.arm.push([0.0, 0.0, -90.0, 0.0, 0.0, 0.0])


def user_stop(bench):
    bench.arm.set_user_stop(True)


@pytest.mark.parametrize(
    ('inject', 'release', 'words'),
    [
        (reflex, lambda bench: bench.arm.recover(), 'reflex'),
        (user_stop, lambda bench: bench.arm.set_user_stop(False), 'user stopped'),
    ],
)
def test_after_a_stop_of_the_arm_it_goes_on_from_where_the_arm_is(bench, inject, release, words):
    bench.start(play_sec=1.2)
    inject(bench)
    bench.run(1.0)
    assert bench.playback.state is PlaybackState.FAULT
    assert words in bench.playback.fault
    with pytest.raises(PlaybackRefusedError, match=words):
        bench.playback.resume()
    release(bench)
    bench.run(1.0)
    bench.set_points.clear()
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


@pytest.mark.parametrize('pressed_sec', [0.03, 0.1, 0.3])
def test_a_stop_that_is_released_soon_does_not_let_the_arm_move_on(bench, pressed_sec):
    bench.start(play_sec=1.2)
    user_stop(bench)
    bench.run(pressed_sec)
    assert bench.playback.state is PlaybackState.FAULT
    bench.arm.set_user_stop(False)
    bench.run(0.001)
    held = bench.arm.set_point[0].copy()
    bench.run(2.0)
    np.testing.assert_array_equal(bench.arm.set_point[0], held)


@pytest.mark.parametrize('inactive_sec', [0.04, 0.2, 2.0])
def test_a_controller_that_is_activated_again_is_not_told_of_the_motion_of_before(
    bench, inactive_sec
):
    bench.start(play_sec=1.2)
    inactive_controller(bench)
    bench.run(inactive_sec)
    assert bench.playback.state is PlaybackState.FAULT
    bench.activate_controller()
    bench.run(0.001)
    held = bench.arm.set_point[0].copy()
    bench.run(2.0)
    np.testing.assert_array_equal(bench.arm.set_point[0], held)
    assert np.abs(bench.arm.joint_speeds_rad_s).max() < 0.01
    bench.set_points.clear()
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


def test_asleep_for_longer_than_its_horizon_it_holds(bench):
    bench.start(play_sec=1.2)
    bench.faults.playback_dead = True
    bench.run(0.5)
    bench.faults.playback_dead = False
    bench.run(0.1)
    assert 'asleep' in bench.playback.fault
    bench.run(HOLD_SEC)
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    assert_smooth(bench)


def test_time_that_runs_back_makes_it_hold(bench):
    bench.start(play_sec=1.2)
    bench.faults.time_offset_ns = -9 * SECOND_NS
    command = bench.playback.tick()
    assert 'time ran back' in bench.playback.fault
    # The controller is told to begin at once, and to come to rest where it is.
    assert command.stamp_ns == 0
    assert command.times_sec[-1] <= HOLD_SEC
    wanted = bench.arm.set_point[0]
    assert np.abs(command.positions_rad[0] - wanted).max() < 0.02


def test_an_unreachable_plan_is_refused_with_its_waypoint_before_anything_moves(bench):
    bench.playback.set_plan(straight_plan(bench.arm.time_ns, end=(0.8, 0.6, 0.7)))
    assert 'waypoint 4' in bench.playback.warning
    assert 'waypoint 4' in bench.playback.not_ready()
    with pytest.raises(PlaybackRefusedError, match='waypoint 4'):
        bench.playback.start()
    bench.run(0.5)
    assert bench.commands == []


def test_an_unreachable_plan_in_mid_motion_holds_and_keeps_the_old_one(bench):
    bench.start(play_sec=1.2)
    bench.playback.set_plan(straight_plan(bench.arm.time_ns, end=(0.8, 0.6, 0.7)))
    bench.run(HOLD_SEC)
    assert 'plan refused' in bench.playback.fault
    assert 'waypoint' in bench.playback.fault
    assert bench.speed() == 0.0
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    np.testing.assert_allclose(bench.tool_set_points()[-1], [0.6, 0.3, 0.2], atol=1e-3)
    assert_smooth(bench)


def test_a_plan_outside_the_workspace_is_refused(bench):
    bench.playback.set_plan(straight_plan(bench.arm.time_ns, end=(0.6, 0.3, 0.005)))
    assert 'outside the workspace' in bench.playback.not_ready()


def test_a_stale_plan_is_not_started(bench):
    bench.playback.set_plan(straight_plan(bench.arm.time_ns))
    bench.arm.time_ns += 4000 * SECOND_NS
    bench.tick()
    with pytest.raises(PlaybackRefusedError, match='stale'):
        bench.playback.start()


def test_a_plan_from_the_past_does_not_replace_a_newer_one(bench):
    bench.start(play_sec=1.0)
    with pytest.raises(PlaybackRefusedError, match='older'):
        bench.playback.set_plan(straight_plan(1, bend=(0.0, 0.05, 0.0)))
    assert bench.playback.state is PlaybackState.PLAYING


@pytest.mark.parametrize('action', ['pause', 'resume'])
def test_what_makes_no_sense_at_rest_is_refused(bench, action):
    with pytest.raises(PlaybackRefusedError, match='playback is idle'):
        getattr(bench.playback, action)()


def test_without_a_plan_there_is_no_start(bench):
    with pytest.raises(PlaybackRefusedError, match='no plan'):
        bench.playback.start()
    assert bench.playback.state is PlaybackState.IDLE


@pytest.mark.parametrize('requires_mode', [False, True])
def test_a_real_arm_does_not_set_off_without_a_tool_pose_to_compare(requires_mode):
    bench = Bench(config=PlaybackParameters(requires_mode=requires_mode))
    bench.give(straight_plan(bench.arm.time_ns))
    assert bench.playback.not_ready() is None
    bench.faults.pose_silent = True
    for pose in (None, np.full(7, np.nan)):
        bench.playback.view.pose.values = pose
        reason = bench.playback.not_ready()
        assert ('tool pose' in reason) if requires_mode else reason is None
    bench.run(0.5)
    bench.playback.view.pose.take(np.zeros(7), bench.arm.time_ns, bench.now().steady_sec)
    assert 'has length 0.000' in bench.playback.not_ready()
    with pytest.raises(PlaybackRefusedError, match='quaternion'):
        bench.playback.start()
