"""Protocols as YAML files that people write, read and change."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.text import YamlError, read_yaml
from reward_learning_ros.study.protocol import Condition, Goal, Protocol

FORMAT = 1
_HEAD = """\
# A study. It may be changed until the first trial begins, not later: the orders of the trials
# follow from it. Later participants are added by `reward_learning study enrol`.
"""


def protocol_text(protocol: Protocol) -> str:
    """Return a protocol as YAML."""
    import yaml

    content = {
        'format': FORMAT,
        'name': protocol.name,
        'tasks': [
            {'task': goal.task, **({'preset': goal.preset} if goal.preset else {})}
            for goal in protocol.goals
        ],
        'conditions': {
            condition.name: {
                'method': condition.method,
                'dependence': condition.dependence,
                'mode': condition.mode,
            }
            for condition in protocol.conditions
        },
        'participants': list(protocol.participants),
        'blocks': protocol.blocks,
        'arm': protocol.arm,
        'participant_model': protocol.participant_model,
        # Only where it is set: studies of before keep their fingerprint.
        **({'consent': protocol.consent} if protocol.consent else {}),
        **({'questionnaires': dict(protocol.questionnaires)} if protocol.questionnaires else {}),
        **({'informed_consent': protocol.informed_consent} if protocol.informed_consent else {}),
        'seed': protocol.seed,
    }
    return _HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def read_protocol(path: Path) -> tuple[Protocol, str]:
    """Return a protocol from a YAML file, and its fingerprint: all that the orders depend on.

    Raises:
        InvalidInputError: The file cannot be read; says what is wrong where.
    """
    try:
        # A participant may be called 1e5, and the file says so without quotes.
        content = read_yaml(path, exponents=False)
    except YamlError as error:
        raise InvalidInputError(f'study {path}: {error}') from error
    try:
        protocol = _parse(content)
    except InvalidInputError as error:
        raise InvalidInputError(f'{path}: {error}') from error
    # Of what it says, not of how it is written: a comment may be added at any time.
    return protocol, hashlib.sha256(protocol_text(protocol).encode()).hexdigest()


def _parse(content: Any) -> Protocol:
    mapping = _mapping(content, 'the file')
    known = {'format', 'tasks', *(each.name for each in fields(Protocol))} - {'goals'}
    for key in mapping:
        if key not in known:
            raise UnknownNameError('key', key, known)
    if mapping.get('format') != FORMAT:
        raise InvalidInputError(f'format is {mapping.get("format")!r}; allowed: {FORMAT}')
    for key in ('name', 'tasks', 'conditions'):
        if key not in mapping:
            raise InvalidInputError(f'{key} is missing')
    conditions = _mapping(mapping['conditions'], 'conditions')
    return Protocol(
        name=mapping['name'],
        goals=tuple(_goal(each) for each in _list(mapping['tasks'], 'tasks')),
        conditions=tuple(_condition(name, values) for name, values in conditions.items()),
        participants=tuple(_list(mapping.get('participants') or [], 'participants')),
        questionnaires=_questionnaires(mapping.get('questionnaires') or {}),
        **{
            key: mapping[key]
            for key in (
                'blocks',
                'arm',
                'participant_model',
                'consent',
                'informed_consent',
                'seed',
            )
            if key in mapping
        },
    )


def _questionnaires(content: Any) -> tuple[tuple[str, str], ...]:
    return tuple(_mapping(content, 'questionnaires').items())


def _goal(content: Any) -> Goal:
    if isinstance(content, str):
        return Goal(task=content)
    mapping = _mapping(content, 'an entry of tasks')
    for key in mapping:
        if key not in ('task', 'preset'):
            raise UnknownNameError('key of a task', key, ('task', 'preset'))
    return Goal(task=mapping.get('task', ''), preset=mapping.get('preset') or '')


def _condition(name: Any, content: Any) -> Condition:
    mapping = _mapping(content or {}, f'condition {name}')
    allowed = ('method', 'dependence', 'mode')
    for key in mapping:
        if key not in allowed:
            raise UnknownNameError(f'key of condition {name}', key, allowed)
    return Condition(name=name, **mapping)


def _mapping(content: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise InvalidInputError(f'{what} must be a mapping, not {content!r}')
    return content


def _list(content: Any, what: str) -> list[Any]:
    if not isinstance(content, list):
        raise InvalidInputError(f'{what} must be a list, not {content!r}')
    return content
