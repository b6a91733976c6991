"""A session that is over, as the snapshots that a page would have shown; no ROS."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from reward_learning_ros.console.snapshot import LearnedTheta, SessionFacts, Snapshot
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.interface import ThetaSummary
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.session_records import (
    Heard,
    SessionRecording,
    read_session,
)
from reward_learning_ros.recording.session_topics import JOINTS, PARTS
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.understanding import prior_of

_R = TypeVar('_R')

# More of it the eye does not see.
_STEP_NS = 50_000_000
_JOINTS = 7


def finished_sessions(sessions: Path) -> list[str]:
    """Return the sessions in a folder, as `study/participant/trial`, the newest last."""
    found = [file.parent for file in sessions.glob('*/*/*/session.yaml')]
    found.sort(key=lambda folder: (folder / 'session.yaml').stat().st_mtime)
    return ['/'.join(folder.parts[-3:]) for folder in found]


def folder_named(sessions: Path, name: str) -> SessionFolder:
    """Return the folder of a session.

    Raises:
        InvalidInputError: It is none of those that are there.
    """
    # By what is there, never by the path that somebody made up.
    if name not in finished_sessions(sessions):
        raise InvalidInputError(f'there is no session {name!r} in {sessions}')
    return SessionFolder(path=sessions / name)


class FinishedSession:
    """A recording, looked at from any moment of it.

    Args:
        folder: Of the session.

    Raises:
        RewardLearningError: It cannot be read.

    Attributes:
        begin_ns, end_ns: of the recording.
    """

    def __init__(self, folder: SessionFolder) -> None:
        from reward_learning_ros.tasks import load_task

        config = folder.read_configuration()
        self._recording: SessionRecording = read_session(folder.bag, namespace=config.namespace)
        self._facts = SessionFacts(
            task=config.task,
            bag=str(folder.bag),
            consent=config.consent_rule,
            max_passes=config.passes_limit,
            prefix=config.joint_prefix,
            hand=config.hand,
            study=config.study,
            participant=config.participant,
            trial=folder.path.name,
        )
        self._prior: ThetaSummary = prior_of(load_task(config.task))
        self._joints = _joints(folder.bag, config.namespace, config.joint_prefix)
        times = [
            *(time_ns for time_ns, _ in self._joints),
            *(heard.time_ns for heard in self._recording.session),
        ]
        if not times:
            raise InvalidInputError(f'{folder.bag} tells nothing of the arm or the session')
        self.begin_ns, self.end_ns = min(times), max(times)

    @property
    def facts(self) -> SessionFacts:
        """What was chosen about it."""
        return self._facts

    @property
    def duration_sec(self) -> float:
        """How long it took."""
        return (self.end_ns - self.begin_ns) / 1e9

    def at(self, time_sec: float) -> Snapshot:
        """Return what was known so many seconds after its begin."""
        time_ns = self.begin_ns + round(time_sec * 1e9)
        recording = self._recording
        plans = _until(recording.plans, time_ns)
        joints = bisect.bisect_right(self._joints, time_ns, key=lambda entry: entry[0])
        snapshot = Snapshot(
            facts=self._facts,
            prior=self._prior,
            session=_last(recording.session, time_ns),
            playback=_last(recording.playback, time_ns),
            inference=_last(recording.inference, time_ns),
            theta=_last(recording.thetas, time_ns),
            participant=_last(recording.participant, time_ns),
            plan=plans[-1].record if plans else None,
            previous_plan=plans[-2].record if len(plans) > 1 else None,
            joints_rad=self._joints[joints - 1][1] if joints else None,
        )
        return replace(snapshot, learned=self._learned(time_ns))

    def _learned(self, time_ns: int) -> tuple[LearnedTheta, ...]:
        found: dict[int, LearnedTheta] = {}
        for heard in _until(self._recording.inference, time_ns):
            passes = len(heard.record.learned_from_ns)
            theta = _last(self._recording.thetas, heard.time_ns)
            found = {known: each for known, each in found.items() if known < passes}
            if passes and theta is not None:
                found[passes] = LearnedTheta(passes=passes, theta=theta)
        return tuple(found.values())


def _until(heard: Sequence[Heard[_R]], time_ns: int) -> Sequence[Heard[_R]]:
    return heard[: bisect.bisect_right(heard, time_ns, key=lambda each: each.time_ns)]


def _last(heard: Sequence[Heard[_R]], time_ns: int) -> _R | None:
    known = _until(heard, time_ns)
    return known[-1].record if known else None


def _joints(bag: Path, namespace: str, prefix: str) -> list[tuple[int, tuple[float, ...]]]:
    """Return where the arm was, at most twenty times a second."""
    topic = '/'.join(('', *filter(None, namespace.strip('/').split('/')), PARTS[JOINTS].name))
    wanted = [f'{prefix}_joint{number}' for number in range(1, _JOINTS + 1)]
    found: list[tuple[int, tuple[float, ...]]] = []
    with BagReader(bag) as reader:
        if topic not in reader.topics:
            return []
        for message in reader.messages([topic]):
            if found and message.time_ns - found[-1][0] < _STEP_NS:
                continue
            state: Any = message.decoded()
            by_name = dict(zip(state.name, state.position, strict=False))
            if all(name in by_name for name in wanted):
                angles = tuple(float(by_name[name]) for name in wanted)
                found.append((message.time_ns, angles))
    return found
