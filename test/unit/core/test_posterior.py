"""What a posterior says of itself."""

import subprocess
import sys

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.posterior import (
    bulk_sample_size,
    convergence_statistics,
    effective_sample_size,
    rank_r_hat,
    split_r_hat,
)


def autoregressive(count, length, memory, rng):
    noise = rng.normal(size=(count, length))
    chains = np.empty_like(noise)
    chains[:, 0] = noise[:, 0]
    for step in range(1, length):
        chains[:, step] = memory * chains[:, step - 1] + noise[:, step]
    return chains


def posterior(chains, beta=None, **options):
    betas = np.full(chains.shape[:2], 5.0) if beta is None else beta
    names = tuple('abcdef'[: chains.shape[2]])
    return core.Posterior(
        chains=chains, beta_chains=betas, feature_names=names, method='double_mh', **options
    )


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize('memory', [0.0, 0.5, 0.9, 0.98])
def test_the_quick_figures_agree_with_arviz(memory, rng):
    import arviz

    chains = autoregressive(4, 1000, memory, rng)
    assert split_r_hat(chains) == pytest.approx(
        float(arviz.rhat(chains, method='split')), abs=1e-3
    )
    expected = float(arviz.ess(chains, method='mean'))
    assert effective_sample_size(chains) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize('decimals', [1, 12])
def test_ranks_are_those_of_arviz_also_with_ties_and_long_tails(decimals, rng):
    import arviz

    chains = np.exp(2.0 * autoregressive(4, 500, 0.7, rng)).round(decimals)
    assert rank_r_hat(chains) == pytest.approx(float(arviz.rhat(chains)), abs=1e-9)
    assert bulk_sample_size(chains) == pytest.approx(float(arviz.ess(chains)), rel=0.02)


@pytest.mark.parametrize('memory', [-0.9, 0.0, 0.7, 0.98])
@pytest.mark.parametrize('shape', [(2, 4), (2, 9), (4, 25), (1, 200), (4, 1000)])
def test_what_is_reported_is_what_arviz_reports(memory, shape, rng):
    import arviz

    chains = autoregressive(*shape, memory, rng)
    for draws in (chains, np.exp(2.0 * chains).round(1), np.where(chains > 1.0, 1.0, 0.0)):
        with np.errstate(all='ignore'):
            expected = (
                float(arviz.rhat(draws)),
                float(arviz.ess(draws, method='bulk')),
                float(arviz.ess(draws, method='tail')),
            )
        np.testing.assert_allclose(convergence_statistics(draws), expected, rtol=1e-9)


def test_of_few_draws_or_draws_that_are_no_number_nothing_is_reported(rng):
    for chains in (rng.normal(size=(2, 3)), np.array([[0.0, np.nan, 1.0, 2.0]] * 2)):
        assert np.isnan(convergence_statistics(chains)).all()


def test_chains_of_different_spread_are_noticed(rng):
    chains = rng.normal(size=(4, 500)) * np.array([[1.0], [1.0], [1.0], [3.0]])
    assert split_r_hat(chains) < 1.01
    assert rank_r_hat(chains) > 1.05


def test_chains_that_disagree_are_noticed(rng):
    chains = rng.normal(size=(4, 500)) + 3.0 * np.arange(4)[:, None]
    assert split_r_hat(chains) > 1.5
    assert effective_sample_size(chains) < 10
    found = posterior(np.stack([chains, chains], axis=2))
    assert not found.is_trustworthy
    assert 'disagree' in ' '.join(found.warnings)


def test_constant_chains_do_not_divide_by_zero():
    assert split_r_hat(np.ones((2, 10))) == 1.0
    assert split_r_hat(np.stack([np.zeros(10), np.ones(10)])) == np.inf
    assert effective_sample_size(np.ones((2, 10))) == 20


def test_mean_interval_and_table_agree_with_the_draws(rng):
    chains = rng.normal(size=(2, 400, 3))
    found = posterior(chains)
    np.testing.assert_allclose(found.mean, chains.reshape(-1, 3).mean(axis=0))
    low, high = found.interval(0.9)
    inside = (found.samples >= low) & (found.samples <= high)
    np.testing.assert_allclose(inside.mean(axis=0), 0.9, atol=0.01)
    np.testing.assert_allclose(found.table()[0, :3], found.mean)
    np.testing.assert_allclose(found.table()[[2, 4], :3], [low, high])


def test_the_summary_names_every_feature_and_whether_beta_was_given(rng):
    fixed = posterior(rng.normal(size=(2, 400, 2))).summary()
    inferred = posterior(rng.normal(size=(2, 400, 2)), rng.uniform(1, 2, (2, 400))).summary()
    for text in (fixed, inferred):
        assert text.splitlines()[1].startswith('a')
        assert 'r_hat' in text
    assert 'fixed' in fixed
    assert 'fixed' not in inferred


def test_draws_become_inference_data_with_named_features(rng):
    chains = rng.normal(size=(2, 50, 3))
    data = posterior(chains, rng.uniform(1, 2, (2, 50))).to_arviz()
    np.testing.assert_array_equal(data.posterior['theta'].values, chains)
    assert list(data.posterior['feature'].values) == ['a', 'b', 'c']
    assert data.posterior['beta'].shape == (2, 50)


def test_few_effective_draws_stuck_auxiliaries_and_poor_cover_are_said(rng):
    few = posterior(autoregressive(2, 200, 0.99, rng)[:, :, None] * np.ones(2))
    assert 'effective draws' in ' '.join(few.warnings)
    stuck = posterior(rng.normal(size=(4, 500, 2)), sampling={'stuck_auxiliaries': 0.5})
    assert 'never moved' in ' '.join(stuck.warnings)
    poor = posterior(
        rng.normal(size=(4, 500, 2)), sampling={'ensemble_jumps': 0.9, 'effective_members': 1.1}
    )
    assert 'hardly covers' in ' '.join(poor.warnings)
    good = posterior(
        rng.normal(size=(4, 500, 2)), sampling={'ensemble_jumps': 0.9, 'effective_members': 30.0}
    )
    assert good.is_trustworthy


def test_relevance_falls_with_beta(rng):
    chains = np.tile([0.6, 0.8], (4, 500, 1)) + 1e-3 * rng.normal(size=(4, 500, 2))
    spread = np.diag([0.1, 0.1, 0.0])
    explained = posterior(chains, rng.uniform(20, 30, (4, 500)), reward_spread=spread)
    random = posterior(chains, rng.uniform(0.1, 0.2, (4, 500)), reward_spread=spread)
    assert explained.relevance == 1.0
    assert random.relevance == 0.0
    assert 'hardly explain' in ' '.join(random.warnings)
    assert np.isnan(posterior(chains, reward_spread=spread).relevance)


def test_draws_cannot_be_changed(rng):
    with pytest.raises(ValueError, match='read-only'):
        posterior(rng.normal(size=(2, 20, 2))).chains[0, 0, 0] = 1.0


def test_the_export_to_arviz_prints_nothing():
    # In a process of its own: ArviZ warns where it is imported first.
    program = (
        'import numpy as np\n'
        'from reward_learning_ros import core\n'
        'core.Posterior(chains=np.zeros((2, 4, 1)), beta_chains=np.ones((2, 4)),\n'
        "    method='double_mh', feature_names=('a',)).to_arviz()\n"
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, '', '')
