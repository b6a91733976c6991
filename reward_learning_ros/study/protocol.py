"""The protocol of a study: who does what under which conditions, and in which order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.text import YamlError, read_yaml
from reward_learning_ros.parameters.shared import METHODS
from reward_learning_ros.study.questionnaires import DUES

DEPENDENCES = ('dependent', 'independent')
MODES = ('online', 'after_pass')
# What stays together: all conditions of a task, or all tasks under a condition.
BLOCKS = ('task', 'condition')
# Repetitions of an aborted trial are numbered beyond this.
MAX_TRIALS = 99

# Names become folders and words of a command line.
_NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,63}')
_VERSION = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,63}')


def check_name(kind: str, name: object) -> str:
    """Return a name that can be a folder, or say why it cannot."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInputError(
            f'{kind} {name!r} must be letters, digits, "_" and "-", at most 64, beginning with a '
            'letter or digit'
        )
    return name


def check_version(version: object) -> str:
    """Return the version of a consent document, or say why it is none."""
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise InvalidInputError(
            f'version {version!r} of a consent document must be letters, digits, ".", "_" and '
            '"-", at most 64; it must not name anybody'
        )
    return version


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One way of learning that is compared with others."""

    name: str
    method: str = 'double_mh'
    dependence: str = 'dependent'
    mode: str = 'after_pass'

    def __post_init__(self) -> None:
        check_name('condition', self.name)
        for kind, allowed in (('method', METHODS), ('dependence', DEPENDENCES), ('mode', MODES)):
            if getattr(self, kind) not in allowed:
                raise UnknownNameError(kind, getattr(self, kind), allowed)


@dataclass(frozen=True, kw_only=True)
class Goal:
    """A task and the θ that the participant is asked to teach in it."""

    task: str
    preset: str = ''
    """Name of one of the task's θ; empty is the first."""

    def __post_init__(self) -> None:
        check_name('task', self.task)
        if self.preset:
            check_name('preset', self.preset)

    @property
    def name(self) -> str:
        """Task and preset in one word."""
        return f'{self.task}/{self.preset}' if self.preset else self.task


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of one task under one condition, as planned."""

    participant: str
    number: int
    """From 1, in the order in which the participant does them."""
    goal: Goal
    condition: Condition
    seed: int


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The protocol of a study: tasks, conditions, participants, orders and seed.

    Attributes:
        name: Of the study; a folder.
        goals: What is taught.
        conditions: What is compared.
        participants: Those who were enrolled from the beginning.
        blocks: What stays together: `task` or `condition`.
        arm: `simulated` or `franka`.
        participant_model: `human`, or `simulated` for a rehearsal.
        consent: Before which passes a person lets the arm move, `every_pass` or `first_pass`;
            unset, it is what a session does by itself.
        questionnaires: Name of each questionnaire that is asked, and when: one of
            `questionnaires.DUES`.
        informed_consent: Version of the document that a participant must have consented to before
            the first trial; empty if the study does not ask for it here.
        seed: Of all random numbers.
    """

    name: str
    goals: tuple[Goal, ...]
    conditions: tuple[Condition, ...]
    participants: tuple[str, ...] = ()
    blocks: str = 'task'
    arm: str = 'simulated'
    participant_model: str = 'simulated'
    consent: str = ''
    questionnaires: tuple[tuple[str, str], ...] = ()
    informed_consent: str = ''
    seed: int = 0

    def __post_init__(self) -> None:
        check_name('study', self.name)
        for participant in self.participants:
            check_name('participant', participant)
        for kind, allowed in (
            ('blocks', BLOCKS),
            ('arm', ('simulated', 'franka')),
            ('participant_model', ('human', 'simulated')),
            ('consent', ('', 'every_pass', 'first_pass')),
        ):
            if getattr(self, kind) not in allowed:
                raise UnknownNameError(kind, getattr(self, kind), allowed)
        if self.arm == 'franka' and self.participant_model != 'human':
            raise InvalidInputError('participant_model must be human with arm franka')
        for name, due in self.questionnaires:
            check_name('questionnaire', name)
            if due not in DUES:
                raise UnknownNameError(f'time of questionnaire {name}', due, DUES)
        if self.informed_consent:
            check_version(self.informed_consent)
        whole_number(self.seed, 'seed', 0)
        _check_unique('task', [goal.name for goal in self.goals])
        _check_unique('condition', [condition.name for condition in self.conditions])
        _check_unique('participant', self.participants, may_be_empty=True)
        names = [name for name, _ in self.questionnaires]
        _check_unique('questionnaire', names, may_be_empty=True)
        if self.trials_each > MAX_TRIALS:
            raise InvalidInputError(
                f'{self.trials_each} trials for each participant; at most {MAX_TRIALS}'
            )

    @property
    def trials_each(self) -> int:
        """How many trials each participant does."""
        return len(self.goals) * len(self.conditions)

    @property
    def balanced_participants(self) -> int:
        """A number of participants over which all orders are equally frequent."""
        rows = [len(balanced_latin_square(len(each))) for each in (self.goals, self.conditions)]
        return rows[0] * rows[1]

    def trials(self, participant: str, place: int) -> tuple[Trial, ...]:
        """Return the trials of a participant, in order.

        Args:
            participant: Their name.
            place: How many were enrolled before them; it decides the order.
        """
        outer, inner = len(self.goals), len(self.conditions)
        if self.blocks == 'condition':
            outer, inner = inner, outer
        outer_orders, inner_orders = balanced_latin_square(outer), balanced_latin_square(inner)
        # Each order of blocks meets each order inside them, and neighbours differ in both.
        turn, row = divmod(place, len(outer_orders))
        cells = []
        for block, first in enumerate(outer_orders[row]):
            for second in inner_orders[(row + turn + block) % len(inner_orders)]:
                cells.append((first, second) if self.blocks == 'task' else (second, first))
        return tuple(
            Trial(
                participant=participant,
                number=number,
                goal=self.goals[goal],
                condition=self.conditions[condition],
                seed=self._seed(place, number),
            )
            for number, (goal, condition) in enumerate(cells, 1)
        )

    def _seed(self, place: int, number: int) -> int:
        state = np.random.SeedSequence([self.seed, place, number]).generate_state(1)
        # ROS parameters are signed.
        return int(state[0] >> 1)


def _check_unique(kind: str, names: Sequence[str], *, may_be_empty: bool = False) -> None:
    if not names and not may_be_empty:
        raise InvalidInputError(f'the study has no {kind}; at least one is needed')
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f'{kind} {name!r} is named more than once')


def balanced_latin_square(size: int) -> tuple[tuple[int, ...], ...]:
    """Return orders of 0 … size − 1: as many as conditions, or twice as many if they are odd.

    Over all rows, each condition is equally often at each place, and follows each other condition
    equally often. With an odd number no square has the second property, two have.
    """
    whole_number(size, 'size', 1)
    # 0, 1, n − 1, 2, n − 2, …: the steps between neighbours are all different.
    first = [(index + 1) // 2 if index % 2 else -(index // 2) for index in range(size)]
    rows = [tuple((item + shift) % size for item in first) for shift in range(size)]
    if size % 2 and size > 1:
        rows += [row[::-1] for row in rows]
    return tuple(rows)


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
