"""Demonstrations in a library: the evidence that they are, and how a person makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reward_learning_ros.core.checks import finite_array
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.core.human_model import (
    DEPENDENT,
    INDEPENDENT,
    Block,
    Evidence,
    HumanModel,
)
from reward_learning_ros.core.library import TrajectoryLibrary
from reward_learning_ros.core.samplers.base import (
    Problem,
)
from reward_learning_ros.core.task import Task
from reward_learning_ros.core.trajectory import CorrectionSequence


@dataclass(frozen=True, kw_only=True, eq=False)
class LibraryEvidence(Evidence):
    """Evidence of demonstrations from a trajectory library.

    Attributes:
        library: The trajectory space.
        members: (B,) the member nearest to the trajectory of each block.
    """

    library: TrajectoryLibrary
    members: np.ndarray


def gather_library_evidence(task: Task, corrections: Any, model: HumanModel) -> LibraryEvidence:
    """Return the evidence that demonstrations of a library task are for θ.

    A demonstration that is no member is simulated once; one that cannot be is refused. Of a pass,
    whose waypoints are known to be pushed or silent, what it came to is one demonstration.
    """
    library = task.library
    assert library is not None
    require_independent(task, model.dependence)
    sequences = (corrections,) if isinstance(corrections, CorrectionSequence) else corrections
    if not sequences or not all(isinstance(entry, CorrectionSequence) for entry in sequences):
        raise InvalidInputError(
            'corrections must be a CorrectionSequence, or a sequence of them that is not empty'
        )
    trajectories = np.concatenate(
        [
            sequence.corrected if sequence.pushed is None else sequence.corrected[-1:]
            for sequence in sequences
        ]
    )
    statistics = np.column_stack([task.evaluate(trajectories), np.zeros(len(trajectories))])
    nothing = np.zeros((0, trajectories.shape[2]))
    return LibraryEvidence(
        spaces=(),
        blocks=tuple(Block(space=0, statistics=row, deltas=nothing) for row in statistics),
        outside=0,
        corrections=len(trajectories),
        library=library,
        members=library.nearest(trajectories)[0],
    )


def require_independent(task: Task, dependence: str) -> None:
    """Refuse dependent corrections of a library task."""
    if dependence == DEPENDENT:
        raise InvalidInputError(
            f'dependence is {DEPENDENT!r}, but task {task.name!r} is a library of whole '
            f'trajectories, none built on another; allowed: {INDEPENDENT!r}'
        )


def draw_demonstrations(
    task: Task, theta: Any, *, beta: float, count: int, rng: np.random.Generator
) -> CorrectionSequence:
    """Draw trajectories of a library exactly as a person with weights θ would (equation P2)."""
    library = task.library
    assert library is not None
    exponents = beta * library.features @ finite_array(theta, 'theta', (task.size,))
    chosen = rng.choice(len(library), size=count, p=_probabilities(exponents))
    return CorrectionSequence(plan=task.plan, corrected=library.trajectories[chosen])


def library_evidence(problem: Problem) -> LibraryEvidence:
    """Return the evidence of a problem, which must be in a library."""
    if not isinstance(problem.evidence, LibraryEvidence):
        raise InvalidInputError('this sampler is for tasks with a library of trajectories')
    return problem.evidence


def _probabilities(exponents: np.ndarray) -> np.ndarray:
    weights = np.exp(exponents - exponents.max())
    return np.asarray(weights / weights.sum())
