"""Tasks that need no code: a YAML file that composes feature primitives."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.domain import BOX, KINDS, UNIT_NONNEGATIVE, ThetaDomain
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.scenery import ROLES, SHAPES, SceneObject
from reward_learning_ros.core.task import Task, TrajectorySpace
from reward_learning_ros.core.text import YamlError, read_yaml
from reward_learning_ros.tasks.primitives import KINDS as PRIMITIVES

_REQUIRED = object()


class TaskFileError(InvalidInputError):
    """A task file is refused; the message says file, field and reason.

    Attributes:
        path: The file.
        field: What is wrong in it, such as `space.delta_low[2]`; empty for the file as a whole.
        reason: Why.
    """

    def __init__(self, path: Path, field: str, reason: str) -> None:
        self.path = path
        self.field = field
        self.reason = reason
        super().__init__(f'{path}: {field}: {reason}' if field else f'{path}: {reason}')


class Fields:
    """A mapping of a task file, whose fields are taken out with checks."""

    def __init__(self, path: Path, value: Any, prefix: str = '') -> None:
        self._path = path
        self._prefix = prefix
        if not isinstance(value, Mapping):
            raise TaskFileError(path, prefix, f'must be a mapping of fields, not {value!r}')
        self._left: dict[Any, Any] = dict(value)
        self._known: list[str] = []

    def error(self, name: str, reason: str) -> TaskFileError:
        """Return the error about a field of this mapping."""
        return TaskFileError(self._path, self._name(name), reason)

    def take(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return a field's value as it is."""
        self._known.append(name)
        if name in self._left:
            return self._left.pop(name)
        if default is _REQUIRED:
            close = difflib.get_close_matches(name, [str(key) for key in self._left], n=1)
            hint = f'; did you mean it by {close[0]!r}?' if close else ''
            raise self.error(name, f'is missing{hint}')
        return default

    def has(self, name: str) -> bool:
        """Tell whether a field is there and not yet taken."""
        return name in self._left

    def is_mapping(self, name: str) -> bool:
        """Tell whether a field holds fields."""
        return isinstance(self._left.get(name), Mapping)

    def names(self) -> list[str]:
        """Return the names of the fields that are not yet taken."""
        return [str(key) for key in self._left]

    def mapping(self, name: str) -> Fields:
        """Return a field that holds fields."""
        return Fields(self._path, self.take(name), self._name(name))

    def listed(self, name: str) -> list[Fields]:
        """Return a field that holds a list of mappings, at least one."""
        value = self.take(name)
        if not isinstance(value, list) or not value:
            raise self.error(name, f'must be a list of at least one mapping, not {value!r}')
        return [
            Fields(self._path, entry, f'{self._name(name)}[{index}]')
            for index, entry in enumerate(value)
        ]

    def text(self, name: str, default: Any = _REQUIRED) -> str:
        """Return a word or a sentence."""
        value = self.take(name, default)
        if not isinstance(value, str) or (not value.strip() and default is _REQUIRED):
            raise self.error(name, f'must be text, not {value!r}')
        return value.strip()

    def choice(self, name: str, allowed: Iterable[str], default: Any = _REQUIRED) -> str:
        """Return one of some words."""
        words = list(allowed)
        value = self.text(name, default)
        if value not in words:
            close = difflib.get_close_matches(value, words, n=2)
            hint = f'did you mean {" or ".join(close)}? ' if close else ''
            raise self.error(name, f'{value!r} is unknown; {hint}Known: {", ".join(words)}')
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.take(name, default)
        if not isinstance(value, bool):
            raise self.error(name, f'must be true or false, not {value!r}')
        return value

    def number(self, name: str, default: Any = _REQUIRED, *, above: float = -math.inf) -> float:
        """Return a finite number above a bound."""
        return self._as_number(name, self.take(name, default), above)

    def whole(self, name: str, default: Any = _REQUIRED, *, at_least: int = 0) -> int:
        """Return a whole number."""
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
            raise self.error(name, f'must be a whole number of at least {at_least}, not {value!r}')
        return value

    def numbers(
        self,
        name: str,
        count: int,
        default: Any = _REQUIRED,
        *,
        blank: float | None = None,
    ) -> list[float]:
        """Return a list of finite numbers.

        Args:
            name: Of the field.
            count: How many.
            default: If the field is not there.
            blank: What an empty entry (`null`) stands for; None if there may be none.
        """
        value = self.take(name, default)
        if value is default and default is not _REQUIRED:
            return list(value)
        return self._as_numbers(name, value, count, blank)

    def points(self, name: str, width: int) -> list[list[float]]:
        """Return a list of at least one list of finite numbers."""
        value = self.take(name)
        if not isinstance(value, list) or not value:
            raise self.error(name, f'must be a list of lists of {width} numbers, not {value!r}')
        return [
            self._as_numbers(f'{name}[{index}]', entry, width, None)
            for index, entry in enumerate(value)
        ]

    def finish(self) -> None:
        """Refuse what nobody asked for: a misspelt field would silently do nothing."""
        for key in self._left:
            close = difflib.get_close_matches(str(key), self._known, n=1)
            hint = f'did you mean {close[0]!r}? ' if close else ''
            raise self.error(
                str(key), f'is no field here; {hint}Known: {", ".join(dict.fromkeys(self._known))}'
            )

    def _as_numbers(self, name: str, value: Any, count: int, blank: float | None) -> list[float]:
        if not isinstance(value, list) or len(value) != count:
            raise self.error(name, f'must be a list of {count} numbers, not {value!r}')
        return [
            blank
            if entry is None and blank is not None
            else self._as_number(f'{name}[{index}]', entry, -math.inf)
            for index, entry in enumerate(value)
        ]

    def _as_number(self, name: str, value: Any, above: float) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(name, f'must be a number, not {value!r}')
        if not math.isfinite(value):
            raise self.error(name, f'is {value}; it must be finite')
        if not value > above:
            raise self.error(name, f'is {value}; it must be above {above:g}')
        return float(value)

    def _name(self, name: str) -> str:
        return f'{self._prefix}.{name}' if self._prefix else name


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
    objects = []
    for entry in fields.listed('scene'):
        name, shape = entry.text('name'), entry.choice('shape', SHAPES)
        role = entry.choice('role', ROLES, 'object')
        position, size = entry.numbers('position', 3), entry.numbers('size', 3)
        if min(size) <= 0.0:
            raise entry.error('size', f'is {size}; it must be above 0 each')
        entry.finish()
        objects.append(
            SceneObject(
                name=name,
                shape=shape,
                role=role,
                position=np.array(position),
                size=np.array(size),
            )
        )
    return tuple(objects)
