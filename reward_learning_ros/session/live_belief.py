"""The belief while a person pushes: from tables that were made for the plan beforehand.

It is for the eye. What is kept, planned by and recorded as learned comes from the method of the
session, which knows nothing of it.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from reward_learning_ros import core
from reward_learning_ros.core.belief_tables import Belief, BeliefTables, obstacle_to_tables
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.human_model import HumanModel, InadmissibleCorrectionWarning
from reward_learning_ros.interface import LiveTheta, PassCorrections, Plan, ThetaSummary
from reward_learning_ros.learning import Corrections, Learner
from reward_learning_ros.learning.inference_result import model_options
from reward_learning_ros.learning.inference_worker import Outcome
from reward_learning_ros.learning.learning_parameters import LearningParameters
from reward_learning_ros.learning.table_worker import TableWish, TableWorker

# At most twenty a second are published.
PERIOD_SEC = 0.05
# What the shift of the plan may differ from the sum of what was told, and be no push: a tenth of
# the smallest displacement that the recorder calls one.
UNMOVED_M = 1e-4
_NO_TURN = (0.0, 0.0, 0.0, 1.0)
_SAME_TIME_SEC = 1e-6


@dataclass
class LiveBelief:
    """Has tables made for the plan that is shown, and tells what they say of what is told.

    Attributes:
        parameters: how the session learns.
        learner: what was heard of plans and corrections.
        steady_sec: a clock that never jumps.
        worker: the process that makes tables.
        task: with the features that the session learns by.
        ready: how many tables of the plan that is shown are there.
        wanted: how many there will be.
    """

    parameters: LearningParameters
    learner: Learner
    task: core.Task
    steady_sec: Callable[[], float]
    worker: TableWorker = field(init=False)
    ready: int = 0
    wanted: int = 0

    def __post_init__(self) -> None:
        self.worker = TableWorker(self.parameters)
        options = model_options(self.parameters, self.task)
        self._obstacle = obstacle_to_tables(self.task, options)
        self._model = HumanModel(**options)
        self._failure = ''
        self._tables: BeliefTables | None = None
        self._followed: tuple[object, ...] = ()
        self._shift_m = np.zeros(3)
        # What was looked at last, with how many tables; and what was said last, and when.
        self._tried: tuple[object, ...] = ()
        self._said: tuple[object, ...] = ()
        self._said_sec = -np.inf

    @property
    def fault(self) -> str:
        """Why there are no tables and will be none, in words; empty if nothing is wrong."""
        return self._obstacle or self._failure or self.worker.fault

    def start(self) -> None:
        """Start the process, once; it is there when the session does not wait for it."""
        if not self._obstacle and self.worker.process_id is None and not self.worker.fault:
            self.worker.start()

    def stop(self) -> None:
        """End the process."""
        self.worker.stop()

    def follow(self, plan: Plan) -> None:
        """Have tables made for a plan, after what was told of those before; poll the process."""
        if self._obstacle:
            return
        earlier = tuple(
            each for each in self.learner.active if each.plan_stamp_ns != plan.stamp_ns
        )
        followed = (plan.stamp_ns, *earlier)
        if followed != self._followed:
            self._followed = followed
            self._tables, self.ready, self.wanted = None, 0, 0
            self._shift_m = np.zeros(3)
            (silent,) = self.learner.sequences_of((_silent_pass(plan),))
            self.wanted = len(silent)
            self.worker.submit(
                TableWish(earlier=self.learner.sequences_of(earlier), silent=silent)
            )
        self._poll()

    def on_shift(self, shift_m: np.ndarray) -> None:
        """Take note of how far the rest of the plan is shifted now (3,)."""
        self._shift_m = np.array(shift_m)

    def theta(
        self, plan: Plan, *, in_contact: bool, kept: Sequence[Corrections]
    ) -> LiveTheta | None:
        """Return the belief in all that is told and felt now, if it is due and not known.

        Args:
            plan: that is shown.
            in_contact: whether somebody pushes.
            kept: what the θ that was published last was learned from.
        """
        now_sec = self.steady_sec()
        if self._tables is None or now_sec - self._said_sec < PERIOD_SEC:
            return None
        felt = self._felt(plan) if in_contact else None
        active = self.learner.active
        if felt is not None:
            active = (*(each for each in active if each.plan_stamp_ns != plan.stamp_ns), felt)
        tried = (self.ready, *active)
        if not active or active in (self._said, tuple(kept)) or tried == self._tried:
            return None
        self._tried = tried
        belief = self.belief(active)
        if belief is None:
            return None
        self._said, self._said_sec = active, now_sec
        return LiveTheta(theta=self.summary(belief))

    def belief(self, records: Sequence[Corrections]) -> Belief | None:
        """Return what the tables say of passes; None where a table lacks."""
        if self._tables is None:
            return None
        with warnings.catch_warnings():
            # The posterior that is kept counts them.
            warnings.simplefilter('ignore', InadmissibleCorrectionWarning)
            try:
                return self._tables.belief(self.learner.sequences_of(records))
            except RewardLearningError:
                # What is felt halfway need not be what an arm can do.
                return None

    def compared(self, records: Sequence[Corrections], kept: ThetaSummary) -> dict[str, str]:
        """Return how far the live belief in the same passes is from the θ that is kept."""
        belief = self.belief(records)
        if belief is None:
            return {}
        return {
            'live_distance': f'{np.abs(belief.mean - kept.mean).mean():.4g}',
            'live_points': f'{belief.effective_points:.4g}',
            'live_members': f'{belief.members:.4g}',
        }

    def summary(self, belief: Belief) -> ThetaSummary:
        """Return a belief as it is published."""
        table = belief.table()
        return ThetaSummary(
            features=self.task.feature_names, mean=table[0], sd=table[1], quantiles=table[2:]
        )

    def _poll(self) -> None:
        while (answer := self.worker.poll()) is not None:
            if isinstance(answer, Outcome):
                self._failure = answer.error
                return
            self._failure = ''
            if answer.points is not None:
                self._tables = BeliefTables(self.task, self._model, answer.points)
            assert self._tables is not None
            for key, table in answer.tables.items():
                self._tables.add(key, table)
            self.ready += 0 if answer.points is not None else len(answer.tables)

    def _felt(self, plan: Plan) -> PassCorrections | None:
        """Return what is told of the pass, and as the next push what is felt and not told yet."""
        told = [each for each in self.learner.passes if each.plan_stamp_ns == plan.stamp_ns]
        told = [each for each in told if len(each.times_sec)]
        times_sec = told[0].times_sec if told else np.zeros(0)
        free_sec = plan.times_sec[self.task.space.fixed_waypoints :]
        ahead = free_sec[free_sec > times_sec[-1] + _SAME_TIME_SEC] if told else free_sec
        pending_m = self._shift_m - (told[0].delta_positions.sum(axis=0) if told else 0.0)
        if not len(ahead) or np.abs(pending_m).max() < UNMOVED_M:
            return None
        if not told:
            silent = _silent_pass(plan)
            return dataclasses.replace(
                silent,
                times_sec=ahead[:1],
                delta_positions=pending_m[None],
                delta_orientations=silent.delta_orientations[:1],
            )
        return dataclasses.replace(
            told[0],
            times_sec=np.append(times_sec, ahead[0]),
            delta_positions=np.vstack([told[0].delta_positions, pending_m]),
            delta_orientations=np.vstack([told[0].delta_orientations, _NO_TURN]),
        )


def _silent_pass(plan: Plan) -> PassCorrections:
    """Return a pass of a plan in which nobody pushes."""
    count = len(plan.times_sec)
    return PassCorrections(
        plan_stamp_ns=plan.stamp_ns,
        frame_id=plan.frame_id,
        tool_frame='tool',
        times_sec=plan.times_sec,
        delta_positions=np.zeros((count, 3)),
        delta_orientations=np.tile(_NO_TURN, (count, 1)),
    )
