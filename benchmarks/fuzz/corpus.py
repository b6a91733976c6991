"""Cases that once failed: small files in the test data, tried again by every run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from tools.pins import ROOT

FOLDER = ROOT / 'test' / 'unit' / 'fuzz' / 'data'


def cases(target: str, folder: Path = FOLDER) -> Iterator[bytes]:
    """Yield the cases of a target."""
    for path in sorted((folder / target).glob('*.case')):
        yield path.read_bytes()


def keep(target: str, case: bytes, folder: Path = FOLDER) -> Path:
    """Keep a case and return where."""
    path = folder / target / f'{hashlib.sha256(case).hexdigest()[:12]}.case'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(case)
    return path
