"""Many inferences: two cores against one, the published study, and what a large one would cost.

Numbers about real recordings need the published user study (variable `PUBLISHED_STUDY`); without
it they are left out, by name.
"""

from __future__ import annotations

import os
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.experiments.parallel import run_all
from reward_learning_ros.experiments.parameter_sweep import sweep
from reward_learning_ros.experiments.published_analysis import (
    published_cells,
    read_study,
    summarise,
)
from reward_learning_ros.experiments.published_parameters import PublishedParameters

STUDY = Path(
    os.environ.get('PUBLISHED_STUDY', Path(__file__).parents[2] / 'shared/published_study')
)
JOBS = 48
PARTICIPANTS = 1000
# As in the published study: three tasks, three θ each.
RECORDINGS = 9


def run() -> dict[str, Any]:
    """Measure everything, printing as it goes."""
    warnings.simplefilter('ignore')
    results: dict[str, Any] = {}
    for part in (two_cores, published):
        for name, value in part().items():
            results[name] = value
            text = f'{value:.4g}' if isinstance(value, float) else str(value)
            print(f'{name:<64} {text}', flush=True)
    return results


def infer_one(seed: int) -> np.ndarray:
    """Infer θ from seven corrections of Press, with always the same number of steps."""
    task = core.load_task('press')
    deltas = np.random.default_rng(seed).uniform(-0.05, 0.05, (7, 3))
    sequence = core.CorrectionSequence.from_deltas(task.plan, deltas)
    settings = core.Settings(warmup=400, batch=500, max_draws=500)
    return core.infer(task, sequence, seed=seed, settings=settings, threads=1).mean


def two_cores() -> dict[str, Any]:
    """Compare one worker process with two, from the first job done to the last."""
    rates, starts, rows = {}, {}, {}
    for workers in (1, 2):
        started = time.perf_counter()
        times: list[float] = []
        runs = run_all(infer_one, range(JOBS), workers=workers, on_done=partial(_note_time, times))
        rows[workers] = [row for _, row in runs]
        # The first job of each worker compiles; it is left out.
        rates[workers] = (JOBS - 2 * workers) / (times[-workers] - times[workers - 1])
        starts[workers] = times[0] - started
    assert np.array_equal(rows[1], rows[2])
    return {
        'inferences per second, one worker': rates[1],
        'inferences per second, two workers': rates[2],
        'two workers / one (at least 1.8)': rates[2] / rates[1],
        'first row of two workers, s, imports included': starts[2],
    }


def published() -> dict[str, Any]:
    """Analyse the published study, and extrapolate."""
    if not STUDY.is_dir():
        return {'published study': f'left out: {STUDY} is not here'}
    survey = read_study(STUDY)
    cells = published_cells(survey.taught, PublishedParameters())
    started = time.perf_counter()
    rows = sweep(cells, workers=2)
    elapsed = time.perf_counter() - started
    results: dict[str, Any] = {
        f'published study, {len(cells)} inferences, two workers, s (at most 120)': elapsed
    }
    for line in summarise(rows):
        label = f'mean error, {line.task}, {line.method}, {line.dependence}'
        if (line.method, line.dependence) == ('double_mh', 'dependent'):
            limit = min(line.constant, line.authors or np.inf)
            label += f' (below {limit:.3f})'
        results[label] = line.error
    seconds = 2 * elapsed / len(cells)
    results['core seconds per inference, all methods'] = seconds
    hours = seconds * PARTICIPANTS * RECORDINGS * 8 / 3600
    results[f'core hours of {PARTICIPANTS} such participants, all methods, about'] = hours
    return results


def _note_time(times: list[float], index: int, row: Any) -> None:
    times.append(time.perf_counter())
