"""Planner, libraries of simulated trajectories, and Double MH over them.

Libraries of the default size take six minutes to build. With `python -m benchmarks.tasks --quick`
they are small and the times are extrapolated from processor time, which the printed names say.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.core.inference import Inference
from reward_learning_ros.core.library import (
    TrajectoryLibrary,
    neighbour_graph,
    read_arrays,
    write_arrays,
)
from reward_learning_ros.core.planner import plan, trajectory_space
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform
from reward_learning_ros.core.samplers.kernels import make_scratch
from reward_learning_ros.core.simulated_human import simulate_corrections
from reward_learning_ros.tasks.cabinet import LIBRARY_SIZE as GRID_SIZE
from reward_learning_ros.tasks.simulated import LIBRARY_SIZE, NEIGHBOURS
from reward_learning_ros.tasks.tool_space import draw_in, path_lengths, tool_space

KINEMATIC = ('cup', 'press', 'published_reach', 'reach', 'serve', 'shelf')
LIBRARIES = ('push', 'close', 'pour')
THETAS = 50
RANDOM = 100_000
SAMPLE = 200
GRID_SAMPLE = 6**4


def run(full: bool = True) -> dict[str, Any]:
    """Measure everything, print a table, and return the numbers.

    Args:
        full: Build libraries of the default size instead of extrapolating from small ones.
    """
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        results |= _measure_libraries(directory, full)
        tasks = [core.load_task(name) for name in KINEMATIC]
        if full:
            for name in LIBRARIES:
                task = core.load_task(name, library_size=LIBRARY_SIZE, cache_directory=directory)
                results |= _measure_look_up(task)
        size = GRID_SIZE if full else GRID_SAMPLE
        tasks.append(core.load_task('push_study', library_size=size, cache_directory=directory))
        for task in tasks:
            results |= _measure_planner(task)
    results |= _measure_sampler()
    for name, value in results.items():
        text = f'{value:.4g}' if isinstance(value, float) else str(value)
        print(f'{name:<76} {text}')
    return results


def _measure_planner(task: core.Task) -> dict[str, Any]:
    """Compare the planner with the best of many random trajectories, for many θ."""
    rng = np.random.default_rng(1)
    thetas = task.theta.sample(THETAS, rng)
    space = trajectory_space(task)
    deltas = np.zeros((RANDOM, *space.delta_low.shape))
    statistics = np.zeros((RANDOM, task.size + 1))
    fill_uniform(
        task.compiled_features, space, make_scratch(space, task.size), deltas, statistics, rng
    )
    plan(task, thetas[0])  # compiles
    margins, seconds = [], []
    for theta in thetas:
        started = time.perf_counter()
        best = plan(task, theta)
        seconds.append(time.perf_counter() - started)
        margins.append(float(task.evaluate(best) @ theta - (statistics[:, :-1] @ theta).max()))
    return {
        f'plan {task.name}: smallest margin over {RANDOM} random (0 wanted)': min(margins),
        f'plan {task.name}: median, s (0.3 wanted)': median(seconds),
        f'plan {task.name}: longest, s': max(seconds),
    }


def _measure_look_up(task: core.Task) -> dict[str, Any]:
    """Time the planner where the trajectory space is a library; compare it with all of that."""
    assert task.library is not None
    thetas = task.theta.sample(THETAS, np.random.default_rng(1))
    features = task.library.features
    margins, seconds = [], []
    for theta in thetas:
        started = time.perf_counter()
        best = plan(task, theta)
        seconds.append(time.perf_counter() - started)
        margins.append(float(task.evaluate(best) @ theta - (features @ theta).max()))
    return {
        f'plan {task.name}: smallest margin over its library (0 wanted)': min(margins),
        f'plan {task.name}: longest, s (0.3 wanted)': max(seconds),
    }


def _measure_libraries(directory: Path, full: bool) -> dict[str, Any]:
    cores = available_cores()
    results: dict[str, Any] = {}
    cases = [(name, LIBRARY_SIZE, SAMPLE) for name in LIBRARIES]
    cases.append(('push_study', GRID_SIZE, GRID_SAMPLE))
    for name, size, sample in cases:
        built = size if full else sample
        # Compiles, and starts the threads of MuJoCo.
        _build(name, 16, directory)
        wall, processor = _build(name, built, directory)
        results[f'library {name}: trajectories'] = size
        if full:
            results[f'library {name}: built in, s (180 wanted)'] = wall
        results[
            f'library {name}: processor time on {cores} free cores, '
            f'{"measured" if full else f"extrapolated from {built}"}, s'
        ] = processor * size / built / cores
        if full:
            started = time.perf_counter()
            _arrays(core.load_task(name, library_size=built, cache_directory=directory))
            results[f'library {name}: loaded in, s (0.2 wanted)'] = time.perf_counter() - started
    if not full:
        arrays = _full_size_arrays()
        path = directory / 'loaded.npz'
        write_arrays(path, {}, arrays)
        started = time.perf_counter()
        read_arrays(path, {})
        results[f'library of {LIBRARY_SIZE}: loaded in, s (0.2 wanted)'] = (
            time.perf_counter() - started
        )
    return results


def _build(name: str, size: int, directory: Path) -> tuple[float, float]:
    """Return seconds on the wall's clock and of the processor that a library takes."""
    task = core.load_task(name, library_size=size, cache_directory=directory)
    started, started_processor = time.perf_counter(), time.process_time()
    _arrays(task)
    return time.perf_counter() - started, time.process_time() - started_processor


def _arrays(task: core.Task) -> object:
    return task.features.outcomes if task.library is None else task.library.arrays


def _full_size_arrays() -> dict[str, np.ndarray]:
    """Return a library as large as the default one of Push, with features of the way alone."""
    start = np.linspace((0.4, 0.0, 0.5), (0.5, 0.05, 0.35), 4)
    trajectories = draw_in(start)(LIBRARY_SIZE, np.random.default_rng(0))
    offsets, neighbours = neighbour_graph(trajectories.reshape(LIBRARY_SIZE, -1), NEIGHBOURS)
    features = np.column_stack(
        [trajectories[..., 1].max(axis=1), -0.5 * path_lengths(trajectories)]
    )
    return {
        'trajectories': trajectories,
        'features': features,
        'offsets': offsets,
        'neighbours': neighbours,
    }


def _measure_sampler() -> dict[str, Any]:
    """Count the steps of auxiliaries over a library of the default size, on one core."""
    arrays = _full_size_arrays()
    task = core.Task(
        name='push',
        feature_names=('box', 'length'),
        features=TrajectoryLibrary(lambda: arrays),
        plan=arrays['trajectories'][0],
        space=tool_space(),
    )
    data = simulate_corrections(
        task, [0.8, 0.6], beta=15.0, count=3, dependence='independent', seed=1
    )
    results: dict[str, Any] = {}
    for beta in (15.0, 'infer'):
        settings = Settings(target_ess=1e9, max_draws=2000)
        inference = Inference(
            task, data, dependence='independent', beta=beta, settings=settings, threads=1
        )
        started = time.process_time()
        posterior = inference.run()
        elapsed = time.process_time() - started
        results[f'Double MH in a library, β {beta}: auxiliary steps/s (1e6 wanted)'] = (
            posterior.sampling['inner_steps'] / elapsed
        )
    return results


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--quick', action='store_true', help='build small libraries only')
    run(full=not parser.parse_args().quick)
