"""The command that runs the paper's experiments, in small."""

import json

import pytest
from helpers.study_fixtures import keep_libraries_in

from reward_learning_ros.cli.main import main


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    keep_libraries_in(tmp_path / 'cache', monkeypatch)


def run(tmp_path, *words):
    return main(['simulate', *words, '--output', str(tmp_path / 'out'), '--format', 'svg'])


def test_figures_are_drawn_and_told(tmp_path, capsys):
    assert run(tmp_path, 'figures', '--runs', '2') == 0
    folder = tmp_path / 'out' / 'working_example'
    written = sorted(path.name for path in folder.iterdir())
    assert written == ['approximations.svg', 'rows.csv', 'sampling_or_maximum.svg']
    output = capsys.readouterr().out
    assert 'sampling, β = 1' in output
    assert str(folder / 'rows.csv') in output


def test_a_simulation_keeps_rows_tables_and_figures(tmp_path, capsys):
    words = ['push', '--humans', '3', '--budget', 'printed', '--library-size', '60', '--json']
    assert run(tmp_path, *words, '--workers', '1', '--betas', '5') == 0
    result = json.loads(capsys.readouterr().out)['simulations']
    assert {cell['method'] for cell in result['cells']} >= {'ignore', 'double_mh', 'exact'}
    assert {cell['count'] for cell in result['cells']} == {3}
    folder = tmp_path / 'out' / 'simulations-printed-task-seed0'
    assert {path.name for path in folder.iterdir()} == {
        'setup.json',
        'rows.csv',
        'timings.csv',
        'summary.csv',
        'tests.csv',
        'statistics.txt',
        'error_and_regret.svg',
    }


def test_an_unknown_experiment_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        run(tmp_path, 'juggle')
    assert caught.value.code == 2
    assert 'juggle' in capsys.readouterr().err
