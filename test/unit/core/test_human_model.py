"""What the model of the person makes of corrections."""

import warnings

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.human_model import (
    HumanModel,
    InadmissibleCorrectionWarning,
    gather_evidence,
)
from reward_learning_ros.core.samplers.kernels import load, make_scratch


@pytest.mark.parametrize('name', ['press', 'reach'])
def test_dependent_statistics_are_discounted_features_and_effort(name, corrections_of):
    task = core.load_task(name)
    sequence = corrections_of(task, count=4)
    model = HumanModel(dependence='dependent', gamma=0.9, effort=0.5)
    evidence = gather_evidence(task, sequence, model)
    features = task.evaluate(sequence.corrected)
    expected = sum(0.9 ** (3 - i) * features[i] for i in range(4))
    steps = np.diff(sequence.corrected, axis=0, prepend=sequence.plan[None])
    np.testing.assert_allclose(evidence.blocks[0].statistics[:-1], expected, atol=1e-12)
    np.testing.assert_allclose(evidence.blocks[0].statistics[-1], -0.5 * (steps**2).sum())


@pytest.mark.parametrize('dependence', ['dependent', 'independent'])
@pytest.mark.parametrize('name', ['press', 'reach', 'cup'])
def test_kernels_see_the_same_statistics_as_the_data(name, dependence, corrections_of):
    task = core.load_task(name)
    sequence = corrections_of(task)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        evidence = gather_evidence(task, sequence, HumanModel(dependence=dependence, gamma=0.8))
    assert evidence.outside == 0
    for block in evidence.blocks:
        space = evidence.spaces[block.space]
        scratch = make_scratch(space, task.size)
        assert load(task.compiled_features, space, scratch, block.deltas)
        np.testing.assert_allclose(scratch.statistics, block.statistics, atol=1e-12)


def test_independent_trajectories_share_one_space(corrections_of):
    task = core.load_task('press')
    evidence = gather_evidence(task, corrections_of(task, 5), HumanModel(dependence='independent'))
    assert len(evidence.blocks) == 5
    assert len(evidence.spaces) == 1


def test_sequences_of_different_plans_have_spaces_of_their_own(corrections_of):
    task = core.load_task('press')
    first = corrections_of(task, 2)
    replanned = core.CorrectionSequence.from_deltas(task.plan + 0.01, [[0.05, 0.0, 0.0]], [3])
    evidence = gather_evidence(task, [first, replanned], HumanModel())
    assert len(evidence.spaces) == 2
    assert evidence.corrections == 3


def test_a_correction_equal_to_the_plan_is_data():
    task = core.load_task('press')
    sequence = core.CorrectionSequence(plan=task.plan, corrected=task.plan[None])
    evidence = gather_evidence(task, sequence, HumanModel())
    assert evidence.outside == 0
    np.testing.assert_allclose(evidence.blocks[0].deltas, 0.0)


@pytest.mark.parametrize('name', ['press', 'reach'])
def test_a_correction_outside_the_space_is_used_counted_and_said(name):
    task = core.load_task(name)
    deltas = np.zeros((3, 3))
    deltas[1] = 0.4
    sequence = core.CorrectionSequence.from_deltas(task.plan, deltas)
    with pytest.warns(InadmissibleCorrectionWarning, match='1 of 3|2 of 3'):
        evidence = gather_evidence(task, sequence, HumanModel(effort=0.0, gamma=1.0))
    block = evidence.blocks[0]
    np.testing.assert_allclose(
        block.statistics[:-1], task.evaluate(sequence.corrected).sum(axis=0), atol=1e-12
    )
    space = evidence.spaces[0]
    assert load(task.compiled_features, space, make_scratch(space, task.size), block.deltas)


def test_the_start_of_an_auxiliary_is_the_nearest_admissible_neighbour():
    task = core.load_task('press')
    deltas = np.array([[0.3, -0.02, 0.0]])
    with pytest.warns(InadmissibleCorrectionWarning):
        evidence = gather_evidence(
            task, core.CorrectionSequence.from_deltas(task.plan, deltas), HumanModel()
        )
    np.testing.assert_allclose(evidence.blocks[0].deltas, [[0.1, -0.02, 0.0]])


@pytest.mark.parametrize('corrections', [[], (), None, 'corrections', [np.zeros((8, 3))]])
def test_what_are_no_corrections_is_refused(corrections):
    with pytest.raises(InvalidInputError, match='CorrectionSequence'):
        gather_evidence(core.load_task('press'), corrections, HumanModel())


def test_corrections_of_another_task_are_refused(corrections_of):
    with pytest.raises(InvalidInputError, match=r'\(8, 3\)'):
        gather_evidence(
            core.load_task('press'), corrections_of(core.load_task('cup')), HumanModel()
        )


def test_unknown_dependence_and_odd_numbers_are_refused():
    with pytest.raises(UnknownNameError, match='dependent, independent'):
        HumanModel(dependence='both')
    with pytest.raises(InvalidInputError, match='gamma'):
        HumanModel(gamma=1.5)
    with pytest.raises(InvalidInputError, match='effort'):
        HumanModel(effort=-1.0)
