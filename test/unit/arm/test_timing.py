"""Joint trajectories in time: inside the limits, smooth, from rest and out of a motion."""

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.kinematics import (
    GRIPPER_DOWN,
    Kinematics,
    Reason,
    UnreachablePlanError,
)
from reward_learning_ros.arm.limits import ArmLimits, WorkspaceBox, check_set_points
from reward_learning_ros.arm.timing import MotionState, plan_joint_motion, plan_motion, time_path
from reward_learning_ros.core.errors import InvalidInputError

KINEMATICS = Kinematics()
LIMITS = ArmLimits.of(FR3)
PRESS_PLAN = np.linspace([0.35, 0.0, 0.5], [0.7, 0.3, 0.1], 8)


def reachable_plans(count, seed):
    """Random walks of eight waypoints that the arm can follow."""
    rng = np.random.default_rng(seed)
    start = rng.uniform([0.4, -0.2, 0.2], [0.6, 0.2, 0.5], (20 * count, 1, 3))
    steps = rng.uniform(-0.1, 0.1, (20 * count, 7, 3))
    plans = np.concatenate([start, start + np.cumsum(steps, axis=1)], axis=1)
    inside = ((plans > [0.25, -0.5, 0.05]) & (plans < [0.7, 0.5, 0.7])).all(axis=(1, 2))
    plans = plans[inside]
    return plans[KINEMATICS.reachable(plans)][:count]


def plan(positions, duration_sec, **options):
    return plan_motion(
        positions,
        duration_sec=duration_sec,
        kinematics=KINEMATICS,
        **{'limits': LIMITS, **options},
    )


def fine_violations(trajectory):
    """Check on a grid much finer than the planner's own, with independent derivatives."""
    times = np.linspace(0.0, trajectory.duration_sec, 20_011)
    step = times[1]
    points = trajectory.sample(times)
    tool = KINEMATICS.tool_poses(points.positions_rad)[0]
    velocities = np.diff(tool, axis=0) / step
    accelerations = np.diff(velocities, axis=0) / step
    return check_set_points(
        LIMITS,
        times_sec=times[1:-1],
        positions_rad=points.positions_rad[1:-1],
        velocities_rad_s=points.velocities_rad_s[1:-1],
        accelerations_rad_s2=points.accelerations_rad_s2[1:-1],
        jerks_rad_s3=np.diff(points.accelerations_rad_s2, axis=0)[1:] / step,
        tool_positions_m=tool[1:-1],
        tool_speeds_m_s=np.linalg.norm(velocities[1:], axis=1),
        tool_accelerations_m_s2=np.linalg.norm(accelerations, axis=1),
    )


def assert_smooth(trajectory):
    """Velocity and acceleration are the derivatives of what comes before, without steps."""
    times = np.linspace(0.0, trajectory.duration_sec, 20_011)
    step = times[1]
    points = trajectory.sample(times)
    for lower, higher in (
        (points.positions_rad, points.velocities_rad_s),
        (points.velocities_rad_s, points.accelerations_rad_s2),
    ):
        change = np.diff(lower, axis=0)
        expected = step * (higher[1:] + higher[:-1]) / 2
        scale = max(1.0, np.abs(higher).max())
        np.testing.assert_allclose(change, expected, atol=1e-3 * step * scale)
    largest_step = np.abs(np.diff(points.accelerations_rad_s2, axis=0)).max()
    assert largest_step < 0.02 * np.abs(points.accelerations_rad_s2).max()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), duration_sec=st.floats(0.2, 20.0))
def test_random_plans_are_smooth_and_stay_inside_the_workspace(seed, duration_sec):
    """The other limits: `test_time_scaling.py`, with starts and speeds of any kind."""
    for positions in reachable_plans(1, seed):
        trajectory = plan(positions, duration_sec)
        assert fine_violations(trajectory) == ()
        assert_smooth(trajectory)


@pytest.mark.parametrize('positions', reachable_plans(5, seed=20))
def test_motion_meets_the_waypoints_when_it_says_from_rest_to_rest(positions):
    trajectory = plan(positions, 10.0)
    points = trajectory.sample(trajectory.waypoint_times_sec)
    tool, rotations = KINEMATICS.tool_poses(points.positions_rad)
    np.testing.assert_allclose(tool, positions, atol=1e-4)
    np.testing.assert_allclose(rotations, np.tile(GRIPPER_DOWN, (8, 1, 1)), atol=1e-3)
    for end in (0, -1):
        np.testing.assert_array_equal(points.velocities_rad_s[end], 0.0)
        np.testing.assert_array_equal(points.accelerations_rad_s2[end], 0.0)
    assert trajectory.waypoint_times_sec[-1] == trajectory.duration_sec == 10.0


def test_a_hurried_plan_is_slowed_and_says_so():
    trajectory = plan(PRESS_PLAN, 0.1)
    assert trajectory.slowed
    assert trajectory.duration_sec > trajectory.requested_duration_sec == 0.1
    assert 'limits demand' in str(trajectory)
    # As little as needed: a motion a tenth faster would leave the limits.
    path = KINEMATICS.follow(PRESS_PLAN)
    faster = time_path(
        path, duration_sec=0.9 * trajectory.duration_sec, limits=LIMITS, kinematics=KINEMATICS
    )
    assert faster.slowed
    assert not plan(PRESS_PLAN, 20.0).slowed


def test_slower_limits_make_slower_motions():
    slow = ArmLimits.of(FR3, speed_scale=0.05)
    trajectory = plan(PRESS_PLAN, 1.0, limits=slow)
    speeds = np.abs(trajectory.sample(np.linspace(0, 100, 5000)).velocities_rad_s)
    assert (speeds <= slow.velocity_rad_s).all()
    assert trajectory.duration_sec > plan(PRESS_PLAN, 1.0).duration_sec


def test_motion_holds_before_its_start_and_after_its_end():
    trajectory = plan(PRESS_PLAN, 5.0)
    points = trajectory.sample([-1.0, 0.0, 5.0, 50.0])
    np.testing.assert_array_equal(points.positions_rad[0], points.positions_rad[1])
    np.testing.assert_array_equal(points.positions_rad[2], points.positions_rad[3])
    np.testing.assert_array_equal(points.velocities_rad_s, 0.0)


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), time_sec=st.floats(0.1, 2.9))
def test_replacing_a_plan_in_mid_motion_has_no_step_and_ends_where_the_new_one_does(
    seed, time_sec
):
    plans = reachable_plans(2, seed)
    assume(len(plans) == 2)
    first, second = plans
    state = plan(first, 3.0).state(time_sec)
    tool = KINEMATICS.tool_poses(state.positions_rad)[0]
    replacement = np.concatenate([tool[None], np.linspace(tool, second[-1], 5)[1:]])
    try:
        trajectory = plan(replacement, 3.0, start=state)
    except UnreachablePlanError:
        # The straight way between two plans may not be one.
        reject()
    taken_over = trajectory.state(0.0)
    np.testing.assert_allclose(taken_over.positions_rad, state.positions_rad, atol=1e-12)
    np.testing.assert_allclose(taken_over.velocities_rad_s, state.velocities_rad_s, atol=1e-12)
    np.testing.assert_allclose(
        taken_over.accelerations_rad_s2, state.accelerations_rad_s2, atol=1e-9
    )
    assert_smooth(trajectory)
    end = KINEMATICS.tool_poses(trajectory.state(100.0).positions_rad)[0]
    np.testing.assert_allclose(end, second[-1], atol=1e-4)


def test_replacing_a_plan_by_itself_keeps_the_arm_moving():
    before = plan(PRESS_PLAN, 6.0)
    state = before.state(3.0)
    tool = KINEMATICS.tool_poses(state.positions_rad)[0]
    rest = np.concatenate([tool[None], np.linspace(tool, PRESS_PLAN[-1], 4)[1:]])
    after = plan(rest, 3.0, start=state)
    speed = np.linalg.norm(state.velocities_rad_s)
    early = after.sample(np.linspace(0.0, 1.0, 200)).velocities_rad_s
    assert np.linalg.norm(early, axis=1).min() > 0.6 * speed


def test_an_offset_from_the_path_fades():
    path = KINEMATICS.follow(PRESS_PLAN)
    start = MotionState(positions_rad=path.joints_rad[0] + 0.05)
    trajectory = time_path(
        path, duration_sec=8.0, limits=LIMITS, kinematics=KINEMATICS, start=start
    )
    np.testing.assert_allclose(trajectory.state(0.0).positions_rad, start.positions_rad)
    np.testing.assert_allclose(
        trajectory.state(8.0).positions_rad, path.joints_rad[-1], atol=1e-12
    )
    assert fine_violations(trajectory) == ()


def plan_joints(joints, duration_sec):
    return plan_joint_motion(
        joints, duration_sec=duration_sec, limits=LIMITS, kinematics=KINEMATICS
    )


def test_joint_space_waypoints_are_met():
    home = np.array(FR3.home_rad)
    joints = np.stack([home, home + 0.1, home - 0.1])
    trajectory = plan_joints(joints, 4.0)
    met = trajectory.sample(trajectory.waypoint_times_sec).positions_rad
    np.testing.assert_allclose(met, joints, atol=1e-4)
    assert fine_violations(trajectory) == ()


def test_a_joint_motion_that_leaves_limits_or_workspace_is_refused():
    home = np.array(FR3.home_rad)
    with pytest.raises(UnreachablePlanError, match='fr3_joint7') as caught:
        plan_joints(np.linspace(home, home + np.eye(7)[6] * 2.6, 2), 4.0)
    assert caught.value.reason is Reason.JOINT_LIMIT
    with pytest.raises(UnreachablePlanError, match='tool x') as caught:
        plan_joints(np.linspace(home, home + np.eye(7)[0] * 2.5, 2), 4.0)
    assert caught.value.reason is Reason.WORKSPACE


def test_leaving_the_workspace_is_refused_with_the_waypoint():
    low = ArmLimits.of(FR3, workspace=WorkspaceBox(lower_m=(0.2, -0.6, 0.2)))
    with pytest.raises(UnreachablePlanError, match='tool z') as caught:
        plan(PRESS_PLAN, 10.0, limits=low)
    assert caught.value.reason is Reason.WORKSPACE
    # Waypoint 5 is at 0.214 m, waypoint 6 at 0.157 m.
    assert caught.value.waypoint == 6
    assert 'on the way' in str(caught.value)


@pytest.mark.parametrize('duration_sec', [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_duration_is_refused(duration_sec):
    with pytest.raises(InvalidInputError, match='duration_sec'):
        plan(PRESS_PLAN, duration_sec)


def test_a_state_that_is_not_a_number_is_refused():
    with pytest.raises(InvalidInputError, match='velocities_rad_s'):
        MotionState(positions_rad=np.zeros(7), velocities_rad_s=np.full(7, np.nan))
