"""What people say of a trial: a participant's answers, and an operator's marks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from reward_learning_ros.interface.records import Record, reading
from reward_learning_ros.interface.status import (
    STATUS_TYPE,
    Diagnostic,
    status_values,
    whole_number,
)

_ANSWERS_NAME = 'questionnaire'
_MARK_NAME = 'mark'
_ANSWER_PREFIX = 'answer.'
_ANSWER_FIELDS = ('stamp_ns', 'questionnaire', 'digest', 'participant', 'trial')
_MARK_FIELDS = ('stamp_ns', 'machine_ns', 'key', 'note')

# As names of files, of items, and of pairs of items (`effort:performance`).
_KEY = re.compile(r'[A-Za-z0-9][A-Za-z0-9_-]{0,63}')
_ANSWER_KEY = re.compile(rf'{_KEY.pattern}(:{_KEY.pattern})?')
_KEY_RULE = 'must be letters, digits, "_" and "-", at most 64'
_MAX_ANSWERS = 500
MAX_TEXT = 10_000


class _StudyRecord(Record):
    """A record with names and texts that somebody typed."""

    def _check_key(self, field: str) -> None:
        value = getattr(self, field)
        if not isinstance(value, str) or not _KEY.fullmatch(value):
            raise self.refusal(field, value, _KEY_RULE)

    def _check_length_of(self, field: str, text: object) -> None:
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            raise self.refusal(field, text, f'must be text of at most {MAX_TEXT} characters')


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionnaireAnswers(_StudyRecord):
    """What a participant answered to a questionnaire; a later one replaces it."""

    stamp_ns: int
    """When it was answered, by the clock of the machine."""
    questionnaire: str
    """Its name."""
    digest: str
    """Of its content: answers to other words are answers to another questionnaire."""
    participant: str
    """Their pseudonym."""
    trial: int
    """Number of the trial that was the last one before it."""
    answers: Mapping[str, str]
    """By the keys of items; of a pair that is compared, `first:second`."""

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        for field in ('questionnaire', 'digest', 'participant'):
            self._check_key(field)
        if isinstance(self.trial, bool) or not isinstance(self.trial, int) or self.trial < 0:
            raise self.refusal('trial', self.trial, 'must be a whole number, not negative')
        if not isinstance(self.answers, Mapping) or not 0 < len(self.answers) <= _MAX_ANSWERS:
            raise self.refusal('answers', self.answers, f'must be 1 to {_MAX_ANSWERS} answers')
        for key, text in self.answers.items():
            if not isinstance(key, str) or not _ANSWER_KEY.fullmatch(key):
                raise self.refusal('answers', key, f'{_KEY_RULE}, or two of them with ":"')
            self._check_length_of('answers', text)
        self._set('answers', MappingProxyType(dict(self.answers)))


@dataclass(frozen=True, kw_only=True, eq=False)
class OperatorMark(_StudyRecord):
    """What an operator noted about a moment of a session."""

    stamp_ns: int
    """The moment that is meant, by the clock of the machine."""
    machine_ns: int
    """When it was noted, by the same clock: not before the moment."""
    key: str
    """What kind of moment it is, one short word: all marks of one key can be counted."""
    note: str = ''

    def __post_init__(self) -> None:
        self._check_stamp('stamp_ns')
        self._check_stamp('machine_ns')
        if self.machine_ns < self.stamp_ns:
            raise self.refusal(
                'stamp_ns', self.stamp_ns, f'must not be after machine_ns, {self.machine_ns}'
            )
        self._check_key('key')
        self._check_length_of('note', self.note)

    @property
    def ago_sec(self) -> float:
        """How long before it was noted the moment was."""
        return (self.machine_ns - self.stamp_ns) / 1e9


def answers_diagnostic_of(answers: QuestionnaireAnswers) -> Diagnostic:
    """Return answers as the diagnostic that carries them."""
    return Diagnostic(
        name=_ANSWERS_NAME,
        message=f'{answers.questionnaire} of {answers.participant}, trial {answers.trial}',
        values={
            **{field: str(getattr(answers, field)) for field in _ANSWER_FIELDS},
            **{f'{_ANSWER_PREFIX}{key}': text for key, text in answers.answers.items()},
        },
    )


def answers_from_message(message: Any) -> QuestionnaireAnswers:
    """Read answers from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    values = status_values(message, _ANSWER_FIELDS)
    with reading(STATUS_TYPE, {field: f'values, {field}' for field in _ANSWER_FIELDS}):
        return QuestionnaireAnswers(
            stamp_ns=whole_number(values, 'stamp_ns'),
            questionnaire=values['questionnaire'],
            digest=values['digest'],
            participant=values['participant'],
            trial=whole_number(values, 'trial'),
            answers={
                key.removeprefix(_ANSWER_PREFIX): text
                for key, text in values.items()
                if key.startswith(_ANSWER_PREFIX)
            },
        )


def mark_diagnostic_of(mark: OperatorMark) -> Diagnostic:
    """Return a mark as the diagnostic that carries it."""
    return Diagnostic(
        name=_MARK_NAME,
        message=f'{mark.key}: {mark.note}' if mark.note else mark.key,
        values={field: str(getattr(mark, field)) for field in _MARK_FIELDS},
    )


def mark_from_message(message: Any) -> OperatorMark:
    """Read a mark from a diagnostic_msgs/DiagnosticStatus.

    Raises:
        MessageError: A field of the message cannot be used.
    """
    values = status_values(message, _MARK_FIELDS)
    with reading(STATUS_TYPE, {field: f'values, {field}' for field in _MARK_FIELDS}):
        return OperatorMark(
            stamp_ns=whole_number(values, 'stamp_ns'),
            machine_ns=whole_number(values, 'machine_ns'),
            key=values['key'],
            note=values['note'],
        )
