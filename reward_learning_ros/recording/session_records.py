"""The one reader of a session's recording: plans, corrections, θ and what every node reported."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.interface import (
    ContactReport,
    InferenceStatus,
    LiveTheta,
    OperatorMark,
    ParticipantStatus,
    PassCorrections,
    Plan,
    PlaybackStatus,
    QuestionnaireAnswers,
    SessionStatus,
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
    theta_from_message,
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
    SESSION,
    STATUS,
    THETA,
    SessionTopics,
)

_R = TypeVar('_R')

_READERS: Mapping[str, Callable[[Any], Any]] = {
    PLAN: plan_from_message,
    CORRECTIONS: corrections_from_message,
    CONTACTS: contact_from_message,
    STATUS: playback_status_from_message,
    THETA: theta_from_message,
    INFERENCE: inference_status_from_message,
    PARTICIPANT: participant_status_from_message,
    PARTICIPANT_CORRECTIONS: corrections_from_message,
    SESSION: session_status_from_message,
    ANSWERS: answers_from_message,
    MARKS: mark_from_message,
}
# What people said is read by itself.
_SESSION_PARTS = tuple(part for part in _READERS if part not in (ANSWERS, MARKS))
# What θ depends on, and is compared with.
LEARNED_PARTS = (PLAN, CORRECTIONS, THETA, INFERENCE, PARTICIPANT)
# While a session goes on, some node publishes more often than this, also in simulated time.
_MAX_PAUSE_NS = 600 * 10**9
# Times of waypoints are published to the nanosecond.
_SAME_TIME_SEC = 1e-6


def known_waypoints(plan: Plan, corrections: PassCorrections) -> NDArray[np.int64]:
    """Return the waypoints (k,) of the plan that corrections say something of.

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
    """The latest corrections of each pass, in the order in which passes were first published.

    A correction of a contact is published once: the first message counts.
    """

    def __init__(self) -> None:
        self._records: dict[int, Corrections] = {}

    def add(self, record: Corrections) -> None:
        """Take the next record."""
        stamp_ns = stamp_of(record)
        if isinstance(record, PassCorrections):
            self._records[stamp_ns] = record
        else:
            self._records.setdefault(stamp_ns, record)

    @property
    def records(self) -> tuple[Corrections, ...]:
        """The latest of each pass so far."""
        return tuple(self._records.values())


def active_corrections(
    records: Iterable[Corrections], status: InferenceStatus | None
) -> tuple[Corrections, ...]:
    """Return the corrections that undo and reset left, by the last status of the inference."""
    told = tuple(records)
    if status is None:
        return told
    active = set(status.active_among(map(stamp_of, told)))
    return tuple(record for record in told if stamp_of(record) in active)


def has_learned_from(status: InferenceStatus, active: Iterable[Corrections]) -> bool:
    """Tell whether the θ that was published is that of these corrections, to the last one.

    A pass is published again and again while it goes on: its stamp does not say how much of it was
    known, the digest does. Corrections of contacts are published once; their stamps are enough.
    """
    told = tuple(active)
    if status.learned_from_ns != tuple(map(stamp_of, told)):
        return False
    passes = [record for record in told if isinstance(record, PassCorrections)]
    return status.learned_data == data_digest(passes)


@dataclass(frozen=True, kw_only=True)
class Heard(Generic[_R]):
    """A record of a session, and when it was recorded."""

    time_ns: int
    record: _R


@dataclass(frozen=True, kw_only=True, eq=False)
class SessionRecording:
    """All that was published in a session, as far as its outcome depends on it, in its order.

    Attributes:
        plans: shown plans; a plan that was published twice is there twice.
        corrections: what was published of each pass while it grew; in older recordings, of each
            contact.
        thetas: summaries of θ, as they were kept.
        live_thetas: what was believed while somebody pushed; none of it was kept.
        playback: states of playback.
        inference: states of inference.
        session: states of the session.
        participant: states of a simulated participant.
        contacts: what is known of each contact.
        meant: what a simulated participant meant to do to passes.
        problems: what is wrong with the recording.
    """

    plans: tuple[Heard[Plan], ...] = ()
    corrections: tuple[Heard[Corrections], ...] = ()
    thetas: tuple[Heard[ThetaSummary], ...] = ()
    live_thetas: tuple[Heard[LiveTheta], ...] = ()
    playback: tuple[Heard[PlaybackStatus], ...] = ()
    inference: tuple[Heard[InferenceStatus], ...] = ()
    session: tuple[Heard[SessionStatus], ...] = ()
    participant: tuple[Heard[ParticipantStatus], ...] = ()
    contacts: tuple[Heard[ContactReport], ...] = ()
    meant: tuple[Heard[Corrections], ...] = ()
    problems: tuple[Problem, ...] = ()

    @cached_property
    def distinct_plans(self) -> tuple[Plan, ...]:
        """All plans that were shown, each once."""
        plans: dict[int, Plan] = {}
        for heard in self.plans:
            plans.setdefault(heard.record.stamp_ns, heard.record)
        return tuple(plans.values())

    @cached_property
    def latest_corrections(self) -> tuple[Corrections, ...]:
        """What was published last of each pass, undone ones included."""
        latest = LatestCorrections()
        for heard in self.corrections:
            latest.add(heard.record)
        return latest.records

    @property
    def active_corrections(self) -> tuple[Corrections, ...]:
        """Those of them that undo and reset left."""
        status = self.inference[-1].record if self.inference else None
        return active_corrections(self.latest_corrections, status)

    @property
    def duration_sec(self) -> float:
        """How long it took; the time between an interruption and what came after is left out."""
        return self.seconds_at(max(self._times_ns, default=0))

    def seconds_at(self, time_ns: int) -> float:
        """Return how long it had gone on at a time of the recording."""
        times = [each for each in self._times_ns if each <= time_ns]
        gaps = (after - before for before, after in itertools.pairwise(times))
        return sum(gap for gap in gaps if gap < _MAX_PAUSE_NS) / 1e9

    @cached_property
    def _times_ns(self) -> list[int]:
        heard: tuple[Heard[Any], ...] = (
            *self.plans,
            *self.corrections,
            *self.playback,
            *self.session,
        )
        # What comes before simulated time begins has none.
        return sorted(each.time_ns for each in heard if each.time_ns > 0)


def read_session(
    path: Path, topics: Mapping[str, str] | None = None, *, namespace: str | None = None
) -> SessionRecording:
    """Read a session; a message that cannot be used is a problem, not an error.

    Args:
        path: Of the session's folder or of a bag.
        topics: Names of topics by part, where they are other than ours.
        namespace: Of the session's nodes; then only their topics are read, and there need not be
            a plan. Without it topics are searched for.

    Raises:
        BagError: Nothing of the bag can be read, or it has no plan.
    """
    with BagReader(path) as bag:
        if namespace is not None:
            return session_of(bag, SessionTopics.in_namespace(bag.path, bag.topics, namespace))
        found = SessionTopics(bag.path, bag.topics, topics or {})
        with naming_damage(bag):
            found[PLAN]
        return session_of(bag, found)


def session_of(
    bag: BagReader, topics: SessionTopics, parts: Iterable[str] = _SESSION_PARTS
) -> SessionRecording:
    """Read parts of a session from an open bag."""
    names = {topics[part].name: part for part in parts if part in topics}
    problems = definition_problems(bag, [topics[part] for part in names.values()])
    found: dict[str, list[Heard[Any]]] = {part: [] for part in _SESSION_PARTS}
    for message in bag.messages(list(names)):
        part = names[message.topic.name]
        record = read_record(part, message, problems)
        if record is not None:
            found[part].append(Heard(time_ns=message.time_ns, record=record))
    return SessionRecording(
        plans=tuple(found[PLAN]),
        corrections=tuple(found[CORRECTIONS]),
        thetas=tuple(each for each in found[THETA] if isinstance(each.record, ThetaSummary)),
        live_thetas=tuple(each for each in found[THETA] if isinstance(each.record, LiveTheta)),
        playback=tuple(found[STATUS]),
        inference=tuple(found[INFERENCE]),
        session=tuple(found[SESSION]),
        participant=tuple(found[PARTICIPANT]),
        contacts=tuple(found[CONTACTS]),
        meant=tuple(found[PARTICIPANT_CORRECTIONS]),
        problems=(*bag.problems, *problems),
    )


@dataclass(frozen=True, kw_only=True)
class StudyRecords:
    """Answers and marks of a trial, as far as they are in its bag.

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


def read_study_records(path: Path) -> StudyRecords:
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
    return StudyRecords(
        answers=tuple(answers.values()),
        marks=tuple(mark for mark, _ in marks),
        mark_times_ns=tuple(time_ns for _, time_ns in marks),
        problems=found,
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
