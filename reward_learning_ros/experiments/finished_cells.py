"""The finished cells of a sweep on disk: one line each, appended, whole after any crash."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from reward_learning_ros.core.errors import InvalidInputError

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
