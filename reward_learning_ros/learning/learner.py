"""What was heard of plans and corrections, put together to what inference takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.trajectory import CorrectionSequence
from reward_learning_ros.interface import Correction, PassCorrections, Plan, data_digest
from reward_learning_ros.learning.tool_paths import ToolPaths

Corrections = PassCorrections | Correction


def stamp_of(corrections: Corrections) -> int:
    """Return the stamp by which corrections are known.

    That of a pass is its plan's; that of a contact, of which older recordings tell, is its own.
    """
    if isinstance(corrections, PassCorrections):
        return corrections.plan_stamp_ns
    return corrections.stamp_ns


class Learner:
    """Collects plans and the corrections of their passes, as sequences to infer from.

    What is told of a pass replaces what was told of it before. Of older recordings, the contacts
    of one plan accumulate, each of what the one before left. Corrections may be heard before their
    plan: they are active once it is known. Hearing the same twice changes nothing, nor does
    hearing anything of what was undone.
    """

    def __init__(self, paths: ToolPaths) -> None:
        self._paths = paths
        self._plans: dict[int, Plan] = {}
        self._records: dict[int, Corrections] = {}
        self._forgotten: set[int] = set()

    @property
    def plans(self) -> Mapping[int, Plan]:
        """The plans that are known, by their stamps."""
        return MappingProxyType(self._plans)

    @property
    def active(self) -> tuple[Corrections, ...]:
        """Those that are learned from, in the order in which they were first heard of."""
        return tuple(each for each in self._records.values() if each.plan_stamp_ns in self._plans)

    @property
    def passes(self) -> tuple[PassCorrections, ...]:
        """The passes among those."""
        return tuple(each for each in self.active if isinstance(each, PassCorrections))

    @property
    def digest(self) -> str:
        """Tells what was told of the active passes from anything else."""
        return data_digest(self.passes)

    @property
    def pushes(self) -> int:
        """At how many waypoints somebody pushed; a contact of an older recording is one."""
        return sum(each.pushes if isinstance(each, PassCorrections) else 1 for each in self.active)

    @property
    def waiting(self) -> tuple[Corrections, ...]:
        """Those whose plan is not known."""
        return tuple(
            each for each in self._records.values() if each.plan_stamp_ns not in self._plans
        )

    def add_plan(self, plan: Plan) -> None:
        """Take note of a plan that may be corrected.

        Raises:
            RewardLearningError: It is no plan of the task; or corrections that waited for it are
                none of it, and are forgotten.
        """
        self._paths.trajectory_of(plan)
        self._plans[plan.stamp_ns] = plan
        try:
            self._check(plan, self._of_plan(plan.stamp_ns))
        except RewardLearningError:
            for each in self._of_plan(plan.stamp_ns):
                del self._records[stamp_of(each)]
            raise

    def add_corrections(self, corrections: Corrections) -> bool:
        """Take corrections; return whether they changed anything.

        Raises:
            RewardLearningError: Nothing can be learned from them; says why. What was told of the
                pass before stays.
        """
        stamp_ns = stamp_of(corrections)
        known = self._records.get(stamp_ns)
        if stamp_ns in self._forgotten:
            return False
        if known is not None and (isinstance(known, Correction) or known == corrections):
            return False
        plan = self._plans.get(corrections.plan_stamp_ns)
        if plan is not None:
            others = [each for each in self._of_plan(plan.stamp_ns) if each is not known]
            self._check(plan, [*others, corrections])
        self._records[stamp_ns] = corrections
        return True

    def undo(self) -> Corrections | None:
        """Forget the last pass, all that was and will be told of it; None if there is none."""
        if not self._records:
            return None
        last = next(reversed(self._records))
        self._forgotten.add(last)
        return self._records.pop(last)

    def reset(self) -> None:
        """Forget all passes."""
        self.keep_only(())

    def keep_only(self, stamps_ns: Iterable[int]) -> None:
        """Forget all passes but those of given stamps, as undo and reset left them."""
        kept = set(stamps_ns)
        self._forgotten |= self._records.keys() - kept
        self._records = {stamp: each for stamp, each in self._records.items() if stamp in kept}

    def sequences(self) -> tuple[CorrectionSequence, ...]:
        """Return each pass, in the order of `active`; none of one of which nothing is known."""
        return self.sequences_of(self.active)

    def sequences_of(self, records: Iterable[Corrections]) -> tuple[CorrectionSequence, ...]:
        """Return the passes of known plans that other records than the active ones tell of."""
        by_plan: dict[int, list[Corrections]] = {}
        for record in records:
            by_plan.setdefault(record.plan_stamp_ns, []).append(record)
        result = []
        for stamp_ns, told in by_plan.items():
            plan = self._plans[stamp_ns]
            contacts = []
            for each in told:
                if isinstance(each, PassCorrections):
                    result.append(self._paths.pass_sequence(plan, each))
                else:
                    contacts.append(each)
            if contacts:
                corrected, profiles = self._paths.corrected(plan, contacts)
                result.append(
                    CorrectionSequence(
                        plan=self._paths.trajectory_of(plan),
                        corrected=corrected,
                        profiles=profiles,
                    )
                )
        return tuple(sequence for sequence in result if sequence is not None)

    def _check(self, plan: Plan, corrections: Iterable[Corrections]) -> None:
        """Raise a `RewardLearningError` unless something can be learned from corrections."""
        contacts = []
        for each in corrections:
            if isinstance(each, PassCorrections):
                self._paths.pass_sequence(plan, each)
            else:
                contacts.append(each)
        self._paths.corrected(plan, contacts)

    def _of_plan(self, stamp_ns: int) -> list[Corrections]:
        return [each for each in self._records.values() if each.plan_stamp_ns == stamp_ns]
