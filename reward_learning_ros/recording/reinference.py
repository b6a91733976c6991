"""θ inferred again from a bag, by the code that infers it live."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import PassCorrections, Plan, ThetaSummary
from reward_learning_ros.learning import (
    Corrections,
    InferenceResult,
    Learner,
    LearningParameters,
    learn,
    stamp_of,
)
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.problems import BagError, Problem
from reward_learning_ros.recording.redetection import RedetectionParameters, redetect
from reward_learning_ros.recording.session_records import (
    LEARNED_PARTS,
    has_learned_from,
    naming_damage,
    session_of,
)
from reward_learning_ros.recording.session_topics import PLAN, SessionTopics


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """Plans and corrections of a recording, from which θ is inferred again.

    Attributes:
        path: of the session or bag.
        plans: all that were shown.
        corrections: the active ones, as undo and reset left them: a record for each pass, or of an
            older recording for each contact.
        published: the θ that was published for just these corrections; None if there is none.
        theta_star: (d,) what a simulated participant wants; None without one.
        problems: what is wrong with the bag.
    """

    path: Path
    plans: tuple[Plan, ...]
    corrections: tuple[Corrections, ...]
    published: ThetaSummary | None
    theta_star: np.ndarray | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Reinference:
    """The result of inferring θ again from a recording: θ, the plan that follows, problems.

    Attributes:
        recorded: what it was learned from.
        parameters: how it was learned.
        task: what was done.
        sequences: what it was learned from, as inference takes it.
        inferred: θ and the plan that follows.
        problems: what is wrong with the bag, or cannot be learned from.
    """

    recorded: Recorded
    parameters: LearningParameters
    task: core.Task
    sequences: tuple[core.CorrectionSequence, ...]
    inferred: InferenceResult
    problems: tuple[str, ...]

    @property
    def pushes(self) -> int:
        """How many pushes it was learned from; of an older recording, corrections."""
        return sum(
            len(sequence) if sequence.pushed is None else int(sequence.pushed.sum())
            for sequence in self.sequences
        )

    @property
    def equals_published(self) -> bool | None:
        """Whether θ is, to the last digit, that of the session; None if there is none."""
        published = self.recorded.published
        if published is None:
            return None
        return bool(np.array_equal(published.table, self.inferred.theta.table))


def read_recorded(path: Path, topics: Mapping[str, str] | None = None) -> Recorded:
    """Read plans and corrections as they were recorded.

    Raises:
        BagError: There is no bag, or it has no plan or no correction.
    """
    with BagReader(path) as bag:
        found = SessionTopics(bag.path, bag.topics, topics or {})
        with naming_damage(bag):
            found[PLAN]
        recording = session_of(bag, found, LEARNED_PARTS)
    corrections = recording.active_corrections
    if not corrections:
        raise BagError(f'{path}: holds no correction to learn from{_first(recording.problems)}')
    published = None
    if (
        recording.inference
        and recording.thetas
        and has_learned_from(recording.inference[-1].record, corrections)
    ):
        published = recording.thetas[-1].record
    participant = recording.participant
    return Recorded(
        path=path,
        plans=recording.distinct_plans,
        corrections=corrections,
        published=published,
        theta_star=participant[-1].record.theta if participant else None,
        problems=recording.problems,
    )


def detect_recorded(
    path: Path,
    parameters: RedetectionParameters,
    topics: Mapping[str, str] | None = None,
    *,
    on_progress: Callable[[int], None] | None = None,
) -> Recorded:
    """Read plans, and find the corrections again in the samples of the arm.

    Raises:
        BagError: There is no bag, it has no plan or samples, or no correction was found.
    """
    with BagReader(path) as bag:
        found = redetect(
            bag,
            SessionTopics(bag.path, bag.topics, topics or {}),
            parameters,
            on_progress=on_progress,
        )
    if not found.corrections:
        raise BagError(
            f'{path}: no correction was found among {found.counts.contacts} contacts in '
            f'{found.samples} samples{_first(found.problems)}'
        )
    return Recorded(
        path=path,
        plans=found.plans,
        corrections=found.corrections,
        published=None,
        problems=found.problems,
    )


def reinfer(
    recorded: Recorded,
    parameters: LearningParameters,
    *,
    task: core.Task | None = None,
    on_progress: Callable[[core.Progress], None] | None = None,
    threads: int | None = None,
) -> Reinference:
    """Learn again from what was recorded: the same every time for the same arguments.

    Args:
        recorded: What to learn from.
        parameters: What is learned and how.
        task: The task, if it is loaded already.
        on_progress: Told how far the inference is.
        threads: How many; all cores by default. The result does not depend on it.

    Raises:
        RewardLearningError: Nothing can be learned from it; says why.
    """
    paths = tool_paths_of(parameters, task)
    learner = Learner(paths)
    problems = [str(problem) for problem in recorded.problems]
    for plan in recorded.plans:
        _add(learner.add_plan, plan, f'plan {plan.stamp_ns}', problems)
    for record in recorded.corrections:
        _add(learner.add_corrections, record, _name_of(record), problems)
    problems += [
        f'{_name_of(record)}: its plan, {record.plan_stamp_ns}, is not there'
        for record in learner.waiting
    ]
    sequences = learner.sequences()
    if not sequences:
        raise BagError(f'{recorded.path}: nothing to learn from: {"; ".join(problems)}')
    inferred = learn(
        parameters, sequences, task=paths.task, on_progress=on_progress, threads=threads
    )
    return Reinference(
        recorded=recorded,
        parameters=parameters,
        task=paths.task,
        sequences=sequences,
        inferred=inferred,
        problems=tuple(problems),
    )


def _name_of(record: Corrections) -> str:
    kind = 'pass' if isinstance(record, PassCorrections) else 'correction'
    return f'{kind} {stamp_of(record)}'


def _add(
    add: Callable[..., object],
    record: Plan | Corrections,
    name: str,
    problems: list[str],
) -> None:
    try:
        add(record)
    except RewardLearningError as error:
        problems.append(f'{name}: {error}')


def _first(problems: tuple[Problem, ...]) -> str:
    return f' ({problems[0]})' if problems else ''
