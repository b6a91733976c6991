"""Which plan is shown after a pass."""

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.replanning import choose_plan, prior_mean, unasked_plan


def ends(trajectory):
    """Where the way ends, on the right and on the left."""
    last = trajectory[1, 0]
    return last, -0.5 * last - 0.25 * last**2


@pytest.fixture(scope='module')
def task() -> core.Task:
    """Return a task where who weighs the first feature goes right, and who does not goes left."""
    return core.Task(
        name='ends',
        feature_names=('right', 'left'),
        features=ends,
        plan=np.zeros((2, 1)),
        space=core.TrajectorySpace(delta_low=[-1.0], delta_high=[1.0]),
        axis_names=('x',),
    )


def test_who_has_no_doubt_shows_the_plan_of_theta(task):
    theta = np.array([0.2, 0.98])
    chosen = choose_plan(task, np.tile(theta, (20, 1)), doubt=0.0)
    np.testing.assert_allclose(chosen.trajectory, core.plan(task, theta), atol=1e-3)
    assert chosen.share == 1.0
    assert chosen.risk == 0.0
    unasked = unasked_plan(task)
    gain = (task.evaluate(chosen.trajectory) - task.evaluate(unasked)) @ theta
    assert chosen.gain == pytest.approx(gain)
    assert gain > 0.0


def test_who_knows_nothing_stays_with_the_unasked_plan(task):
    draws = task.theta.sample(400, np.random.default_rng(0))
    chosen = choose_plan(task, draws)
    np.testing.assert_allclose(chosen.trajectory, unasked_plan(task), atol=0.05)


def test_a_gamble_is_taken_only_by_who_does_not_mind_losses(task):
    # Two in three want to go left, the others right.
    draws = np.array([[0.1, 0.995]] * 2 + [[0.9, 0.44]])
    bold = choose_plan(task, draws, loss_aversion=1.0, doubt=0.0)
    careful = choose_plan(task, draws, loss_aversion=1000.0, doubt=0.0)
    assert bold.share == 1.0
    assert bold.gain > 0.0
    assert bold.risk == pytest.approx(1 / 3)
    assert careful.share == 0.0
    assert careful.risk == 0.0
    np.testing.assert_array_equal(careful.trajectory, unasked_plan(task))
    np.testing.assert_array_equal(careful.theta, prior_mean(task))


def test_who_doubts_their_model_stays_with_the_unasked_plan(task):
    draws = np.tile([0.3, 0.954], (20, 1))
    assert choose_plan(task, draws, doubt=0.0).share == 1.0
    assert choose_plan(task, draws, doubt=1.0).share == 0.0


def test_who_hardly_pushes_is_doubted_more_than_who_pushes_everywhere():
    plan = np.zeros((5, 1))

    def corrected(pushes):
        deltas = np.zeros((4, 1))
        deltas[:pushes] = 0.1
        return core.CorrectionSequence.from_pass(plan, deltas)

    doubts = [core.doubt_after([corrected(pushes)]) for pushes in range(5)]
    assert doubts == sorted(doubts, reverse=True)
    assert doubts[0] > doubts[1] > doubts[2] == doubts[4]
    # Whoever pushed once means their silence afterwards.
    assert core.doubt_after([corrected(4), corrected(0)]) == doubts[4]


def test_the_same_seed_gives_the_same_plan(task):
    draws = task.theta.sample(50, np.random.default_rng(1))
    first, second = (choose_plan(task, draws, seed=2).trajectory for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_only_admissible_plans_are_chosen(task):
    def admissible(trajectories):
        return trajectories[:, 1, 0] <= 0.1

    chosen = choose_plan(task, np.tile([0.98, 0.2], (5, 1)), admissible=admissible)
    assert chosen.trajectory[1, 0] <= 0.1


@pytest.mark.parametrize(
    'options', [{'loss_aversion': 0.5}, {'doubt': 2.0}, {'draws': np.ones((3, 5))}]
)
def test_what_makes_no_sense_is_refused(task, options):
    draws = options.pop('draws', np.ones((3, 2)))
    with pytest.raises(InvalidInputError):
        choose_plan(task, draws, **options)


def test_what_a_person_who_pushed_before_let_pass_is_accepted():
    task = core.load_task('press')
    free = len(task.plan) - task.space.fixed_waypoints
    pushed = core.CorrectionSequence.from_pass(task.plan, np.full((free, 3), 0.02))
    silent = core.CorrectionSequence.from_pass(task.plan + 0.01, np.zeros((free, 3)))
    np.testing.assert_array_equal(core.accepted_plan([pushed, silent], free), task.plan + 0.01)
    # Who never pushed may not have looked, and of a part of a pass nobody knows the rest.
    assert core.accepted_plan([silent, silent], free) is None
    part = core.CorrectionSequence.from_pass(task.plan, np.zeros((1, 3)))
    assert core.accepted_plan([pushed, part], free) is None
    assert core.accepted_plan([silent, pushed], free) is None
