"""What playback makes of an arm that is pushed away, or that is not the arm it was told of."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.playback_bench import Bench, straight_plan

from reward_learning_ros.arm.simulation_parameters import SimulationParameters
from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.playback.configuration import PlaybackParameters
from reward_learning_ros.playback.drive import PlaybackRefusedError

HARD_PUSH = np.array([0.0, 45.0, 0.0, 0.0, 0.0, 8.0])


@pytest.fixture
def bench() -> Bench:
    return Bench()


def push(bench: Bench, wrench: np.ndarray, seconds: float, letting_go_sec: float) -> None:
    """Push, and let go in a while."""
    bench.run(seconds, lambda: bench.arm.push(wrench))
    end_ns = bench.arm.time_ns + round(letting_go_sec * 1e9)
    bench.run(
        letting_go_sec,
        lambda: bench.arm.push(wrench * (end_ns - bench.arm.time_ns) / 1e9 / letting_go_sec),
    )


@pytest.mark.parametrize('push_sec', [0.4, 0.6])
@pytest.mark.parametrize('letting_go_sec', [0.0, 0.2, 0.4])
def test_pushed_too_hard_the_arm_stays_where_it_was_pushed(bench, push_sec, letting_go_sec):
    bench.start(play_sec=1.2)
    push(bench, HARD_PUSH, push_sec, letting_go_sec)
    assert 'too large a force' in bench.playback.fault
    released = len(bench.measured)
    bench.run(2.0)
    tool = bench.tool_measured()[released:]
    along_push = tool[:, 1] - tool[0, 1]
    # It comes to rest where it was let go, and does not swing back far before: without giving
    # way it would go back by a quarter of a metre.
    assert along_push[-1] > -0.01
    assert along_push.min() > -0.06
    assert bench.speed() == 0.0
    assert np.linalg.norm(tool[-1] - bench.tool_set_points()[-1]) < 0.01
    # The set-point followed the arm smoothly.
    assert bench.largest_acceleration() < 10.0
    bench.playback.resume()
    bench.run_until(PlaybackState.FINISHED)
    np.testing.assert_allclose(bench.tool_set_points()[-1], [0.6, 0.3, 0.2], atol=1e-3)


def test_held_too_far_away_the_arm_stays_where_it_was_pushed():
    soft = SimulationParameters(stiffness_nm=(20.0,) * 7, damping_nm_s=(5.0,) * 7)
    bench = Bench(simulation=soft, config=PlaybackParameters(max_deviation_m=0.1))
    bench.start(play_sec=1.0)
    while bench.playback.state is PlaybackState.PLAYING:
        bench.run(0.02, lambda: bench.arm.push([0.0, -20.0, 0.0, 0.0, 0.0, 0.0]))
    assert 'from its set-point' in bench.playback.fault
    released = len(bench.measured)
    bench.run(3.0)
    tool = bench.tool_measured()[released:]
    assert tool[-1, 1] - tool[0, 1] < 0.01


def test_an_arm_that_gave_way_stands_before_it_may_be_resumed(bench):
    bench.start(play_sec=1.2)
    bench.run(0.5, lambda: bench.arm.push(HARD_PUSH))
    bench.run(0.1)
    with pytest.raises(PlaybackRefusedError, match='still coming to rest'):
        bench.playback.resume()


def test_pushed_out_of_the_workspace_the_set_point_stays_inside(bench):
    bench.start(play_sec=1.2)
    bench.run(2.0, lambda: bench.arm.push([-60.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert bench.tool_measured()[:, 0].min() < PlaybackParameters().workspace_lower_m[0]
    assert bench.tool_set_points()[:, 0].min() > PlaybackParameters().workspace_lower_m[0] - 1e-3


def test_while_the_arm_gives_way_another_fault_ends_that(bench):
    bench.start(play_sec=1.2)
    bench.run(0.5, lambda: bench.arm.push(HARD_PUSH))
    bench.faults.torque_silent = True
    bench.run(1.0, lambda: bench.arm.push(HARD_PUSH))
    held = bench.arm.set_point[0].copy()
    bench.run(1.0, lambda: bench.arm.push(HARD_PUSH))
    np.testing.assert_array_equal(bench.arm.set_point[0], held)


def test_a_mode_that_nobody_tells_is_no_permission_where_it_is_required():
    bench = Bench(config=PlaybackParameters(requires_mode=True))
    bench.give(straight_plan(bench.arm.time_ns))
    assert bench.playback.not_ready() is None
    bench.playback.view.mode = None
    assert bench.playback.not_ready() == 'the mode of the arm is not known'
    with pytest.raises(PlaybackRefusedError, match='mode of the arm is not known'):
        bench.playback.home()


def test_a_mode_that_nobody_tells_is_no_hindrance_where_it_is_not_required(bench):
    bench.give(straight_plan(bench.arm.time_ns))
    bench.playback.view.mode = None
    assert bench.playback.not_ready() is None


def test_a_tool_that_the_arm_reports_elsewhere_is_refused(bench):
    bench.give(straight_plan(bench.arm.time_ns))
    bench.faults.tool_offset_m = (0.0, 0.0, 0.1034)
    bench.run(0.1)
    assert '10.3 cm' in bench.playback.not_ready()
    with pytest.raises(PlaybackRefusedError, match='wrong hand or end-effector transform'):
        bench.playback.start()
    bench.faults.tool_offset_m = (0.0, 0.0, 0.0)
    bench.run(0.1)
    bench.playback.start()


def test_a_tool_that_is_reported_turned_is_refused(bench):
    bench.give(straight_plan(bench.arm.time_ns))
    bench.faults.pose_silent = True
    pose = bench.playback.view.pose
    x, y, z, w = pose.values[3:7]
    half = np.sqrt(0.5)
    # Turned by a right angle about the z axis of the base.
    turned = half * np.array([x - y, y + x, z + w, w - z])
    pose.take([*pose.values[:3], *turned], pose.stamp_ns, pose.arrival_sec)
    assert '90°' in bench.playback.not_ready()


def test_without_a_reported_tool_pose_there_is_nothing_to_compare(bench):
    bench.faults.tool_offset_m = (0.0, 0.0, 0.1034)
    bench.run(0.1)
    bench.faults.pose_silent = True
    bench.run(0.5)
    bench.give(straight_plan(bench.arm.time_ns))
    assert bench.playback.not_ready() is None
