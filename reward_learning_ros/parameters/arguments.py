"""Parameters as command-line options; the command line overrules the configuration file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from reward_learning_ros.parameters.parameter_files import from_mapping, mapping_from_file
from reward_learning_ros.parameters.specification import (
    ParameterError,
    Parameters,
    Specification,
    specifications,
)

FILE_OPTION = '--config'
_UNSET = 'none'
_P = TypeVar('_P', bound=Parameters)


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
    for specification in specifications(cls).values():
        if hasattr(namespace, specification.name):
            value = getattr(namespace, specification.name)
            # `--gains none` unsets; a list with it among others is refused by the checks.
            if specification.is_optional and value == [None]:
                value = None
            mapping[specification.name] = value
    return from_mapping(cls, mapping)


def from_texts(cls: type[_P], texts: Mapping[str, str]) -> _P:
    """Make a configuration of texts, such as launch arguments; the reverse of `text_of`.

    Raises:
        ParameterError: A text does not read as what it must be, or a name is unknown.
    """
    known = specifications(cls)
    mapping: dict[str, Any] = {}
    for name, text in texts.items():
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
