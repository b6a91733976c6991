"""Results: tables, printed, and the file that keeps them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows that have the same columns."""
    print(f'\n{title}')
    if not rows:
        print('  (nothing)')
        return
    columns = list(rows[0])
    cells = [columns, *([_text(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    for line in cells:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print('  ' + '  '.join(padded).rstrip())


def _text(value: Any) -> str:
    if value is None:
        return '-'
    return f'{value:.3f}' if isinstance(value, float) else str(value)


class Progress:
    """Prints how far a part is and how long it will still take.

    Args:
        what: that is counted.
        total: of it.
    """

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total = what, total
        self._began_sec = time.monotonic()

    def show(self, done: int, detail: str) -> None:
        """Print what was just done."""
        passed_sec = time.monotonic() - self._began_sec
        left_min = passed_sec / max(done, 1) * (self._total - done) / 60.0
        print(
            f'{self._what} {done} of {self._total}, about {left_min:.0f} min left: {detail}',
            flush=True,
        )


def keep_results(path: Path, results: dict[str, dict[str, Any]]) -> None:
    """Write the parts that were run; those that were not stay as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text(encoding='utf-8')) if path.exists() else {}
    # Files of before have numbers beside the parts.
    kept = {name: part for name, part in kept.items() if isinstance(part, dict)} | results
    path.write_text(json.dumps(kept, indent=2, default=float) + '\n', encoding='utf-8')
