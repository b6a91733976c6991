"""Tests and models as tables of a report, every estimate with its interval."""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError, MissingExtraError
from reward_learning_ros.figures.html_page import number
from reward_learning_ros.figures.run_report import TableBlock
from reward_learning_ros.study.mixed_model import MixedModel
from reward_learning_ros.study.statistics import Comparison, Effect, p_text


def effects_table(effects: Sequence[tuple[str, Effect]], caption: str) -> TableBlock:
    """Return a table of analyses of variance: where each effect is, and the effect."""
    return TableBlock(
        columns=('effect', 'F', 'df', 'p', 'ε', 'partial η²', '95 %'),
        rows=[
            (
                _named(place, effect.name),
                number(effect.f, 2),
                ', '.join(f'{effect.epsilon * df:.1f}' for df in effect.df),
                _p(effect.p_corrected),
                number(effect.epsilon, 2),
                number(effect.eta_squared, 2),
                _interval(effect.eta_squared_interval, 2),
            )
            for place, effect in effects
        ],
        caption=caption,
    )


def comparisons_table(comparisons: Sequence[tuple[str, Comparison]], caption: str) -> TableBlock:
    """Return a table of paired t-tests: where each is, and the test."""
    return TableBlock(
        columns=('comparison', 'difference', '95 %', 't', 'p (Holm)', 'd', '95 %'),
        rows=[
            (
                _named(place, f'{each.first} − {each.second}'),
                number(each.difference),
                _interval(each.interval, 3),
                f't({each.df}) = {number(each.t, 2)}',
                _p(each.p_holm),
                number(each.effect_size, 2),
                _interval(each.effect_size_interval, 2),
            )
            for place, each in comparisons
        ],
        caption=caption,
    )


def model_table(model: MixedModel, caption: str) -> TableBlock:
    """Return a table of a mixed model's fixed effects, its standard deviations below."""
    doubt = '' if model.converged else ' The fit did not converge: do not rely on it.'
    return TableBlock(
        columns=('fixed effect', 'value', 'standard error', '95 %', 'p'),
        rows=[
            (
                each.name,
                number(each.value),
                number(each.standard_error),
                _interval(each.interval, 3),
                _p(each.p),
            )
            for each in model.coefficients
        ],
        caption=f'{caption} {model.observations} observations; spread (sd) between participants '
        f'{model.participant_sd:.3f}, between trials of one {model.trial_sd:.3f}, left '
        f'{model.residual_sd:.3f}.{doubt}',
    )


def _named(place: str, name: str) -> str:
    return f'{place}: {name}' if place else name


def _interval(interval: tuple[float, float], digits: int) -> str:
    return f'[{number(interval[0], digits)}, {number(interval[1], digits)}]'


def _p(p: float) -> str:
    return p_text(p).removeprefix('p ').removeprefix('= ')


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
