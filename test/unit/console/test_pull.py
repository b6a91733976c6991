"""The spring from the arm to the mouse: limited, damped, and over when the page is gone."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros.console.pull import DEAD_MAN_SEC, MAX_FORCE_N, Pull, PullRefusedError
from reward_learning_ros.core.errors import InvalidInputError

LINK = 'fr3_hand_tcp'
NOWHERE = (0.0, 0.0, 0.0)


def pose(position=NOWHERE, rotation=None):
    found = np.eye(4)
    found[:3, :3] = np.eye(3) if rotation is None else rotation
    found[:3, 3] = position
    return found


def grabbed(hand=NOWHERE, target=None):
    pull = Pull()
    pull.grab('page', LINK, hand, 0.0)
    if target is not None:
        pull.drag('page', target, 0.0)
    return pull


def test_a_grab_alone_is_no_force():
    assert np.allclose(grabbed().force(pose((0.4, 0.0, 0.3)), 0.01).force_n, 0.0)


def test_the_force_points_to_the_mouse_and_grows_with_its_distance():
    near, far = (grabbed(target=(0.0, y, 0.0)).force(pose(), 0.0).force_n for y in (0.02, 0.04))
    assert near[1] > 0.0
    assert np.allclose(near[[0, 2]], 0.0)
    assert far[1] == pytest.approx(2.0 * near[1])


@pytest.mark.parametrize('target', [(2.9, 0.0, 0.0), (-2.0, 2.0, 2.0)])
def test_however_far_the_mouse_the_force_keeps_its_limit(target):
    force = grabbed(target=target).force(pose(), 0.0).force_n
    assert np.linalg.norm(force) == pytest.approx(MAX_FORCE_N)


def test_an_arm_that_moves_is_slowed_down():
    there = pose((0.01, 0.0, 0.0))
    moving = grabbed(target=(0.05, 0.0, 0.0))
    moving.force(pose(), 0.0)
    still = grabbed(target=(0.05, 0.0, 0.0))
    assert moving.force(there, 0.02).force_n[0] < still.force(there, 0.02).force_n[0]


def test_a_hand_beside_the_origin_of_a_link_turns_it_too():
    found = grabbed(hand=(0.1, 0.0, 0.0), target=(0.1, 0.05, 0.0)).force(pose(), 0.0)
    assert np.allclose(found.torque_nm, np.cross((0.1, 0.0, 0.0), found.force_n))
    assert found.torque_nm[2] > 0.0


def test_the_hand_stays_on_the_link_when_the_link_turns():
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    found = grabbed(hand=(0.1, 0.0, 0.0)).force(pose((0.3, 0.0, 0.0), quarter), 0.0)
    assert np.allclose(found.hand_m, (0.3, 0.1, 0.0))


def test_a_page_that_falls_silent_has_let_go():
    pull = grabbed()
    assert not pull.is_over(0.9 * DEAD_MAN_SEC)
    assert pull.is_over(1.1 * DEAD_MAN_SEC)
    pull.drag('page', NOWHERE, 1.0)
    assert not pull.is_over(1.0 + 0.9 * DEAD_MAN_SEC)


def test_one_page_pulls_at_a_time_and_the_next_after_it_let_go():
    pull = grabbed()
    with pytest.raises(PullRefusedError):
        pull.grab('another', LINK, NOWHERE, 0.1)
    pull.drag('another', (1.0, 0.0, 0.0), 0.1)
    pull.release('another')
    assert np.allclose(pull.force(pose(), 0.1).force_n, 0.0)
    pull.release('page')
    pull.grab('another', LINK, NOWHERE, 0.2)
    assert pull.owner == 'another'


@pytest.mark.parametrize(
    'target', [None, 'x', (1.0, 2.0), (np.nan, 0.0, 0.0), (np.inf, 0.0, 0.0), (9.0, 0.0, 0.0)]
)
def test_what_is_no_point_near_the_arm_is_refused(target):
    with pytest.raises(InvalidInputError):
        grabbed().drag('page', target, 0.0)
