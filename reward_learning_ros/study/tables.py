"""Tidy tables on disk, CSV or Parquet: there as a whole, or as they were before."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError, MissingExtraError

FORMATS = ('.csv', '.parquet')


def check_table(path: Path) -> None:
    """Raise if no table can be written there, before there is one.

    Raises:
        InvalidInputError: The name has another ending.
        MissingExtraError: What writes Parquet is not installed.
    """
    if path.suffix not in FORMATS:
        raise InvalidInputError(f'{path} must end in {" or ".join(FORMATS)}')
    if path.suffix == '.parquet':
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise MissingExtraError('pyarrow', 'study', 'a Parquet file') from None


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows; one that lacks a column of others is empty there.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    check_table(path)
    # The order of the columns is that in which rows bring them.
    columns = list(dict.fromkeys(name for row in rows for name in row))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}-')
        os.close(handle)
        try:
            write = _write_csv if path.suffix == '.csv' else _write_parquet
            write(Path(temporary), columns, rows)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInputError(f'{path} cannot be written: {error}') from error


def _write_csv(path: Path, columns: list[str], rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open('w', encoding='utf-8', newline='') as file:
        # Numbers are written so that the same ones are read, to the last digit.
        plain, quoted = (
            csv.DictWriter(file, columns, lineterminator='\n', quoting=quoting)
            for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
        )
        for row in ({name: name for name in columns}, *rows):
            # A lone carriage return would end the line for a reader; Python does not quote it.
            texts = (value for value in row.values() if isinstance(value, str))
            (quoted if any('\r' in text for text in texts) else plain).writerow(row)


def _write_parquet(path: Path, columns: list[str], rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
    parquet.write_table(table, path)
