"""Jobs for tests of the workers; a module of their own, so that workers can import them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np

from reward_learning_ros.core.errors import UnknownNameError


def draw(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=3)


def process_number(_: int) -> int:
    return os.getpid()


def numba_threads(_: int) -> int:
    import numba

    return int(numba.config.NUMBA_NUM_THREADS)


def refuse(name: str) -> None:
    raise UnknownNameError('colour', name, ['red'])


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(folder: Path, seed: int) -> np.ndarray:
    """Kill the worker that is the first at job 1; draw like any other otherwise."""
    mark = folder / 'died'
    if seed == 1 and not mark.exists():
        mark.touch()
        die(seed)
    return draw(seed)


def draw_or_wait(folder: Path, seed: int) -> np.ndarray:
    """Say which process is at which job, and hold job 1 until it may go on."""
    (folder / f'{seed}-{os.getpid()}').touch()
    while seed == 1 and not (folder / 'go').exists():
        signal.sigtimedwait([], 0.01)
    return draw(seed)
