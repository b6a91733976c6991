"""The paper's working example: exact normalizers, and what its figures claim."""

import numpy as np
import pytest

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.experiments import working_example as example
from reward_learning_ros.experiments.working_example import working_example


@pytest.fixture(scope='module')
def result():
    return working_example(runs=20, seed=0)


def closed_form_belief(beta, angle):
    """Return P(θ = 0 | ξ) with the integrals of both exponentials done by hand."""
    horizontal = np.exp(-5 * beta) * (1 - np.exp(-5 * beta * np.pi / 2)) / (5 * beta)
    vertical = (1 - np.exp(-beta * np.pi / 2)) / beta
    first = np.exp(-5 * beta * (angle + 1)) / horizontal
    second = np.exp(-beta * (np.pi / 2 - angle)) / vertical
    return first / (first + second)


def test_ignoring_is_off_by_what_the_integrals_say(result):
    for beta, errors in zip(example.SHOWN_BETAS, result.ignore, strict=True):
        angle = result.angles_rad
        ignored = 1 / (1 + np.exp(beta * (5 * (angle + 1) - (np.pi / 2 - angle))))
        expected = np.abs(ignored - closed_form_belief(beta, angle))
        np.testing.assert_allclose(errors, expected, atol=1e-9)


def test_who_ignores_never_believes_in_a_horizontal_cup(result):
    # Figure 2, left: a person who shows the horizontal cup (ξ = 0) is not understood at all.
    assert result.ignore[-1, 0] > 0.999


def test_sampling_converges(result):
    means = result.sampling_by_count[:, 0]
    assert means[-1] < 0.02 < 0.1 < means[0]


def test_the_maximum_converges_on_average_but_not_at_the_worst_demonstration():
    result = working_example(runs=2, seed=0)
    largest_first = result.maximum_by_beta[np.argmax(result.maximum_by_beta) :]
    assert (np.diff(largest_first) < 0.0).all()
    assert largest_first[-1] < 0.002
    # Z is e^{βR*} / (β slope), and the slopes of the two rewards differ by a factor of 5 whatever
    # β is: where the belief is even, it stays wrong by up to 0.38.
    odds = np.log(5.0)
    worst = 1 / (1 + np.exp(-odds / 2)) - 1 / (1 + np.exp(odds / 2))
    assert result.close_up_maximum[1].max() == pytest.approx(worst, abs=0.01)


def test_sampling_is_better_for_small_beta_and_the_maximum_for_large(result):
    sampling, maximum = result.compared_sampling[:, 0], result.compared_maximum
    assert sampling[1] < maximum[1]
    assert maximum[-1] < sampling[-1]


def test_the_same_seed_gives_the_same_numbers():
    one, two, other = (list(working_example(runs=3, seed=seed).rows()) for seed in (1, 1, 2))
    assert one == two
    assert one != other


def test_every_row_of_sampling_has_its_uncertainty(result):
    sampled = [row for row in result.rows() if row['method'] == 'sampling']
    assert sampled
    assert all(row['standard_error'] > 0.0 or row['belief_error'] < 1e-9 for row in sampled)


def test_one_run_has_no_uncertainty_and_is_refused():
    with pytest.raises(InvalidInputError, match='runs'):
        working_example(runs=1)
