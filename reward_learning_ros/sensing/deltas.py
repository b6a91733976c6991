"""From samples to corrections: one contact becomes the displacement of every waypoint of a plan.

A contact belongs to the plan that was played when it began; what is left of it after another plan
took over is not counted, and a push that had hardly begun by then not at all. The same object
serves the live node and a recording, and gives the same corrections however the samples are cut
into blocks.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.interface.correction import Correction
from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.sensing.contact import (
    Contact,
    ContactDetector,
    ContactOnset,
    ContactParameters,
    Detection,
)
from reward_learning_ros.sensing.deformation import (
    DeformationParameters,
    PlanContact,
    deformation_profile,
    onset_waypoint,
)
from reward_learning_ros.sensing.displacement import (
    MEASURED,
    ContactPoints,
    Displacement,
    DisplacementParameters,
    admittance,
    displacement,
)
from reward_learning_ros.sensing.force import Jacobian, explained_share, force_from_torque
from reward_learning_ros.sensing.live import LiveDeformation, LiveParameters
from reward_learning_ros.sensing.samples import NANOSECONDS, SampleBlock
from reward_learning_ros.sensing.timeline import PlaybackTimeline, planned_position_m

# Displacements and forces are looked at this often.
_POINT_NS = 10_000_000
# How much of the past is kept while nobody pushes: an onset is known a little after the fact.
_PAST_NS = 1_000_000_000
# A pose or joint position older than this says nothing of the present.
_STALE_NS = 100_000_000
# Of a push that another plan ended sooner nobody knows where it was to go.
_SHORTEST_CUT_NS = 500_000_000
# A tool that moved less than this has not witnessed anything.
_WITNESSED_M = 0.003


@dataclass(frozen=True, kw_only=True)
class RecordedCorrection:
    """A contact as the displacement of every waypoint: delta (n, 3) = profile ⊗ vector.

    Attributes:
        plan: the plan that is corrected.
        onset_ns: when the contact began.
        end_ns: when it ended, or another plan took over.
        onset_plan_sec: where in the plan it began.
        onset_waypoint: first movable waypoint at or after the onset.
        profile: (n,) share of the displacement that each waypoint takes, greatest 1.
        vector_m: (3,) the displacement, base frame.
        peak_force_n: greatest force, 0 if none is known.
        confidence: 0 to 1; see `confidence_of`.
        source: `measured`, `admittance` or `teleoperation`.
        deformation: name of the deformation model.
    """

    plan: Plan
    onset_ns: int
    end_ns: int
    onset_plan_sec: float
    onset_waypoint: int
    profile: np.ndarray
    vector_m: np.ndarray
    peak_force_n: float
    confidence: float
    source: str
    deformation: str

    @property
    def deltas_m(self) -> np.ndarray:
        """(n, 3) displacement of every waypoint."""
        return np.outer(self.profile, self.vector_m)

    @property
    def duration_sec(self) -> float:
        """From onset to end."""
        return (self.end_ns - self.onset_ns) / NANOSECONDS

    def to_record(self, tool_frame: str) -> Correction:
        """Returns the correction as it is published."""
        n = len(self.profile)
        return Correction(
            stamp_ns=self.onset_ns,
            frame_id=self.plan.frame_id,
            tool_frame=tool_frame,
            plan_stamp_ns=self.plan.stamp_ns,
            delta_positions=self.deltas_m,
            delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (n, 1)),
            times_sec=self.plan.times_sec,
            onset_waypoint=self.onset_waypoint,
            onset_time_sec=self.onset_plan_sec,
            duration_sec=self.duration_sec,
            peak_force=self.peak_force_n,
            confidence=self.confidence,
        )


def correction_on_plan(
    *,
    timeline: PlaybackTimeline,
    plan: Plan,
    onset_ns: int,
    end_ns: int,
    moved: Displacement,
    peak_force_n: float,
    confidence: float,
    parameters: DeformationParameters,
) -> RecordedCorrection:
    """Spreads a displacement over the plan that it belongs to."""
    onset_sec, peak_sec = timeline.plan_time_sec(np.array([onset_ns, moved.time_ns]))
    contact = PlanContact(onset_sec=float(onset_sec), peak_sec=float(peak_sec))
    return RecordedCorrection(
        plan=plan,
        onset_ns=onset_ns,
        end_ns=end_ns,
        onset_plan_sec=contact.onset_sec,
        onset_waypoint=onset_waypoint(plan.times_sec, contact.onset_sec, parameters),
        profile=deformation_profile(plan.times_sec, contact, parameters),
        vector_m=moved.vector_m,
        peak_force_n=peak_force_n,
        confidence=confidence,
        source=moved.source,
        deformation=parameters.deformation,
    )


@dataclass
class CorrectionCounts:
    """What became of the contacts."""

    contacts: int = 0
    corrections: int = 0
    rejected: int = 0
    without_plan: int = 0
    without_displacement: int = 0
    cut_short: int = 0


class CorrectionRecorder:
    """Samples in, corrections out; the detector and the timeline are its parts.

    Attributes:
        detector: finds the contacts; teach it the bias and zero it there.
        timeline: tell it what the playback does, before the samples of the same time.
        live: the shift of the plan while the person pushes, and what is kept of it.
        counts: what became of the contacts.
    """

    def __init__(
        self,
        *,
        contact: ContactParameters | None = None,
        displacement: DisplacementParameters | None = None,
        deformation: DeformationParameters | None = None,
        live: LiveParameters | None = None,
        jacobian: Jacobian | None = None,
        timeline: PlaybackTimeline | None = None,
    ) -> None:
        """Builds a recorder.

        Args:
            contact: when a torque is a contact.
            displacement: what counts as its displacement.
            deformation: how that spreads over the plan.
            live: how the plan gives way meanwhile.
            jacobian: the tool's Jacobian (6, 7) at joints (7,); without it forces come from the
                wrench, which is worse.
            timeline: what the playback does; of a recording, all of it may be known before.
        """
        self.displacement = displacement or DisplacementParameters()
        self.deformation = deformation or DeformationParameters()
        self.detector = ContactDetector(contact)
        self.timeline = timeline or PlaybackTimeline()
        self.live = LiveDeformation(live, self.displacement)
        self.counts = CorrectionCounts()
        self._jacobian = jacobian
        self._points: deque[_Point] = deque()
        self._last_point = -1
        self._is_open = False

    def process(self, block: SampleBlock) -> list[RecordedCorrection]:
        """Takes a block of samples and returns the corrections that ended in it."""
        detection = self.detector.process(block)
        points = self._new_points(block, detection)
        corrections = []
        taken = 0
        for event in detection.events:
            while taken < len(points) and points[taken].tick <= event.tick:
                self._take(points[taken])
                taken += 1
            self._is_open = isinstance(event, ContactOnset)
            if isinstance(event, ContactOnset):
                self._begin(event)
            else:
                corrections += self._end(event)
        for point in points[taken:]:
            self._take(point)
        return corrections

    def close(self) -> list[RecordedCorrection]:
        """Ends an open contact when no more samples will come."""
        contact = self.detector.close()
        self._is_open = False
        return [] if contact is None else self._end(contact)

    def _new_points(self, block: SampleBlock, detection: Detection) -> list[_Point]:
        """Thins a block out to a hundred points a second, always at the same stamps."""
        slots = block.time_ns // _POINT_NS
        before = np.concatenate([[self._last_point], slots[:-1]])
        ticks = np.flatnonzero(slots != before)
        if len(slots):
            self._last_point = int(slots[-1])
        position = np.where(
            block.tool_age_ns[ticks, None] <= _STALE_NS, block.tool_position_m[ticks], np.nan
        )
        joints = np.where(
            block.joint_age_ns[ticks, None] <= _STALE_NS, block.joint_position_rad[ticks], np.nan
        )
        deviation = position - self._planned(block.time_ns[ticks])
        return [
            _Point(
                tick=int(tick),
                time_ns=int(block.time_ns[tick]),
                position_m=position[i],
                deviation_m=deviation[i],
                torque_nm=detection.residual_torque_nm[tick],
                joints_rad=joints[i],
                wrench_force_n=detection.wrench_force_n[tick],
            )
            for i, tick in enumerate(ticks)
        ]

    def _take(self, point: _Point) -> None:
        if self._points and point.time_ns <= self._points[-1].time_ns:
            self._points.clear()
        self._points.append(point)
        if self._is_open:
            force = self._forces([point])[0][0] if self.live.follows_force else None
            self.live.advance(point.time_ns, point.deviation_m, force)
        else:
            while self._points[0].time_ns < point.time_ns - _PAST_NS:
                self._points.popleft()

    def _contact_points(
        self, plan: Plan, onset_ns: int, end_ns: int
    ) -> tuple[ContactPoints, np.ndarray]:
        """Returns a contact with the moment before it, and what a force at the tool explains.

        Deviations are from the plan that is corrected, and unknown while another is played.
        """
        first_ns = onset_ns - _PAST_NS // 2
        points = [point for point in self._points if first_ns <= point.time_ns <= end_ns]
        time_ns = np.array([point.time_ns for point in points], dtype=np.int64)
        position = np.array([point.position_m for point in points]).reshape(-1, 3)
        force, explained = self._forces(points)
        contact = ContactPoints(
            time_ns=time_ns,
            # Anew, for the playback may have told of a change a little late.
            deviation_m=position - self._planned(time_ns, plan),
            force_n=force,
            onset_ns=onset_ns,
            end_ns=end_ns,
        )
        return contact, explained

    def _planned(self, time_ns: np.ndarray, only: Plan | None = None) -> np.ndarray:
        """Returns where the tool should have been (k, 3), NaN without a plan, or with another."""
        planned = np.full((len(time_ns), 3), np.nan)
        lag_ns = round(self.displacement.tracking_lag_sec * NANOSECONDS)
        plan_time = self.timeline.plan_time_sec(time_ns - lag_ns)
        for plan, part in self.timeline.plans_at(time_ns):
            if only is None or plan.stamp_ns == only.stamp_ns:
                planned[part] = planned_position_m(plan, plan_time[part])
        return planned

    def _forces(self, points: list[_Point]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the forces (k, 3) at points, and the share of the torque they explain (k,)."""
        force = np.array([point.wrench_force_n for point in points]).reshape(-1, 3)
        explained = np.ones(len(points))
        if self._jacobian is not None:
            known = [i for i, p in enumerate(points) if np.isfinite(p.joints_rad).all()]
            if known:
                linear = np.array([self._jacobian(points[i].joints_rad)[:3] for i in known])
                torque = np.array([points[i].torque_nm for i in known])
                force[known] = force_from_torque(linear, torque)
                explained[known] = explained_share(linear, torque, force[known])
        return force, explained

    def _begin(self, onset: ContactOnset) -> None:
        before = [p.deviation_m for p in self._points if p.time_ns < onset.onset_ns]
        self.live.begin(onset.time_ns, np.array(before).reshape(-1, 3))

    def _end(self, contact: Contact) -> list[RecordedCorrection]:
        self.counts.contacts += 1
        if contact.rejected:
            self.counts.rejected += 1
            self.live.undo()
            return []
        found = self.timeline.plan_during(contact.onset_ns, contact.end_ns)
        if found is None:
            self.counts.without_plan += 1
            self.live.undo()
            return []
        plan, from_ns, until_ns = found
        if until_ns < contact.end_ns and until_ns - from_ns < _SHORTEST_CUT_NS:
            self.counts.cut_short += 1
            self.live.undo()
            return []
        points, explained = self._contact_points(plan, from_ns, until_ns)
        moved = displacement(points, self.displacement)
        if moved is None and self.displacement.displacement_source == MEASURED:
            moved = admittance(points, self.displacement)
        if moved is None:
            self.counts.without_displacement += 1
            self.live.undo()
            return []
        self.live.keep()
        self.counts.corrections += 1
        during = points.during & np.isfinite(points.force_n).all(axis=1)
        force = points.force_n[during]
        strength = np.linalg.norm(force, axis=1)
        share = float(explained[during].mean()) if during.any() else 1.0
        correction = correction_on_plan(
            timeline=self.timeline,
            plan=plan,
            onset_ns=from_ns,
            end_ns=until_ns,
            moved=moved,
            peak_force_n=float(strength.max()) if len(strength) else contact.peak_wrench_force_n,
            confidence=confidence_of(contact, self.detector.parameters, moved, force, share),
            parameters=self.deformation,
        )
        return [correction]


@dataclass(frozen=True, kw_only=True)
class _Point:
    """What is kept of a sample; of all but the newest second only while a contact is open."""

    tick: int
    time_ns: int
    position_m: np.ndarray
    deviation_m: np.ndarray
    torque_nm: np.ndarray
    joints_rad: np.ndarray
    wrench_force_n: np.ndarray


def confidence_of(
    contact: Contact,
    parameters: ContactParameters,
    moved: Displacement,
    force_n: np.ndarray,
    explained: float,
) -> float:
    """Returns how sure it is that a person meant this, 0 to 1.

    The torque's peak over its threshold gives 1 − exp(−2 (peak / threshold − 1)). Every witness
    against it takes a quarter: a tool that did not move or was not seen, one that moved against
    the force, a torque that no force at the tool explains (the person pushed the elbow). Gaps take
    up to half and saturated joints up to a quarter.

    Args:
        contact: the contact.
        parameters: its detector's.
        moved: its displacement.
        force_n: (k, 3) during it, may be empty.
        explained: share of the torque that a force at the tool explains, 0 to 1.
    """
    excess = contact.peak_statistic / parameters.on_threshold - 1.0
    confidence = 1.0 - np.exp(-2.0 * max(excess, 0.05))
    distance = float(np.linalg.norm(moved.vector_m))
    if moved.source != MEASURED or distance < _WITNESSED_M:
        confidence *= 0.75
    if len(force_n) and float(force_n.sum(axis=0) @ moved.vector_m) < 0.0:
        confidence *= 0.75
    if explained < 0.5:
        confidence *= 0.75
    lost = contact.gap_sec / max(contact.duration_sec, 1e-3)
    confidence *= 1.0 - 0.5 * min(lost, 1.0)
    confidence *= 1.0 - 0.25 * contact.saturated_share
    return float(np.clip(confidence, 0.0, 1.0))
