"""A session that is over, as the snapshots that a page would have shown; no ROS."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reward_learning_ros.console.heard import drawing_of
from reward_learning_ros.console.history import last_until, learned_until, until
from reward_learning_ros.console.snapshot import Drawing, SessionFacts, Snapshot, Vector
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.interface import (
    Plan,
    RecorderStatus,
    ThetaSummary,
    plan_from_message,
    recorder_status_from_message,
)
from reward_learning_ros.interface import topics as table
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.session_records import (
    Heard,
    SessionRecording,
    read_session,
)
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.understanding import prior_of

# More of it the eye does not see.
_STEP_NS = 50_000_000
_JOINTS = 7


def finished_sessions(sessions: Path) -> list[str]:
    """Return the sessions in a folder, as `study/participant/trial`, the newest last."""
    found = [file.parent for file in sessions.glob('*/*/*/session.yaml')]
    found.sort(key=lambda folder: (folder / 'session.yaml').stat().st_mtime)
    return ['/'.join(folder.parts[-3:]) for folder in found]


def folder_named(sessions: Path, name: str) -> SessionFolder:
    """Return the folder of the session that a page names, or refuse the name.

    Raises:
        InvalidInputError: It is none of those that are there.
    """
    # By what is there, never by the path that somebody made up.
    if name not in finished_sessions(sessions):
        raise InvalidInputError(f'there is no session {name!r} in {sessions}')
    return SessionFolder(path=sessions / name)


class FinishedSession:
    """A recorded session, shown as it was at any moment.

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
        self._shown = _read_shown(folder.bag, config.namespace, config.joint_prefix)
        times = [
            *(heard.time_ns for heard in self._shown.joints),
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
        recording, shown = self._recording, self._shown
        plans = until(recording.plans, time_ns)
        return Snapshot(
            facts=self._facts,
            prior=self._prior,
            session=last_until(recording.session, time_ns),
            playback=last_until(recording.playback, time_ns),
            recorder=last_until(shown.recorder, time_ns),
            inference=last_until(recording.inference, time_ns),
            theta=last_until(recording.thetas, time_ns),
            participant=last_until(recording.participant, time_ns),
            learned=learned_until(recording, time_ns),
            plan=plans[-1].record if plans else None,
            previous_plan=plans[-2].record if len(plans) > 1 else None,
            ideal=last_until(shown.ideal, time_ns),
            drawing=last_until(shown.drawings, time_ns) or _NOTHING_DRAWN,
            joints_rad=last_until(shown.joints, time_ns),
            force_n=last_until(shown.force, time_ns),
        )


# One object: a page draws again only what is another one.
_NOTHING_DRAWN = Drawing()


@dataclass(frozen=True, kw_only=True, eq=False)
class _Shown:
    """What was heard of the arm, at most twenty times a second, and what was drawn beside it."""

    joints: list[Heard[tuple[float, ...]]] = field(default_factory=list)
    force: list[Heard[Vector]] = field(default_factory=list)
    recorder: list[Heard[RecorderStatus]] = field(default_factory=list)
    drawings: list[Heard[Drawing]] = field(default_factory=list)
    ideal: list[Heard[Plan]] = field(default_factory=list)


def _read_shown(bag: Path, namespace: str, prefix: str) -> _Shown:
    """Read it; a message that cannot be used is left out, as a page leaves it out."""
    wanted = [f'{prefix}_joint{number}' for number in range(1, _JOINTS + 1)]

    def joints(message: Any) -> tuple[float, ...] | None:
        by_name = dict(zip(message.name, message.position, strict=False))
        known = all(name in by_name for name in wanted)
        return tuple(float(by_name[name]) for name in wanted) if known else None

    def force(message: Any) -> Vector:
        vector = message.wrench.force
        return (float(vector.x), float(vector.y), float(vector.z))

    shown = _Shown()
    parts: dict[str, tuple[list[Any], Any]] = {
        table.MEASURED_JOINT_STATES_TOPIC: (shown.joints, joints),
        table.WRENCH_IN_BASE_TOPIC: (shown.force, force),
        table.RECORDER_STATUS_TOPIC: (shown.recorder, recorder_status_from_message),
        table.MARKERS_TOPIC: (shown.drawings, drawing_of),
        table.PARTICIPANT_IDEAL_TOPIC: (shown.ideal, plan_from_message),
    }
    prefixes = ('', *filter(None, namespace.strip('/').split('/')))
    topics = {'/'.join((*prefixes, topic)): part for topic, part in parts.items()}
    with BagReader(bag) as reader:
        for message in reader.messages([name for name in topics if name in reader.topics]):
            found, read = topics[message.topic.name]
            is_often = found is shown.joints or found is shown.force
            if is_often and found and message.time_ns - found[-1].time_ns < _STEP_NS:
                continue
            try:
                record = read(message.decoded())
            except RewardLearningError:
                continue
            if record is not None:
                found.append(Heard(time_ns=message.time_ns, record=record))
    return shown
