"""What was said in a session: plans, corrections and what was learned, out of its bag."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.interface import (
    InferenceStatus,
    OperatorMark,
    ParticipantStatus,
    PassCorrections,
    Plan,
    QuestionnaireAnswers,
    ThetaSamples,
    ThetaSummary,
    answers_from_message,
    contact_from_message,
    corrections_from_message,
    data_digest,
    inference_status_from_message,
    mark_from_message,
    participant_status_from_message,
    plan_from_message,
    playback_status_from_message,
    session_status_from_message,
    theta_samples_from_message,
    theta_summary_from_message,
)
from reward_learning_ros.learning import Corrections, stamp_of
from reward_learning_ros.recording.bag_reader import BagMessage, BagReader
from reward_learning_ros.recording.message_types import definition_damage
from reward_learning_ros.recording.problems import BagError, Problem, TopicInBag
from reward_learning_ros.recording.session_topics import (
    ANSWERS,
    CONTACTS,
    CORRECTIONS,
    INFERENCE,
    MARKS,
    PARTICIPANT,
    PARTICIPANT_CORRECTIONS,
    PLAN,
    SAMPLES,
    SESSION,
    STATUS,
    THETA,
    SessionTopics,
)

_READERS: Mapping[str, Callable[[Any], Any]] = {
    PLAN: plan_from_message,
    CORRECTIONS: corrections_from_message,
    CONTACTS: contact_from_message,
    STATUS: playback_status_from_message,
    THETA: theta_summary_from_message,
    SAMPLES: theta_samples_from_message,
    INFERENCE: inference_status_from_message,
    PARTICIPANT: participant_status_from_message,
    PARTICIPANT_CORRECTIONS: corrections_from_message,
    SESSION: session_status_from_message,
    ANSWERS: answers_from_message,
    MARKS: mark_from_message,
}
# What no learning depends on.
_NOT_LEARNED_FROM = (STATUS, SESSION, CONTACTS, PARTICIPANT_CORRECTIONS, ANSWERS, MARKS)
# Times of waypoints are told to the nanosecond.
_SAME_TIME_SEC = 1e-6


def told_waypoints(plan: Plan, corrections: PassCorrections) -> NDArray[np.int64]:
    """Return which waypoints (k,) of the plan something is known of.

    Raises:
        InvalidInputError: The plan has no waypoint at one of the times, or is another one.
    """
    if plan.stamp_ns != corrections.plan_stamp_ns:
        raise InvalidInputError(
            f'the corrections are of plan {corrections.plan_stamp_ns}, not {plan.stamp_ns}'
        )
    away = np.abs(plan.times_sec[None, :] - corrections.times_sec[:, None])
    found = away.argmin(axis=1) if len(away) else np.zeros(0, dtype=np.int64)
    for row in np.flatnonzero(away[np.arange(len(away)), found] > _SAME_TIME_SEC):
        raise InvalidInputError(
            f'plan {plan.stamp_ns} has no waypoint at {corrections.times_sec[row]:g} s'
        )
    return np.asarray(found, dtype=np.int64)


class LatestCorrections:
    """What was told last of each pass, in the order in which passes were first heard of.

    Of a correction of a contact, which was told once, the first message counts.
    """

    def __init__(self) -> None:
        self._records: dict[int, Corrections] = {}

    def add(self, record: Corrections) -> None:
        """Take what was heard next."""
        stamp_ns = stamp_of(record)
        if isinstance(record, PassCorrections):
            self._records[stamp_ns] = record
        else:
            self._records.setdefault(stamp_ns, record)

    @property
    def records(self) -> tuple[Corrections, ...]:
        """What is there by now."""
        return tuple(self._records.values())


def active_corrections(
    records: Iterable[Corrections], status: InferenceStatus | None
) -> tuple[Corrections, ...]:
    """Return the corrections that undo and reset left, if the inference said this last."""
    told = tuple(records)
    if status is None:
        return told
    active = set(status.active_among(map(stamp_of, told)))
    return tuple(record for record in told if stamp_of(record) in active)


def has_learned_from(status: InferenceStatus, active: Iterable[Corrections]) -> bool:
    """Tell whether the θ that was published is that of these corrections, to the last one.

    A pass is told again and again while it goes on: its stamp does not say how much of it was
    known, the digest does. Corrections of contacts are told once, their stamps are enough.
    """
    told = tuple(active)
    if status.learned_from_ns != tuple(map(stamp_of, told)):
        return False
    passes = [record for record in told if isinstance(record, PassCorrections)]
    return status.learned_data == data_digest(passes)


@dataclass(frozen=True, kw_only=True)
class SessionRecords:
    """What was said, in its order; a record that was said twice is there once.

    Attributes:
        plans: all that were shown.
        corrections: what was told last of each pass, in the order in which passes were first
            heard of; or all corrections of a recording that has one for each contact.
        thetas: all that were published, each with the time of its recording.
        samples: the last ones; None if none were published.
        inference: what the inference said last; None if it said nothing.
        participant: what a simulated participant said last; None without one.
        problems: what is wrong with the bag.
    """

    plans: tuple[Plan, ...]
    corrections: tuple[Corrections, ...]
    thetas: tuple[tuple[int, ThetaSummary], ...]
    samples: ThetaSamples | None
    inference: InferenceStatus | None
    participant: ParticipantStatus | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, kw_only=True)
class SpokenRecords:
    """What people said of a trial, as far as it is in its bag.

    Attributes:
        answers: What was answered last to each questionnaire after each trial, in the order in
            which each was answered first.
        marks: Of operators, in the order of the moments that they are about.
        mark_times_ns: When each of those moments was, in the time of the recording.
        problems: What is wrong with the bag.
    """

    answers: tuple[QuestionnaireAnswers, ...]
    marks: tuple[OperatorMark, ...]
    mark_times_ns: tuple[int, ...]
    problems: tuple[Problem, ...]


def read_spoken(path: Path) -> SpokenRecords:
    """Read answers and marks from a session's folder or its bag.

    Raises:
        BagError: There is no bag.
    """
    answers: dict[tuple[str, str, int], QuestionnaireAnswers] = {}
    marks: list[tuple[OperatorMark, int]] = []
    with BagReader(path) as bag:
        topics = SessionTopics(bag.path, bag.topics, {})
        parts = {topics[part].name: part for part in (ANSWERS, MARKS) if part in topics}
        problems = definition_problems(bag, [topics[part] for part in parts.values()])
        for message in bag.messages(list(parts)) if parts else ():
            record = read_record(parts[message.topic.name], message, problems)
            if isinstance(record, QuestionnaireAnswers):
                answers[record.participant, record.questionnaire, record.trial] = record
            elif isinstance(record, OperatorMark):
                # It was noted about when it was recorded; in simulated time a second of the
                # machine is as many of the recording's as it went fast, which is not known here.
                ago_ns = record.machine_ns - record.stamp_ns
                marks.append((record, max(message.time_ns - ago_ns, 0)))
        found = (*bag.problems, *problems)
    marks.sort(key=lambda each: each[0].stamp_ns)
    return SpokenRecords(
        answers=tuple(answers.values()),
        marks=tuple(mark for mark, _ in marks),
        mark_times_ns=tuple(time_ns for _, time_ns in marks),
        problems=found,
    )


def read_session(path: Path, topics: Mapping[str, str] | None = None) -> SessionRecords:
    """Read a session from its folder or its bag.

    Args:
        path: Of the session's folder or of a bag.
        topics: Names of topics by part, where they are other than ours.

    Raises:
        BagError: There is no bag, or it has no plan.
    """
    with BagReader(path) as bag:
        return records_of(bag, SessionTopics(bag.path, bag.topics, topics or {}))


def records_of(bag: BagReader, topics: SessionTopics) -> SessionRecords:
    """Read a session from an open bag; a message that cannot be read is a problem, no error.

    Raises:
        BagError: The bag has no plan.
    """
    with naming_damage(bag):
        topics[PLAN]
    parts = {
        topics[part].name: part
        for part in _READERS
        if part in topics and part not in _NOT_LEARNED_FROM
    }
    problems = definition_problems(bag, [topics[part] for part in parts.values()])
    plans: dict[int, Plan] = {}
    corrections = LatestCorrections()
    thetas: list[tuple[int, ThetaSummary]] = []
    last: dict[str, Any] = {}
    for message in bag.messages(list(parts)):
        part = parts[message.topic.name]
        record = read_record(part, message, problems)
        if record is None:
            continue
        if part == PLAN:
            plans.setdefault(record.stamp_ns, record)
        elif part == CORRECTIONS:
            corrections.add(record)
        elif part == THETA:
            thetas.append((message.time_ns, record))
        else:
            last[part] = record
    return SessionRecords(
        plans=tuple(plans.values()),
        corrections=corrections.records,
        thetas=tuple(thetas),
        samples=last.get(SAMPLES),
        inference=last.get(INFERENCE),
        participant=last.get(PARTICIPANT),
        problems=(*bag.problems, *problems),
    )


@contextlib.contextmanager
def naming_damage(bag: BagReader) -> Iterator[None]:
    """Say of a damaged bag in which something is missing that it is damaged."""
    try:
        yield
    except BagError as error:
        if not bag.problems:
            raise
        more = f' (and {len(bag.problems) - 1} more)' if len(bag.problems) > 1 else ''
        raise BagError(f'{bag.problems[0]}{more}; {error}') from error


def definition_problems(bag: BagReader, topics: Iterable[TopicInBag]) -> list[Problem]:
    """Return which topics have a damaged definition in the bag."""
    problems = []
    for topic in topics:
        try:
            damage = definition_damage(topic)
        except BagError as error:
            damage = str(error)
        if damage:
            problems.append(Problem(file=bag.path, topic=topic.name, text=damage))
    return problems


def read_record(part: str, message: BagMessage, problems: list[Problem]) -> Any:
    """Return the record in a message, or None, and what is wrong with it among the problems."""
    try:
        return _READERS[part](message.decoded())
    except BagError as error:
        text = str(error).split(': ', 1)[-1]
        problems.append(message.problem(text))
    except RewardLearningError as error:
        problems.append(message.problem(str(error)))
    return None
