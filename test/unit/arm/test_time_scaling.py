"""Timing whatever it is given: inside the limits or refused for a reason, with bounded work."""

import contextlib
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from reward_learning_ros.arm import joint_trajectory
from reward_learning_ros.arm import timing_kernels as kernels
from reward_learning_ros.arm.curve import MAX_POSES, progress, time_fractions
from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.joint_trajectory import MAX_CANDIDATES, MotionState
from reward_learning_ros.arm.kinematics import Kinematics, Reason, UnreachablePlanError
from reward_learning_ros.arm.limits import ArmLimits, LimitError, check_set_points
from reward_learning_ros.arm.timing import plan_joint_motion, plan_motion, time_path
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError

KINEMATICS = Kinematics()
LIMITS = {scale: ArmLimits.of(FR3, speed_scale=scale) for scale in (1.0, 0.3, 0.1)}
HOME = np.array(FR3.home_rad)
PRESS_PLAN = np.linspace([0.35, 0.0, 0.5], [0.7, 0.3, 0.1], 8)
PRESS_PATH = KINEMATICS.follow(PRESS_PLAN)


def random_call(rng):
    """Draw what `plan_motion` is given: a plan, a start and a speed, which may all be hopeless."""
    count = int(rng.integers(2, 11))
    if rng.random() < 0.75:
        first = rng.uniform([0.35, -0.3, 0.15], [0.65, 0.3, 0.55])
        steps = rng.uniform(-0.1, 0.1, (count - 1, 3))
        positions = np.vstack([first, first + np.cumsum(steps, axis=0)])
    else:
        positions = rng.uniform([0.1, -0.8, -0.1], [1.0, 0.8, 1.0], (count, 3))
    limits = LIMITS[float(rng.choice(list(LIMITS)))]
    start = None
    kind = rng.choice(['at rest', 'near home', 'anywhere'])
    if kind == 'near home':
        start = MotionState(
            positions_rad=HOME + rng.normal(0.0, 0.15, 7),
            velocities_rad_s=rng.uniform(0.0, 0.3) * rng.normal(size=7) * limits.velocity_rad_s,
            accelerations_rad_s2=rng.normal(0.0, 0.2, 7) * limits.acceleration_rad_s2,
        )
    elif kind == 'anywhere':
        share = rng.uniform(0.3, 1.05)
        middle = (limits.position_lower_rad + limits.position_upper_rad) / 2
        start = MotionState(
            positions_rad=middle
            + rng.uniform(-share, share, 7) * (limits.position_upper_rad - middle),
            velocities_rad_s=rng.uniform(-share, share, 7) * limits.velocity_rad_s,
            accelerations_rad_s2=rng.uniform(-share, share, 7) * limits.acceleration_rad_s2,
        )
    speed = None if rng.random() < 0.5 else 10.0 ** rng.uniform(-2.0, 1.0)
    return positions, {
        'duration_sec': float(10.0 ** rng.uniform(-1.3, 1.5)),
        'limits': limits,
        'kinematics': KINEMATICS,
        'start': start,
        'start_speed': speed,
    }


def fine_violations(trajectory, limits):
    """Check on a grid ten times as fine as the planner's own, with independent derivatives."""
    times = np.linspace(0.0, trajectory.duration_sec, 5_003)
    step = times[1]
    points = trajectory.sample(times)
    tool = KINEMATICS.tool_poses(points.positions_rad)[0]
    velocities = np.diff(tool, axis=0) / step
    accelerations = np.diff(velocities, axis=0) / step
    return check_set_points(
        limits,
        times_sec=times[1:-1],
        positions_rad=points.positions_rad[1:-1],
        velocities_rad_s=points.velocities_rad_s[1:-1],
        accelerations_rad_s2=points.accelerations_rad_s2[1:-1],
        jerks_rad_s3=np.diff(points.accelerations_rad_s2, axis=0)[1:] / step,
        tool_speeds_m_s=np.linalg.norm(velocities[1:], axis=1),
        tool_accelerations_m_s2=np.linalg.norm(accelerations, axis=1),
    )


class Work:
    """Stands before the kernels of the search and counts the candidates that they are given."""

    def __init__(self, monkeypatch):
        self.candidates = 0
        # Not in the kernels' own module: they would be compiled to call what stands there.
        monkeypatch.setattr(joint_trajectory, 'kernels', self)

    def __getattr__(self, name):
        return getattr(kernels, name)

    def first_blend_inside(self, course, offset, blend_times_sec, *rest):
        self.candidates += len(blend_times_sec)
        return kernels.first_blend_inside(course, offset, blend_times_sec, *rest)

    def demanded_scaling(self, *arguments):
        self.candidates += 1
        return kernels.demanded_scaling(*arguments)


# The work is counted again for each example, so they may share who counts it.
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_any_call_answers_inside_the_limits_or_with_a_reason_and_bounded_work(monkeypatch, seed):
    positions, options = random_call(np.random.default_rng(seed))
    work = Work(monkeypatch)
    try:
        trajectory = plan_motion(positions, **options)
    except (UnreachablePlanError, LimitError) as error:
        trajectory, reason = None, str(error)
    assert work.candidates <= MAX_CANDIDATES
    event('refused' if trajectory is None else 'planned')
    if trajectory is None:
        assert reason
        return
    assert trajectory.duration_sec >= options['duration_sec']
    assert fine_violations(trajectory, options['limits']) == ()
    start = options['start']
    if start is not None:
        state = trajectory.state(0.0)
        np.testing.assert_allclose(state.positions_rad, start.positions_rad, atol=1e-12)
        np.testing.assert_allclose(state.velocities_rad_s, start.velocities_rad_s, atol=1e-12)
        np.testing.assert_allclose(
            state.accelerations_rad_s2, start.accelerations_rad_s2, atol=1e-9
        )


def test_random_calls_are_of_both_kinds():
    rng = np.random.default_rng(0)
    moves, calls = 0, 40
    for _ in range(calls):
        positions, options = random_call(rng)
        with contextlib.suppress(UnreachablePlanError, LimitError):
            plan_motion(positions, **options)
            moves += 1
    assert min(moves, calls - moves) > 5


def test_out_of_a_motion_it_slows_down_as_little_as_needed():
    rng = np.random.default_rng(11)
    slowed = 0
    while slowed < 15:
        positions, options = random_call(rng)
        try:
            trajectory = plan_motion(positions, **options)
        except RewardLearningError:
            continue
        if trajectory.slowed and trajectory.duration_sec > 1.12 * options['duration_sec']:
            slowed += 1
            options['duration_sec'] = 0.9 * trajectory.duration_sec
            with pytest.raises(LimitError):
                plan_motion(positions, **options, max_time_scaling=1.0)


def test_where_a_joint_turns_round_between_samples_it_is_checked_too():
    # Joint 4 is thrown down, and the path leads it up.
    start = MotionState(
        positions_rad=PRESS_PATH.joints_rad[0], velocities_rad_s=-0.5 * np.eye(7)[3]
    )
    course = time_path(
        PRESS_PATH,
        duration_sec=100.0,
        limits=LIMITS[0.3],
        kinematics=KINEMATICS,
        start=start,
        start_speed=0.0,
    )._course
    fractions = np.empty(len(course.knots))
    kernels.find_fractions(course.knots, course.start_rate, fractions)

    def farthest(times):
        points = np.empty((len(times), 4, 7))
        kernels.set_points(course, times, points)
        return points[:, kernels.POSITION, 3].min()

    seen = farthest(np.linspace(0.0, course.blend_sec, kernels.BLEND_STEPS + 1))
    reached = farthest(np.linspace(0.0, course.blend_sec, 100_001))
    assert reached < seen - 5e-6

    def demanded(lower_rad):
        bounds = joint_trajectory._bounds(LIMITS[0.3])
        bounds.lower_rad[3] = lower_rad
        return kernels.demanded_scaling(course, fractions, KINEMATICS.chain, bounds, 0, False)[0]

    assert demanded(seen - 1e-6) == np.inf
    assert demanded(reached) <= 1.0


def test_from_rest_a_slowed_motion_touches_a_limit():
    rng = np.random.default_rng(12)
    for _ in range(10):
        joints = HOME + rng.uniform(-0.1, 0.1, (4, 7))
        trajectory = plan_joint_motion(
            joints, duration_sec=0.05, limits=LIMITS[0.3], kinematics=KINEMATICS
        )
        tight = ArmLimits.of(FR3, speed_scale=0.3 * 0.99)
        assert fine_violations(trajectory, LIMITS[0.3]) == ()
        assert fine_violations(trajectory, tight) != ()


def test_a_motion_that_no_slowing_can_save_is_refused_before_anything_is_tried(monkeypatch):
    work = Work(monkeypatch)
    start = MotionState(
        positions_rad=[*PRESS_PATH.joints_rad[0, :3], -0.16, *PRESS_PATH.joints_rad[0, 4:]],
        velocities_rad_s=[0.0, 0.0, 0.0, 2.5, 0.0, 0.0, 0.0],
    )
    with pytest.raises(LimitError, match='fr3_joint4') as caught:
        time_path(
            PRESS_PATH, duration_sec=3.0, limits=LIMITS[1.0], kinematics=KINEMATICS, start=start
        )
    assert work.candidates == 0
    (violation,) = caught.value.violations
    # 2.5 rad/s end after 2.5² / (2 · 10) = 0.3125 rad, and a little more for the jerk.
    assert violation.value == pytest.approx(-0.16 + 0.3125, abs=0.005)
    assert violation.quantity == 'position'


@pytest.mark.parametrize('duration_sec', [1e-320, 1e-200, 1e-9, 1e-3])
@pytest.mark.parametrize('moves', [False, True])
def test_a_duration_that_no_allowed_slowing_reaches_is_refused(duration_sec, moves):
    start = MotionState(positions_rad=PRESS_PATH.joints_rad[0] + 0.01) if moves else None
    with pytest.raises(LimitError, match='velocity'):
        time_path(
            PRESS_PATH,
            duration_sec=duration_sec,
            limits=LIMITS[1.0],
            kinematics=KINEMATICS,
            start=start,
        )


@pytest.mark.parametrize('speed', [0.0, -1.0, 1e-9, 1e9, 1e300])
def test_any_start_speed_makes_a_motion(speed):
    start = MotionState(
        positions_rad=PRESS_PATH.joints_rad[0] + 0.01, velocities_rad_s=np.full(7, 0.05)
    )
    trajectory = time_path(
        PRESS_PATH,
        duration_sec=4.0,
        limits=LIMITS[1.0],
        kinematics=KINEMATICS,
        start=start,
        start_speed=speed,
    )
    assert fine_violations(trajectory, LIMITS[1.0]) == ()


@pytest.mark.parametrize(
    'option', [{'start_speed': np.nan}, {'max_time_scaling': 0.9}, {'max_time_scaling': np.inf}]
)
def test_a_search_without_bounds_is_refused(option):
    (name,) = option
    with pytest.raises(InvalidInputError, match=name):
        time_path(
            PRESS_PATH, duration_sec=3.0, limits=LIMITS[1.0], kinematics=KINEMATICS, **option
        )


def test_no_kind_of_input_makes_kernels_compile_anew():
    first = PRESS_PATH.joints_rad[0] + 0.01

    def compiled_for(first_rad, number):
        start = MotionState(positions_rad=first_rad)
        for from_state in (None, start):
            time_path(
                PRESS_PATH,
                duration_sec=number(4),
                limits=LIMITS[1.0],
                kinematics=KINEMATICS,
                start=from_state,
                start_speed=number(0),
                max_time_scaling=number(2),
            ).sample([number(0), number(1)])
        return [
            len(kernel.signatures)
            for kernel in vars(kernels).values()
            if hasattr(kernel, 'signatures')
        ]

    once = compiled_for(first, float)
    assert len(once) > 5
    assert compiled_for(list(first), int) == once
    assert compiled_for(first.astype(np.float32), np.float32) == once


@pytest.mark.parametrize('start_rate', [0.0, 0.5, 1.0, 3.0])
def test_compiled_progress_is_the_law_of_the_curve(start_rate):
    fractions = np.linspace(0.0, 1.0, 401)
    law = progress(fractions, start_rate=start_rate)
    compiled = np.array([kernels.progress_at(u, start_rate) for u in fractions])
    for order, expected in enumerate((law.value, law.first, law.second)):
        np.testing.assert_allclose(compiled[:, order], expected[:, 0], atol=1e-12)
    inner = (fractions[1:-1] % 0.2 > 1e-9) & (fractions[1:-1] % 0.2 < 0.2 - 1e-9)
    slope = np.gradient(law.second[:, 0], fractions)[1:-1]
    np.testing.assert_allclose(compiled[1:-1, 3][inner], slope[inner], atol=1e-6)
    knots = np.linspace(0.0, 1.0, 50)
    found = np.empty(50)
    kernels.find_fractions(knots, start_rate, found)
    np.testing.assert_allclose(
        progress(found, start_rate=start_rate).value[:, 0], knots, atol=2e-9
    )
    np.testing.assert_allclose(found, time_fractions(knots, start_rate=start_rate), atol=2e-3)


def test_compiled_tool_motion_is_that_of_the_forward_kinematics():
    rng = np.random.default_rng(5)
    step = 1e-4
    for _ in range(50):
        point = np.stack([HOME + rng.normal(0.0, 0.5, 7), *rng.normal(0.0, 2.0, (2, 7))])
        at = np.array([-step, 0.0, step])[:, None]
        tool = KINEMATICS.tool_poses(point[0] + at * point[1] + at**2 / 2 * point[2])[0]
        speed, acceleration = kernels.tool_motion(KINEMATICS.chain, point)
        assert speed == pytest.approx(np.linalg.norm(tool[2] - tool[0]) / (2 * step), rel=1e-5)
        bend = np.linalg.norm(tool[2] - 2 * tool[1] + tool[0]) / step**2
        assert acceleration == pytest.approx(bend, rel=1e-4)


@pytest.mark.parametrize('distance_m', [2.0, 1e3, 1e9, 1e308])
def test_a_waypoint_however_far_away_is_refused_as_out_of_reach(distance_m):
    with pytest.raises(UnreachablePlanError, match='waypoint 1') as caught:
        KINEMATICS.follow([[0.4, 0.0, 0.4], [distance_m, 0.0, 0.4], [0.4, 0.0, 0.4]])
    assert caught.value.reason is Reason.OUT_OF_REACH


def test_a_plan_of_too_many_poses_is_refused():
    many = np.linspace(PRESS_PLAN[0], PRESS_PLAN[-1], MAX_POSES // 2 + 2)
    with pytest.raises(InvalidInputError, match='poses'):
        KINEMATICS.follow(many)
    with pytest.raises(InvalidInputError, match='poses'):
        KINEMATICS.follow(np.tile(PRESS_PLAN[[0, -1]], (400, 1)))
    with pytest.raises(InvalidInputError, match='poses'):
        plan_joint_motion(
            np.tile(HOME, (len(many), 1)),
            duration_sec=1.0,
            limits=LIMITS[1.0],
            kinematics=KINEMATICS,
        )


@pytest.mark.parametrize('count', [MAX_POSES // 8, 1000, MAX_POSES // 2 + 1])
def test_the_longest_plans_are_timed_within_a_twentieth_of_a_second(count):
    plan = np.linspace(PRESS_PLAN[0], PRESS_PLAN[-1], count)
    start = MotionState(positions_rad=HOME)
    costs = []
    for _ in range(5):
        began = time.thread_time()
        plan_motion(plan, duration_sec=3.0, limits=LIMITS[1.0], kinematics=KINEMATICS, start=start)
        costs.append(time.thread_time() - began)
    # The first compiles, or loads what was compiled.
    assert min(costs) < 0.05
