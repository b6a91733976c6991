"""Trajectories mean to the simulated controller what they mean to joint_trajectory_controller."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.simulated_controller import TrajectoryFollower, TrajectoryRefusedError
from reward_learning_ros.interface import JointTrajectory

NAMES = FR3.joint_names
HOME = np.array(FR3.home_rad)
SECOND = 1_000_000_000
START = 500 * SECOND


@pytest.fixture
def follower() -> TrajectoryFollower:
    return TrajectoryFollower(NAMES, start_rad=HOME, epoch_ns=START)


def random_trajectory(rng, *, stamp_ns=0, order=None, derivatives=2):
    count = int(rng.integers(2, 6))
    positions = HOME + rng.normal(scale=0.3, size=(count, 7))
    velocities = rng.normal(scale=0.5, size=(count, 7))
    accelerations = rng.normal(scale=0.5, size=(count, 7))
    velocities[-1] = 0.0
    return JointTrajectory(
        stamp_ns=stamp_ns,
        joint_names=NAMES if order is None else tuple(NAMES[i] for i in order),
        positions=positions,
        times_sec=np.cumsum(rng.uniform(0.2, 1.0, size=count)),
        velocities=velocities if derivatives > 0 else None,
        accelerations=accelerations if derivatives > 1 else None,
    )


@st.composite
def trajectories(draw):
    count = draw(st.integers(2, 5))
    steps_sec = draw(st.lists(st.floats(0.2, 1.0), min_size=count, max_size=count))
    values = arrays(np.float64, (count, 7), elements=st.floats(-1.0, 1.0))
    velocities = draw(values)
    velocities[-1] = 0.0
    return JointTrajectory(
        joint_names=NAMES,
        positions=HOME + draw(values),
        times_sec=np.cumsum(steps_sec),
        velocities=velocities,
        accelerations=draw(st.none() | values),
    )


TRAJECTORIES = trajectories()


def accept(follower, trajectory, time_ns):
    follower.accept(trajectory, time_ns, follower.sample(time_ns))


@pytest.mark.parametrize('derivatives', [0, 1, 2])
def test_it_passes_through_every_point_as_told(follower, derivatives):
    rng = np.random.default_rng(derivatives)
    trajectory = random_trajectory(rng, derivatives=derivatives)
    accept(follower, trajectory, START)
    for index, time_sec in enumerate(trajectory.times_sec[:-1]):
        point = follower.sample(START + round(time_sec * 1e9))
        np.testing.assert_allclose(point[0], trajectory.positions[index], atol=1e-9)
        if derivatives > 0:
            np.testing.assert_allclose(point[1], trajectory.velocities[index], atol=1e-6)
        if derivatives > 1:
            np.testing.assert_allclose(point[2], trajectory.accelerations[index], atol=1e-5)


@settings(max_examples=40)
@given(TRAJECTORIES, TRAJECTORIES, st.integers(0, 6 * SECOND))
def test_replaced_in_mid_motion_it_keeps_position_and_velocity(first, second, passed_ns):
    follower = TrajectoryFollower(NAMES, start_rad=HOME, epoch_ns=START)
    accept(follower, first, START)
    time_ns = START + passed_ns
    before = follower.sample(time_ns)
    accept(follower, second, time_ns)
    after = follower.sample(time_ns)
    np.testing.assert_allclose(after[:2], before[:2], atol=1e-9)


def test_its_velocity_is_the_slope_of_its_position(follower):
    trajectory = random_trajectory(np.random.default_rng(7))
    accept(follower, trajectory, START)
    times = START + np.linspace(0.01, trajectory.times_sec[-1] - 0.01, 200) * 1e9
    for time_ns in times.astype(np.int64).tolist():
        step = 1000
        slope = (follower.sample(time_ns + step)[0] - follower.sample(time_ns - step)[0]) / (
            2 * step * 1e-9
        )
        np.testing.assert_allclose(follower.sample(time_ns)[1], slope, atol=1e-3)


def test_at_its_end_it_holds(follower):
    trajectory = random_trajectory(np.random.default_rng(1))
    accept(follower, trajectory, START)
    later = follower.sample(START + 100 * SECOND)
    np.testing.assert_allclose(later[0], trajectory.positions[-1], atol=1e-9)
    assert not later[1:].any()
    assert not follower.is_moving(START + 100 * SECOND)


def test_a_stamp_in_the_future_is_waited_for(follower):
    rng = np.random.default_rng(2)
    trajectory = random_trajectory(rng, stamp_ns=START + 2 * SECOND)
    accept(follower, trajectory, START)
    arrival = START + 2 * SECOND + round(trajectory.times_sec[0] * 1e9)
    np.testing.assert_allclose(follower.sample(arrival)[0], trajectory.positions[0], atol=1e-9)
    # Until then it blends out of where it was.
    np.testing.assert_allclose(follower.sample(START)[0], HOME, atol=1e-12)


def test_points_of_the_past_are_skipped(follower):
    rng = np.random.default_rng(3)
    trajectory = random_trajectory(rng, stamp_ns=START)
    late = START + round((trajectory.times_sec[0] + 0.01) * 1e9)
    expected = TrajectoryFollower(NAMES, start_rad=HOME, epoch_ns=START)
    accept(expected, trajectory, START)
    accept(follower, trajectory, late)
    np.testing.assert_allclose(follower.sample(late), expected.sample(late), atol=1e-9)


def test_a_trajectory_that_is_over_is_refused(follower):
    trajectory = random_trajectory(np.random.default_rng(4), stamp_ns=START - 60 * SECOND)
    with pytest.raises(TrajectoryRefusedError, match='ended'):
        accept(follower, trajectory, START)
    np.testing.assert_array_equal(follower.sample(START)[0], HOME)


def test_a_trajectory_that_does_not_end_at_rest_is_refused(follower):
    moving = JointTrajectory(
        joint_names=NAMES, positions=[HOME, HOME], times_sec=[0.5, 1.0], velocities=np.ones((2, 7))
    )
    with pytest.raises(TrajectoryRefusedError, match='last velocity'):
        accept(follower, moving, START)


def test_joints_may_come_in_any_order(follower):
    order = np.random.default_rng(5).permutation(7)
    trajectory = random_trajectory(np.random.default_rng(6), order=order)
    accept(follower, trajectory, START)
    end = follower.sample(START + 60 * SECOND)[0]
    np.testing.assert_allclose(end[order], trajectory.positions[-1], atol=1e-9)


def test_other_joints_are_refused_with_those_that_exist(follower):
    other = JointTrajectory(joint_names=('elbow',), positions=[[0.0]], times_sec=[1.0])
    with pytest.raises(TrajectoryRefusedError, match='fr3_joint7'):
        accept(follower, other, START)


def test_a_single_point_that_is_due_is_gone_to_at_once(follower):
    target = JointTrajectory(joint_names=NAMES, positions=[HOME + 0.1], times_sec=[0.0])
    accept(follower, target, START)
    np.testing.assert_allclose(follower.sample(START)[0], HOME + 0.1)
