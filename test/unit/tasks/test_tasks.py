"""What holds for every registered task, those with physics included."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from reward_learning_ros import core
from reward_learning_ros.core.errors import (
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
    install_command,
)
from reward_learning_ros.core.planner import plan, trajectory_space
from reward_learning_ros.core.samplers.ensemble_kernels import fill_uniform
from reward_learning_ros.core.samplers.kernels import make_scratch
from reward_learning_ros.tasks import ENTRY_POINT_GROUP, broken_tasks

BUILT_IN = ('cup', 'press', 'press_conflict', 'published_press', 'published_reach', 'reach')
FROM_FILES = ('serve', 'shelf')
GRIDS = ('published_push', 'push_study')
LIBRARIES = ('close', 'pour', 'push')
PHYSICS = GRIDS + LIBRARIES
TASKS = sorted(BUILT_IN + FROM_FILES + PHYSICS)
COUNT = 400


@pytest.fixture(scope='module')
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], core.Task]:
    """Load a task; those with physics with a tiny library, simulated once for all tests here."""
    directory = tmp_path_factory.mktemp('libraries')
    loaded: dict[str, core.Task] = {}

    def load_once(name: str) -> core.Task:
        if name not in loaded:
            options = {}
            if name in PHYSICS:
                size = 5**4 if name in GRIDS else 48
                options = {'library_size': size, 'cache_directory': directory}
            loaded[name] = core.load_task(name, **options)
        return loaded[name]

    return load_once


def draw(task: core.Task, seed: int = 0) -> np.ndarray:
    """Return trajectories of a task's space."""
    if task.library is not None:
        return np.array(task.library.trajectories)
    space = trajectory_space(task)
    deltas = np.zeros((COUNT, *space.delta_low.shape))
    statistics = np.zeros((COUNT, task.size + 1))
    scratch = make_scratch(space, task.size)
    rng = np.random.default_rng(seed)
    assert fill_uniform(task.compiled_features, space, scratch, deltas, statistics, rng)
    trajectories = np.tile(task.plan, (COUNT, 1, 1))
    trajectories[:, task.space.fixed_waypoints :] += np.cumsum(deltas, axis=1)
    return trajectories


def test_all_tasks_are_registered() -> None:
    assert set(TASKS) <= set(core.task_names())
    assert broken_tasks() == {}


@pytest.mark.parametrize('name', TASKS)
def test_features_are_finite_and_have_the_right_shape(name, load) -> None:
    task = load(name)
    values = task.evaluate(draw(task))
    assert values.shape[1:] == (task.size,) == (len(task.feature_names),)
    assert np.isfinite(values).all()
    assert np.isfinite(task.evaluate(task.plan)).all()


@pytest.mark.parametrize('name', TASKS)
def test_features_are_deterministic(name, load) -> None:
    task = load(name)
    trajectories = draw(task)
    one, two = task.evaluate(trajectories), task.evaluate(trajectories[::-1])[::-1]
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize('name', TASKS)
def test_no_feature_is_constant(name, load) -> None:
    task = load(name)
    # A button may be pressed by next to none of the random trajectories.
    values = task.evaluate(draw(task))
    for index in np.flatnonzero(np.ptp(values, axis=0) <= 1e-3):
        favourite = task.evaluate(plan(task, np.eye(task.size)[index]))
        assert np.abs(favourite - values)[:, index].max() > 1e-3


@pytest.mark.parametrize('name', sorted(set(TASKS) - set(LIBRARIES)))
def test_every_bound_of_the_corrections_is_reachable(name, load) -> None:
    task = load(name)
    fixed = task.space.fixed_waypoints
    later = draw(task)[:, fixed:] - task.plan[fixed:]
    deltas = np.diff(later, axis=1, prepend=np.zeros((COUNT, 1, later.shape[2])))
    width = task.space.delta_high - task.space.delta_low
    for axis in set(range(task.space.dimensions)) - set(task.space.given_axes):
        assert deltas[..., axis].min() < task.space.delta_low[axis] + 0.1 * width[axis]
        assert deltas[..., axis].max() > task.space.delta_high[axis] - 0.1 * width[axis]


@pytest.mark.parametrize('name', ['close', 'push'])
def test_every_bound_of_the_workspace_is_reachable_in_a_library(name, load) -> None:
    task = load(name)
    later = task.library.trajectories[:, 1:].reshape(-1, 3)
    low, high = task.space.workspace_low, task.space.workspace_high
    assert (later.min(axis=0) < low + 0.15 * (high - low)).all()
    assert (later.max(axis=0) > high - 0.15 * (high - low)).all()
    assert (later >= low).all()
    assert (later <= high).all()


# The published workspace of Reach is lower than where its plan begins.
@pytest.mark.parametrize('name', sorted(set(TASKS) - {'published_reach'}))
def test_the_initial_plan_is_inside_its_space(name, load) -> None:
    task = load(name)
    if task.library is not None:
        np.testing.assert_array_equal(task.library.trajectories[0], task.plan)
    free = task.plan[task.space.fixed_waypoints :]
    assert (free >= task.space.workspace_low).all()
    assert (free <= task.space.workspace_high).all()
    values = np.empty(task.size)
    if task.library is None:
        task.compiled_features(np.array(task.plan), values)
        assert np.isfinite(values).all()


@pytest.mark.parametrize('name', TASKS)
def test_the_best_plan_is_inside_its_space_and_no_worse_than_the_initial_one(name, load) -> None:
    task = load(name)
    theta = task.theta.sample(1, np.random.default_rng(3))[0]
    best = plan(task, theta)
    assert best.shape == task.plan.shape
    fixed = task.space.fixed_waypoints
    np.testing.assert_allclose(best[:fixed], task.plan[:fixed], atol=1e-12)
    assert (best[fixed:] >= task.space.workspace_low - 1e-9).all()
    assert (best[fixed:] <= task.space.workspace_high + 1e-9).all()
    if task.library is None:
        deltas = np.diff(best - task.plan, axis=0, prepend=np.zeros((1, best.shape[1])))[fixed:]
        assert (deltas >= task.space.delta_low - 1e-9).all()
        assert (deltas <= task.space.delta_high + 1e-9).all()
    if name != 'published_reach':
        assert task.evaluate(best) @ theta >= task.evaluate(task.plan) @ theta - 1e-9


@pytest.mark.parametrize('name', TASKS)
def test_presets_are_in_the_domain_of_theta(name, load) -> None:
    task = load(name)
    for theta in task.presets.values():
        assert task.theta.contains(np.asarray(theta)) or np.isclose(
            np.linalg.norm(theta), 1.0, atol=0.01
        )


@pytest.mark.parametrize('name', PHYSICS)
def test_a_prediction_moves_what_the_scene_shows(name, load) -> None:
    task = load(name)
    prediction = task.predict(task.plan)
    shown = {thing.name for thing in task.scene}
    assert set(prediction.positions) <= shown
    for path, turns in zip(
        prediction.positions.values(), prediction.orientations.values(), strict=True
    ):
        assert path.shape == (len(prediction.times_sec), 3)
        np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=1e-6)


def test_unknown_tasks_and_options_are_refused_with_what_there_is() -> None:
    with pytest.raises(UnknownNameError, match='press'):
        core.load_task('pres')
    with pytest.raises(InvalidInputError, match='library_size'):
        core.load_task('press', library_size=3)


def test_without_mujoco_kinematic_tasks_work_and_the_others_name_the_extra() -> None:
    code = (
        'import sys; sys.modules["mujoco"] = None\n'
        'from reward_learning_ros import core\n'
        'from reward_learning_ros.core.errors import MissingExtraError\n'
        'names = core.task_names()\n'
        'assert {"push", "press", "shelf"} <= set(names), names\n'
        'core.load_task("press")\n'
        'core.load_task("shelf")\n'
        'for name in ("push", "close", "pour", "push_study", "published_push"):\n'
        '    try:\n'
        '        core.load_task(name)\n'
        '    except MissingExtraError as error:\n'
        '        print(error)\n'
    )
    output = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)
    assert output.returncode == 0, output.stderr
    lines = output.stdout.splitlines()
    assert len(lines) == len(PHYSICS)
    assert all(install_command('sim') in line for line in lines)


def test_an_entry_point_that_fails_is_refused_and_says_where(monkeypatch) -> None:
    from importlib.metadata import EntryPoint

    from reward_learning_ros.tasks import registry

    points = [
        EntryPoint(name=name, value=value, group=ENTRY_POINT_GROUP)
        for name, value in (('gone', 'no_such_module:make_task'), ('wrong', 'builtins:dict'))
    ]
    monkeypatch.setattr(registry, 'entry_points', lambda group: points)
    assert {'gone', 'press'} <= set(core.task_names())
    with pytest.raises(RewardLearningError, match='gone = no_such_module:make_task'):
        core.load_task('gone')
    with pytest.raises(RewardLearningError, match='not a Task'):
        core.load_task('wrong')
    core.load_task('press')
