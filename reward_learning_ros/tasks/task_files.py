"""Tasks that need no code: a YAML file that composes feature primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.domain import BOX, KINDS, UNIT_NONNEGATIVE, ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.scenery import ROLES, SHAPES, SceneObject
from reward_learning_ros.core.task import Task, TrajectorySpace
from reward_learning_ros.core.yaml_text import YamlError, read_yaml
from reward_learning_ros.tasks.fields import Fields, TaskFileError
from reward_learning_ros.tasks.tool_layout import KINDS as PRIMITIVES

POSITION_AXES = ('x', 'y', 'z')
_AT = ('last', 'nearest', 'mean')
# What is kept of a trajectory grows with the square of its waypoints; tasks have five to fifty.
MAX_WAYPOINTS = 1000


def read_task(path: Path) -> Task:
    """Return the task of a file; its name is the file's.

    Raises:
        TaskFileError: Something is wrong with it; the message says file, field and reason.
    """
    from reward_learning_ros.tasks.primitives import compose

    build, rows, positions = _parse(path)
    return build(
        compose(positions, rows), lambda noise_m: compose(positions, rows, motor_noise_m=noise_m)
    )


def check_task(path: Path) -> None:
    """Raise what is wrong with a task file, without compiling anything."""
    build, _, _ = _parse(path)
    build(lambda trajectory, out: None, None)


def _parse(path: Path) -> tuple[Callable[..., Task], list[list[float]], tuple[int, int, int]]:
    """Return what makes the task once its features are there, and what they are made of."""
    fields = Fields(path, _load(path))
    axes = _axes(fields)
    plan = _plan(fields, len(axes))
    duration_sec = fields.number('duration_sec', 20.0, above=0.0)
    space = _space(fields, len(axes))
    seconds = duration_sec / max(1, len(plan) - 1)
    names, rows = _features(fields, axes, seconds)
    theta = _theta(fields, len(names))
    presets = _presets(fields, names)
    scene = _scene(fields)
    description = fields.text('description', '')
    motor_noise_m = fields.number('motor_noise_m', 0.0, above=-1e-12)
    fields.finish()

    def build(features: Any, soft_features: Any) -> Task:
        try:
            return Task(
                name=path.stem,
                description=description,
                feature_names=names,
                features=features,
                plan=np.array(plan),
                space=space,
                theta=theta,
                duration_sec=duration_sec,
                presets=presets,
                axis_names=axes,
                scene=scene,
                motor_noise_m=motor_noise_m,
                soft_features=soft_features,
            )
        except InvalidInputError as error:
            raise TaskFileError(path, '', str(error)) from error

    x, y, z = (axes.index(axis) if axis in axes else -1 for axis in POSITION_AXES)
    return build, rows, (x, y, z)


def _load(path: Path) -> Any:
    try:
        return read_yaml(path)
    except YamlError as error:
        raise TaskFileError(path, '', str(error)) from error


def _axes(fields: Fields) -> tuple[str, ...]:
    value = fields.take('axes', list(POSITION_AXES))
    if not isinstance(value, list) or not value or not all(isinstance(a, str) for a in value):
        raise fields.error('axes', f'must be a list of names, not {value!r}')
    if len(set(value)) < len(value):
        raise fields.error('axes', f'names one axis twice: {", ".join(value)}')
    return tuple(value)


def _plan(fields: Fields, dimensions: int) -> list[list[float]]:
    plan = fields.mapping('plan')
    if plan.has('points'):
        points = plan.points('points', dimensions)
        if len(points) > MAX_WAYPOINTS:
            raise plan.error('points', f'are {len(points)}; at most {MAX_WAYPOINTS} are allowed')
        plan.finish()
        return points
    start, end = plan.numbers('start', dimensions), plan.numbers('end', dimensions)
    count = plan.whole('waypoints', at_least=2)
    if count > MAX_WAYPOINTS:
        raise plan.error('waypoints', f'is {count}; at most {MAX_WAYPOINTS} are allowed')
    plan.finish()
    straight: list[list[float]] = np.linspace(start, end, count).tolist()
    return straight


def _space(fields: Fields, dimensions: int) -> TrajectorySpace:
    space = fields.mapping('space')
    delta_low = space.numbers('delta_low', dimensions)
    delta_high = space.numbers('delta_high', dimensions)
    unbounded = [math.inf] * dimensions
    low = space.numbers('workspace_low', dimensions, [-math.inf] * dimensions, blank=-math.inf)
    high = space.numbers('workspace_high', dimensions, unbounded, blank=math.inf)
    fixed = space.whole('fixed_waypoints', 1)
    for name, lower, upper in (('delta_low', delta_low, delta_high), ('workspace_low', low, high)):
        for index in range(dimensions):
            if not lower[index] < upper[index]:
                other = name.replace('low', 'high')
                raise space.error(
                    f'{name}[{index}]',
                    f'is {lower[index]:g}, but {other}[{index}] is {upper[index]:g}; the lower '
                    'one must be smaller',
                )
    space.finish()
    return TrajectorySpace(
        delta_low=np.array(delta_low),
        delta_high=np.array(delta_high),
        workspace_low=np.array(low),
        workspace_high=np.array(high),
        fixed_waypoints=fixed,
    )


def _features(
    fields: Fields, axes: tuple[str, ...], seconds: float
) -> tuple[tuple[str, ...], list[list[float]]]:
    names, rows = [], []
    for feature in fields.listed('features'):
        name = feature.text('name')
        if name in names:
            raise feature.error('name', f'{name!r} names two features')
        names.append(name)
        kind = feature.choice('primitive', PRIMITIVES)
        scale, offset = feature.number('scale', 1.0), feature.number('offset', 0.0)
        if scale == 0.0:
            raise feature.error('scale', 'is 0, so the feature would be constant')
        point, radius, extra, axis = [math.nan] * 3, 0.0, 0.0, 0.0
        if kind in ('distance_to_point', 'distance_to_obstacle', 'reached'):
            point = _point(feature, axes)
        if kind == 'distance_to_point':
            extra = _AT.index(feature.choice('at', _AT, 'last'))
        elif kind == 'distance_to_obstacle':
            radius = feature.number('radius', 0.0, above=-1e-12)
        elif kind == 'reached':
            radius = feature.number('radius', above=0.0)
        elif kind == 'path_length':
            extra = float(feature.flag('squared', False))
        elif kind == 'height':
            extra, axis = feature.number('above', 0.0), _axis(feature, 'z', axes)
        elif kind == 'speed':
            extra = seconds
        elif kind == 'upright':
            axis = _axis(feature, feature.text('axis'), axes)
            extra = feature.number('angle', 0.0)
        feature.finish()
        rows.append([PRIMITIVES[kind], scale, offset, *point, radius, extra, axis])
    return tuple(names), rows


def _point(feature: Fields, axes: tuple[str, ...]) -> list[float]:
    """Return x, y and z, NaN where it does not matter."""
    point = feature.numbers('point', 3, blank=math.nan)
    for axis, value in zip(POSITION_AXES, point, strict=True):
        if not math.isnan(value) and axis not in axes:
            raise feature.error('point', f'has a {axis}, but waypoints have none')
    if all(math.isnan(value) for value in point):
        raise feature.error('point', 'is nowhere: at least one coordinate must be a number')
    return point


def _axis(feature: Fields, name: str, axes: tuple[str, ...]) -> int:
    if name not in axes:
        raise feature.error('axis', f'{name!r} is none of the axes {", ".join(axes)}')
    return axes.index(name)


def _theta(fields: Fields, size: int) -> ThetaDomain:
    """Return the domain of θ: `theta: unit`, or `theta: {kind: box, low: …, high: …}`."""
    if not fields.has('theta'):
        kind, low, high = UNIT_NONNEGATIVE, None, None
    elif fields.is_mapping('theta'):
        theta = fields.mapping('theta')
        kind = theta.choice('kind', KINDS)
        low, high = None, None
        if kind == BOX:
            low = np.array(theta.numbers('low', size, [0.0] * size))
            high = np.array(theta.numbers('high', size, [1.0] * size))
        theta.finish()
    else:
        kind, low, high = fields.choice('theta', KINDS), None, None
    try:
        return ThetaDomain(kind=kind, size=size, low=low, high=high)
    except InvalidInputError as error:
        raise fields.error('theta', str(error)) from error


def _presets(fields: Fields, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    if not fields.has('presets'):
        return {}
    presets = fields.mapping('presets')
    found = {name: np.array(presets.numbers(name, len(names))) for name in presets.names()}
    presets.finish()
    return found


def _scene(fields: Fields) -> tuple[SceneObject, ...]:
    if not fields.has('scene'):
        return ()
    things = []
    for entry in fields.listed('scene'):
        name, shape = entry.text('name'), entry.choice('shape', SHAPES)
        role = entry.choice('role', ROLES, 'object')
        position, size = entry.numbers('position', 3), entry.numbers('size', 3)
        if min(size) <= 0.0:
            raise entry.error('size', f'is {size}; it must be above 0 each')
        entry.finish()
        things.append(
            SceneObject(
                name=name,
                shape=shape,
                role=role,
                position=np.array(position),
                size=np.array(size),
            )
        )
    return tuple(things)
