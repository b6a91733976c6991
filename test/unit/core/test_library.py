"""Libraries of simulated trajectories: on disk, in the samplers, and as grids."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.sizes import sized

from reward_learning_ros import core
from reward_learning_ros.core import library as storage
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.grid import (
    GridAxis,
    GridFeatures,
    grid_trajectories,
    interpolate,
    table_kernel,
)
from reward_learning_ros.core.library import (
    DamagedLibraryError,
    LibraryWarning,
    TrajectoryLibrary,
    library_path,
    load_or_build,
    neighbour_graph,
    read_arrays,
)
from reward_learning_ros.core.planner import plan
from reward_learning_ros.core.samplers.base import Settings
from reward_learning_ros.core.samplers.library_sampling import LIBRARY_METHODS
from reward_learning_ros.core.simulated_human import simulate_corrections

RECIPE = {'world': 'abc', 'size': 3, 'bounds': np.array([0.0, 1.0])}
ARRAYS = {'features': np.arange(6.0).reshape(3, 2)}
MEMBERS = 300
BETA = 8.0


def building(calls: list[int]):
    def build(report):
        calls.append(1)
        report(3, 3)
        return ARRAYS

    return build


def make_library() -> TrajectoryLibrary:
    """Return a library that needs no simulation: random trajectories of one number pair."""
    rng = np.random.default_rng(0)
    trajectories = rng.uniform(-1.0, 1.0, (MEMBERS, 1, 2))
    offsets, neighbours = neighbour_graph(trajectories[:, 0], 6)
    arrays = {
        'trajectories': trajectories,
        'features': np.column_stack(
            [trajectories[:, 0, 0], -np.abs(trajectories[:, 0]).sum(axis=1)]
        ),
        'offsets': offsets,
        'neighbours': neighbours,
    }
    return TrajectoryLibrary(lambda: arrays)


@pytest.fixture(scope='module')
def task() -> core.Task:
    return core.Task(
        name='pairs',
        feature_names=('right', 'small'),
        features=make_library(),
        plan=np.zeros((1, 2)),
        space=core.TrajectorySpace(
            delta_low=-np.ones(2), delta_high=np.ones(2), fixed_waypoints=0
        ),
        axis_names=('a', 'b'),
    )


@pytest.mark.parametrize('kind', ['library', 'grid'])
def test_what_a_task_needs_is_made_when_it_is_prepared_and_only_once(kind, task) -> None:
    calls: list[int] = []

    def load():
        calls.append(1)
        return ARRAYS if kind == 'library' else np.zeros(2)

    axis = GridAxis(waypoint=0, axis=0, low=0.0, high=1.0, count=2)
    lazy = TrajectoryLibrary(load) if kind == 'library' else GridFeatures([axis], load, None, 2)
    prepared = dataclasses.replace(task, features=lazy)
    assert prepared.needs_preparation
    assert calls == []
    prepared.prepare()
    prepared.prepare()
    assert calls == [1]


def test_a_task_of_plain_features_is_always_ready() -> None:
    assert not core.load_task('press').needs_preparation
    core.load_task('press').prepare()


def test_a_library_is_built_once_and_then_read(tmp_path) -> None:
    calls: list[int] = []
    built = load_or_build('pairs', RECIPE, building(calls), tmp_path)
    read = load_or_build('pairs', RECIPE, building(calls), tmp_path)
    assert len(calls) == 1
    np.testing.assert_array_equal(built['features'], read['features'])
    assert not read['features'].flags.writeable


def test_who_needs_a_library_that_is_being_built_waits_for_it(tmp_path) -> None:
    calls: list[int] = []
    both_build = threading.Barrier(2)

    def build(report):
        # Whoever else builds would come here within the time.
        with pytest.raises(threading.BrokenBarrierError):
            both_build.wait(timeout=0.5)
        return building(calls)(report)

    with ThreadPoolExecutor(4) as executor:
        found = list(
            executor.map(lambda _: load_or_build('pairs', RECIPE, build, tmp_path), range(4))
        )
    assert len(calls) == 1
    assert all(np.array_equal(arrays['features'], ARRAYS['features']) for arrays in found)


@pytest.mark.parametrize(
    'change', [{'world': 'abd'}, {'size': 4}, {'bounds': np.array([0.0, 2.0])}, {'more': 1}]
)
def test_everything_in_the_recipe_determines_the_file(change, tmp_path) -> None:
    assert library_path('a', RECIPE, tmp_path) != library_path('a', {**RECIPE, **change}, tmp_path)


def damage_bytes(path, recipe) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(content))


def cut_short(path, recipe) -> None:
    path.write_bytes(path.read_bytes()[:100])


def write_nonsense(path, recipe) -> None:
    path.write_text('no library')


def write_foreign(path, recipe) -> None:
    storage.write_arrays(path, {**recipe, 'world': 'another'}, ARRAYS)


def write_other_numbers(path, recipe) -> None:
    manifest = {
        'format': storage.FORMAT,
        'recipe': storage.recipe_hash(recipe),
        'checksum': '0' * 64,
    }
    encoded = np.frombuffer(json.dumps(manifest).encode(), dtype=np.uint8)
    with path.open('wb') as file:
        np.savez(file, manifest=encoded, features=np.zeros((3, 2)))


@pytest.mark.parametrize(
    'harm', [damage_bytes, cut_short, write_nonsense, write_foreign, write_other_numbers]
)
def test_a_damaged_or_foreign_file_is_refused_and_built_again(harm, tmp_path) -> None:
    calls: list[int] = []
    load_or_build('pairs', RECIPE, building(calls), tmp_path)
    path = library_path('pairs', RECIPE, tmp_path)
    harm(path, RECIPE)
    with pytest.raises(DamagedLibraryError, match=str(path)):
        read_arrays(path, RECIPE)
    with pytest.warns(LibraryWarning, match='built again'):
        again = load_or_build('pairs', RECIPE, building(calls), tmp_path)
    assert len(calls) == 2
    np.testing.assert_array_equal(again['features'], ARRAYS['features'])
    read_arrays(path, RECIPE)


def test_of_many_libraries_of_a_task_the_newest_are_kept(tmp_path) -> None:
    other = library_path('a-b', RECIPE, tmp_path)
    load_or_build('a-b', RECIPE, building([]), tmp_path)
    paths = []
    for age, size in enumerate(range(8)):
        recipe = {**RECIPE, 'size': size}
        load_or_build('a', recipe, building([]), tmp_path)
        paths.append(library_path('a', recipe, tmp_path))
        os.utime(paths[-1], (age, age))
    assert [path.exists() for path in paths] == [False] * 4 + [True] * 4
    assert other.exists()


def test_a_build_that_fails_leaves_nothing_behind(tmp_path) -> None:
    def fail(report):
        raise RuntimeError('out of coffee')

    with pytest.raises(RuntimeError, match='coffee'):
        load_or_build('pairs', RECIPE, fail, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_to_write_the_library_is_used_all_the_same(tmp_path) -> None:
    blocked = tmp_path / 'file'
    blocked.write_text('not a directory')
    with pytest.warns(LibraryWarning, match='cannot be written'):
        arrays = load_or_build('pairs', RECIPE, building([]), blocked)
    np.testing.assert_array_equal(arrays['features'], ARRAYS['features'])


def test_the_cache_is_where_the_user_says(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert storage.cache_directory() == tmp_path / 'reward_learning_ros'
    monkeypatch.setenv('XDG_CACHE_HOME', 'relative')
    assert storage.cache_directory().is_absolute()


def test_the_graph_of_neighbours_is_symmetric_and_links_nobody_to_himself() -> None:
    points = np.random.default_rng(2).random((200, 3))
    offsets, neighbours = neighbour_graph(points, 5)
    links = {(i, int(j)) for i in range(200) for j in neighbours[offsets[i] : offsets[i + 1]]}
    assert all((j, i) in links and i != j for i, j in links)
    assert np.diff(offsets).min() >= 5


def test_members_are_looked_up_and_others_refused_without_a_simulator(task) -> None:
    library = task.library
    np.testing.assert_array_equal(task.evaluate(library.trajectories), library.features)
    with pytest.raises(InvalidInputError, match='no member'):
        task.evaluate(np.full((1, 2), 3.0))


def test_others_are_simulated_if_there_is_a_simulator() -> None:
    arrays = make_library().arrays
    library = TrajectoryLibrary(lambda: arrays, lambda some: np.full((len(some), 2), 7.0))
    mixed = np.stack([arrays['trajectories'][4], np.full((1, 2), 3.0)])
    np.testing.assert_array_equal(library.evaluate(mixed), [arrays['features'][4], [7.0, 7.0]])


def test_the_plan_of_a_library_is_its_best_member(task) -> None:
    theta = np.array([0.8, 0.6])
    best = task.evaluate(plan(task, theta)) @ theta
    assert best == pytest.approx((task.library.features @ theta).max())


def test_simulated_people_choose_members_as_often_as_the_model_says(task) -> None:
    theta = np.array([0.8, 0.6])
    count = 4000
    drawn = simulate_corrections(
        task, theta, beta=BETA, count=count, dependence='independent', seed=1
    )
    weights = np.exp(BETA * task.library.features @ theta)
    expected = weights @ task.library.features / weights.sum()
    found = task.evaluate(drawn.corrected).mean(axis=0)
    spread = task.library.features.std(axis=0)
    assert (np.abs(found - expected) < 5 * spread / np.sqrt(count)).all()


def exact_mean(task: core.Task, demonstrations: core.CorrectionSequence) -> np.ndarray:
    angle = (np.arange(2000) + 0.5) / 2000 * np.pi / 2
    thetas = np.column_stack([np.cos(angle), np.sin(angle)])
    data = task.evaluate(demonstrations.corrected)
    normalizer = np.log(np.exp(BETA * thetas @ task.library.features.T).sum(axis=1))
    log_probability = BETA * thetas @ data.sum(axis=0) - len(data) * normalizer
    probability = np.exp(log_probability - log_probability.max())
    return probability @ thetas / probability.sum()


@pytest.fixture(scope='module')
def demonstrations(task) -> core.CorrectionSequence:
    return simulate_corrections(
        task, [0.5, 0.866], beta=BETA, count=3, dependence='independent', seed=2
    )


@pytest.mark.parametrize('method', ['double_mh', 'summation', 'tabulated'])
# Without jumps into the mixture an auxiliary needs more steps to forget where it was.
@pytest.mark.parametrize(('start', 'steps'), [('ensemble', 24), ('carried', 300), ('data', 300)])
def test_the_methods_agree_with_the_exact_posterior(
    method, start, steps, task, demonstrations
) -> None:
    if sized(1, 0) == 0:
        pytest.skip('accuracy needs compiled code')
    settings = Settings(target_ess=1500.0, auxiliary_start=start, inner_steps=steps)
    posterior = core.infer(
        task,
        demonstrations,
        method=method,
        dependence='independent',
        beta=BETA,
        settings=settings,
    )
    np.testing.assert_allclose(posterior.mean, exact_mean(task, demonstrations), atol=0.03)


@pytest.mark.parametrize('method', sorted(LIBRARY_METHODS))
def test_every_method_is_deterministic_whatever_the_threads(
    method, task, demonstrations, quick
) -> None:
    results = [
        core.infer(
            task,
            demonstrations,
            method=method,
            dependence='independent',
            beta='infer',
            seed=4,
            settings=quick,
            threads=threads,
        )
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(results[0].samples, results[1].samples)
    assert np.isfinite(results[0].samples).all()


def test_one_auxiliary_for_all_is_there_on_request(task, demonstrations, quick) -> None:
    from dataclasses import replace

    posterior = core.infer(
        task,
        demonstrations,
        dependence='independent',
        beta=BETA,
        settings=replace(quick, one_auxiliary=True),
    )
    assert posterior.sampling['inner_acceptance'] > 0.0


def test_dependent_corrections_and_unknown_methods_are_refused(task, demonstrations) -> None:
    with pytest.raises(InvalidInputError, match=r'library.*independent'):
        core.infer(task, demonstrations)
    with pytest.raises(InvalidInputError, match=r'library.*independent'):
        simulate_corrections(task, [1.0, 0.0], beta=1.0, count=1)
    with pytest.raises(UnknownNameError, match='double_mh'):
        core.infer(task, demonstrations, method='guess', dependence='independent')


def test_a_pass_of_a_library_is_a_demonstration_of_what_it_came_to(task, quick) -> None:
    member = np.array(task.library.trajectories[5])
    passes = [
        core.CorrectionSequence.from_pass(shown, member - shown) for shown in (task.plan, member)
    ]
    demonstrations = core.CorrectionSequence(plan=task.plan, corrected=np.stack([member, member]))
    options = {**core.pass_model(task), 'settings': quick}
    posterior = core.infer(task, passes, **options)
    assert posterior.sampling['corrections'] == 2
    expected = core.infer(task, demonstrations, **options)
    np.testing.assert_array_equal(posterior.samples, expected.samples)


@table_kernel
def grid_kernel(table: np.ndarray, trajectory: np.ndarray, out: np.ndarray) -> None:
    out[0] = interpolate(table, trajectory)


def linear_grid(blocked: bool = False) -> tuple[GridFeatures, np.ndarray]:
    plan_ = np.zeros((3, 2))
    axes = (
        GridAxis(waypoint=1, axis=0, low=0.0, high=1.0, count=4),
        GridAxis(waypoint=1, axis=1, low=-1.0, high=1.0, count=3),
        GridAxis(waypoint=2, axis=0, low=0.0, high=2.0, count=5),
        GridAxis(waypoint=2, axis=1, low=0.0, high=1.0, count=2),
    )
    weights = np.array([0.3, -1.2, 0.7, 2.0])
    trajectories = grid_trajectories(plan_, axes)
    outcomes = trajectories[:, 1:].reshape(len(trajectories), -1) @ weights
    if blocked:
        outcomes[trajectories[:, 2, 0] > 1.2] = np.nan
    return GridFeatures(axes, lambda: outcomes, grid_kernel, 1), weights


def test_interpolation_is_exact_for_what_is_linear() -> None:
    grid, weights = linear_grid()
    rng = np.random.default_rng(3)
    places = rng.uniform([0.0, -1.0, 0.0, 0.0], [1.0, 1.0, 2.0, 1.0], (50, 4))
    trajectories = np.concatenate([np.zeros((50, 1, 2)), places.reshape(50, 2, 2)], axis=1)
    compiled = np.empty((50, 1))
    for trajectory, row in zip(trajectories, compiled, strict=True):
        grid.compiled()(np.ascontiguousarray(trajectory), row)
    np.testing.assert_allclose(compiled[:, 0], places @ weights, atol=1e-12)
    np.testing.assert_allclose(grid.evaluate(trajectories), compiled, atol=1e-12)


def test_outside_a_grid_and_where_the_arm_cannot_go_there_is_no_trajectory() -> None:
    grid, weights = linear_grid(blocked=True)
    inside, outside, unreachable = np.zeros((3, 3, 2))
    inside[1:] = [[0.5, 0.5], [0.9, 0.5]]
    outside[1:] = [[1.5, 0.5], [0.5, 0.5]]
    unreachable[1:] = [[0.5, 0.5], [1.9, 0.5]]
    value = np.empty(1)
    for trajectory, finite in ((inside, True), (outside, False), (unreachable, False)):
        grid.compiled()(trajectory, value)
        assert np.isfinite(value[0]) == finite
    # What happened all the same counts as the nearest that could be simulated.
    np.testing.assert_allclose(grid.evaluate(outside)[0], np.array([1.0, 0.5, 0.5, 0.5]) @ weights)
    np.testing.assert_allclose(
        grid.evaluate(unreachable)[0], np.array([0.5, 0.5, 1.0, 0.5]) @ weights
    )
