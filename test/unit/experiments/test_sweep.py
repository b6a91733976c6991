"""Sweeps: one row per inference, whatever interrupts them, wherever they run."""

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from helpers.cluster import DEADLINE_SEC, Cluster, wait_for
from helpers.published_example import write_study
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_learning_ros.cli.main import EXIT_USAGE, main
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.experiments.parameter_sweep import (
    Cell,
    grid_points,
    open_finished_cells,
    parse_grid,
    sweep,
)
from reward_learning_ros.study.statistics_tables import write_rows

# Quick ones: nothing has to be drawn for them.
GRID = ['method=ignore', 'beta=1,20', 'dependence=dependent,independent']


@pytest.fixture(scope='module')
def study(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp('study'), participants=1)


def read(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def run_sweep(study, output, *more):
    return main(['sweep', str(study), '--grid', *GRID, '--output', str(output), *more])


@pytest.fixture(scope='module')
def expected(study, tmp_path_factory):
    output = tmp_path_factory.mktemp('expected') / 'rows.csv'
    assert run_sweep(study, output, '--workers', '1') == 0
    return read(output)


def test_there_is_a_tidy_row_for_each_inference(expected):
    assert len(expected) == 3 * 4
    cells = {
        (row['participant'], row['trial'], row['beta'], row['dependence']) for row in expected
    }
    assert len(cells) == len(expected)
    assert all(row['failure'] == '' and float(row['error']) >= 0 for row in expected)
    assert {row['beta'] for row in expected} == {'1.0', '20.0'}


# The command, held for good when it has kept so many rows.
HELD = """
import signal, sys
from reward_learning_ros.cli.main import main
from reward_learning_ros.experiments.parameter_sweep import FinishedCells
add = FinishedCells.add
def add_or_wait(cells, key, row):
    add(cells, key, row)
    if len(cells.rows) == 3:
        signal.pause()
FinishedCells.add = add_or_wait
main(sys.argv[1:])
"""


def test_a_killed_sweep_goes_on_where_it_was(study, expected, tmp_path):
    output = tmp_path / 'rows.csv'
    journal = tmp_path / 'rows.csv.cells.jsonl'
    options = ['--grid', *GRID, '--output', str(output), '--workers', '1']
    process = subprocess.Popen(
        [sys.executable, '-c', HELD, 'sweep', str(study), *options], stderr=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: journal.exists() and journal.read_bytes().count(b'\n') == 4)
    finally:
        process.kill()
        process.wait(DEADLINE_SEC)
    whole = journal.read_bytes()
    assert not output.exists()
    # As if it had died in the middle of a line.
    journal.write_bytes(whole + b'{"cell": "12')
    assert run_sweep(study, output, '--workers', '1') == 0
    after = journal.read_bytes()
    assert after.startswith(whole)
    assert len(after.splitlines()) == 1 + len(expected)
    assert read(output) == expected


def test_a_finished_sweep_is_not_run_again_and_a_larger_one_runs_the_rest(tmp_path):
    runs = tmp_path / 'runs'
    runs.mkdir()
    journal = tmp_path / 'cells.jsonl'

    def cells(numbers, data=''):
        return [
            Cell(choices={'number': n}, data=data, infer=lambda n=n: noted(n)) for n in numbers
        ]

    def noted(number):
        (runs / f'{number}-{len(list(runs.iterdir()))}').touch()
        return {'square': number**2}

    first = sweep(cells([1, 2]), journal=journal, workers=1)
    done = []
    second = sweep(cells([3, 2, 1]), journal=journal, workers=1, on_done=lambda: done.append(None))
    assert second == [{'number': 3, 'failure': '', 'square': 9}, first[1], first[0]]
    assert len(done) == 3
    assert len(list(runs.iterdir())) == 3
    # Another recording under the same name is another cell.
    sweep(cells([1], data='changed'), journal=journal, workers=1)
    assert len(list(runs.iterdir())) == 4


def test_an_inference_that_fails_is_a_row_that_says_why(tmp_path):
    def fail():
        raise InvalidInputError('nothing to learn from')

    cell = Cell(choices={'participant': 'p01'}, data='', infer=fail)
    row = {'participant': 'p01', 'failure': 'nothing to learn from'}
    assert sweep([cell], workers=1) == [row]


def test_a_dask_cluster_gives_the_same_rows(study, expected, tmp_path):
    output = tmp_path / 'rows.csv'
    with Cluster(tmp_path, workers=1) as cluster:
        assert run_sweep(study, output, '--scheduler', cluster.address) == 0
    assert read(output) == expected


ROWS = st.dictionaries(
    st.text(max_size=4),
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    max_size=3,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text('abcdef', min_size=1), ROWS, max_size=4), st.floats(0.0, 1.0))
def test_finished_cells_torn_anywhere_are_those_whose_lines_are_whole(rows, share):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'cells.jsonl'
        with open_finished_cells(path) as finished:
            for key, row in rows.items():
                finished.add(key, row)
        content = path.read_bytes()
        torn = content[: round(share * len(content))]
        path.write_bytes(torn)
        kept = dict(list(rows.items())[: max(torn.count(b'\n') - 1, 0)])
        with open_finished_cells(path) as finished:
            assert finished.rows == kept
            for key in rows.keys() - kept.keys():
                finished.add(key, rows[key])
        with open_finished_cells(path) as finished:
            assert finished.rows == rows


def test_two_sweeps_cannot_write_one_table(tmp_path):
    path = tmp_path / 'cells.jsonl'
    with (
        open_finished_cells(path),
        pytest.raises(InvalidInputError, match='another sweep'),
        open_finished_cells(path),
    ):
        pass
    path.write_text('{"something": "else"}\n')
    with pytest.raises(InvalidInputError, match='cells of a sweep'), open_finished_cells(path):
        pass
    assert path.read_text() == '{"something": "else"}\n'


def test_a_grid_is_every_combination():
    grid = parse_grid(['beta=2,infer', 'method=ignore,maximum,sampling'])
    points = list(grid_points(grid, ['beta', 'method']))
    assert len(points) == 6
    assert points[0] == {'beta': '2', 'method': 'ignore'}
    assert points[-1] == {'beta': 'none', 'method': 'sampling'}
    with pytest.raises(UnknownNameError, match='beta'):
        list(grid_points(grid, ['method']))


@pytest.mark.parametrize('text', ['beta', 'beta=', '=2', 'beta=1,,2', 'beta=1,1'])
def test_a_grid_that_is_none_is_refused(text):
    with pytest.raises(InvalidInputError, match='--grid'):
        parse_grid([text])


@pytest.mark.parametrize(
    ('options', 'complaint'),
    [
        (['--grid', 'method=guess'], 'double_mh'),
        (['--grid', 'colour=red'], 'gamma'),
        (['--participants', '9'], 'there are 1'),
        (['--from-streams'], 'no samples'),
        (['--output', 'rows.txt'], '.csv'),
    ],
)
def test_a_sweep_that_cannot_be_is_refused(
    study, tmp_path, monkeypatch, capsys, options, complaint
):
    monkeypatch.chdir(tmp_path)
    assert main(['sweep', str(study), *options]) == EXIT_USAGE
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


TEXTS = st.text(st.characters(exclude_characters='\0', exclude_categories=['Cs']))


@settings(max_examples=50)
@given(
    st.lists(TEXTS.filter(bool), min_size=1, max_size=3, unique=True),
    st.lists(st.tuples(TEXTS, st.floats(allow_nan=False), st.integers()), max_size=4),
)
def test_a_table_gives_back_every_text_and_the_last_digit_of_every_number(names, values):
    rows = [dict(zip(names, row, strict=False)) for row in values]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'rows.csv'
        write_rows(rows, path)
        found = read(path)
    assert len(found) == len(rows)
    for row, expected in zip(found, rows, strict=True):
        assert list(row) == names[:3]
        for name, value in expected.items():
            assert type(value)(row[name]) == value


def test_tables_are_the_same_in_both_formats(tmp_path):
    from pyarrow import parquet

    rows = [{'a': 1, 'b': 0.1 + 0.2, 'c': 'x'}, {'a': 2, 'd': None, 'b': np.pi}]
    for name in ('rows.csv', 'rows.parquet'):
        write_rows(rows, tmp_path / name)
    first, second = read(tmp_path / 'rows.csv')
    assert list(first) == ['a', 'b', 'c', 'd']
    assert float(first['b']) == 0.1 + 0.2
    assert second['c'] == ''
    table = parquet.read_table(tmp_path / 'rows.parquet').to_pylist()
    assert table[0] == {'a': 1, 'b': 0.1 + 0.2, 'c': 'x', 'd': None}
    assert [row['b'] for row in table] == [0.1 + 0.2, np.pi]
