"""What was understood is said only where the intervals support it."""

from __future__ import annotations

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.interface import ThetaSummary
from reward_learning_ros.session.understanding import (
    NOTHING,
    learned_share,
    prior_of,
    understood,
)


def summary_of(samples: np.ndarray, features: tuple[str, ...]) -> ThetaSummary:
    return ThetaSummary(
        features=features,
        mean=samples.mean(axis=0),
        sd=samples.std(axis=0),
        quantiles=np.quantile(samples, [0.05, 0.5, 0.95], axis=0),
    )


@pytest.fixture(scope='module')
def press() -> core.Task:
    return core.load_task('press')


@pytest.mark.parametrize('name', ['press', 'reach', 'cup', 'serve', 'published_press'])
def test_of_the_prior_nothing_is_understood(name: str) -> None:
    task = core.load_task(name)
    prior = prior_of(task)
    assert prior.features == task.feature_names
    assert understood(prior, prior, task=name, change=np.ones(task.size)) == NOTHING
    assert learned_share(prior, prior) == 0.0
    drawn = summary_of(task.theta.sample(20000, np.random.default_rng(0)), task.feature_names)
    np.testing.assert_allclose(drawn.table, prior.table, atol=0.02)


@pytest.mark.parametrize('seed', range(20))
def test_a_claim_is_made_just_where_the_interval_excludes_the_mean_of_the_prior(
    press: core.Task, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    prior = prior_of(press)
    center, spread = rng.random(press.size), rng.uniform(0.01, 0.3, press.size)
    theta = summary_of(center + spread * rng.standard_normal((500, press.size)), prior.features)
    text = understood(prior, theta)
    low, _, high = theta.quantiles
    for index, name in enumerate(press.feature_names):
        grown, shrunk = low[index] > prior.mean[index], high[index] < prior.mean[index]
        assert (f'{name} matters ' in text) == (grown or shrunk)
        claim = next((part for part in text.split('; ') if part.startswith(name)), '')
        assert (' more than before' in claim) == grown
        assert (' less than before' in claim) == shrunk
    assert (text == NOTHING) == ('matters' not in text)
    # The claim that says most comes first.
    shifts = np.abs(theta.mean - prior.mean) / prior.sd
    order = [press.feature_names.index(part.split()[0]) for part in text.split('; ') if 'm' in part
             and part != NOTHING]  # fmt: skip
    assert order == sorted(order, key=lambda index: -shifts[index])


def known(prior: ThetaSummary, mean: list[float]) -> ThetaSummary:
    values = np.array(mean)
    return ThetaSummary(
        features=prior.features,
        mean=values,
        sd=np.full(len(values), 0.01),
        quantiles=values + np.array([[-0.02], [0.0], [0.02]]),
    )


def test_what_the_plan_does_is_told_only_if_it_does_so(press: core.Task) -> None:
    prior = prior_of(press)
    theta = known(prior, [prior.mean[0], prior.mean[1], 0.95, 0.05])
    change = np.array([0.0, 0.0, 0.1, 0.0])
    assert set(understood(prior, theta, task='press', change=change).split('; ')) == {
        'goes further around the obstacle',
        'length matters less than before',
    }
    for other in (-change, 0.1 * change, None):
        assert 'obstacle matters much more' in understood(prior, theta, task='press', change=other)
    # A feature of the same name in a task that is not ours may measure anything.
    assert 'further' not in understood(prior, theta, task='mine', change=change)


def test_a_weight_below_zero_matters_too() -> None:
    domain = core.ThetaDomain(kind='unit', size=2)
    prior = summary_of(domain.quasi_random(4096), ('left', 'up'))
    assert understood(prior, known(prior, [-0.99, 0.0])) == 'wants less of left than before'


def test_how_much_was_learned_goes_from_nothing_to_all(press: core.Task) -> None:
    prior = prior_of(press)
    shares = []
    for scale in (1.0, 0.5, 0.1, 0.0):
        theta = ThetaSummary(
            features=prior.features,
            mean=prior.mean,
            sd=scale * prior.sd,
            quantiles=prior.quantiles,
        )
        shares.append(learned_share(prior, theta))
    np.testing.assert_allclose(shares, [0.0, 0.75, 0.99, 1.0])
