"""The protocol of a study: who does what under which conditions, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.core.checks import whole_number
from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.study.questionnaires import DUES

METHODS = ('double_mh', 'ignore', 'maximum', 'sampling')
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
    mode: str = 'online'

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
    """A study as it is planned.

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
