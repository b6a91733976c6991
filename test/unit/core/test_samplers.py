"""One contract for every sampler, in both modes of dependence."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core.inference import METHODS

DOMAINS = ['box', 'unit', 'unit_nonnegative']
# Posteriors that more than one test looks at.
KNOWN = {}


@pytest.mark.parametrize('dependence', ['dependent', 'independent'])
@pytest.mark.parametrize('method', METHODS)
class TestContract:
    def infer(self, method, dependence, quick, corrections_of, name='press', **options):
        task = core.load_task(name)
        options = {'seed': 3, 'threads': 2, **options}
        key = (method, dependence, name, *sorted(options.items()))
        if key not in KNOWN:
            KNOWN[key] = core.infer(
                task,
                corrections_of(task),
                method=method,
                dependence=dependence,
                settings=quick,
                **options,
            )
        return KNOWN[key]

    def test_draws_have_the_right_shape_and_lie_in_the_domain(
        self, method, dependence, quick, corrections_of
    ):
        posterior = self.infer(method, dependence, quick, corrections_of)
        chains, draws, size = posterior.chains.shape
        assert (chains, size) == (quick.chains, 4)
        assert quick.batch <= draws <= quick.max_draws
        assert posterior.beta_chains.shape == (chains, draws)
        domain = core.load_task('press').theta
        assert all(domain.contains(theta) for theta in posterior.samples)
        prior = core.BetaPrior()
        assert (posterior.beta_samples >= prior.low * (1 - 1e-12)).all()
        assert (posterior.beta_samples <= prior.high * (1 + 1e-12)).all()

    def test_the_same_seed_gives_the_same_draws_on_one_thread_or_two(
        self, method, dependence, quick, corrections_of
    ):
        one = self.infer(method, dependence, quick, corrections_of, threads=1)
        two = self.infer(method, dependence, quick, corrections_of)
        assert one is not two
        other = self.infer(method, dependence, quick, corrections_of, seed=4)
        np.testing.assert_array_equal(one.chains, two.chains)
        np.testing.assert_array_equal(one.beta_chains, two.beta_chains)
        assert not np.array_equal(one.chains, other.chains)

    def test_chains_move_and_differ(self, method, dependence, quick, corrections_of):
        posterior = self.infer(method, dependence, quick, corrections_of, name='cup', beta=1.0)
        assert (np.ptp(posterior.chains, axis=1) > 0).all()
        assert not np.array_equal(posterior.chains[0], posterior.chains[1])
        assert posterior.beta_is_fixed
        assert 0.0 < posterior.sampling['outer_acceptance'] <= 1.0

    @pytest.mark.parametrize('kind', DOMAINS)
    def test_every_domain_of_theta_works(self, method, dependence, kind, quick, corrections_of):
        posterior = self.infer(
            method, dependence, quick, corrections_of, name='cup', theta=kind, beta=2.0
        )
        domain = core.ThetaDomain(kind=kind, size=2)
        assert all(domain.contains(theta) for theta in posterior.samples)


@pytest.mark.parametrize('start', ['data', 'carried', 'ensemble'])
def test_every_start_of_auxiliaries_works_and_is_counted(start, quick, corrections_of):
    task = core.load_task('press')
    settings = replace(quick, auxiliary_start=start)
    posterior = core.infer(task, corrections_of(task), settings=settings, beta=5.0)
    numbers = posterior.sampling
    assert 0.0 < numbers['inner_acceptance'] < 1.0
    assert 0.0 <= numbers['stuck_auxiliaries'] < sized(50, 100) / 100
    assert (numbers['ensemble_jumps'] > 0.0) == (start == 'ensemble')


def test_auxiliaries_that_never_move_are_counted(quick, corrections_of):
    task = core.load_task('press')
    settings = replace(quick, auxiliary_start='data', inner_steps=0)
    posterior = core.infer(task, corrections_of(task), settings=settings, beta=5.0)
    assert posterior.sampling['stuck_auxiliaries'] == 1.0
    assert any('never moved' in text for text in posterior.warnings)


def test_a_prior_of_the_user_pulls_theta(quick, corrections_of):
    task = core.load_task('cup')
    sequence = corrections_of(task, 1)

    def towards_vertical(theta):
        return 200.0 * theta[1]

    flat = core.infer(task, sequence, dependence='independent', beta=0.2, settings=quick)
    pulled = core.infer(
        task,
        sequence,
        dependence='independent',
        beta=0.2,
        settings=quick,
        log_prior=towards_vertical,
    )
    assert pulled.mean[1] > 0.97 > flat.mean[1]


def test_infinite_log_priors_are_walls(quick, corrections_of):
    task = core.load_task('cup')

    def lower_half(theta):
        return 0.0 if theta[0] > theta[1] else -np.inf

    posterior = core.infer(
        task,
        corrections_of(task, 1),
        dependence='independent',
        beta=0.2,
        settings=quick,
        log_prior=lower_half,
    )
    late = posterior.chains[:, posterior.chains.shape[1] // 2 :]
    assert (late[..., 0] > late[..., 1]).all()
