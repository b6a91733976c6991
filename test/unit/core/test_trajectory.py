"""Corrections as data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.trajectory import tail_shifts


def test_each_correction_moves_the_tail_and_builds_on_the_one_before():
    plan = np.zeros((4, 2))
    deltas = np.array([[1.0, 0.0], [0.0, 2.0]])
    sequence = core.CorrectionSequence.from_deltas(plan, deltas, onsets=[1, 3])
    np.testing.assert_array_equal(sequence.corrected[0], [[0, 0], [1, 0], [1, 0], [1, 0]])
    np.testing.assert_array_equal(sequence.corrected[1], [[0, 0], [1, 0], [1, 0], [1, 2]])
    np.testing.assert_array_equal(sequence.displacements.sum(axis=0), sequence.corrected[-1])


@given(
    arrays(np.float64, st.tuples(st.integers(2, 12), st.just(3)), elements=st.floats(-1.0, 1.0)),
    arrays(np.float64, (4, 3), elements=st.floats(0.01, 0.1)),
    st.lists(st.integers(0, 11), min_size=4, max_size=4),
)
def test_profiles_are_read_off_the_displacements(plan, deltas, onsets):
    onsets = sorted(min(onset, len(plan) - 1) for onset in onsets)
    made = core.CorrectionSequence.from_deltas(plan, deltas, onsets)
    bare = core.CorrectionSequence(plan=made.plan, corrected=made.corrected)
    np.testing.assert_array_equal(bare.resolved_profiles(), tail_shifts(onsets, len(plan)))


def test_a_correction_that_moves_nothing_has_the_next_onset():
    plan = np.linspace((0, 0), (1, 1), 5)
    moved = plan + np.array([0.0, 0.1, 0.1, 0.1, 0.1])[:, None]
    sequence = core.CorrectionSequence(plan=plan, corrected=np.array([moved, moved, moved]))
    np.testing.assert_array_equal(sequence.resolved_profiles(), tail_shifts([1, 2, 3], 5))


def test_appending_keeps_what_was_there():
    plan = np.zeros((4, 3))
    first = core.CorrectionSequence.from_deltas(plan, [[0.1, 0.0, 0.0]], onsets=[2])
    trajectory = first.corrected[-1] + tail_shifts([3], 4)[0][:, None] * 0.05
    both = first.appended(trajectory)
    assert len(both) == 2
    np.testing.assert_array_equal(both.corrected[0], first.corrected[0])
    np.testing.assert_array_equal(both.resolved_profiles(), tail_shifts([2, 3], 4))


def test_arrays_cannot_be_changed():
    sequence = core.CorrectionSequence.from_deltas(np.zeros((3, 1)), [[1.0]])
    with pytest.raises(ValueError, match='read-only'):
        sequence.corrected[0, 0, 0] = 5.0


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        ({'plan': np.zeros((3, 2)), 'corrected': np.zeros((0, 3, 2))}, 'empty'),
        ({'plan': np.zeros((3, 2)), 'corrected': np.zeros((1, 4, 2))}, r'expected \(any, 3, 2\)'),
        ({'plan': np.zeros(3), 'corrected': np.zeros((1, 3))}, 'shape'),
        ({'plan': np.zeros((3, 2)), 'corrected': np.full((1, 3, 2), np.nan)}, 'finite'),
        ({'plan': 'plan', 'corrected': np.zeros((1, 3, 2))}, 'not an array of numbers'),
        (
            {'plan': np.zeros((2, 1)), 'corrected': np.ones((1, 2, 1)), 'profiles': [[0, 0]]},
            'zeros',
        ),
    ],
)
def test_bad_corrections_are_refused_in_words(arguments, said):
    with pytest.raises(InvalidInputError, match=said):
        core.CorrectionSequence(**arguments)


def test_an_onset_that_is_no_waypoint_is_refused():
    with pytest.raises(InvalidInputError, match='0 to 2'):
        core.CorrectionSequence.from_deltas(np.zeros((3, 1)), [[1.0]], onsets=[3])
