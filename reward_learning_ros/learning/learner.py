"""What was heard of plans and corrections, put together to what inference takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from reward_learning_ros.core.trajectory import CorrectionSequence
from reward_learning_ros.interface import Correction, Plan
from reward_learning_ros.learning.tool_paths import ToolPaths


class Learner:
    """Keeps plans and corrections; each plan that was corrected is a sequence of its own.

    Corrections of one plan accumulate, each of what the one before left. A correction may be heard
    before its plan: it counts once the plan is known. Hearing one twice changes nothing, nor does
    hearing one again that was undone.
    """

    def __init__(self, paths: ToolPaths) -> None:
        self._paths = paths
        self._plans: dict[int, Plan] = {}
        self._corrections: dict[int, Correction] = {}
        self._forgotten: set[int] = set()

    @property
    def plans(self) -> Mapping[int, Plan]:
        """The plans that are known, by their stamps."""
        return MappingProxyType(self._plans)

    @property
    def corrections(self) -> tuple[Correction, ...]:
        """Those that count, in the order in which they were made."""
        return tuple(
            correction
            for correction in self._corrections.values()
            if correction.plan_stamp_ns in self._plans
        )

    @property
    def waiting(self) -> tuple[Correction, ...]:
        """Those whose plan is not known."""
        return tuple(
            correction
            for correction in self._corrections.values()
            if correction.plan_stamp_ns not in self._plans
        )

    def add_plan(self, plan: Plan) -> None:
        """Take note of a plan that may be corrected.

        Raises:
            RewardLearningError: it is no plan of the task.
        """
        self._paths.trajectory_of(plan)
        self._plans[plan.stamp_ns] = plan

    def add_correction(self, correction: Correction) -> bool:
        """Take a correction; return whether it is new.

        Raises:
            RewardLearningError: nothing can be learned from it; says why.
        """
        if correction.stamp_ns in self._corrections or correction.stamp_ns in self._forgotten:
            return False
        plan = self._plans.get(correction.plan_stamp_ns)
        if plan is not None:
            self._paths.corrected(plan, [*self._of_plan(plan.stamp_ns), correction])
        self._corrections[correction.stamp_ns] = correction
        return True

    def undo(self) -> Correction | None:
        """Forget the last correction and return it; None if there is none."""
        if not self._corrections:
            return None
        last = next(reversed(self._corrections))
        self._forgotten.add(last)
        return self._corrections.pop(last)

    def reset(self) -> None:
        """Forget all corrections."""
        self.keep_only(())

    def keep_only(self, stamps_ns: Iterable[int]) -> None:
        """Forget all corrections but those of given stamps, as undo and reset left them."""
        kept = set(stamps_ns)
        self._forgotten |= self._corrections.keys() - kept
        self._corrections = {
            stamp: correction for stamp, correction in self._corrections.items() if stamp in kept
        }

    def sequences(self) -> tuple[CorrectionSequence, ...]:
        """Return the corrections of each plan, in the order of the plans' first corrections."""
        result = []
        for stamp_ns in dict.fromkeys(c.plan_stamp_ns for c in self.corrections):
            plan = self._plans[stamp_ns]
            corrected, profiles = self._paths.corrected(plan, self._of_plan(stamp_ns))
            result.append(
                CorrectionSequence(
                    plan=self._paths.trajectory_of(plan), corrected=corrected, profiles=profiles
                )
            )
        return tuple(result)

    def _of_plan(self, stamp_ns: int) -> list[Correction]:
        return [c for c in self._corrections.values() if c.plan_stamp_ns == stamp_ns]
