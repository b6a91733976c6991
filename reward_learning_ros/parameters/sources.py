"""Parameters from mappings, YAML files, the command line and launch arguments.

The command line overrides the configuration file, which overrides the defaults.
"""

from __future__ import annotations

import argparse
import difflib
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.text import YamlError, read_yaml
from reward_learning_ros.parameters.specification import (
    ParameterError,
    Parameters,
    RenamedParameterWarning,
    Specification,
    specifications,
)

ROS_LAYOUT_KEY = 'ros__parameters'
_P = TypeVar('_P', bound=Parameters)


def renamed_parameters(cls: type[Parameters]) -> dict[str, str]:
    """Return the present names of parameters by the names that they had before."""
    return {
        former: specification.name
        for specification in specifications(cls).values()
        for former in specification.former_names
    }


def renaming_notice(former: str, name: str) -> str:
    """Return what whoever gives a parameter under a former name is told."""
    return f'the parameter {former} is called {name} now; rename it'


def with_present_names(cls: type[Parameters], mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return values under the present names of their parameters; warn of each former one.

    Raises:
        ParameterError: One is given under both names.
    """
    renamed = renamed_parameters(cls)
    present = {}
    for key, value in mapping.items():
        name = renamed.get(key, key)
        if name != key:
            if name in mapping:
                raise ParameterError(cls.__name__, key, value, f'given as {name}, too')
            warnings.warn(renaming_notice(key, name), RenamedParameterWarning, stacklevel=3)
        present[name] = value
    return present


def from_mapping(cls: type[_P], mapping: Mapping[str, Any]) -> _P:
    """Make a configuration from names and values; what is missing keeps its default.

    Raises:
        ParameterError: A key is unknown, a required one is missing, or a value is refused.
    """
    mapping = with_present_names(cls, mapping)
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
        return with_present_names(cls, {str(key): value for key, value in content.items()})
    names = {name for name, _ in sections if '*' not in name}
    if node is None and len(names) > 1:
        raise InvalidInputError(
            f'{path}: has parameters of several nodes ({", ".join(sorted(names))}); '
            'say which node is meant'
        )
    mapping: dict[str, Any] = {}
    for name, values in sections:
        if node is None or _section_applies(name, node):
            mapping.update(with_present_names(cls, values))
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


FILE_OPTION = '--config'
_UNSET = 'none'


def add_arguments(
    parser: argparse.ArgumentParser,
    cls: type[Parameters],
    *,
    with_file: bool = True,
    exclude: Collection[str] = (),
) -> None:
    """Add an option for each parameter, and `--config` for a file with them.

    Args:
        parser: Where to add them.
        cls: The configuration.
        with_file: Whether to add `--config`; only one configuration of a parser may have it.
        exclude: Parameters that the command itself decides.
    """
    group = parser.add_argument_group('parameters')
    if with_file:
        group.add_argument(
            FILE_OPTION,
            metavar='FILE',
            help='YAML file with these parameters, plain or as a ROS 2 parameter file',
        )
    for specification in specifications(cls).values():
        if specification.name in exclude:
            continue
        option = '--' + specification.name.replace('_', '-')
        settings: dict[str, Any] = {
            'dest': specification.name,
            # Only what is given appears in the namespace, so that a file's value can stand.
            'default': argparse.SUPPRESS,
            # argparse reads % in a help text as a format.
            'help': _help(specification).replace('%', '%%'),
        }
        if specification.type is bool and not specification.is_array:
            settings['action'] = argparse.BooleanOptionalAction
        else:
            settings['type'] = _converter(specification)
            settings['metavar'] = _metavar(specification)
            if specification.is_array:
                settings['nargs'] = '*'
        group.add_argument(option, **settings)
        for former in specification.former_names:
            settings |= {'dest': former, 'help': argparse.SUPPRESS}
            group.add_argument('--' + former.replace('_', '-'), **settings)


def from_arguments(cls: type[_P], namespace: argparse.Namespace, *, node: str | None = None) -> _P:
    """Make the configuration of a parsed command line: default < file < command line.

    Args:
        cls: The configuration.
        namespace: What a parser prepared by `add_arguments` returned.
        node: The node whose sections of a ROS 2 parameter file apply.

    Raises:
        ParameterError: A value is refused or a required one is missing.
        InvalidInputError: The file cannot be read.
    """
    path = getattr(namespace, FILE_OPTION.strip('-'), None)
    mapping = {} if path is None else mapping_from_file(cls, path, node=node)
    given = {}
    for specification in specifications(cls).values():
        for name in (specification.name, *specification.former_names):
            if hasattr(namespace, name):
                value = getattr(namespace, name)
                # `--gains none` unsets; a list with it among others is refused by the checks.
                if specification.is_optional and value == [None]:
                    value = None
                given[name] = value
    return from_mapping(cls, {**mapping, **with_present_names(cls, given)})


def from_texts(cls: type[_P], texts: Mapping[str, str]) -> _P:
    """Make a configuration of texts, such as launch arguments; the reverse of `text_of`.

    Raises:
        ParameterError: A text does not read as what it must be, or a name is unknown.
    """
    known = specifications(cls)
    mapping: dict[str, Any] = {}
    for name, text in with_present_names(cls, texts).items():
        specification = known.get(name)
        if specification is None:
            mapping[name] = text
            continue
        is_unset = specification.is_optional and text == _UNSET
        convert = _converter(specification)
        try:
            if specification.is_array and not is_unset:
                mapping[name] = [convert(word) for word in text.replace(',', ' ').split()]
            else:
                mapping[name] = None if is_unset else convert(text)
        except argparse.ArgumentTypeError:
            raise ParameterError(cls.__name__, name, text, specification.allowed) from None
    return from_mapping(cls, mapping)


def text_of(value: Any) -> str:
    """Return the value of a parameter as a text that `from_texts` reads."""
    if value is None:
        return _UNSET
    if isinstance(value, tuple):
        return ' '.join(map(text_of, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _converter(specification: Specification) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        if specification.is_optional and text == _UNSET:
            return None
        if specification.type is bool:
            return {'true': True, 'false': False}[text.lower()]
        return specification.type(text)

    def convert_or_explain(text: str) -> Any:
        try:
            return convert(text)
        except (ValueError, KeyError):
            raise argparse.ArgumentTypeError(f'{text!r} {specification.allowed}') from None

    return convert_or_explain


def _metavar(specification: Specification) -> str:
    if specification.choices and not specification.is_array:
        return (
            '{' + ','.join(str(choice) for choice in specification.choices if choice != '') + '}'
        )
    return specification.name.upper() if specification.type is str else 'NUMBER'


def _help(specification: Specification) -> str:
    notes = [specification.unit, specification.bounds]
    if specification.is_required:
        notes.append('required')
    elif specification.default is None:
        notes.append(f'default: {_UNSET}')
    elif specification.is_array:
        notes.append('default: ' + (' '.join(map(str, specification.default)) or 'empty'))
    else:
        notes.append(
            f'default: {"empty" if specification.default == "" else specification.default}'
        )
    return f'{specification.description} ({"; ".join(note for note in notes if note)})'
