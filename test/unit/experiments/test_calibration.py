"""Simulation-based calibration, in small."""

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core import simulated_human
from reward_learning_ros.core.compiled import JIT_ENABLED
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.experiments.calibration import RANKED, Calibration, calibrate


def test_ranks_are_reproducible_and_in_range():
    humans = 4 if JIT_ENABLED else 1
    settings = core.Settings(
        warmup=80 if JIT_ENABLED else 8,
        batch=100 if JIT_ENABLED else 8,
        max_draws=100 if JIT_ENABLED else 8,
        inner_steps=2,
        ensemble=core.EnsembleSize(seeds=400, members=8, anneal_steps=2),
    )
    done = []
    one, two = (
        calibrate(
            'cup',
            humans=humans,
            count=2,
            beta='infer',
            dependence='independent',
            settings=settings,
            workers=workers,
            on_done=lambda: done.append(1),
        )
        for workers in (1, 2)
    )
    assert len(done) == 2 * humans
    assert one.names == ('horizontal', 'vertical', 'β')
    assert one.ranks.shape == (humans, 3)
    assert ((one.ranks >= 0) & (one.ranks <= RANKED)).all()
    np.testing.assert_array_equal(one.ranks, two.ranks)


def test_a_calibration_goes_on_where_it_was(tmp_path):
    quick = {
        'count': 1,
        'beta': 3.0,
        'dependence': 'independent',
        'workers': 1,
        'settings': core.Settings(
            warmup=8,
            batch=8,
            max_draws=8,
            inner_steps=1,
            ensemble=core.EnsembleSize(seeds=200, members=4, anneal_steps=2),
        ),
    }
    journal = tmp_path / 'people.jsonl'
    first = calibrate('cup', humans=2, journal=journal, **quick)
    lines = journal.read_text().splitlines()
    longer = calibrate('cup', humans=3, journal=journal, **quick)
    # The two that were done before are not done again.
    assert journal.read_text().splitlines()[: len(lines)] == lines
    assert len(journal.read_text().splitlines()) == len(lines) + 1
    np.testing.assert_array_equal(longer.ranks[:2], first.ranks)
    np.testing.assert_array_equal(longer.ranks, calibrate('cup', humans=3, **quick).ranks)
    # Another seed is another person.
    calibrate('cup', humans=1, seed=1, journal=journal, **quick)
    assert len(journal.read_text().splitlines()) == len(lines) + 2


def test_when_everybody_is_refused_the_error_says_why():
    with pytest.raises(InvalidInputError, match='nobody could be inferred from'):
        calibrate('cup', humans=1, count=1, beta=3.0, method='nothing', workers=1)


def test_expected_coverage_narrows_with_people():
    few, many = (
        Calibration(names=('a',), ranks=np.zeros((n, 1)), covered=np.zeros((n, 1)))
        for n in (200, 1000)
    )
    assert few.expected_coverage == (0.855, 0.94)
    assert many.expected_coverage[0] > few.expected_coverage[0]
    assert many.expected_coverage[1] < few.expected_coverage[1]


def test_uniform_ranks_pass_and_crooked_ones_do_not():
    rng = np.random.default_rng(0)
    uniform = rng.integers(0, RANKED + 1, (400, 1))
    crooked = (uniform * 0.8).astype(int)
    covered = np.ones_like(uniform, dtype=bool)
    p_values = [
        Calibration(names=('a',), ranks=ranks, covered=covered).p_values[0]
        for ranks in (uniform, crooked)
    ]
    assert p_values[0] > 0.01 > p_values[1]


def test_a_calibrated_sampler_is_found_to_be_one(monkeypatch):
    """The whole loop on the cup: prior, person, inference, rank."""
    # People are drawn from one angle of a cup, not from a space of twenty dimensions.
    enough = core.EnsembleSize(seeds=4096, members=96, anneal_steps=16)
    monkeypatch.setattr(simulated_human, 'SIZE', enough)
    if not JIT_ENABLED:
        humans = 2
        settings = core.Settings(
            warmup=8,
            batch=8,
            max_draws=8,
            inner_steps=1,
            ensemble=core.EnsembleSize(seeds=60, members=4, anneal_steps=1),
        )
    else:
        humans = 60
        settings = core.Settings(
            chains=2,
            warmup=300,
            batch=300,
            max_draws=300,
            ensemble=core.EnsembleSize(seeds=2000, members=64, anneal_steps=8),
        )
    result = calibrate(
        'cup',
        humans=humans,
        count=2,
        beta=3.0,
        dependence='independent',
        settings=settings,
        seed=1,
        workers=1,
    )
    if JIT_ENABLED:
        assert result.p_values.min() > 0.001
        assert (result.coverage > 0.75).all()
    assert result.ranks.shape == (humans, 2)
