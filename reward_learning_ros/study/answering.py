"""Which questionnaires are due for whom, and how their answers come into a trial's bag."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface import OperatorMark, QuestionnaireAnswers
from reward_learning_ros.recording.bag_making import add_study_record
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.study.ledger import (
    DONE,
    EXCLUDED,
    RUNNING,
    Ledger,
    TrialRecord,
)
from reward_learning_ros.study.questionnaire_files import load_questionnaire
from reward_learning_ros.study.questionnaires import AFTER_CONDITION, AFTER_TRIAL, Questionnaire
from reward_learning_ros.study.tidy import SUMMARY_FILE, session_path

BAG = 'bag'


@dataclass(frozen=True, kw_only=True)
class DueQuestionnaire:
    """A questionnaire that a participant should answer now.

    Attributes:
        record: The trial that was the last one before it; the answers go into its bag.
        questionnaire: What is asked.
        due: Why now, one of `questionnaires.DUES`.
    """

    record: TrialRecord
    questionnaire: Questionnaire
    due: str


def due_questionnaires(ledger: Ledger, participant: str) -> tuple[DueQuestionnaire, ...]:
    """Return what a participant should answer now, in the order of trials and of the protocol.

    After a trial: once its session has ended. After a condition: once all of its trials are done
    or excluded. At the end: once all trials are. Nothing is asked about an excluded trial.

    Raises:
        UnknownNameError: There is no such participant, or no such questionnaire.
        QuestionnaireFileError: The file of one is refused.
    """
    records = ledger.participant_records(participant)
    over = [record for record in records if _is_over(ledger, record)]
    answered = {
        (each.trial, each.session_number, each.questionnaire)
        for each in ledger.answered()
        if each.participant == participant
    }
    found: list[DueQuestionnaire] = []
    for name, due in ledger.protocol.questionnaires:
        for record in _asked_after(due, records, over):
            number = record.trial.number
            if (number, record.session_number, name) not in answered:
                questionnaire = load_questionnaire(name, ledger.folder)
                found.append(DueQuestionnaire(record=record, questionnaire=questionnaire, due=due))
    return tuple(sorted(found, key=lambda each: each.record.trial.number))


def answer(
    ledger: Ledger,
    record: TrialRecord,
    name: str,
    answers: Mapping[str, object],
    *,
    publish: Callable[[QuestionnaireAnswers], None] | None = None,
    stamp_ns: int | None = None,
) -> QuestionnaireAnswers:
    """Check answers, put them into the bag of the trial, and note that in the ledger.

    Answering again replaces what was answered before; the bag keeps both.

    Args:
        ledger: Of the study.
        record: The trial that was the last one before it.
        name: Of the questionnaire.
        answers: By the keys of items and pairs.
        publish: Brings them onto the topic of a session that is still being recorded, and returns
            once the recorder has them. Not needed once the session has ended.
        stamp_ns: When it was answered, by the clock of the machine; by default now.

    Raises:
        InvalidInputError: An answer is refused, or the trial has no recording to put it into.
        RewardLearningError: It could not be written or published; then nothing is noted.
    """
    questionnaire = load_questionnaire(name, ledger.folder)
    said = QuestionnaireAnswers(
        stamp_ns=time.time_ns() if stamp_ns is None else stamp_ns,
        questionnaire=name,
        digest=questionnaire.digest,
        participant=record.trial.participant,
        trial=record.trial.number,
        answers=questionnaire.checked(answers),
    )
    if is_being_recorded(ledger, record):
        if publish is None:
            raise InvalidInputError(
                f'{_name(record)} is still being recorded in {session_path(ledger, record)}: '
                'answer by its topic, or after `reward_learning conclude` has ended it'
            )
        publish(said)
    else:
        _add(session_path(ledger, record), said)
    ledger.note_answered(record, name, questionnaire.digest)
    return said


def mark_moment(folder: Path, mark: OperatorMark) -> None:
    """Put an operator's mark into the bag of a session that has ended.

    Raises:
        InvalidInputError: The session has not ended, or has no recording.
    """
    if not (folder / SUMMARY_FILE).is_file():
        raise InvalidInputError(
            f'{folder}: the session has not ended; mark it by its topic, without --session'
        )
    _add(folder, mark)


def is_being_recorded(ledger: Ledger, record: TrialRecord) -> bool:
    """Tell whether the session of a trial has begun and has not ended."""
    folder = session_path(ledger, record)
    return folder.is_dir() and not (folder / SUMMARY_FILE).is_file()


def _add(folder: Path, said: QuestionnaireAnswers | OperatorMark) -> None:
    try:
        add_study_record(folder / BAG, said, namespace=_namespace(folder))
    except BagError as error:
        raise InvalidInputError(f'{folder} cannot take it: {error}') from error


def _namespace(folder: Path) -> str:
    """Return the namespace of a session; empty where its file does not say."""
    from reward_learning_ros.session.folder import SessionFolder

    try:
        return SessionFolder(path=folder).read_configuration().namespace
    except InvalidInputError:
        return ''


def _is_over(ledger: Ledger, record: TrialRecord) -> bool:
    """Tell whether a participant has done a trial, marked as done or not yet."""
    if record.state == RUNNING:
        return (session_path(ledger, record) / SUMMARY_FILE).is_file()
    return record.state == DONE


def _asked_after(
    due: str, records: tuple[TrialRecord, ...], over: list[TrialRecord]
) -> list[TrialRecord]:
    """Return the trials after which something is asked by now."""
    if due == AFTER_TRIAL:
        return over
    groups: dict[str, list[TrialRecord]] = {}
    for record in records:
        group = record.trial.condition.name if due == AFTER_CONDITION else ''
        groups.setdefault(group, []).append(record)
    asked = []
    for together in groups.values():
        done = [record for record in together if record in over]
        if done and all(record in over or record.state == EXCLUDED for record in together):
            asked.append(done[-1])
    return asked


def _name(record: TrialRecord) -> str:
    return f'trial {record.trial.number} of {record.trial.participant}'
