"""Which set-points count as steps, or as those of another plan, in `make faults`."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.faults.plan_rule import JOIN_SEC, PlanRule
from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.kinematics import Kinematics
from reward_learning_ros.arm.limits import ArmLimits
from reward_learning_ros.arm.timing import plan_motion
from reward_learning_ros.interface import Plan, PlaybackState, PlaybackStatus

DURATION_SEC = 6.0
WAYPOINTS_M = np.linspace([0.4, -0.2, 0.4], [0.55, 0.2, 0.3], 5)


def plan_named(stamp_ns, offset_m):
    return Plan(
        stamp_ns=stamp_ns,
        frame_id=FR3.base_frame,
        positions=WAYPOINTS_M + offset_m,
        orientations=np.tile([1.0, 0.0, 0.0, 0.0], (5, 1)),
        times_sec=np.linspace(0.0, DURATION_SEC, 5),
    )


def statuses_of(stamp_ns):
    return [
        PlaybackStatus(
            state=PlaybackState.PLAYING, plan_stamp_ns=stamp_ns, stamp_ns=round(1e9 * time_sec)
        )
        for time_sec in np.arange(0.1, DURATION_SEC, 0.05)
    ]


@pytest.fixture(scope='module')
def set_points():
    """One a millisecond, along the waypoints."""
    trajectory = plan_motion(
        WAYPOINTS_M,
        duration_sec=DURATION_SEC,
        limits=ArmLimits.of(FR3),
        kinematics=Kinematics(),
    )
    points = trajectory.sample(np.arange(0.0, DURATION_SEC, 0.001))
    return np.column_stack([points.times_sec, points.positions_rad, points.velocities_rad_s])


def judged(parts, statuses=()):
    rule = PlanRule(plans={1: plan_named(1, np.zeros(3)), 2: plan_named(2, [0.0, 0.0, 0.04])})
    for part in parts:
        rule.judge(part, list(statuses))
    return rule


def test_a_smooth_motion_has_no_step_also_where_set_points_were_left_out(set_points):
    assert judged([set_points]).steps == 0
    assert judged([set_points[:2000], set_points[2000:]]).steps == 0
    with_gap = judged([np.delete(set_points, slice(2000, 2080), axis=0)])
    assert (with_gap.steps, with_gap.gaps) == (0, 1)


@pytest.mark.parametrize('is_between_parts', [True, False])
def test_a_jump_of_a_joint_is_a_step(set_points, is_between_parts):
    jumped = set_points.copy()
    # At the first joint, half a metre from the tool.
    jumped[3000:, 1] += 0.005
    rule = judged([jumped[:3000], jumped[3000:]] if is_between_parts else [jumped])
    assert rule.steps == 1
    assert 0.0015 < rule.max_step_m < 0.005


def test_a_status_that_names_another_plan_is_wrong(set_points):
    right, wrong = (judged([set_points], statuses_of(stamp_ns)) for stamp_ns in (1, 2))
    assert right.compared == wrong.compared > (DURATION_SEC - JOIN_SEC) / 0.05 - 10
    assert right.wrong == []
    assert len(wrong.wrong) == wrong.compared
    assert wrong.wrong[0]['distance_m'] == pytest.approx(0.04, abs=0.005)


def test_a_plan_that_was_just_named_may_still_be_joined(set_points):
    statuses = [status for status in statuses_of(2) if status.stamp_ns < 1e9 * JOIN_SEC]
    assert judged([set_points], statuses).compared == 0
