"""Beliefs from tables that were made beforehand, against posteriors of what was told."""

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.belief_tables import (
    Belief,
    BeliefPoints,
    BeliefTables,
    TableMaker,
    first_corrections,
    obstacle_to_tables,
)
from reward_learning_ros.core.errors import CancelledError, InvalidInputError
from reward_learning_ros.core.human_model import HumanModel

# A prior of β that people in sessions have: next to nothing is learned from those below it.
MODEL = {'beta': core.BetaPrior(low=5.0, high=30.0), 'silence': 'atom', 'bother': 1.0}
SMALL = core.Settings(
    points=1024, ensemble=core.EnsembleSize(seeds=2048, members=8, anneal_steps=8)
)


def a_pass(deltas, plan=None):
    """Return a pass of Press with a delta at every waypoint, zero where nobody pushed."""
    return core.CorrectionSequence.from_pass(
        core.load_task('press').plan if plan is None else plan, deltas
    )


def silent(plan=None):
    return a_pass(np.zeros((7, 3)), plan)


def pushed(waypoint, delta):
    deltas = np.zeros((7, 3))
    deltas[waypoint] = delta
    return a_pass(deltas)


def made(earlier=(), settings=SMALL, seed=0, plan=None, model=MODEL):
    """Return all tables of a plan, in the order in which they are made."""
    maker = TableMaker(core.load_task('press'), model, seed=seed, settings=settings)
    points, tables = maker.points(earlier, silent(plan))
    result = BeliefTables(maker.task, HumanModel(**model), points)
    for key, table in tables.items():
        result.add(key, table)
    for key, table in maker.tables(points, silent(plan)):
        result.add(key, table)
    return result


@pytest.fixture(scope='module')
def tables():
    return made()


def test_a_belief_is_near_the_posterior_of_double_mh_for_any_number_of_corrections():
    tables = made(settings=core.Settings(points=4096, ensemble=core.EnsembleSize(seeds=6144)))
    whole = pushed(2, [0.0, -0.06, -0.03])
    for count in (3, 7):
        told = first_corrections(whole, count)
        belief = tables.belief((told,))
        posterior = core.infer(core.load_task('press'), told, seed=1, **MODEL)
        np.testing.assert_allclose(belief.mean, posterior.mean, atol=0.04)
        np.testing.assert_allclose(belief.table()[1], posterior.samples.std(axis=0), atol=0.04)


def test_tables_depend_on_the_seed_and_nothing_else(tables):
    told = pushed(3, [0.02, 0.0, -0.05])
    same, other = made().belief((told,)), made(seed=1).belief((told,))
    np.testing.assert_array_equal(tables.belief((told,)).table(), same.table())
    assert (tables.belief((told,)).mean != other.mean).any()


def test_each_number_of_corrections_has_a_table_of_its_own(tables):
    whole = pushed(0, [0.0, -0.05, 0.0])
    means = [tables.belief((first_corrections(whole, count),)).mean for count in range(1, 8)]
    assert len({mean.tobytes() for mean in means}) == 7


def test_without_a_table_there_is_no_belief(tables):
    other = np.array(core.load_task('press').plan)
    other[3:] += [0.0, 0.01, 0.0]
    assert tables.belief((silent(other),)) is None
    # A waypoint of which nothing is known.
    states = ['silent'] * 3 + ['unknown'] + ['silent'] * 3
    hole = core.CorrectionSequence.from_pass(other, np.zeros((7, 3)), states)
    assert tables.belief((hole,)) is None


def test_passes_before_count_too():
    first = pushed(1, [0.0, -0.06, -0.03])
    plan = np.array(first.corrected[-1])
    second = silent(plan)
    tables = made((first,), plan=plan)
    alone, both = tables.belief((first,)), tables.belief((first, second))
    posterior = core.infer(core.load_task('press'), (first, second), seed=1, **MODEL)
    np.testing.assert_allclose(both.mean, posterior.mean, atol=0.08)
    assert (alone.mean != both.mean).any()
    # Points were added where the passes before left θ.
    assert alone.effective_points > 500.0


def test_statistics_of_a_belief_are_those_of_its_weights():
    draws = np.array([[0.1, 2.0], [0.4, 2.0], [0.2, 2.0], [0.3, 2.0]])
    weights = np.array([0.1, 0.4, 0.2, 0.3])
    points = BeliefPoints(draws=draws, etas=draws, log_density=np.zeros(4))
    belief = Belief(points=points, weights=weights, size=1, members=1.0)
    mean = weights @ draws[:, 0]
    np.testing.assert_allclose(
        belief.table()[:, 0],
        [mean, np.sqrt(weights @ (draws[:, 0] - mean) ** 2), 0.1, 0.3, 0.4],
    )
    assert belief.effective_points == pytest.approx(1.0 / (weights @ weights))


def test_what_is_not_known_beforehand_has_no_tables():
    task = core.load_task('press')
    assert obstacle_to_tables(task, MODEL) == ''
    with pytest.raises(InvalidInputError, match='left_out'):
        TableMaker(task, {'silence': 'left_out'}, seed=0)


def test_a_wish_that_is_taken_back_ends_the_work():
    maker = TableMaker(core.load_task('press'), MODEL, seed=0, settings=SMALL)
    points, _ = maker.points((), silent())
    with pytest.raises(CancelledError):
        next(maker.tables(points, silent(), lambda: True))
