"""How many cores there are, without importing anything heavy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# Where the work is shared out by us, libraries must not start a thread for every core as well.
# What is multiplied here is small: the results are the same to the last bit.
SINGLE_THREADED = {
    'OMP_NUM_THREADS': '1',
    'OPENBLAS_NUM_THREADS': '1',
    'MKL_NUM_THREADS': '1',
}


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def single_threaded_children() -> Iterator[None]:
    """Let processes that are started meanwhile have libraries with one thread each."""
    before = {name: os.environ.get(name) for name in SINGLE_THREADED}
    os.environ.update(SINGLE_THREADED)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
