"""Cells of a sweep, kept on disk line by line as they finish, whole after any crash."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import reward_learning_ros
from reward_learning_ros.core.errors import (
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
)
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.experiments.parallel import run_all

FORMAT = 1
Row = dict[str, Any]


class FinishedCells:
    """What is there of a sweep, and the way to add to it."""

    def __init__(self, path: Path, file: BinaryIO, rows: dict[str, Row]) -> None:
        self._path = path
        self._file = file
        self.rows = rows

    def add(self, key: str, row: Row) -> None:
        """Keep the row of a cell; it is on the disk when this returns."""
        line = json.dumps({'cell': key, 'row': row}, ensure_ascii=False, allow_nan=False)
        try:
            self._file.write(line.encode() + b'\n')
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InvalidInputError(f'cannot write {self._path}: {error}') from error
        self.rows[key] = row


@contextmanager
def open_finished_cells(path: Path) -> Iterator[FinishedCells]:
    """Open the finished cells of a sweep, or begin; nobody else can add meanwhile.

    A last line that a process which died left half-written is cut off.

    Raises:
        InvalidInputError: Another sweep is at it, it cannot be written, or it is something else.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open('a+b')
    except OSError as error:
        raise InvalidInputError(f'cannot write {path}: {error.strerror}') from error
    with file:
        try:
            # Given back when the file is closed, also by a process that dies.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InvalidInputError(f'another sweep is writing {path}') from None
        file.seek(0)
        content = file.read()
        whole = content.rfind(b'\n') + 1
        file.truncate(whole)
        rows = _parse(path, content[:whole])
        if not whole:
            file.write(json.dumps({'sweep': FORMAT}).encode() + b'\n')
            file.flush()
        yield FinishedCells(path, file, rows)


def _parse(path: Path, content: bytes) -> dict[str, Row]:
    lines = content.splitlines()
    try:
        entries = [json.loads(line) for line in lines]
        if entries and entries[0] != {'sweep': FORMAT}:
            raise ValueError('its first line is another')
        return {entry['cell']: dict(entry['row']) for entry in entries[1:]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(f'{path} does not hold the cells of a sweep: {error}') from None


# How a grid says that β is inferred; parameters call it unset.
INFER, UNSET = 'infer', 'none'


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """One inference of a parameter sweep, and its key.

    Attributes:
        choices: The columns that distinguish it from others: whose recording, and what is assumed.
        data: Stands for the recording's content, so that a changed one is not taken for done.
        infer: Does it and returns the columns of the outcome; picklable.
    """

    choices: Mapping[str, Any]
    data: str
    infer: Callable[[], Row]

    @property
    def key(self) -> str:
        """What a finished cell is found again by: all that its row depends on."""
        text = json.dumps(
            [dict(self.choices), self.data, reward_learning_ros.__version__], sort_keys=True
        )
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def sweep(
    cells: Sequence[Cell],
    *,
    journal: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Run the cells that are not finished, and return the rows of all, in order.

    Nothing is lost when it is interrupted, however: each row is on the disk before the next.

    Args:
        cells: What to infer.
        journal: Where finished cells are kept; None keeps them in memory only.
        workers: Processes; all cores by default.
        scheduler: Address of a Dask scheduler to work on in place of processes.
        on_done: Called for each cell, also for those that were finished before.
    """
    if journal is None:
        return _run(cells, {}, lambda key, row: None, workers, scheduler, on_done)
    with open_finished_cells(journal) as finished:
        return _run(cells, finished.rows, finished.add, workers, scheduler, on_done)


def _run(
    cells: Sequence[Cell],
    finished: Mapping[str, Row],
    keep: Callable[[str, Row], None],
    workers: int | None,
    scheduler: str | None,
    on_done: Callable[[], None],
) -> list[Row]:
    keys = [cell.key for cell in cells]
    rows = {key: finished[key] for key in keys if key in finished}
    todo = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in rows}
    for _ in range(len(cells) - len(todo)):
        on_done()
    new = list(todo)

    def done(index: int, row: Row) -> None:
        keep(new[index], row)
        on_done()

    runs = run_all(_row_of, todo.values(), workers=workers, scheduler=scheduler, on_done=done)
    rows.update((new[index], row) for index, row in runs)
    return [rows[key] for key in keys]


def _row_of(cell: Cell) -> Row:
    """Return the row of a cell; what cannot be inferred is a row that says why."""
    row: Row = {**cell.choices, 'failure': ''}
    try:
        row.update(cell.infer())
    except RewardLearningError as error:
        row['failure'] = str(error)
    return row


def outcome_columns(posterior: Posterior, theta: np.ndarray | None) -> Row:
    """Return the columns of what was inferred; with the θ that was taught, if it is known."""
    numbers = posterior.diagnostics
    row: Row = {
        'corrections': int(numbers['corrections']),
        'corrections_outside': int(numbers['corrections_outside']),
        'error': None,
    }
    if theta is not None:
        row['error'] = float(np.linalg.norm(posterior.mean - theta))
    deviations = posterior.samples.std(axis=0)
    for index, name in enumerate(posterior.feature_names):
        row[f'theta_{name}'] = float(posterior.mean[index])
        row[f'sd_{name}'] = float(deviations[index])
        row[f'taught_{name}'] = None if theta is None else float(theta[index])
    row['beta_median'] = float(np.median(posterior.beta_samples))
    row['relevance'] = _number(posterior.relevance)
    row['max_r_hat'] = _number(numbers['max_r_hat'])
    row['min_ess_bulk'] = _number(numbers['min_ess_bulk'])
    row['warnings'] = '; '.join(posterior.warnings)
    return row


def _number(value: float) -> float | None:
    # NaN is no JSON.
    return float(value) if np.isfinite(value) else None


def parse_grid(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each axis of a grid that is written `beta=2,5,infer`.

    Raises:
        InvalidInputError: A text is not of that form, or an axis comes twice.
    """
    grid: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, separator, values = text.partition('=')
        chosen = tuple(UNSET if value == INFER else value for value in values.split(','))
        if not separator or not name or not all(chosen):
            raise InvalidInputError(f'--grid {text}: must be NAME=VALUE,VALUE…, as beta=2,5,infer')
        if name in grid:
            raise InvalidInputError(f'--grid names {name} twice')
        if len(set(chosen)) < len(chosen):
            raise InvalidInputError(f'--grid {text}: a value comes twice')
        grid[name] = chosen
    return grid


def grid_points(
    grid: Mapping[str, Sequence[str]], known: Sequence[str]
) -> Iterator[dict[str, str]]:
    """Yield every combination of the values of a grid whose axes must be known ones."""
    for name in grid:
        if name not in known:
            raise UnknownNameError('axis of the grid', name, known)
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))
