"""What a page would have shown before, from the recording of a session; no ROS."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from reward_learning_ros.console.snapshot import LearnedTheta
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import Plan
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.session_records import Heard, SessionRecording, session_of
from reward_learning_ros.recording.session_topics import INFERENCE, PLAN, THETA, SessionTopics

_R = TypeVar('_R')
_NEVER_NS = 2**63


@dataclass(frozen=True, kw_only=True, eq=False)
class History:
    """What was learned and shown so far.

    Attributes:
        bag: folder of the recording.
        learned: θ after each pass.
        plans: that were shown, in their order.
    """

    bag: str
    learned: tuple[LearnedTheta, ...]
    plans: tuple[Plan, ...]


def find_history(bag: str, namespace: str, on_found: Callable[[History], None]) -> None:
    """Read what a running session recorded so far, without keeping the caller waiting.

    Args:
        bag: Folder of the recording; of one that cannot be read here, nothing is found.
        namespace: Of the session's nodes.
        on_found: Is told it, in another thread.
    """

    def find() -> None:
        try:
            with BagReader(Path(bag)) as reader:
                topics = SessionTopics.in_namespace(reader.path, reader.topics, namespace)
                recording = session_of(reader, topics, (PLAN, THETA, INFERENCE))
        except RewardLearningError:
            return
        learned = learned_until(recording, _NEVER_NS)
        on_found(History(bag=bag, learned=learned, plans=recording.distinct_plans))

    threading.Thread(target=find, name='history', daemon=True).start()


def until(heard: Sequence[Heard[_R]], time_ns: int) -> Sequence[Heard[_R]]:
    """Return what was heard until a time."""
    return heard[: bisect.bisect_right(heard, time_ns, key=lambda each: each.time_ns)]


def last_until(heard: Sequence[Heard[_R]], time_ns: int) -> _R | None:
    """Return the last of what was heard until a time; None if nothing was."""
    known = bisect.bisect_right(heard, time_ns, key=lambda each: each.time_ns)
    return heard[known - 1].record if known else None


def learned_until(recording: SessionRecording, time_ns: int) -> tuple[LearnedTheta, ...]:
    """Return θ after each pass, as far as it was known at a time; undone passes are left out."""
    found: dict[int, LearnedTheta] = {}
    for heard in until(recording.inference, time_ns):
        passes = len(heard.record.learned_from_ns)
        theta = last_until(recording.thetas, heard.time_ns)
        found = {known: each for known, each in found.items() if known < passes}
        if passes and theta is not None:
            found[passes] = LearnedTheta(passes=passes, theta=theta)
    return tuple(found.values())
