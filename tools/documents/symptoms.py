"""Symptom, cause and remedy: every message of the arm and the session, and every kind of error.

The messages come from the code, causes and remedies from docs/remedies.yaml. `missing` says what
the two do not agree on; a test wants nothing of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tools.pins import ROOT

PACKAGE = ROOT / 'reward_learning_ros'
REMEDIES = ROOT / 'docs' / 'remedies.yaml'
# Everything in these that is a sentence, or a part of one, may be shown to an operator.
SPOKEN = (
    'playback',
    'session/session_state_machine.py',
    'session/session_transitions.py',
    'arm/franka.py',
)
BASE_ERROR = 'RewardLearningError'
GAP = '…'


@dataclass(frozen=True, kw_only=True)
class ErrorKind:
    """One class of errors.

    Attributes:
        name: of the class.
        meaning: first sentence of its docstring.
        messages: what it is raised with.
    """

    name: str
    meaning: str
    messages: tuple[str, ...]


def page() -> str:
    """Return the tables, as Markdown."""
    remedies = _remedies()
    parts = []
    for group in remedies['groups']:
        parts.append(f'## {group["title"]}\n\n{group["about"]}\n')
        for entry in group['entries']:
            parts.append(
                f'**{entry["message"]}**\n: {entry["cause"]}\n\n  *Do:* {entry["remedy"]}\n'
            )
    parts.append(
        '## Errors of commands and of Python\n\nA command prints `error:` and the message. '
        '`--debug` before the command shows the class.\n'
    )
    for kind in error_kinds():
        parts.append(f'**`{kind.name}`**\n: {kind.meaning} {remedies["errors"][kind.name]}\n')
    return '\n'.join(parts)


def all_errors() -> str:
    """Return every message with which an error is raised, by its class, as Markdown."""
    parts = []
    for kind in error_kinds():
        if kind.messages:
            parts.append(f'## `{kind.name}`\n\n{kind.meaning}\n')
            parts.append('```text\n' + '\n'.join(kind.messages) + '\n```\n')
    return '\n'.join(parts)


def missing() -> list[str]:
    """Return what lacks a remedy, and remedies of what is no longer there, each in words."""
    remedies = _remedies()
    explained = [entry['message'] for group in remedies['groups'] for entry in group['entries']]
    known, said = {*explained, *remedies['parts']}, set(spoken())
    kinds, answered = {kind.name for kind in error_kinds()}, set(remedies['errors'])
    return [
        *(f'no remedy for the message: {text}' for text in sorted(said - known)),
        *(f'a remedy for what nobody says: {text}' for text in sorted(known - said)),
        *(f'no remedy for the error: {name}' for name in sorted(kinds - answered)),
        *(f'a remedy for an error that is not there: {name}' for name in sorted(answered - kinds)),
    ]


def spoken() -> Iterator[str]:
    """Yield the texts of the files in `SPOKEN`, with a gap for what is filled in."""
    for name in SPOKEN:
        path = PACKAGE / name
        for file in sorted(path.rglob('*.py')) if path.is_dir() else [path]:
            yield from texts(ast.parse(file.read_text(encoding='utf-8')))


def texts(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a file that have a space in them: not its documentation."""
    silent = {id(inner) for node in ast.walk(tree) for inner in _silent(node)}
    for node in ast.walk(tree):
        if id(node) not in silent and isinstance(node, (ast.Constant, ast.JoinedStr)):
            text = _template(node)
            # A separator is no text.
            if ' ' in text.strip() or (text.endswith(', ') and len(text) > 2):
                yield text


def error_kinds() -> list[ErrorKind]:
    """Return all classes of errors of the package, and what they are raised with."""
    trees = [ast.parse(path.read_text(encoding='utf-8')) for path in sorted(PACKAGE.rglob('*.py'))]
    classes = {
        node.name: node
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    kinds = {BASE_ERROR}
    while True:
        found = {
            name
            for name, node in classes.items()
            if any(isinstance(base, ast.Name) and base.id in kinds for base in node.bases)
        }
        if found <= kinds:
            break
        kinds |= found
    messages: dict[str, set[str]] = {name: set() for name in kinds}
    for call in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id in kinds and call.args:
            text = _template(call.args[-1])
            if ' ' in text:
                messages[call.func.id].add(text)
    return [
        ErrorKind(
            name=name,
            meaning=(ast.get_docstring(classes[name]) or '').split('\n\n')[0].replace('\n', ' '),
            messages=tuple(sorted(messages[name])),
        )
        for name in sorted(kinds - {BASE_ERROR})
    ]


def _silent(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what of a node is no text that anybody is told."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, documented):
        if node.body and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value
    elif isinstance(node, ast.JoinedStr):
        yield from node.values
    elif isinstance(node, ast.Assert) and node.msg is not None:
        yield from ast.walk(node.msg)
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == 'parameter'
    ):
        yield from ast.walk(node)


def _template(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else GAP
    if isinstance(node, ast.JoinedStr):
        return ''.join(_template(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _template(node.left) + _template(node.right)
    return GAP


def _remedies() -> Any:
    return yaml.safe_load(REMEDIES.read_text(encoding='utf-8'))
