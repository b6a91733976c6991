"""What RViz shows of the corrections of a pass."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros.interface import PassCorrections, Plan
from reward_learning_ros.interface.records import RecordError
from reward_learning_ros.nodes.markers import correction_markers


@pytest.fixture
def plan():
    return Plan(
        stamp_ns=7,
        frame_id='fr3_link0',
        positions=np.linspace((0.3, 0.0, 0.5), (0.6, 0.0, 0.3), 4),
        orientations=np.tile([1.0, 0.0, 0.0, 0.0], (4, 1)),
        times_sec=np.linspace(0.0, 1.0, 4),
    )


def corrections_of(plan, waypoints, deltas, frame_id='fr3_link0'):
    return PassCorrections(
        plan_stamp_ns=plan.stamp_ns,
        frame_id=frame_id,
        tool_frame='fr3_hand_tcp',
        times_sec=plan.times_sec[waypoints],
        delta_positions=deltas,
        delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (len(deltas), 1)),
    )


def test_each_arrow_leads_to_where_the_waypoint_was_moved_altogether(plan):
    told = corrections_of(plan, [0, 1, 3], [[0.0, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.03]])
    arrows = correction_markers(plan, [told])
    moved = [np.subtract(*map(_vector, reversed(arrow.points))) for arrow in arrows]
    np.testing.assert_allclose(moved, [[0, 0.02, 0], [0, 0.02, 0], [0, 0.02, 0.03]], atol=1e-12)
    np.testing.assert_allclose([_vector(a.points[0]) for a in arrows], plan.positions[1:])


def test_silence_has_no_arrow(plan):
    assert correction_markers(plan, [corrections_of(plan, [0, 1], np.zeros((2, 3)))]) == []
    nothing = corrections_of(plan, [], np.zeros((0, 3)))
    assert correction_markers(plan, [nothing]) == []


def test_corrections_in_another_frame_are_refused(plan):
    with pytest.raises(RecordError, match='frame_id'):
        correction_markers(plan, [corrections_of(plan, [1], [[0.0, 0.02, 0.0]], 'world')])


def _vector(point):
    return np.array([point.x, point.y, point.z])
