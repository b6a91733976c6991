"""Parameters, commands, topics and services, as Markdown from the code that defines them."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import importlib
from collections.abc import Iterable, Iterator, Sequence

from tools.pins import ROOT

PACKAGE = ROOT / 'reward_learning_ros'
_NODES = PACKAGE / 'nodes'
# Modules with the names of topics and services, as nodes import them.
_NAMES = ('names', 'arm_names')


def parameters() -> str:
    """Return the parameters of a session and of each node, a table for each."""
    from reward_learning_ros.session.session_description import PARAMETERS_OF_NODES
    from reward_learning_ros.session.session_parameters import SessionParameters

    sections = [
        '## A session\n\nThe options of `reward_learning session` (`--max-passes`) and the '
        'arguments of `session.launch.py` (`max_passes:=`).\n\n'
        + _parameter_table(SessionParameters)
    ]
    sections += [
        f'## `{name}`\n\n{_first_paragraph(cls)}\n\n{_parameter_table(cls)}'
        for name, cls in sorted(PARAMETERS_OF_NODES.items())
    ]
    return '\n\n'.join(sections)


def _parameter_table(cls: type) -> str:
    from reward_learning_ros.parameters import specifications, text_of

    rows = []
    for specification in specifications(cls).values():
        default = specification.default
        if specification.is_required:
            shown = '*required*'
        elif default is None:
            shown = 'unset'
        else:
            shown = f'`{text_of(default)}`' if text_of(default) else 'empty'
        allowed = specification.bounds
        unit = f' {specification.unit}' if specification.unit else ''
        rows.append((f'`{specification.name}`', specification.description, shown + unit, allowed))
    return _table(('name', 'what it is', 'default', 'allowed'), rows)


def commands() -> str:
    """Return what each command takes, from its parser."""
    from reward_learning_ros.cli.main import command_modules, make_parser

    sections = []
    for name in command_modules():
        command = importlib.import_module(command_modules()[name])
        parser = _subparsers(make_parser([name]))[name]
        text = f'## `reward_learning {name}`\n\n{_paragraphs(command.__doc__)}\n\n'
        sections.append(text + _options(parser, name))
    return '\n\n'.join(sections)


def _options(parser: argparse.ArgumentParser, name: str) -> str:
    text = ''
    rows = list(_option_rows(parser))
    if name == 'session':
        rows = [row for row in rows if row[0] in ('`--json`', '`--resume FOLDER`')]
        text = 'Its other options are [the parameters of a session](parameters.md).\n\n'
    if rows:
        text += _table(('option', 'what it does'), rows) + '\n\n'
    for action, subparser in _subparsers(parser).items():
        about = subparser.description or _help_of(parser, action)
        text += f'### `reward_learning {name} {action}`\n\n{_paragraphs(about)}\n\n'
        text += _table(('option', 'what it does'), list(_option_rows(subparser))) + '\n\n'
    return text


def _option_rows(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)):
            continue
        # A parser says how an option is written, and its default, in its own help only.
        shown = formatter._format_action_invocation(action)
        yield f'`{shown}`', formatter._expand_help(action) if action.help else ''


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found.update(action.choices)
    return found


def _help_of(parser: argparse.ArgumentParser, name: str) -> str:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                if choice.dest == name:
                    return choice.help or ''
    return ''


@dataclasses.dataclass(frozen=True, kw_only=True)
class Use:
    """One place where a node makes a publisher, a subscription or a service.

    Attributes:
        kind: `publisher`, `subscription` or `service`.
        name: of the topic or service.
        type: of its messages, where it stands beside it.
        quality: name of the quality of service, where it stands beside it.
        node: module of `nodes`.
    """

    kind: str
    name: str
    type: str
    quality: str
    node: str


def topics() -> str:
    """Return who publishes and who hears each topic, and with which quality of service."""
    from reward_learning_ros.interface.topics import TOPICS

    rows = [
        (
            f'`{each.name}`',
            f'`{each.type_name.replace("/msg", "")}`',
            each.qos.text,
            _joined(each.publishers),
            _joined(each.subscribers),
        )
        for each in sorted(TOPICS.values(), key=lambda each: each.name)
    ]
    return _table(('topic', 'type', 'quality of service', 'published by', 'heard by'), rows)


def services() -> str:
    """Return which node offers each service."""
    found = [use for use in uses() if use.kind == 'service']
    rows = [
        (f'`{name}`', _joined(use.node for use in found if use.name == name))
        for name in sorted({use.name for use in found})
    ]
    return _table(('service', 'offered by'), rows)


def names() -> dict[str, str]:
    """Return the topics and services of the package by the names of their constants."""
    from reward_learning_ros.interface import topics as table

    return {
        name: value
        for name, value in vars(table).items()
        if name.endswith(('_TOPIC', '_SERVICE')) and isinstance(value, str)
    }


def uses() -> Iterator[Use]:
    """Yield what the nodes publish, hear and offer, from their code."""
    known = names()
    for path in sorted(_NODES.rglob('*.py')):
        if path.stem in _NAMES:
            continue
        tree = ast.parse(path.read_text(encoding='utf-8'))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        types = _message_types(tree)
        for call in calls:
            yield from _uses_of_call(call, path.stem, known, types)
        # One that only asks others makes clients.
        if any(_called(call) in ('create_service', 'PolledService') for call in calls):
            yield from _services_of_file(tree, path.stem, known)


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ''


def _message_types(tree: ast.Module) -> dict[str, str]:
    """Return the full names of the message types that a file imports, by their names in it."""
    return {
        alias.asname or alias.name: f'{node.module.removesuffix(".msg")}/{alias.name}'
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.endswith('.msg')
        for alias in node.names
    }


def _uses_of_call(
    call: ast.Call, node: str, known: dict[str, str], types: dict[str, str]
) -> Iterator[Use]:
    kinds = {'create_publisher': 'publisher', 'create_subscription': 'subscription'}
    called = _called(call)
    if called not in kinds:
        return
    constants = [value for value in map(_constant, call.args) if value]
    topics = [known[value] for value in constants if value in known]
    qualities = [value for value in constants if value.endswith('_QOS')]
    kind = call.args[0]
    for topic in topics:
        yield Use(
            kind=kinds[called],
            name=topic,
            type=types.get(kind.id, '') if isinstance(kind, ast.Name) else '',
            quality=qualities[0].removesuffix('_QOS').lower() if qualities else '',
            node=node,
        )


def _services_of_file(tree: ast.Module, node: str, known: dict[str, str]) -> Iterator[Use]:
    # A table of services at the top of a file is of those that it calls.
    classes = [part for part in tree.body if isinstance(part, ast.ClassDef)]
    for name in {name for part in classes for name in map(_constant, ast.walk(part)) if name}:
        if name.endswith('_SERVICE') and name in known:
            yield Use(kind='service', name=known[name], type='', quality='', node=node)


def _constant(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id in _NAMES else ''
    return node.id if isinstance(node, ast.Name) and node.id.isupper() else ''


def _first_paragraph(cls: type) -> str:
    return (cls.__doc__ or '').strip().split('\n\n')[0].replace('\n', ' ')


def _paragraphs(text: str | None) -> str:
    return (text or '').strip()


def _joined(words: Iterable[str]) -> str:
    return ', '.join(f'`{word}`' for word in sorted({word for word in words if word})) or '–'


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ['| ' + ' | '.join(header) + ' |', '| ' + ' | '.join('---' for _ in header) + ' |']
    for row in rows:
        cells = (cell.replace('|', '\\|').replace('\n', ' ') for cell in row)
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)
