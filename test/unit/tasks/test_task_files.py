"""Tasks from YAML files: what their primitives measure, and how bad files are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from reward_learning_ros import core
from reward_learning_ros.tasks import broken_tasks
from reward_learning_ros.tasks import task_files as files
from reward_learning_ros.tasks.registry import DIRECTORIES_VARIABLE
from reward_learning_ros.tasks.task_files import TaskFileError, read_task

WAY = np.array([[0.0, 0.0, 0.5, 0.0], [0.3, 0.0, 0.5, 0.2], [0.3, 0.4, 0.1, -0.6]])


def content(**changes: Any) -> dict[str, Any]:
    """Return a good file with a feature of every primitive."""
    point = {'point': [0.3, 0.4, None]}
    return {
        'axes': ['x', 'y', 'z', 'tilt'],
        'duration_sec': 4.0,
        'plan': {'points': WAY.tolist()},
        'space': {'delta_low': [-0.1] * 4, 'delta_high': [0.1] * 4},
        'features': [
            {'name': 'last', 'primitive': 'distance_to_point', 'point': [0.3, 0.0, 0.1]},
            {'name': 'nearest', 'primitive': 'distance_to_point', 'at': 'nearest', **point},
            {'name': 'mean', 'primitive': 'distance_to_point', 'at': 'mean', **point},
            {
                'name': 'obstacle',
                'primitive': 'distance_to_obstacle',
                'point': [0.15, 0.1, None],
                'radius': 0.02,
            },
            {'name': 'length', 'primitive': 'path_length', 'scale': -2.0, 'offset': 1.0},
            {'name': 'squares', 'primitive': 'path_length', 'squared': True},
            {'name': 'height', 'primitive': 'height', 'above': 0.1},
            {'name': 'speed', 'primitive': 'speed'},
            {'name': 'upright', 'primitive': 'upright', 'axis': 'tilt'},
            {'name': 'reached', 'primitive': 'reached', 'radius': 0.05, **point},
        ],
        'presets': {'some': [1.0] + [0.0] * 9},
        **changes,
    }


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return path


def test_primitives_measure_what_they_say(tmp_path) -> None:
    task = read_task(write(tmp_path / 'all.yaml', content()))
    measured = dict(zip(task.feature_names, task.evaluate(WAY), strict=True))
    second = np.sqrt(0.4**2 + 0.4**2)
    assert measured == pytest.approx(
        {
            'last': 0.4,
            'nearest': 0.0,
            'mean': 0.2,
            # The way passes 10 cm from it, between two waypoints.
            'obstacle': 0.1 - 0.02,
            'length': 1.0 - 2.0 * (0.3 + second),
            'squares': 0.3**2 + second**2,
            'height': 0.2,
            'speed': second / 2.0,
            'upright': -0.4,
            'reached': 1.0,
        }
    )
    assert task.name == 'all'
    assert task.duration_sec == 4.0


def test_the_kernel_of_a_file_is_compiled_for_the_samplers(tmp_path) -> None:
    task = read_task(write(tmp_path / 'all.yaml', content()))
    out = np.empty(task.size)
    task.compiled_features(WAY.copy(), out)
    np.testing.assert_array_equal(out, task.evaluate(WAY))


def test_two_files_do_not_share_their_numbers(tmp_path) -> None:
    features = [{'name': 'a', 'primitive': 'path_length'}, {'name': 'b', 'primitive': 'speed'}]
    one = read_task(write(tmp_path / 'one.yaml', content(features=features, presets={})))
    features = [{**feature, 'scale': 3.0} for feature in features]
    two = read_task(write(tmp_path / 'two.yaml', content(features=features, presets={})))
    np.testing.assert_allclose(3.0 * one.evaluate(WAY), two.evaluate(WAY))


FEATURE = {'name': 'a', 'primitive': 'path_length'}
BAD = {
    'unknown primitive': (
        {'features': [{'name': 'a', 'primitive': 'path_lenght'}]},
        r'features\[0\]\.primitive: .*did you mean path_length',
    ),
    'missing field': ({'space': {'delta_low': [-1.0] * 4}}, r'space\.delta_high: is missing'),
    'misspelt field': (
        {'space': {'delta_low': [-1.0] * 4, 'delta_hihg': [1.0] * 4}},
        r"space\.delta_high: is missing; did you mean it by 'delta_hihg'",
    ),
    'unknown field': ({'colour': 'red'}, r'colour: is no field here'),
    'contradictory bounds': (
        {'space': {'delta_low': [0.1, 0.3, 0.1, 0.1], 'delta_high': [0.2] * 4}},
        r'space\.delta_low\[1\]: is 0\.3, but delta_high\[1\] is 0\.2',
    ),
    'contradictory workspace': (
        {
            'space': {
                'delta_low': [-1.0] * 4,
                'delta_high': [1.0] * 4,
                'workspace_low': [0.0, 0.0, 2.0, 0.0],
                'workspace_high': [1.0, 1.0, 1.0, 1.0],
            }
        },
        r'space\.workspace_low\[2\]',
    ),
    'not finite': (
        {'plan': {'points': [[0.0, 0.0, float('nan'), 0.0]] * 3}},
        r'plan\.points\[0\]\[2\]: is nan; it must be finite',
    ),
    'infinite scale': (
        {'features': [{**FEATURE, 'scale': float('inf')}]},
        r'features\[0\]\.scale: is inf',
    ),
    'no effect': ({'features': [{**FEATURE, 'scale': 0}]}, r'scale: is 0'),
    'wrong length': ({'presets': {'some': [1.0, 2.0]}}, r'presets\.some: must be a list of 10'),
    'wrong kind': ({'duration_sec': 'long'}, r'duration_sec: must be a number'),
    'not positive': ({'duration_sec': 0}, r'duration_sec: is 0; it must be above 0'),
    'two names': ({'features': [FEATURE, FEATURE]}, r"features\[1\]\.name: 'a' names two"),
    'no such axis': (
        {'features': [{'name': 'a', 'primitive': 'upright', 'axis': 'roll'}]},
        r"features\[0\]\.axis: 'roll' is none of the axes",
    ),
    'all fixed': (
        {'space': {'delta_low': [-1.0] * 4, 'delta_high': [1.0] * 4, 'fixed_waypoints': 3}},
        r'at least one must be free',
    ),
    'domain': ({'theta': 'unti'}, r'theta: .*did you mean unit'),
    'shape': (
        {'scene': [{'name': 'a', 'shape': 'cone', 'position': [0] * 3, 'size': [1] * 3}]},
        r'scene\[0\]\.shape',
    ),
}


@pytest.mark.parametrize('case', sorted(BAD))
def test_a_bad_file_is_refused_with_file_field_and_reason(case, tmp_path) -> None:
    changes, message = BAD[case]
    path = write(tmp_path / 'bad.yaml', content(**changes))
    with pytest.raises(TaskFileError, match=message) as caught:
        read_task(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize('text', ['', '- a list', 'a: [1,', '\0', '3'])
def test_what_is_no_task_at_all_is_refused(text, tmp_path) -> None:
    with pytest.raises(TaskFileError, match=r'bad\.yaml'):
        read_task(write(tmp_path / 'bad.yaml', text))


def test_the_other_tasks_still_load_beside_a_broken_one(tmp_path, monkeypatch) -> None:
    write(tmp_path / 'good.yaml', content())
    write(tmp_path / 'broken.yaml', content(duration_sec=-1))
    write(tmp_path / 'press.yaml', content())
    monkeypatch.setenv(DIRECTORIES_VARIABLE, str(tmp_path))
    names = core.task_names()
    assert {'good', 'press', 'reach'} <= set(names)
    assert 'broken' not in names
    assert core.load_task('good').size == 10
    # The package's own keeps its name.
    assert core.load_task('press').feature_names[0] == 'goal'
    with pytest.raises(TaskFileError, match=r'broken\.yaml: duration_sec'):
        core.load_task('broken')
    reasons = list(broken_tasks().values())
    assert len(reasons) == 2
    assert any("the name 'press' is taken" in reason for reason in reasons)


def test_loading_a_task_looks_at_no_other(tmp_path, monkeypatch) -> None:
    read = []
    monkeypatch.setattr(files, '_load', lambda path: read.append(path) or {})
    monkeypatch.setenv(DIRECTORIES_VARIABLE, str(tmp_path))
    path = write(tmp_path / 'good.yaml', content())
    core.load_task('press')
    assert read == []
    with pytest.raises(TaskFileError):
        core.load_task('good')
    assert read == [path]


def test_files_are_found_in_the_users_configuration(tmp_path, monkeypatch) -> None:
    folder = tmp_path / 'reward_learning_ros' / 'tasks'
    folder.mkdir(parents=True)
    write(folder / 'mine.yaml', content())
    monkeypatch.setenv('XDG_CONFIG_HOME', str(tmp_path))
    assert 'mine' in core.task_names()


def test_theta_is_inferred_for_a_task_from_a_file(quick, corrections_of) -> None:
    task = core.load_task('shelf')
    posterior = core.infer(task, corrections_of(task), settings=quick)
    assert posterior.samples.shape[1] == 4
    assert np.isfinite(posterior.samples).all()


@pytest.mark.parametrize(
    ('plan', 'field'),
    [
        ({'start': [0.0] * 4, 'end': [1.0] * 4, 'waypoints': 1_000_000}, 'plan.waypoints'),
        ({'points': [[0.0, 0.0, 0.0, index / 2000] for index in range(1001)]}, 'plan.points'),
    ],
)
def test_more_waypoints_than_memory_can_hold_are_refused(tmp_path, plan, field) -> None:
    with pytest.raises(TaskFileError, match=f'{field}.*at most 1000') as caught:
        files.check_task(write(tmp_path / 'long.yaml', content(plan=plan)))
    assert caught.value.field == field


@pytest.mark.parametrize('text', ['[' * 5000, 'a: ' + '{b: ' * 5000, 'a: 2024-99-99', '&a [*a]'])
def test_a_file_that_no_person_would_write_is_refused(tmp_path, text) -> None:
    with pytest.raises(TaskFileError, match='cannot be read'):
        files.check_task(write(tmp_path / 'deep.yaml', text))


def test_a_number_with_an_exponent_is_a_number(tmp_path) -> None:
    text = yaml.safe_dump(content(duration_sec='SEC')).replace('SEC', '1.0e1')
    assert read_task(write(tmp_path / 'quick.yaml', text)).duration_sec == 10.0
