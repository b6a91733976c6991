"""From samples to what a person did: contacts, and the corrections of the pass that they make.

A contact belongs to the plan that was played when it began; what is left of it after another plan
took over is not counted, and a push that had hardly begun by then not at all. The same object
serves the live node and a recording, and gives the same corrections however the samples are cut
into blocks.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from reward_learning_ros.interface.plan import Plan
from reward_learning_ros.interface.recorder import ContactReport
from reward_learning_ros.sensing.contact import Contact, ContactDetector, ContactOnset, Detection
from reward_learning_ros.sensing.contact_parameters import ContactParameters
from reward_learning_ros.sensing.displacement import (
    MEASURED,
    ContactPoints,
    Displacement,
    DisplacementParameters,
    Jacobian,
    admittance,
    displacement,
    explained_share,
    force_from_torque,
)
from reward_learning_ros.sensing.live import LiveDeformation, LiveParameters
from reward_learning_ros.sensing.passes import PassParameters, PassRecorder
from reward_learning_ros.sensing.samples import NANOSECONDS, SampleBlock
from reward_learning_ros.sensing.timeline import PlaybackTimeline, planned_position_m

# Displacements and forces are looked at this often.
_POINT_NS = 10_000_000
# How much of the past is kept while nobody pushes: an onset is known a little after the fact.
_PAST_NS = 1_000_000_000
# A pose or joint position older than this says nothing of the present.
_STALE_NS = 100_000_000
# Of a push that another plan ended sooner nobody knows where it was to go.
_MIN_CUT_NS = 500_000_000
# A tool that moved less than this says nothing about the force.
_WITNESSED_M = 0.003
# How often the tool is compared with its set-point.
_TOOL_CHECK_NS = 50_000_000
# A tool this far from its set-point is held away from it by a hand; once it is, until it is this
# near again. Unpushed, the simulated arm is within 4 mm in 95 % of the time.
_HELD_AWAY_M = 0.012
_AT_SET_POINT_M = 0.005
# What an unpushed tool is off its set-point is followed with this time constant; with the other
# one while it seems to be held away, for it may be an arm that does not get any nearer.
_RESTING_SEC = 5.0
_RESTING_HELD_SEC = 60.0


@dataclass
class CorrectionCounts:
    """Counts of contacts: pushes, rejected ones, and why."""

    contacts: int = 0
    pushes: int = 0
    rejected: int = 0
    without_plan: int = 0
    without_displacement: int = 0
    cut_short: int = 0


class CorrectionRecorder:
    """Turns samples of the arm into contacts and the corrections of a pass.

    Attributes:
        detector: finds the contacts; its bias is learned and zeroed there.
        timeline: what playback does; add it before the samples of the same time.
        passes: what the contacts make of the pass that is played.
        live: the shift of the plan while the person pushes, and what is kept of it.
        counts: what became of the contacts.
    """

    def __init__(
        self,
        *,
        contact: ContactParameters | None = None,
        displacement: DisplacementParameters | None = None,
        passes: PassParameters | None = None,
        live: LiveParameters | None = None,
        jacobian: Jacobian | None = None,
        timeline: PlaybackTimeline | None = None,
        tool_frame: str = 'fr3_hand_tcp',
    ) -> None:
        """Builds a recorder.

        Args:
            contact: when a torque is a contact.
            displacement: what counts as its displacement.
            passes: what counts as a correction at a waypoint.
            live: how the plan gives way meanwhile.
            jacobian: the tool's Jacobian (6, 7) at joints (7,); without it forces come from the
                wrench, which is worse.
            timeline: what the playback does; of a recording, all of it may be known before.
            tool_frame: of the arm's tool.
        """
        self.displacement = displacement or DisplacementParameters()
        self.detector = ContactDetector(contact)
        self.timeline = timeline or PlaybackTimeline()
        self.passes = PassRecorder(self.timeline, passes, tool_frame=tool_frame)
        self.live = LiveDeformation(live, self.displacement)
        self.counts = CorrectionCounts()
        self._jacobian = jacobian
        self._points: deque[_Point] = deque()
        self._last_point = -1
        self._is_open = False
        self._last_check = -1
        # (3,) by how much an unpushed tool is off its set-point.
        self._resting_m = np.zeros(3)
        self._checked_ns = 0

    def process(self, block: SampleBlock) -> list[ContactReport]:
        """Takes a block of samples and returns the contacts that ended in it."""
        contacts = []
        slots = block.time_ns // _TOOL_CHECK_NS
        before = np.concatenate([[self._last_check], slots[:-1]])
        cuts = [0, *np.flatnonzero(slots != before).tolist(), len(block)]
        for first, last in itertools.pairwise(cuts):
            if first < last:
                if slots[first] != self._last_check:
                    self._last_check = int(slots[first])
                    self._check_tool()
                contacts += self._process(block[first:last])
        return contacts

    def _process(self, block: SampleBlock) -> list[ContactReport]:
        detection = self.detector.process(block)
        points = self._new_points(block, detection)
        contacts = []
        taken = 0
        for event in detection.events:
            while taken < len(points) and points[taken].tick <= event.tick:
                self._take(points[taken])
                taken += 1
            self._is_open = isinstance(event, ContactOnset)
            if isinstance(event, ContactOnset):
                self._begin(event)
            else:
                contacts += self._end(event)
        for point in points[taken:]:
            self._take(point)
        return contacts

    def close(self) -> list[ContactReport]:
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
        if self.passes.follow(point.time_ns, point.deviation_m):
            # A new plan contains what was learned: nothing shifts it yet.
            self.live.reset()
            self._resting_m = np.zeros(3)
        if self._is_open:
            force = self._forces([point])[0][0] if self.live.follows_force else None
            self.live.advance(point.time_ns, point.deviation_m, force)
        else:
            while self._points[0].time_ns < point.time_ns - _PAST_NS:
                self._points.popleft()

    def _check_tool(self) -> None:
        """Compares the tool with its set-point, and follows its deviation at rest."""
        away_m = self._away_m(self._points[-1]) if self._points else None
        if away_m is None:
            self.detector.see_tool(None)
            return
        passed_sec = (self._points[-1].time_ns - self._checked_ns) / NANOSECONDS
        self._checked_ns = self._points[-1].time_ns
        distance_m = float(np.linalg.norm(away_m - self._resting_m))
        if not self._is_open:
            is_near = distance_m <= _AT_SET_POINT_M
            memory_sec = _RESTING_SEC if is_near else _RESTING_HELD_SEC
            share = min(passed_sec / memory_sec, 1.0)
            self._resting_m = self._resting_m + share * (away_m - self._resting_m)
        if self._is_open:
            self.detector.see_tool(distance_m > _AT_SET_POINT_M)
        else:
            is_between = _AT_SET_POINT_M < distance_m < _HELD_AWAY_M
            self.detector.see_tool(None if is_between else distance_m >= _HELD_AWAY_M)

    def _followed_m(self, time_ns: int) -> np.ndarray:
        """Returns by how much (3,) the arm follows the live shift; it may be out of its reach."""
        reported_m = self.timeline.shift_m_at(time_ns)
        is_limited = self.timeline.is_shift_limited_at(time_ns)
        return reported_m if is_limited and reported_m is not None else self.live.shift_m

    def _away_m(self, point: _Point) -> np.ndarray | None:
        """Returns how far (3,) the tool is off the set-point that playback reports."""
        shift_m = self.timeline.shift_m_at(point.time_ns)
        if shift_m is None or not np.isfinite(point.deviation_m).all():
            return None
        return np.asarray(point.deviation_m - shift_m)

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
            # Again, because playback may have reported a change a little late.
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
        if self._points and self._away_m(self._points[-1]) is not None:
            # A gentle push is known late: what came just before it may be a part of it.
            before = [self.live.shift_m + self._resting_m]
        self.live.begin(onset.time_ns, np.array(before).reshape(-1, 3))
        self.passes.open(onset.onset_ns, self.live.resting_m)

    def _end(self, contact: Contact) -> list[ContactReport]:
        self.counts.contacts += 1
        report = self._report(contact)
        if report is None:
            self.live.undo()
            self.passes.drop()
            return []
        self.live.keep(self._followed_m(contact.time_ns))
        # Until it was known, the plan gave way.
        self.passes.close(contact.time_ns, self.live.shift_m)
        self.counts.pushes += 1
        return [report]

    def _report(self, contact: Contact) -> ContactReport | None:
        """Returns what is known of a contact; None if it is no push of a plan."""
        if contact.rejected:
            self.counts.rejected += 1
            return None
        found = self.timeline.plan_during(contact.onset_ns, contact.end_ns)
        if found is None:
            self.counts.without_plan += 1
            return None
        plan, from_ns, until_ns = found
        if until_ns < contact.end_ns and until_ns - from_ns < _MIN_CUT_NS:
            self.counts.cut_short += 1
            return None
        points, explained = self._contact_points(plan, from_ns, until_ns)
        moved = displacement(points, self.displacement)
        if moved is None and self.displacement.displacement_source == MEASURED:
            moved = admittance(points, self.displacement)
        if moved is None:
            self.counts.without_displacement += 1
            return None
        during = points.during & np.isfinite(points.force_n).all(axis=1)
        force = points.force_n[during]
        strength = np.linalg.norm(force, axis=1)
        share = float(explained[during].mean()) if during.any() else 1.0
        return ContactReport(
            plan_stamp_ns=plan.stamp_ns,
            onset_ns=from_ns,
            onset_plan_sec=float(self.timeline.plan_time_sec(np.array([from_ns]))[0]),
            duration_sec=(until_ns - from_ns) / NANOSECONDS,
            displacement_m=moved.vector_m,
            peak_force_n=float(strength.max()) if len(strength) else contact.peak_wrench_force_n,
            confidence=confidence_of(contact, self.detector.parameters, moved, force, share),
            source=moved.source,
        )


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
    confidence = 1.0 - math.exp(-2.0 * max(excess, 0.05))
    distance = math.hypot(*moved.vector_m)
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
