"""What a waypoint without a push says."""

import itertools

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.human_model import HumanModel, gather_evidence
from reward_learning_ros.core.samplers.ensemble import Ensemble
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform
from reward_learning_ros.core.samplers.kernels import KINDS, advance, load, make_scratch
from reward_learning_ros.core.trajectory import PUSHED, SILENT, UNKNOWN


def target_features(trajectory):
    """How near the last waypoint is to 0.6, and how short the way there is."""
    last = trajectory[2, 0]
    return -((last - 0.6) ** 2), -abs(trajectory[1, 0])


def small_task() -> core.Task:
    """Two free waypoints on a line: the passes of it can be integrated on a grid."""
    return core.Task(
        name='small',
        feature_names=('near', 'short'),
        features=target_features,
        plan=np.zeros((3, 1)),
        space=core.TrajectorySpace(delta_low=[-1.0], delta_high=[1.0]),
        axis_names=('x',),
    )


def space_of(task, sequence, **model):
    return gather_evidence(task, sequence, HumanModel(**model)).spaces[0]


def silent_pass(task, plan=None):
    shown = task.plan if plan is None else plan
    return core.CorrectionSequence.from_pass(shown, np.zeros_like(shown[1:]))


def test_a_pass_tells_pushed_silent_and_unknown_waypoints_apart():
    plan = np.zeros((5, 2))
    deltas = np.array([[0.1, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.2]])
    sequence = core.CorrectionSequence.from_pass(plan, deltas, [PUSHED, SILENT, UNKNOWN, PUSHED])
    assert sequence.is_push.tolist() == [True, False, True]
    assert np.argmax(sequence.resolved_profiles() != 0.0, axis=1).tolist() == [1, 2, 4]
    np.testing.assert_allclose(sequence.corrected[-1][:, 1], [0, 0, 0, 0, 0.2])
    pushes = sequence.only_pushes()
    np.testing.assert_allclose(pushes.corrected, sequence.corrected[[0, 2]])
    assert silent_pass(small_task()).only_pushes() is None


@pytest.mark.parametrize(
    ('states', 'text'),
    [
        ([SILENT, PUSHED], 'not zero'),
        ([PUSHED, 'asleep'], 'asleep'),
        ([PUSHED], '2 deltas and 1 states'),
        ([UNKNOWN, UNKNOWN], 'not zero'),
    ],
)
def test_a_pass_that_contradicts_itself_is_refused(states, text):
    with pytest.raises(RewardLearningError, match=text):
        core.CorrectionSequence.from_pass(np.zeros((3, 1)), [[0.1], [0.0]], states)


def test_a_pass_of_which_nothing_is_known_is_refused():
    with pytest.raises(RewardLearningError, match='nothing is known'):
        core.CorrectionSequence.from_pass(np.zeros((3, 1)), np.zeros((2, 1)), [UNKNOWN] * 2)


def test_only_an_atom_has_a_statistic_of_pushes():
    task = small_task()
    sequence = core.CorrectionSequence.from_pass(task.plan, [[0.2], [0.0]])
    blocks = {
        silence: gather_evidence(task, sequence, HumanModel(silence=silence)).blocks[0]
        for silence in ('zero', 'left_out', 'atom')
    }
    features = task.evaluate(sequence.corrected)
    np.testing.assert_allclose(blocks['zero'].statistics, [*features.sum(axis=0), -2 * 0.2**2])
    np.testing.assert_allclose(blocks['left_out'].statistics, [*features[0], -2 * 0.2**2])
    np.testing.assert_allclose(blocks['atom'].statistics, [*blocks['zero'].statistics, -1.0])


def test_independent_demonstrations_have_no_atom():
    with pytest.raises(RewardLearningError, match='independent'):
        HumanModel(dependence='independent', silence='atom')


def test_without_wishes_every_waypoint_is_silent_with_even_odds():
    task = small_task()
    space = space_of(task, silent_pass(task), silence='atom')
    count = sized(8000, 400)
    deltas, statistics = np.zeros((count, 2, 1)), np.zeros((count, 4))
    rng = np.random.default_rng(0)
    scratch = make_scratch(space, 2)
    assert fill_uniform(task.compiled_features, space, scratch, deltas, statistics, rng)
    silent = (deltas[:, :, 0] == 0.0).mean(axis=0)
    np.testing.assert_allclose(silent, 0.5, atol=4 * 0.5 / np.sqrt(count))
    np.testing.assert_array_equal(statistics[:, 3], -(deltas[:, :, 0] != 0.0).sum(axis=1))


def all_passes():
    """Return statistics (N, 4) of all passes of the small task, and the log of their weights.

    In the order of the patterns: nothing, a push at the second, at the first, at both.
    """
    nodes = np.linspace(-1.0, 1.0, 161)
    statistics, log_weights = [], []
    for pattern in itertools.product([False, True], repeat=2):
        first = nodes if pattern[0] else np.zeros(1)
        second = nodes if pattern[1] else np.zeros(1)
        d1, d2 = (axis.ravel() for axis in np.meshgrid(first, second, indexing='ij'))
        near = -((d1 - 0.6) ** 2) - (d1 + d2 - 0.6) ** 2
        pushes = np.full(len(d1), -float(sum(pattern)))
        statistics.append(np.column_stack([near, -2 * np.abs(d1), -(2 * d1**2 + d2**2), pushes]))
        log_weights.append(np.full(len(d1), -np.log(len(d1))))
    return statistics, log_weights


def exact_patterns(eta):
    """Return the probability (4,) of each pattern of pushes, by integration on a grid."""
    weights = [np.exp(t @ eta + w).sum() for t, w in zip(*all_passes(), strict=True)]
    return np.array(weights) / np.sum(weights)


def exact_mean(data, beta, alpha, bothers):
    """Return the posterior mean of θ (2,) and of κ, for passes from the initial plan.

    Args:
        data: (4,) statistics of all passes together, and how many they are.
        beta: The person's rationality.
        alpha: The scale of effort.
        bothers: Values of κ that are as likely as each other.
    """
    total, count = data
    statistics, log_weights = (np.concatenate(parts) for parts in all_passes())
    angles = (np.arange(60) + 0.5) / 60 * np.pi / 2
    grid = [(angle, bother) for angle in angles for bother in bothers]
    etas = np.array([[beta * np.cos(a), beta * np.sin(a), alpha, k] for a, k in grid])
    log_normalizers = [np.log(np.exp(statistics @ eta + log_weights).sum()) for eta in etas]
    log_probability = etas @ total - count * np.array(log_normalizers)
    probability = np.exp(log_probability - log_probability.max())
    probability /= probability.sum()
    return probability @ (etas[:, :2] / beta), float(probability @ etas[:, 3])


@pytest.mark.parametrize('bother', [-1.0, 1.5])
def test_the_inner_sampler_draws_silence_as_often_as_the_model_says(bother):
    task = small_task()
    space = space_of(task, silent_pass(task), silence='atom')
    eta = np.array([4.0, 2.0, 1.0, bother])
    scratch = make_scratch(space, 2)
    load(task.compiled_features, space, scratch, np.zeros((2, 1)))
    counts = np.zeros((KINDS, 2), dtype=np.int64)
    rng = np.random.default_rng(1)
    rounds = sized(20000, 600)
    seen = np.zeros((2, 2))
    for _ in range(rounds):
        advance(task.compiled_features, space, scratch, eta, 20, 0.3, rng, counts)
        first, second = (scratch.deltas[:, 0] != 0.0).astype(int)
        seen[first, second] += 1
    assert scratch.statistics[3] == -(scratch.deltas != 0.0).sum()
    exact = exact_patterns(eta)
    # Draws are not quite independent.
    spread = 3.0 * np.sqrt(exact * (1 - exact) / rounds)
    np.testing.assert_array_less(np.abs(seen.ravel() / rounds - exact), 4 * spread + 1e-3)


@pytest.mark.parametrize('method', ['double_mh', 'tabulated'])
@pytest.mark.parametrize(
    ('alpha', 'bother'), [(None, 1.0), (2.0, -2.0), (2.0, core.BotherPrior(low=-3.0, high=3.0))]
)
def test_the_exact_posterior_is_found_where_silence_is_an_atom(method, alpha, bother):
    if sized(1, 0) == 0:
        pytest.skip('takes compiled code')
    task = small_task()
    passes = [
        core.CorrectionSequence.from_pass(task.plan, [[0.5], [0.0]]),
        core.CorrectionSequence.from_pass(task.plan, [[0.0], [0.4]]),
        silent_pass(task),
    ]
    posterior = core.infer(
        task,
        passes,
        beta=6.0,
        alpha=alpha,
        silence='atom',
        bother=bother,
        method=method,
        seed=3,
        settings=core.Settings(target_ess=2000.0),
    )
    model = HumanModel(silence='atom')
    blocks = gather_evidence(task, passes, model).blocks
    inferred = isinstance(bother, core.BotherPrior)
    theta, kappa = exact_mean(
        (np.sum([block.statistics for block in blocks], axis=0), len(passes)),
        6.0,
        6.0 if alpha is None else alpha,
        np.linspace(-3.0, 3.0, 25) if inferred else [bother],
    )
    # Three passes share one table, whose error counts three times.
    allowed = 0.035 if method == 'tabulated' else 0.02
    np.testing.assert_allclose(posterior.mean, theta, atol=allowed)
    assert posterior.others['bother'].mean() == pytest.approx(kappa, abs=0.15)


def test_an_accepted_pass_sharpens_theta_only_where_silence_is_an_atom():
    if sized(1, 0) == 0:
        pytest.skip('takes compiled code')
    task = core.load_task('press').softened(0.01)
    plans = np.stack([core.plan(task, wish) for wish in ([0.5, 0.5, 0.5, 0.5], *np.eye(4) + 0.1)])
    features = task.evaluate(plans)
    accepted = [silent_pass(task, plans[0])] * 2
    samples = {'prior': task.theta.sample(4000, np.random.default_rng(0))}
    for silence in ('left_out', 'atom'):
        # A person who is known to push where it matters.
        options = {**core.PASS_MODEL, 'silence': silence, 'bother': core.BotherPrior(high=0.0)}
        settings = core.Settings(warmup=400, target_ess=200.0)
        samples[silence] = core.infer(task, accepted, seed=0, settings=settings, **options).samples
    spread = {name: draws.var(axis=0).sum() for name, draws in samples.items()}
    # What the accepted plan lacks of the best of the five, for whom it might have been.
    lack = {
        name: ((draws @ features.T).max(axis=1) - draws @ features[0]).mean()
        for name, draws in samples.items()
    }
    assert spread['left_out'] == pytest.approx(spread['prior'], rel=0.15)
    assert lack['left_out'] == pytest.approx(lack['prior'], rel=0.2)
    assert spread['atom'] < 0.9 * spread['prior']
    assert lack['atom'] < 0.8 * lack['prior']


def test_a_person_who_need_not_push_is_silent_where_it_is_not_worth_it():
    task = small_task()
    sequences = [
        core.simulate_corrections(task, [1.0, 0.0], beta=20.0, count=2, bother=bother, seed=seed)
        for bother in (-5.0, 4.0)
        for seed in range(sized(12, 3))
    ]
    pushes = np.array([sequence.is_push.sum() for sequence in sequences])
    half = len(pushes) // 2
    assert pushes[:half].mean() > pushes[half:].mean()
    for sequence in sequences:
        moved = np.abs(sequence.displacements).max(axis=(1, 2)) > 0.0
        np.testing.assert_array_equal(moved, sequence.is_push)


@pytest.mark.parametrize('method', ['ignore', 'sampling', 'maximum', 'double_mh', 'tabulated'])
def test_every_method_takes_passes_with_silence(method, quick):
    task = small_task()
    passes = [core.CorrectionSequence.from_pass(task.plan, [[0.5], [0.0]]), silent_pass(task)]
    posterior = core.infer(
        task, passes, method=method, silence='atom', alpha='infer', seed=0, settings=quick
    )
    assert np.isfinite(posterior.mean).all()
    assert set(posterior.others) == {'alpha', 'bother'}
    assert posterior.configuration['silence'] == 'atom'


def test_the_recommended_model_learns_from_passes_of_every_kind_of_task(quick):
    reach = core.load_task('reach').softened(core.MOTOR_NOISE_M)
    posterior = core.infer(reach, silent_pass(reach), settings=quick, **core.pass_model(reach))
    assert posterior.configuration['silence'] == 'atom'
    assert np.isfinite(posterior.mean).all()


def test_an_ensemble_knows_people_who_always_push_and_people_who_hardly_do():
    task = small_task()
    space = space_of(task, silent_pass(task), silence='atom')
    bothers = (-6.0, 0.0, 3.0)
    ensemble = Ensemble(
        task.compiled_features,
        space,
        np.eye(2),
        2.0,
        lambda rung, radius, count: np.column_stack([np.full(count, radius), np.zeros(count)]),
        core.EnsembleSize(seeds=sized(3000, 300), members=sized(64, 8), anneal_steps=4),
        np.random.SeedSequence(1),
        bothers=bothers,
    )
    # Without a workspace there is a formula: each of two waypoints is silent or not.
    log_z = 2.0 * np.log1p(np.exp(-np.array(bothers)))
    found = ensemble.log_normalizers[:3]
    np.testing.assert_allclose(found - found[0], log_z - log_z[0], atol=sized(0.1, 0.5))
    pushes = -ensemble.members.statistics[:, -1]
    assert (pushes == 2.0).any()
    assert (pushes == 0.0).any()
