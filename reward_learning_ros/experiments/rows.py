"""Rows of a study on disk: kept person by person, so that an interrupted run goes on."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.experiments.parallel import run_all

SETUP_FILE, ROWS_FILE, TIMINGS_FILE = 'setup.json', 'rows.csv', 'timings.csv'
_T = TypeVar('_T')


@dataclass(frozen=True, kw_only=True, order=True)
class Job:
    """A job of the simulations: one simulated person in one setting.

    Attributes:
        task: Name of the task.
        beta: The person's rationality.
        human: The person's number.
        goal: Name of the θ that they were asked to teach; empty if it is their own.
    """

    task: str
    beta: float
    human: int
    goal: str = ''


@dataclass(frozen=True, kw_only=True)
class Row(Job):
    """One row of the simulations' results: errors of one method on one person.

    Attributes:
        method: Name of the method.
        dependence: What the method took the data for.
        error: ‖θ − θ̂‖, θ̂ the posterior mean.
        regret: R(ξ, θ) − R(ξ̂, θ) (equation U1).
        theta: (d,) what the person wants.
        estimate: (d,) θ̂.
    """

    method: str
    dependence: str
    error: float
    regret: float
    theta: tuple[float, ...]
    estimate: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Timing(Job):
    """How long a method worked for one person: processor time, so never twice the same."""

    method: str
    dependence: str
    seconds: float


Result = tuple[list[Row], list[Timing]]


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    *,
    rows_each: int,
    setup: Mapping[str, Any],
    folder: Path | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    on_done: Callable[[], None] = lambda: None,
) -> Result:
    """Run the jobs that are not yet in the folder, and return the rows of all.

    Args:
        function: Does one job.
        jobs: What is to be done.
        rows_each: How many rows a job gives: who has fewer was interrupted.
        setup: What else the rows depend on; stored, and compared with what is stored.
        folder: Where rows are kept; None keeps them in memory.
        workers: Processes; all cores by default.
        scheduler: Address of a Dask scheduler to work on in place of processes.
        on_done: Called for each job, also for those that were done before.

    Raises:
        InvalidInputError: The folder holds rows of another setup, or cannot be written.
    """
    results: dict[Job, Result] = {}
    if folder is not None:
        _check_setup(folder, setup)
        results = _stored(folder, rows_each)
        # Without what was cut off, so that new rows begin on a line of their own.
        _store(folder, results)
    todo = [job for job in jobs if job not in results]
    for _ in range(len(jobs) - len(todo)):
        on_done()
    runs = run_all(
        function,
        todo,
        workers=workers,
        scheduler=scheduler,
        on_done=lambda index, result: on_done(),
    )
    for index, result in runs:
        results[todo[index]] = result
        if folder is not None:
            _write(folder / TIMINGS_FILE, Timing, result[1], 'a')
            # Last: a person is done when their rows are there.
            _write(folder / ROWS_FILE, Row, result[0], 'a')
    if folder is not None:
        _store(folder, results)
    rows = [row for job in jobs for row in results[job][0]]
    timings = [timing for job in jobs for timing in results[job][1]]
    return rows, timings


def read_rows(path: Path, cls: type[_T]) -> list[_T]:
    """Return the rows of a file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    try:
        text = path.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f'{path} cannot be read: {error}') from error
    whole = text[: text.rfind('\n') + 1]
    reader = csv.DictReader(whole.splitlines())
    if reader.fieldnames != names:
        raise InvalidInputError(f'{path} has columns {reader.fieldnames}, not {names}')
    try:
        return [cls(**{name: _parse(name, line[name]) for name in names}) for line in reader]
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f'{path} is damaged: {error}') from error


def _stored(folder: Path, rows_each: int) -> dict[Job, Result]:
    """Return what is in the folder, without people whose rows are incomplete."""
    rows: dict[Job, Result] = {}
    for row in read_rows(folder / ROWS_FILE, Row):
        rows.setdefault(_job(row), ([], []))[0].append(row)
    for timing in read_rows(folder / TIMINGS_FILE, Timing):
        if _job(timing) in rows:
            rows[_job(timing)][1].append(timing)
    return {job: result for job, result in rows.items() if len(result[0]) == rows_each}


def _store(folder: Path, results: Mapping[Job, Result]) -> None:
    """Write everybody's rows, in an order that does not depend on who was done first."""
    ordered = [results[job] for job in sorted(results)]
    _replace(folder / ROWS_FILE, Row, [row for rows, _ in ordered for row in rows])
    _replace(folder / TIMINGS_FILE, Timing, [timing for _, rest in ordered for timing in rest])


def _job(row: Job) -> Job:
    return Job(task=row.task, beta=row.beta, human=row.human, goal=row.goal)


def _check_setup(folder: Path, setup: Mapping[str, Any]) -> None:
    path = folder / SETUP_FILE
    wanted = json.dumps(setup, indent=2, sort_keys=True) + '\n'
    try:
        if path.exists():
            if path.read_text(encoding='utf-8') != wanted:
                raise InvalidInputError(
                    f'{folder} holds a run with another setup ({SETUP_FILE}); name another folder'
                )
            return
        folder.mkdir(parents=True, exist_ok=True)
        _atomically(path, lambda file: file.write(wanted))
    except OSError as error:
        raise InvalidInputError(f'{folder} cannot be used: {error}') from error


def _write(path: Path, cls: type[Any], rows: Sequence[Any], mode: str) -> None:
    names = [field.name for field in fields(cls)]
    try:
        new = not path.exists() or path.stat().st_size == 0
        with path.open(mode, encoding='utf-8', newline='') as file:
            _write_lines(file, names, [asdict(row) for row in rows], header=new)
    except OSError as error:
        raise _write_error(path, error) from error


def _replace(path: Path, cls: type[Any], rows: Sequence[Any]) -> None:
    names = [field.name for field in fields(cls)]
    try:
        _atomically(path, lambda file: _write_lines(file, names, [asdict(row) for row in rows]))
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f'{path} cannot be written: {error.strerror}; what was written before is kept'
    )


def _write_lines(
    file: Any, names: Sequence[str], rows: Iterable[Mapping[str, Any]], header: bool = True
) -> None:
    writer = csv.writer(file, lineterminator='\n')
    if header:
        writer.writerow(names)
    for row in rows:
        writer.writerow([_text(row[name]) for name in names])


def _atomically(path: Path, write: Callable[[Any], Any]) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}-')
    try:
        with os.fdopen(handle, 'w', encoding='utf-8', newline='') as file:
            write(file)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _text(value: Any) -> str:
    """Return a value as text from which the same value is read, to the last digit."""
    if value is None:
        return ''
    if isinstance(value, (tuple, list)):
        return ' '.join(repr(float(entry)) for entry in value)
    return repr(float(value)) if isinstance(value, float) else str(value)


def _parse(name: str, text: str) -> Any:
    if name in ('theta', 'estimate'):
        return tuple(float(entry) for entry in text.split())
    if name in ('beta', 'error', 'regret', 'seconds'):
        return float(text)
    return int(text) if name == 'human' else text
