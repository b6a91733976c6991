"""Set-points against the arm's limits."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_learning_ros.arm.description import FR3
from reward_learning_ros.arm.limits import (
    ArmLimits,
    LimitError,
    WorkspaceBox,
    check_braking,
    check_set_points,
)
from reward_learning_ros.core.errors import InvalidInputError

LIMITS = ArmLimits.of(FR3)
TIMES = np.arange(5) * 0.1
AT_HOME = np.tile(FR3.home_rad, (5, 1))


def test_resting_at_home_breaks_nothing():
    still = np.zeros((5, 7))
    assert not check_set_points(
        LIMITS,
        times_sec=TIMES,
        positions_rad=AT_HOME,
        velocities_rad_s=still,
        accelerations_rad_s2=still,
        jerks_rad_s3=still,
        tool_positions_m=np.tile([0.5, 0.0, 0.3], (5, 1)),
        tool_speeds_m_s=np.zeros(5),
        tool_accelerations_m_s2=np.zeros(5),
    )


def test_exactly_the_limit_is_allowed():
    assert not check_set_points(
        LIMITS,
        times_sec=[0.0, 0.1],
        positions_rad=[LIMITS.position_lower_rad, LIMITS.position_upper_rad],
        velocities_rad_s=[LIMITS.velocity_rad_s, -LIMITS.velocity_rad_s],
    )


@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize('quantity', ['positions', 'velocities', 'accelerations', 'jerks'])
def test_each_joint_and_quantity_is_found_with_time_value_and_what_is_allowed(joint, quantity):
    names = {
        'positions': ('positions_rad', 'position', LIMITS.position_upper_rad),
        'velocities': ('velocities_rad_s', 'velocity', LIMITS.velocity_rad_s),
        'accelerations': ('accelerations_rad_s2', 'acceleration', LIMITS.acceleration_rad_s2),
        'jerks': ('jerks_rad_s3', 'jerk', LIMITS.jerk_rad_s3),
    }
    argument, word, upper = names[quantity]
    values = AT_HOME.copy() if quantity == 'positions' else np.zeros((5, 7))
    values[2, joint] = upper[joint] + 0.01
    values[3, joint] = upper[joint] + 0.02
    given = {'positions_rad': AT_HOME, argument: values}
    (violation,) = check_set_points(LIMITS, times_sec=TIMES, **given)
    assert (violation.what, violation.quantity) == (f'fr3_joint{joint + 1}', word)
    assert violation.time_sec == pytest.approx(0.3)
    assert violation.value == pytest.approx(upper[joint] + 0.02)
    assert violation.upper == upper[joint]
    assert violation.what in str(violation)


def test_tool_is_held_in_its_box_and_below_its_speed():
    found = check_set_points(
        LIMITS,
        times_sec=TIMES,
        positions_rad=AT_HOME,
        tool_positions_m=[[0.5, 0.0, 0.3]] * 4 + [[0.5, 0.9, -0.1]],
        tool_speeds_m_s=[0.0, 3.5, 0.0, 0.0, 0.0],
        tool_accelerations_m_s2=[0.0, 0.0, 10.0, 0.0, 0.0],
    )
    assert [(v.what, v.quantity) for v in found] == [
        ('tool y', 'position'),
        ('tool z', 'position'),
        ('tool', 'speed'),
        ('tool', 'acceleration'),
    ]


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_is_a_violation(value):
    positions = AT_HOME.copy()
    positions[1, 4] = value
    (violation,) = check_set_points(LIMITS, times_sec=TIMES, positions_rad=positions)
    assert violation.what == 'fr3_joint5'
    assert violation.time_sec == pytest.approx(0.1)


def test_scaled_limits_scale_speeds_and_not_positions():
    slow = ArmLimits.of(FR3, speed_scale=0.1)
    np.testing.assert_allclose(slow.velocity_rad_s, 0.1 * LIMITS.velocity_rad_s)
    np.testing.assert_array_equal(slow.position_lower_rad, LIMITS.position_lower_rad)
    assert slow.tool_speed_m_s == pytest.approx(0.3)


def test_limits_are_read_only():
    with pytest.raises(ValueError, match='read-only'):
        LIMITS.velocity_rad_s[0] = 100.0


def test_bad_limits_are_refused():
    with pytest.raises(InvalidInputError, match='speed_scale'):
        ArmLimits.of(FR3, speed_scale=0.0)
    with pytest.raises(InvalidInputError, match='workspace in z'):
        WorkspaceBox(lower_m=(0.0, 0.0, 1.0), upper_m=(1.0, 1.0, 0.5))
    with pytest.raises(InvalidInputError, match='as many'):
        check_set_points(LIMITS, times_sec=[0.0], positions_rad=AT_HOME)


def test_the_error_carries_all_violations():
    found = check_set_points(LIMITS, times_sec=[0.0], positions_rad=np.full((1, 7), 9.0))
    error = LimitError(found)
    assert len(error.violations) == 7
    assert 'fr3_joint1' in str(error)
    assert 'fr3_joint7' in str(error)


def hardest_stop(position, velocity, acceleration, max_acceleration, max_jerk):
    """How far upwards a joint goes that brakes as hard as it may, in small steps of time."""
    step, farthest = 1e-4, position
    while velocity >= 0.0 or acceleration >= 0.0:
        after = max(acceleration - max_jerk * step, -max_acceleration)
        gained = (acceleration + after) / 2.0 * step
        position += (velocity + gained / 2.0) * step
        velocity, acceleration = velocity + gained, after
        farthest = max(farthest, position)
    return farthest


@settings(max_examples=25)
@given(
    joint=st.integers(0, 6),
    direction=st.sampled_from([-1.0, 1.0]),
    jerk_exponent=st.floats(1.5, 3.7),
    velocity=st.floats(-0.2, 2.0),
    acceleration=st.floats(-9.0, 9.0),
)
def test_braking_goes_as_far_as_the_hardest_stop(
    joint, direction, jerk_exponent, velocity, acceleration
):
    soft = dataclasses.replace(LIMITS, jerk_rad_s3=np.full(7, 10.0**jerk_exponent))
    positions, velocities, accelerations = AT_HOME[0].copy(), np.zeros(7), np.zeros(7)
    limit = (LIMITS.position_upper_rad if direction > 0.0 else LIMITS.position_lower_rad)[joint]
    positions[joint] = limit - 1e-3 * direction
    velocities[joint] = velocity * direction
    accelerations[joint] = acceleration * direction
    farthest = hardest_stop(
        direction * positions[joint],
        direction * velocities[joint],
        direction * accelerations[joint],
        soft.acceleration_rad_s2[joint],
        soft.jerk_rad_s3[joint],
    )
    violations = check_braking(
        soft,
        positions_rad=positions,
        velocities_rad_s=velocities,
        accelerations_rad_s2=accelerations,
    )
    if farthest < direction * limit:
        assert violations == ()
    else:
        (violation,) = violations
        assert violation.what == f'fr3_joint{joint + 1}'
        assert direction * violation.value == pytest.approx(farthest, abs=2e-4)
        assert violation.time_sec > 0.0


def test_rest_and_motion_away_from_a_limit_need_no_room_to_brake():
    for velocity in (0.0, -1.0):
        assert not check_braking(
            LIMITS,
            positions_rad=LIMITS.position_upper_rad,
            velocities_rad_s=np.full(7, velocity),
            accelerations_rad_s2=np.full(7, 0.0),
        )
