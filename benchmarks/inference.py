"""Inference: how right, fast and large; `python -m benchmarks.inference recordings` is a part.

Numbers about real recordings need the published user study (option or variable
`PUBLISHED_STUDY`, a folder with Task1 and Task2); without it they are left out, by name.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import scalar_press
from reward_learning_ros import core
from reward_learning_ros.core.belief_tables import BeliefTables, TableMaker
from reward_learning_ros.core.human_model import HumanModel, gather_evidence
from reward_learning_ros.core.reference import (
    TrajectoryQuadrature,
    quadrature_posterior,
    reference_posterior,
)
from reward_learning_ros.core.samplers.kernels import KINDS, advance, load, make_scratch
from reward_learning_ros.core.samplers.tabulated import Tabulated
from reward_learning_ros.experiments.calibration import calibrate
from reward_learning_ros.experiments.parallel import run_all
from reward_learning_ros.learning import LearningParameters, learn

STUDY = Path(
    os.environ.get('PUBLISHED_STUDY', Path(__file__).parents[2] / 'shared/published_study')
)
LONG = 2_500_000
# How often each plan of a session was corrected: online once, after a pass several times.
SESSIONS = ((1,), (1, 1, 1), (1, 1, 1, 1, 1, 1), (3, 3))
# As the authors' code weighs a sequence.
PUBLISHED_MODEL = {'gamma': 0.9, 'effort': 0.0}


def run(parts: Sequence[str] = ()) -> dict[str, Any]:
    """Measure some parts or all, printing as it goes."""
    warnings.simplefilter('ignore')
    results: dict[str, Any] = {}
    for part in (
        speed,
        latency,
        tables,
        live,
        screening,
        scaling,
        growth,
        cup,
        sessions,
        recordings,
        calibration,
    ):
        if parts and part.__name__ not in parts:
            continue
        for name, value in part().items():
            results[name] = value
            text = f'{value:.4g}' if isinstance(value, float) else str(value)
            print(f'{name:<64} {text}', flush=True)
    return results


def seven_corrections() -> tuple[core.Task, core.CorrectionSequence]:
    """Return Press and seven corrections of it towards the button, as a person might give them."""
    task = core.load_task('press')
    rng = np.random.default_rng(5)
    deltas = rng.uniform(-0.03, 0.03, (7, 3)) + np.array([0.0, -0.04, -0.01])
    return task, core.CorrectionSequence.from_deltas(task.plan, deltas)


def speed() -> dict[str, Any]:
    """Steps of the inner sampler: compiled against scalar NumPy, two threads against one."""
    task, sequence = seven_corrections()
    space = gather_evidence(task, sequence, HumanModel(**PUBLISHED_MODEL)).spaces[0]
    theta = np.full(4, 0.5)
    eta = np.append(5.0 * theta, 5.0)

    def compiled(count: int, seed: int = 0) -> None:
        scratch = make_scratch(space, 4)
        load(task.compiled_features, space, scratch, np.zeros((7, 3)))
        counts = np.zeros((KINDS, 2), dtype=np.int64)
        rng = np.random.default_rng(seed)
        advance(task.compiled_features, space, scratch, eta, count, 0.5, rng, counts)

    def scalar(count: int) -> None:
        scalar_press.inner_steps(theta, 5.0, 0.9, count, np.random.default_rng(0))

    compiled(1000)
    rounds = []
    for _ in range(5):
        slow = _rate(lambda: scalar(400), 400)
        fast = _rate(lambda: compiled(400_000), 400_000)
        rounds.append((slow, fast, fast / slow))
    slow, fast, ratio = np.median(rounds, axis=0)
    with ThreadPoolExecutor(2) as pool:
        speedups = []
        for _ in range(5):
            # A second each: starting and joining threads is not what is asked about.
            one = _rate(lambda: compiled(LONG), LONG)
            both = _rate(lambda: list(pool.map(compiled, (LONG, LONG))), 2 * LONG)
            speedups.append(both / one)
    return {
        'inner steps per second, scalar NumPy': float(slow),
        'inner steps per second, compiled, one core': float(fast),
        'compiled / scalar NumPy (at least 1000)': float(ratio),
        'two threads / one (at least 1.8)': float(np.median(speedups)),
    }


def latency() -> dict[str, Any]:
    """From seven corrections on Press, β inferred, to R̂ ≤ 1.01 and ESS ≥ 400."""
    task, sequence = seven_corrections()
    core.infer(task, sequence, seed=99)
    times, effective, r_hat = [], [], []
    for seed in range(7):
        started = time.perf_counter()
        posterior = core.infer(task, sequence, seed=seed)
        times.append(time.perf_counter() - started)
        effective.append(posterior.diagnostics['min_ess_bulk'])
        r_hat.append(posterior.diagnostics['max_r_hat'])
    code = (
        'import time; begin = time.perf_counter(); '
        'from benchmarks.inference import seven_corrections; '
        'from reward_learning_ros import core; '
        'task, sequence = seven_corrections(); loaded = time.perf_counter(); '
        'core.infer(task, sequence, seed=0); end = time.perf_counter(); '
        'print(end - loaded, end - begin)'
    )
    call, with_imports = np.median([_printed_by(code) for _ in range(3)], axis=0)
    return {
        'seven corrections, s, median of 7 seeds (at most 1)': float(np.median(times)),
        'smallest bulk ESS, worst of 7 seeds (at least 400)': float(np.min(effective)),
        'largest R-hat, median of 7 seeds (at most 1.01)': float(np.median(r_hat)),
        'largest R-hat, worst of 7 seeds': float(np.max(r_hat)),
        'first call after a restart, s (at most 2)': float(call),
        'the same, imports and task included, s': float(with_imports),
    }


def tables() -> dict[str, Any]:
    """Processor time of a table of log Z beside that of Double MH, seven corrections on Press."""
    task, sequence = seven_corrections()
    results: dict[str, Any] = {}
    for beta in ('infer', 5.0):
        rounds = []
        for seed in range(100, 104):
            # Each seed draws ensembles of its own; the first round loads what is compiled.
            options: dict[str, Any] = {'beta': beta, 'seed': seed, 'threads': 1}
            chains = core.Inference(task, sequence, **options)
            table = core.Inference(task, sequence, method='tabulated', **options)
            chains_sec, table_sec = _processor_sec(chains.run), _processor_sec(table.run)
            assert isinstance(table.sampler, Tabulated)
            ready_sec = _processor_sec(table.sampler.weights, 100)
            rounds.append((chains_sec / table_sec, chains_sec / ready_sec, ready_sec * 1e3))
        with_table, without, ready_ms = np.median(rounds[1:], axis=0)
        label = f'β {"inferred" if beta == "infer" else "= 5"}'
        results[f'double_mh / tabulated, processor time, {label} (at least 5)'] = float(with_table)
        results[f'the same, the table not counted, {label} (at least 100)'] = float(without)
        results[f'posterior from a table, ms, {label}'] = float(ready_ms)
    return results


def live() -> dict[str, Any]:
    """From the arrival of a delta to the live belief on the wire, and how near it comes."""
    from benchmarks import live_belief

    return {**live_tables(), **live_belief.latency()}


def live_tables() -> dict[str, Any]:
    """Processor time of the tables of a plan, and the distance of beliefs to long runs.

    Three people on each task correct every waypoint that they care to, by `core.PASS_MODEL`.
    """
    results: dict[str, Any] = {}
    for name in ('press', 'reach'):
        task = core.load_task(name).softened(core.MOTOR_NOISE_M)
        free = len(task.plan) - task.space.fixed_waypoints
        silent = core.CorrectionSequence.from_pass(task.plan, np.zeros((free, task.plan.shape[1])))
        options = dict(core.PASS_MODEL)

        def make(
            seed: int,
            task: core.Task = task,
            options: dict[str, Any] = options,
            silent: core.CorrectionSequence = silent,
        ) -> BeliefTables:
            maker = TableMaker(task, options, seed=seed)
            points, _ = maker.points((), silent)
            tables = BeliefTables(task, HumanModel(**options), points)
            for key, table in maker.tables(points, silent):
                tables.add(key, table)
            return tables

        tables = make(0)
        # Another seed: what was drawn once is kept.
        spent_sec = _processor_sec(lambda make=make: make(1))
        results[f'tables of a plan, processor time, s, {name}'] = spent_sec
        away: dict[str, list[float]] = {'live': [], 'session': []}
        for human in range(3):
            theta = task.theta.sample(1, np.random.default_rng(human))[0]
            told = core.simulate_corrections(
                task, theta, beta=15.0, bother=1.0, count=free, seed=human
            )
            long = replace(core.PASS_SETTINGS, target_ess=2000.0, max_draws=5000)
            exact = np.mean(
                [
                    core.infer(task, told, seed=seed, settings=long, **options).mean
                    for seed in (90, 91)
                ],
                axis=0,
            )
            session = core.infer(task, told, seed=1, settings=core.PASS_SETTINGS, **options)
            belief = tables.belief((told,))
            assert belief is not None
            away['live'].append(float(np.abs(belief.mean - exact).mean()))
            away['session'].append(float(np.abs(session.mean - exact).mean()))
        label = f'|mean − long run|, {name}, 3 passes'
        results[f'{label}, live belief'] = float(np.mean(away['live']))
        results[f'{label}, double_mh as in a session'] = float(np.mean(away['session']))
    return results


def growth() -> dict[str, Any]:
    """Cost and scatter of tables and Double MH as features and corrections grow, β = 5."""
    results: dict[str, Any] = {}
    for size in (2, 4, 6, 8):
        task = random_task(size)
        for count in (1, 7, 30, 100):
            rng = np.random.default_rng(count)
            onsets = np.sort(rng.integers(1, len(task.plan), size=count))
            deltas = rng.uniform(-0.03, 0.03, (count, 3))
            told = core.CorrectionSequence.from_deltas(task.plan, deltas, onsets.tolist())
            means = {}
            for method in ('double_mh', 'tabulated'):
                found, spent = [], []
                for seed in range(3):
                    run = core.Inference(task, told, method=method, beta=5.0, seed=seed, threads=1)
                    spent.append(_processor_sec(run.run))
                    found.append(run.posterior().mean)
                label = f'{method}, {size} features, {count} corrections'
                results[f'{label}: processor time, s'] = float(np.median(spent))
                scatter = np.std(found, axis=0, ddof=1).mean()
                results[f'{label}: scatter of a mean over 3 seeds'] = float(scatter)
                means[method] = np.mean(found, axis=0)
            label = f'{size} features, {count} corrections: distance of the two, a component'
            apart = np.abs(means['tabulated'] - means['double_mh']).mean()
            results[label] = float(apart)
    return results


def random_task(size: int) -> core.Task:
    """Return a task on the plan of Press with features that prefer random places."""
    base = core.load_task('press')
    rng = np.random.default_rng(size)
    low, high = base.plan.min(axis=0) - 0.2, base.plan.max(axis=0) + 0.2
    places = rng.uniform(low, high, (size, 3))

    def features(trajectory: np.ndarray) -> np.ndarray:
        values = np.zeros(size)
        for index in range(size):
            for waypoint in range(trajectory.shape[0]):
                away = 0.0
                for axis in range(3):
                    away += (trajectory[waypoint, axis] - places[index, axis]) ** 2
                values[index] += np.exp(-away / 0.08) / trajectory.shape[0]
        return values

    return core.Task(
        name=f'random{size}',
        feature_names=tuple(f'place{index}' for index in range(size)),
        features=features,
        plan=base.plan,
        space=base.space,
    )


def screening() -> dict[str, Any]:
    """Effective draws of Double MH for each second of processor time, screened and not.

    Ensemble and warm-up are not counted.
    """
    task, sequence = seven_corrections()
    rates: dict[int, list[float]] = {}
    for seed in range(100, 103):
        for steps in (0, 1, 4, 8):
            settings = core.Settings(screening_steps=steps, target_ess=1e6, max_draws=1500)
            run = core.Inference(task, sequence, seed=seed, threads=1, settings=settings)
            progress = run.iterate()
            while next(progress).stage != 'sampling':
                began_sec = time.process_time()
            *_, last = progress
            elapsed_sec = time.process_time() - began_sec
            rates.setdefault(steps, []).append(last.ess / elapsed_sec)
    plain = np.array(rates.pop(0))
    return {
        f'effective draws per second, {steps} screening steps / none (at least 2)': float(
            np.median(np.array(found) / plain)
        )
        for steps, found in rates.items()
    }


def scaling() -> dict[str, Any]:
    """Time and memory as corrections and waypoints grow, for the same number of steps."""
    results: dict[str, Any] = {}
    settings = core.Settings(
        warmup=80,
        batch=100,
        max_draws=100,
        ensemble=core.EnsembleSize(seeds=2048, members=32, anneal_steps=8),
    )
    for waypoints in (8, 64):
        for count in (7, 25, 100):
            task, sequence = long_press(waypoints, count)
            core.infer(task, sequence, seed=1, beta=5.0, settings=settings)
            started = time.perf_counter()
            posterior = core.infer(task, sequence, seed=2, beta=5.0, settings=settings)
            elapsed = time.perf_counter() - started
            steps = posterior.sampling['inner_steps']
            results[f'µs per inner step, {count} corrections, {waypoints} waypoints'] = (
                elapsed / steps * 1e6
            )
    code = (
        'import resource; from benchmarks.inference import long_press; '
        'from reward_learning_ros import core; task, sequence = long_press(64, 100); '
        'core.infer(task, sequence, settings=core.Settings(warmup=16, batch=8, max_draws=8)); '
        'print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)'
    )
    # What is compiled for the first time takes memory too; that is another number.
    (results['peak memory, MB, the first time on a machine'],) = _printed_by(code)
    (results['peak memory, MB, 100 corrections, 64 waypoints (below 500)'],) = _printed_by(code)
    return results


def long_press(waypoints: int, count: int) -> tuple[core.Task, core.CorrectionSequence]:
    """Return Press with more waypoints, and many small corrections of it."""
    base = core.load_task('press')
    task = core.Task(
        name=f'press{waypoints}',
        feature_names=base.feature_names,
        features=base.features,
        plan=np.linspace(base.plan[0], base.plan[-1], waypoints),
        space=base.space,
    )
    rng = np.random.default_rng(0)
    onsets = np.sort(rng.integers(1, waypoints, size=count))
    deltas = rng.uniform(-0.02, 0.02, (count, 3))
    return task, core.CorrectionSequence.from_deltas(task.plan, deltas, onsets)


def cup() -> dict[str, Any]:
    """Total variation to quadrature on the cup: an auxiliary for each trajectory, and one."""
    task = core.load_task('cup')
    nodes = TrajectoryQuadrature.of(task)
    rng = np.random.default_rng(0)
    theta = np.array([np.cos(0.9), np.sin(0.9)])
    results: dict[str, Any] = {}
    for count in (1, 3, 10):
        for beta in (1.0, 5.0):
            exponents = beta * nodes.features @ theta + nodes.log_weights
            probability = np.exp(exponents - exponents.max())
            shown = rng.choice(len(probability), size=count, p=probability / probability.sum())
            angles = -nodes.features[shown, 0] / 5.0 - 1.0
            sequence = core.CorrectionSequence(plan=task.plan, corrected=angles.reshape(-1, 1, 1))
            exact = quadrature_posterior(task, sequence, beta=beta)
            table = core.infer(
                task,
                sequence,
                method='tabulated',
                dependence='independent',
                beta=beta,
                seed=1,
                # As many draws as 20 bins need to be told from each other: of 6,000 independent
                # ones the total variation is 0.02 even if they are exact; and as many points.
                settings=core.Settings(
                    points=16_384, batch=20_000, max_draws=20_000, target_ess=1e9
                ),
            )
            key = f'total variation, tabulated, K = {count}, β = {beta:g} (at most 0.01)'
            results[key] = exact.total_variation(table)
            for name, one in (('K auxiliaries', False), ('one auxiliary', True)):
                posterior = core.infer(
                    task,
                    sequence,
                    dependence='independent',
                    beta=beta,
                    seed=1,
                    settings=core.Settings(target_ess=6000.0, one_auxiliary=one),
                )
                key = f'total variation, {name}, K = {count}, β = {beta:g}'
                results[key if one else key + ' (at most 0.03)'] = exact.total_variation(posterior)
    return results


def sessions() -> dict[str, Any]:
    """Distance of θ's mean as a session learns it from that of long runs, β inferred."""
    jobs = [
        (name, lengths, seed)
        for name in ('press', 'reach', 'push_study')
        for lengths in SESSIONS
        for seed in range(6)
    ]
    cells: dict[tuple[str, tuple[int, ...]], list[float]] = {}
    for index, square in run_all(squared_distance_to_long_run, jobs):
        cells.setdefault(jobs[index][:2], []).append(square)
    return {
        f'rms |mean − long run|, {name}, plans corrected {lengths} times': float(
            np.sqrt(np.mean(squares))
        )
        for (name, lengths), squares in cells.items()
    }


def squared_distance_to_long_run(job: tuple[str, tuple[int, ...], int]) -> float:
    """Return how far a component of the mean is from a long run's, squared and on average."""
    warnings.simplefilter('ignore')
    name, lengths, seed = job
    task = core.load_task(name)
    theta = next(iter(task.presets.values()))
    seeds = np.random.SeedSequence(seed).spawn(len(lengths))
    sequences = [
        core.simulate_corrections(task, theta, beta=10.0, count=count, seed=each)
        for count, each in zip(lengths, seeds, strict=True)
    ]
    result = learn(LearningParameters(task=name, seed=seed), sequences, task=task)
    long = core.infer(
        task,
        sequences,
        seed=1000 + seed,
        settings=core.Settings(target_ess=4000.0, inner_steps=96, max_draws=100_000),
    )
    return float(((result.posterior.mean - long.mean) ** 2).mean())


def recordings() -> dict[str, Any]:
    """Distance to the reference posterior mean on real recordings of Press and Reach."""
    from reward_learning_ros.recording.published_recordings import read_corrections

    if not STUDY.is_dir():
        return {'recordings of the published study': f'left out: {STUDY} is not here'}
    jobs = [
        (name, beta, sequence)
        for name in ('press', 'reach')
        for sequence in read_corrections(STUDY, core.load_task(name))
        for beta in (2.0, 5.0, 20.0)
    ]
    cells: dict[tuple[str, float], list[np.ndarray]] = {}
    for index, found in run_all(distances_to_reference, jobs):
        cells.setdefault(jobs[index][:2], []).append(found)
    results: dict[str, Any] = {}
    for (name, beta), cell in cells.items():
        allowed = 0.05 if beta == 20.0 else 0.03
        errors = np.array(cell)
        label = f'|mean − reference mean|, {name}, β = {beta:g}, {len(errors)} recordings'
        results[f'{label} (at most {allowed})'] = float(errors[:, 0].mean())
        results[f'{label}, worst'] = float(errors[:, 0].max())
        results[f'{label}, tabulated (at most 0.01)'] = float(errors[:, 1].mean())
        results[f'{label}, tabulated, worst'] = float(errors[:, 1].max())
    return results


def distances_to_reference(job: tuple[str, float, core.CorrectionSequence]) -> np.ndarray:
    """Return how far a component of the mean is from the reference's: double_mh, tabulated."""
    warnings.simplefilter('ignore')
    name, beta, sequence = job
    task = core.load_task(name)
    options = {'beta': beta, **PUBLISHED_MODEL}
    exact = reference_posterior(task, sequence, seed=9, **options)
    found = [
        core.infer(task, sequence, method=method, seed=3, **options)
        for method in ('double_mh', 'tabulated')
    ]
    return np.array([np.abs(each.mean - exact.mean).mean() for each in found])


def calibration() -> dict[str, Any]:
    """Simulation-based calibration with 200 simulated people."""
    results: dict[str, Any] = {}
    for name in ('press', 'reach'):
        for beta in (5.0, 'infer'):
            outcome = calibrate(name, humans=200, beta=beta, seed=1)
            label = f'{name}, β {"inferred" if beta == "infer" else "= 5"}'
            for quantity, p_value, covered in zip(
                outcome.names, outcome.p_values, outcome.coverage, strict=True
            ):
                results[f'rank p, {label}, {quantity} (above 0.01)'] = float(p_value)
                results[f'90 % coverage, {label}, {quantity} (0.85 to 0.95)'] = float(covered)
    return results


def _printed_by(code: str) -> tuple[float, ...]:
    """Return the numbers that a fresh process prints."""
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    return tuple(map(float, done.stdout.split()))


def _processor_sec(function: Any, times: int = 1) -> float:
    """Return the processor time that a call takes, on average."""
    started = time.process_time()
    for _ in range(times):
        function()
    return (time.process_time() - started) / times


def _rate(function: Any, count: int) -> float:
    started = time.perf_counter()
    function()
    return count / (time.perf_counter() - started)


if __name__ == '__main__':
    run(sys.argv[1:])
