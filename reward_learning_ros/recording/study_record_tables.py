"""The answers and marks of a trial as tidy rows, one for each."""

from __future__ import annotations

import datetime
import math
from typing import Any

from reward_learning_ros.recording.session_records import StudyRecords

Row = dict[str, Any]


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
