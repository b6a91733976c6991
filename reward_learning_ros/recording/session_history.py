"""What a session's recording says about it, in the order of time."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from reward_learning_ros.interface import (
    ContactReport,
    InferenceStatus,
    ParticipantStatus,
    Plan,
    PlaybackStatus,
    SessionStatus,
    ThetaSummary,
)
from reward_learning_ros.learning import Corrections
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.problems import Problem
from reward_learning_ros.recording.session_records import (
    LatestCorrections,
    active_corrections,
    read_record,
)
from reward_learning_ros.recording.session_topics import (
    CONTACTS,
    CORRECTIONS,
    INFERENCE,
    PARTICIPANT,
    PARTICIPANT_CORRECTIONS,
    PARTS,
    PLAN,
    SESSION,
    STATUS,
    THETA,
)

_R = TypeVar('_R')

# While a session goes on, somebody says something more often than this, also in simulated time.
_LONGEST_PAUSE_NS = 600 * 10**9

_READ_PARTS = (
    PLAN,
    CORRECTIONS,
    CONTACTS,
    THETA,
    STATUS,
    INFERENCE,
    SESSION,
    PARTICIPANT,
    PARTICIPANT_CORRECTIONS,
)


@dataclass(frozen=True, kw_only=True)
class Heard(Generic[_R]):
    """A record, and when it was recorded."""

    time_ns: int
    record: _R


@dataclass(frozen=True, kw_only=True, eq=False)
class SessionRecording:
    """All that was said in a session, as far as its outcome depends on it.

    Attributes:
        plans: shown plans.
        corrections: all that was told of passes, one after the other; or of old, of contacts.
        thetas: what was learned.
        playback: what the arm did.
        inference: what the inference did.
        session: what the conductor did.
        participant: what a simulated participant did.
        contacts: what is known of each contact.
        meant: what a simulated participant meant to do to passes.
        problems: what is wrong with the recording, in words.
    """

    plans: tuple[Heard[Plan], ...]
    corrections: tuple[Heard[Corrections], ...]
    thetas: tuple[Heard[ThetaSummary], ...]
    playback: tuple[Heard[PlaybackStatus], ...]
    inference: tuple[Heard[InferenceStatus], ...]
    session: tuple[Heard[SessionStatus], ...]
    participant: tuple[Heard[ParticipantStatus], ...]
    contacts: tuple[Heard[ContactReport], ...] = ()
    meant: tuple[Heard[Corrections], ...] = ()
    problems: tuple[str, ...] = ()

    @cached_property
    def latest_corrections(self) -> tuple[Corrections, ...]:
        """What was told last of each pass, or all of old, undone ones too."""
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
        return sum(gap for gap in gaps if gap < _LONGEST_PAUSE_NS) / 1e9

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


def read_recording(bag: Path, namespace: str = '') -> SessionRecording:
    """Read a session's recording; a message that cannot be used is a problem, not an end.

    Args:
        bag: Folder of the rosbag2.
        namespace: Of the session's nodes.

    Raises:
        BagError: Nothing of the bag can be read.
    """
    prefix = f'/{namespace.strip("/")}/' if namespace.strip('/') else '/'
    parts = {prefix + PARTS[part].topic: part for part in _READ_PARTS}
    found: dict[str, list[Heard[Any]]] = {part: [] for part in _READ_PARTS}
    problems: list[Problem] = []
    with BagReader(bag) as reader:
        for message in reader.messages([name for name in parts if name in reader.topics]):
            part = parts[message.topic.name]
            record = read_record(part, message, problems)
            if record is not None:
                found[part].append(Heard(time_ns=message.time_ns, record=record))
        problems += reader.problems
    return SessionRecording(
        plans=tuple(found[PLAN]),
        corrections=tuple(found[CORRECTIONS]),
        thetas=tuple(found[THETA]),
        playback=tuple(found[STATUS]),
        inference=tuple(found[INFERENCE]),
        session=tuple(found[SESSION]),
        participant=tuple(found[PARTICIPANT]),
        contacts=tuple(found[CONTACTS]),
        meant=tuple(found[PARTICIPANT_CORRECTIONS]),
        problems=tuple(str(problem) for problem in problems),
    )
