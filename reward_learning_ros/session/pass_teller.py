"""Says after each pass of a running session, in one line, what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    InferenceStatus,
    ParticipantStatus,
    Plan,
    SessionState,
    SessionStatus,
    ThetaSummary,
)
from reward_learning_ros.learning import ToolPaths
from reward_learning_ros.session.session_data import PassOutcome, SessionData
from reward_learning_ros.session.terminal import pass_line

# Nothing more comes of a pass in these states: the arm stands, and what was done is learned from.
_BETWEEN_PASSES = (SessionState.READY, SessionState.WAITING, SessionState.AWAY, SessionState.ENDED)


@dataclass(frozen=True, kw_only=True)
class HeardOfSession:
    """What was said last of what a pass came to; None where nothing was.

    Attributes:
        session: what the session does.
        inference: what the inference does.
        theta: what was learned.
        plan: what is shown next.
        participant: what a simulated participant wants, to say the Regret; nothing else may know.
    """

    session: SessionStatus | None = None
    inference: InferenceStatus | None = None
    theta: ThetaSummary | None = None
    plan: Plan | None = None
    participant: ParticipantStatus | None = None


class PassTeller:
    """Turns what is heard of a session into one line for each pass."""

    def __init__(self, paths: ToolPaths, seed: int = 0) -> None:
        """Begin before the first pass.

        Args:
            paths: How the arm follows the task, its features softened as in the session.
            seed: Of the session.
        """
        self._paths = paths
        self._seed = seed
        self._passes = 0
        self._pushes = 0
        self._theta_star: np.ndarray | None = None

    def update(self, heard: HeardOfSession) -> str:
        """Return the line of a pass that is over by now; empty if none is, or it was told."""
        session, inference = heard.session, heard.inference
        if heard.participant is not None and self._theta_star is None:
            self._theta_star = heard.participant.theta
        if session is None or inference is None or session.passes <= self._passes:
            return ''
        if session.state not in _BETWEEN_PASSES or not inference.is_settled:
            return ''
        outcome = PassOutcome(
            # Fewer than before if a pass was undone.
            pushes=max(0, inference.pushes - self._pushes),
            theta=heard.theta if inference.learned_from_ns else None,
            trajectory=self._trajectory(heard.plan),
            reasons=inference.reasons,
        )
        self._passes, self._pushes = session.passes, inference.pushes
        shown = outcome.trajectory
        return pass_line(
            session.passes,
            pushes=outcome.pushes,
            understood=self._data.understood_of(outcome),
            regret=None if shown is None else self._data.regret_of(shown),
            unasked_regret=self._data.unasked_regret,
        )

    @cached_property
    def _data(self) -> SessionData:
        """What the passes are judged by; made once, since it searches for plans."""
        return SessionData(task=self._paths.task, seed=self._seed, theta_star=self._theta_star)

    def _trajectory(self, plan: Plan | None) -> np.ndarray | None:
        try:
            return None if plan is None else self._paths.trajectory_of(plan)
        except RewardLearningError:
            return None
