"""What a session's recording says about it, in the order of time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from reward_learning_ros.bags.reading import BagReader
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    Correction,
    InferenceStatus,
    ParticipantStatus,
    Plan,
    PlaybackStatus,
    SessionStatus,
    ThetaSummary,
    correction_from_message,
    inference_status_from_message,
    participant_status_from_message,
    plan_from_message,
    playback_status_from_message,
    session_status_from_message,
    theta_summary_from_message,
)

_R = TypeVar('_R')

# While a session goes on, somebody says something more often than this, also in simulated time.
_LONGEST_PAUSE_NS = 600 * 10**9

_READERS: dict[str, Callable[[Any], Any]] = {
    'plan': plan_from_message,
    'corrections': correction_from_message,
    'theta': theta_summary_from_message,
    'playback/status': playback_status_from_message,
    'inference/status': inference_status_from_message,
    'session/status': session_status_from_message,
    'participant/status': participant_status_from_message,
}


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
        corrections: of the plans.
        thetas: what was learned.
        playback: what the arm did.
        inference: what the inference did.
        session: what the conductor did.
        participant: what a simulated participant did.
        problems: what is wrong with the recording, in words.
    """

    plans: tuple[Heard[Plan], ...]
    corrections: tuple[Heard[Correction], ...]
    thetas: tuple[Heard[ThetaSummary], ...]
    playback: tuple[Heard[PlaybackStatus], ...]
    inference: tuple[Heard[InferenceStatus], ...]
    session: tuple[Heard[SessionStatus], ...]
    participant: tuple[Heard[ParticipantStatus], ...]
    problems: tuple[str, ...] = ()

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
    found: dict[str, list[Heard[Any]]] = {name: [] for name in _READERS}
    problems = []
    with BagReader(bag) as reader:
        names = [prefix + name for name in _READERS if prefix + name in reader.topics]
        for message in reader.messages(names):
            name = message.topic.name.removeprefix(prefix)
            try:
                record = _READERS[name](message.decoded())
            except RewardLearningError as error:
                problems.append(f'{message.topic.name}: {error}')
                continue
            found[name].append(Heard(time_ns=message.time_ns, record=record))
        problems += [str(problem) for problem in reader.problems]
    return SessionRecording(
        plans=tuple(found['plan']),
        corrections=tuple(found['corrections']),
        thetas=tuple(found['theta']),
        playback=tuple(found['playback/status']),
        inference=tuple(found['inference/status']),
        session=tuple(found['session/status']),
        participant=tuple(found['participant/status']),
        problems=tuple(problems),
    )
