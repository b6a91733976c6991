"""Answers and marks of a whole study: out of the bags of its trials, into tidy rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.recording.session_records import StudyRecords, read_study_records
from reward_learning_ros.study.answering import BAG
from reward_learning_ros.study.ledger import Ledger, TrialRecord
from reward_learning_ros.study.questionnaire_files import load_questionnaire
from reward_learning_ros.study.questionnaires import Questionnaire, Score
from reward_learning_ros.study.tidy import TrialRow, session_path
from reward_learning_ros.study.trial_analysis import Measure

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class TrialAnswers:
    """The questionnaire answers and operator's marks of a trial's last attempt."""

    trial: TrialRecord
    records: StudyRecords


def read_trial_answers(ledger: Ledger) -> tuple[TrialAnswers, ...]:
    """Read the answers and marks of all trials that have a recording.

    Raises:
        InvalidInputError: A recording cannot be read, or answers in it are missing that the
            ledger says are there.
    """
    found = []
    for trials in ledger.records().values():
        for trial in trials:
            folder = session_path(ledger, trial)
            if not trial.attempts or not (folder / BAG).is_dir():
                continue
            try:
                records = read_study_records(folder)
            except BagError as error:
                raise InvalidInputError(f'answers and marks in {folder}: {error}') from error
            found.append(TrialAnswers(trial=trial, records=records))
    _check_complete(ledger, found)
    return tuple(found)


def answer_rows(records: StudyRecords) -> list[Row]:
    """Return a row for each answer to each questionnaire."""
    return [
        {
            'participant': said.participant,
            'trial': said.trial,
            'questionnaire': said.questionnaire,
            'digest': said.digest,
            'answered': time_text(said.stamp_ns),
            'item': item,
            'answer': text,
            'number': _number(text),
        }
        for said in records.answers
        for item, text in said.answers.items()
    ]


def mark_rows(records: StudyRecords) -> list[Row]:
    """Return a row for each mark, with its moment on the machine and in the recording."""
    return [
        {
            'key': mark.key,
            'note': mark.note,
            'moment': time_text(mark.stamp_ns),
            'noted': time_text(mark.machine_ns),
            'ago_sec': mark.ago_sec,
            'recording_ns': time_ns,
        }
        for mark, time_ns in zip(records.marks, records.mark_times_ns, strict=True)
    ]


def time_text(time_ns: int) -> str:
    """Return a time of the machine as ISO 8601, to the millisecond, in UTC."""
    moment = datetime.datetime.fromtimestamp(time_ns / 1e9, datetime.timezone.utc)
    return moment.isoformat(timespec='milliseconds')


def _number(text: str) -> float | None:
    """Return an answer as a number, None if it is words."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def study_answer_rows(trials: Sequence[TrialAnswers]) -> list[Row]:
    """Return a row for each answer in a study."""
    return [_place(each.trial) | row for each in trials for row in answer_rows(each.records)]


def study_mark_rows(trials: Sequence[TrialAnswers]) -> list[Row]:
    """Return a row for each mark in a study."""
    return [_place(each.trial) | row for each in trials for row in mark_rows(each.records)]


def score_rows(ledger: Ledger, trials: Sequence[TrialAnswers]) -> list[Row]:
    """Return a row for each score of each questionnaire that was answered.

    Raises:
        UnknownNameError: A questionnaire is no longer there.
        InvalidInputError: A questionnaire was changed after it was answered, or answers do not
            fit it.
    """
    dues = dict(ledger.protocol.questionnaires)
    rows = []
    for each in trials:
        for said in each.records.answers:
            questionnaire = load_questionnaire(said.questionnaire, ledger.folder)
            if said.digest != questionnaire.digest:
                raise InvalidInputError(
                    f'questionnaire {said.questionnaire!r} was changed after {said.participant} '
                    f'had answered it after trial {said.trial}: put it back as it was, and give '
                    'the new one another name'
                )
            values = questionnaire.scored(said.answers)
            rows += [
                {
                    **_place(each.trial),
                    'questionnaire': said.questionnaire,
                    'due': dues.get(said.questionnaire, questionnaire.due),
                    'score': score.key,
                    'label': score.label,
                    'better': score.better,
                    'value': values[score.key],
                    'answered': time_text(said.stamp_ns),
                }
                for score in questionnaire.scores
            ]
    return rows


def score_measures(ledger: Ledger) -> tuple[Measure, ...]:
    """Return the scores of the study's questionnaires as measures to analyse.

    Raises:
        UnknownNameError: A questionnaire is no longer there.
    """
    return tuple(
        _measure(load_questionnaire(name, ledger.folder), score, due)
        for name, due in ledger.protocol.questionnaires
        for score in load_questionnaire(name, ledger.folder).scores
    )


def with_scores(rows: Sequence[TrialRow], scores: Sequence[Row]) -> list[TrialRow]:
    """Return the rows of trials with a column for each score, empty where it was not asked."""
    columns = dict.fromkeys(column_of(row['questionnaire'], row['score']) for row in scores)
    values = {
        (row['participant'], row['trial'], column_of(row['questionnaire'], row['score'])): row[
            'value'
        ]
        for row in scores
    }
    return [
        {
            **row,
            **{
                column: values.get((row['participant'], row['trial'], column))
                for column in columns
            },
        }
        for row in rows
    ]


def column_of(questionnaire: str, score: str) -> str:
    """Return the name of a score's column in the table of trials."""
    return f'{questionnaire}_{score}'


def _measure(questionnaire: Questionnaire, score: Score, due: str) -> Measure:
    return Measure(
        column=column_of(questionnaire.name, score.key),
        name=score.label,
        better=score.better,
        due=due,
    )


def _place(record: TrialRecord) -> Row:
    trial = record.trial
    return {
        'participant': trial.participant,
        'trial': trial.number,
        'task': trial.goal.task,
        'condition': trial.condition.name,
        'state': record.state,
    }


def _check_complete(ledger: Ledger, trials: Sequence[TrialAnswers]) -> None:
    """Refuse to go on without answers that somebody gave."""
    there = {
        (each.trial.trial.participant, each.trial.session_number, said.questionnaire)
        for each in trials
        for said in each.records.answers
    }
    last = {
        (record.trial.participant, record.session_number)
        for records in ledger.records().values()
        for record in records
    }
    for noted in ledger.answered():
        place = (noted.participant, noted.session_number)
        # Those of an attempt that was given up are of no use.
        if place in last and (*place, noted.questionnaire) not in there:
            raise InvalidInputError(
                f'{noted.participant} answered {noted.questionnaire!r} after trial '
                f'{noted.trial}, and its recording does not have it: answer it again with '
                '`reward_learning study answer`'
            )
