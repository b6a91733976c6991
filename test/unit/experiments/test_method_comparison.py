"""What methods cost and how near they come, in small."""

import json

import numpy as np
import pytest
from helpers.study_fixtures import keep_libraries_in

from reward_learning_ros import core
from reward_learning_ros.cli.main import main
from reward_learning_ros.core.errors import UnknownNameError
from reward_learning_ros.core.reference import GridPosterior
from reward_learning_ros.experiments.method_comparison import (
    METHODS,
    compare_methods,
    comparison_text,
)
from reward_learning_ros.experiments.simulations import ExactPosterior
from reward_learning_ros.tasks import load_task


def shortened(settings):
    """Return settings with which each method takes no time."""
    return core.Settings(
        warmup=80,
        batch=200,
        max_draws=400,
        points=1024,
        samples=200,
        one_auxiliary=settings.one_auxiliary,
        screening_steps=settings.screening_steps,
        ensemble=core.EnsembleSize(seeds=2048, members=16, anneal_steps=8),
    )


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    keep_libraries_in(tmp_path / 'cache', monkeypatch)


def test_every_method_is_compared_with_the_exact_posterior_of_the_cup(tmp_path):
    journal = tmp_path / 'people.jsonl'
    options = {'humans': 2, 'settings': shortened, 'journal': journal, 'workers': 1}
    cells = compare_methods(['cup'], **options)
    assert [cell.method for cell in cells] == list(METHODS)
    found = {cell.method: cell for cell in cells}
    assert found['tabulated'].distance < found['ignore'].distance
    assert found['tabulated'].variation < 0.1 < found['ignore'].variation
    assert all(cell.people == 2 and cell.refused == 0 for cell in cells)
    assert all(cell.seconds > 0.0 for cell in cells)
    # All have the same people, so the same exact posterior.
    assert len({cell.exact_error for cell in cells}) == 1
    assert 'double_mh_screened' in comparison_text(cells)

    # Finished people are not done again.
    before = journal.read_text()
    assert compare_methods(['cup'], **options) == cells
    assert journal.read_text() == before


def test_what_is_compared_must_be_known():
    with pytest.raises(UnknownNameError, match='juggle'):
        compare_methods(['juggle'], humans=1)
    with pytest.raises(UnknownNameError, match='guess'):
        compare_methods(['cup'], humans=1, methods=['guess'])


def test_the_exact_posterior_of_a_library_has_its_mean_and_a_total_variation():
    task = load_task('push', library_size=60)
    features = np.asarray(task.library.features[:3])
    exact = ExactPosterior(task.library, task.theta, 5.0)
    grid = exact.posterior(features)
    assert isinstance(grid, GridPosterior)
    np.testing.assert_allclose(grid.mean, exact.mean(features))
    assert grid.probability.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(np.cos(grid.angle), grid.theta[:, 0])


def test_the_command_keeps_people_tables_and_a_figure(tmp_path, capsys, monkeypatch):
    few = {name: METHODS[name] for name in ('ignore', 'tabulated')}
    monkeypatch.setattr('reward_learning_ros.experiments.method_comparison.METHODS', few)
    words = ['simulate', 'methods', '--humans', '3', '--method-tasks', 'push', '--betas', '5']
    words += ['--library-size', '60', '--workers', '1', '--format', 'svg', '--json']
    assert main([*words, '--output', str(tmp_path)]) == 0
    cells = json.loads(capsys.readouterr().out)['methods']['cells']
    assert [cell['method'] for cell in cells] == ['ignore', 'tabulated']
    written = sorted(path.name for path in (tmp_path / 'methods-seed0').iterdir())
    assert written == ['accuracy_and_cost.svg', 'methods.csv', 'methods.txt', 'people.jsonl']
    assert 'Accuracy and cost' in (tmp_path / 'report.html').read_text()
