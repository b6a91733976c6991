"""Parameters from and to mappings and YAML files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.yaml_text import YamlError, read_yaml
from reward_learning_ros.parameters.specification import (
    ParameterError,
    Parameters,
    specifications,
)

ROS_LAYOUT_KEY = 'ros__parameters'
_P = TypeVar('_P', bound=Parameters)


def from_mapping(cls: type[_P], mapping: Mapping[str, Any]) -> _P:
    """Make a configuration from names and values; what is missing keeps its default.

    Raises:
        ParameterError: A key is unknown, a required one is missing, or a value is refused.
    """
    known = specifications(cls)
    for key, value in mapping.items():
        if key not in known:
            raise unknown_key(cls.__name__, key, value, known)
    for specification in known.values():
        if specification.is_required and specification.name not in mapping:
            raise ParameterError(
                cls.__name__, specification.name, None, f'is required, {specification.allowed}'
            )
    return cls(**mapping)


def to_mapping(config: Parameters) -> dict[str, Any]:
    """Return the values by name as plain types that JSON and YAML can hold."""
    values = {name: getattr(config, name) for name in specifications(type(config))}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def from_file(cls: type[_P], path: str | Path, *, node: str | None = None) -> _P:
    """Make a configuration from a YAML file; see `mapping_from_file`.

    Raises:
        ParameterError: A key is unknown, a required one is missing, or a value is refused.
        InvalidInputError: The file cannot be read.
    """
    return from_mapping(cls, mapping_from_file(cls, path, node=node))


def mapping_from_file(
    cls: type[Parameters], path: str | Path, *, node: str | None = None
) -> dict[str, Any]:
    """Return the values of a YAML file, which holds the parameters in one of two layouts.

    Plain: a mapping of names to values. ROS 2: `node: ros__parameters: {…}`, where the node may
    be a name, a full name (`/arm/playback`), nested namespaces or a wildcard (`/**`); later
    sections overrule earlier ones, as in ROS 2.

    Args:
        cls: The configuration that the values are for.
        path: The file.
        node: The node whose sections apply. Without it, a file with sections for several nodes
            is refused.

    Raises:
        InvalidInputError: The file cannot be read or has neither layout.
    """
    content = _content(path)
    sections = list(_ros_sections(content, ''))
    if not sections:
        return {str(key): value for key, value in content.items()}
    names = {name for name, _ in sections if '*' not in name}
    if node is None and len(names) > 1:
        raise InvalidInputError(
            f'{path}: has parameters of several nodes ({", ".join(sorted(names))}); '
            'say which node is meant'
        )
    mapping: dict[str, Any] = {}
    for name, values in sections:
        if node is None or _section_applies(name, node):
            mapping.update(values)
    known = specifications(cls)
    return {
        key: value
        for key, value in mapping.items()
        if key in known or key.split('.')[0] not in Parameters.ROS_OWN
    }


def check_nodes(path: str | Path, nodes: Iterable[str]) -> None:
    """Refuse a file with a section for a node that does not exist.

    Args:
        path: The file.
        nodes: All nodes that it may have sections for.

    Raises:
        InvalidInputError: It has another one, or cannot be read.
    """
    known = sorted(nodes)
    for name, _ in _ros_sections(_content(path), ''):
        if not any(_section_applies(name, node) for node in known):
            raise InvalidInputError(f'{path}: no node {name}; known: {", ".join(known)}')


def _content(path: str | Path) -> Mapping[Any, Any]:
    """Return what a file holds, empty if it holds nothing."""
    try:
        content = read_yaml(Path(path))
    except YamlError as error:
        raise InvalidInputError(f'parameter file {path}: {error}') from error
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise InvalidInputError(
            f'{path}: must be a mapping of parameters, not {type(content).__name__}'
        )
    return content


def _ros_sections(content: Mapping[Any, Any], prefix: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the full name and the parameters of each section, in the order of the file."""
    for key, value in content.items():
        if not isinstance(value, Mapping):
            continue
        name = f'{prefix}/{str(key).strip("/")}'
        if ROS_LAYOUT_KEY in value:
            values = value[ROS_LAYOUT_KEY] or {}
            if not isinstance(values, Mapping):
                raise InvalidInputError(
                    f'{name}: {ROS_LAYOUT_KEY} = {values!r} must be a mapping of parameters'
                )
            yield name, {str(key): item for key, item in values.items()}
        else:
            yield from _ros_sections(value, name)


def _section_applies(section: str, node: str) -> bool:
    """Tell whether a section, perhaps with wildcards, is meant for a node."""
    wanted = node.strip('/').split('/')
    parts = section.strip('/').split('/')
    if '*' not in section and '/' not in node.strip('/'):
        # A bare node name matches in any namespace: it is not known here.
        return parts[-1] == wanted[-1]
    return _parts_match(parts, wanted)


def _parts_match(parts: list[str], wanted: list[str]) -> bool:
    if not parts:
        return not wanted
    if parts[0] == '**':
        return any(_parts_match(parts[1:], wanted[skip:]) for skip in range(len(wanted) + 1))
    return bool(wanted) and parts[0] in ('*', wanted[0]) and _parts_match(parts[1:], wanted[1:])


def unknown_key(owner: str, key: str, value: object, known: Iterable[str]) -> ParameterError:
    """Return the error that refuses a name, with the names that it may have meant."""
    names = sorted(known)
    close = difflib.get_close_matches(str(key), names)
    if close:
        return ParameterError(owner, key, value, f'unknown; did you mean {" or ".join(close)}?')
    return ParameterError(owner, key, value, f'unknown; known: {", ".join(names) or "none"}')
