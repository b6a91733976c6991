"""What each pass of a recorded session came to, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import (
    Correction,
    InferenceEvent,
    InferenceStatus,
    ParticipantState,
    PassCorrections,
    Plan,
    PlaybackState,
    ThetaSummary,
)
from reward_learning_ros.learning import Corrections, ToolPaths, stamp_of
from reward_learning_ros.recording.session_records import Heard, SessionRecording
from reward_learning_ros.session.session_data import PassOutcome

# What a participant says of themselves is heard this late, about.
_TOLD_LATE_NS = 10**9


def pass_outcomes(
    recording: SessionRecording, paths: ToolPaths, speed: float = 1.0
) -> tuple[PassOutcome, ...]:
    """Return what each pass came to, in the order in which passes were heard of.

    Args:
        recording: The session.
        paths: How the arm follows the task that was done.
        speed: How many seconds of the recording passed in one on the wall clock.
    """
    by_plan: dict[int, list[Corrections]] = {}
    for record in recording.latest_corrections:
        by_plan.setdefault(record.plan_stamp_ns, []).append(record)
    active = {stamp_of(record) for record in recording.active_corrections}
    learned = _learned_by_plan(recording)
    plans = [heard.record for heard in recording.plans]
    outcomes = []
    for plan_ns, records in by_plan.items():
        status_heard = learned.get(plan_ns)
        theta = None if status_heard is None else _nearest(recording.thetas, status_heard.time_ns)
        following = _following(plans, plan_ns)
        push_ns = _last_push_ns(recording, plan_ns)
        end_ns = _pass_end_ns(recording, plan_ns)
        waited_from_ns = max((t for t in (push_ns, end_ns) if t is not None), default=None)
        passes = [record for record in records if isinstance(record, PassCorrections)]
        outcomes.append(
            PassOutcome(
                pushes=sum(each.pushes for each in passes) if passes else len(records),
                told=sum(len(each.times_sec) for each in passes),
                is_active=any(stamp_of(record) in active for record in records),
                theta=theta,
                trajectory=_trajectory(paths, following),
                reasons=() if status_heard is None else status_heard.record.reasons,
                latency_sec=_seconds_until(following, push_ns, speed),
                wait_sec=_seconds_until(following, waited_from_ns, speed),
                plan_stamp_ns=plan_ns,
                **_live_outcome(recording, plan_ns, following, status_heard),
            )
        )
    return tuple(outcomes)


def _live_outcome(
    recording: SessionRecording,
    plan_ns: int,
    following: Plan | None,
    kept: Heard[InferenceStatus] | None,
) -> dict[str, Any]:
    """Return what was believed during a pass, and how far it was from the θ that was kept."""
    end_ns = np.inf if following is None else following.stamp_ns
    live = [each for each in recording.live_thetas if plan_ns <= each.time_ns <= end_ns]
    quality = {} if kept is None else kept.record.quality
    return {
        'live_theta': live[-1].record.theta if live else None,
        'live_distance': _number(quality.get('live_distance', '')),
        'live_updates': len(live),
    }


def _number(text: str) -> float | None:
    """Return a number of a recording; None if it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def _learned_by_plan(recording: SessionRecording) -> dict[int, Heard[InferenceStatus]]:
    """Return what the inference said when it had learned most from passes up to each plan's."""
    # Of old, the inference knew each correction by its own stamp.
    plan_of = {stamp_of(each): each.plan_stamp_ns for each in recording.latest_corrections}
    learned: dict[int, Heard[InferenceStatus]] = {}
    seen = None
    for heard in recording.inference:
        status = heard.record
        content = (status.learned_from_ns, status.learned_data)
        # It says so again with whatever it says later, when another θ may be about to come.
        if (
            content == seen
            or status.event is not InferenceEvent.LEARNED
            or not status.learned_from_ns
        ):
            continue
        seen = content
        plan_ns = plan_of.get(status.learned_from_ns[-1])
        if plan_ns is not None:
            learned[plan_ns] = heard
    return learned


def _following(plans: Sequence[Plan], plan_ns: int) -> Plan | None:
    """Return the plan that was shown after one; a plan that is told twice is one."""
    later = [plan for plan in plans if plan.stamp_ns > plan_ns]
    return min(later, key=lambda plan: plan.stamp_ns, default=None)


def _trajectory(paths: ToolPaths, plan: Plan | None) -> np.ndarray | None:
    try:
        return None if plan is None else paths.trajectory_of(plan)
    except RewardLearningError:
        return None


def _last_push_ns(recording: SessionRecording, plan_ns: int) -> int | None:
    """Return when the last push of a pass ended; None if nobody pushed."""
    ends_ns = [end_ns for stamp_ns, _, end_ns in _contacts(recording) if stamp_ns == plan_ns]
    if ends_ns:
        return max(ends_ns)
    # Without contacts: when all pushes of the pass were told first.
    told = [
        (heard.time_ns, heard.record.pushes)
        for heard in recording.corrections
        if heard.record.plan_stamp_ns == plan_ns and isinstance(heard.record, PassCorrections)
    ]
    if not told or told[-1][1] == 0:
        return None
    return min(time_ns for time_ns, pushes in told if pushes == told[-1][1])


def _pass_end_ns(recording: SessionRecording, plan_ns: int) -> int | None:
    """Return when the arm had shown a plan; None if it is not known."""
    was_playing, end_ns = False, None
    for heard in recording.playback:
        is_playing = (
            heard.record.state is PlaybackState.PLAYING and heard.record.plan_stamp_ns == plan_ns
        )
        if was_playing and not is_playing:
            end_ns = heard.time_ns
        was_playing = is_playing
    return end_ns


def _seconds_until(plan: Plan | None, time_ns: int | None, speed: float) -> float | None:
    if plan is None or time_ns is None:
        return None
    # A plan that is replaced at once is there before the pass is over: nobody waits.
    return max(0.0, (plan.stamp_ns - time_ns) / 1e9 / speed)


def _nearest(thetas: Sequence[Heard[ThetaSummary]], time_ns: int) -> ThetaSummary | None:
    """Return the θ that was published together with a status."""
    if not thetas:
        return None
    return min(thetas, key=lambda heard: abs(heard.time_ns - time_ns)).record


def corrections_without_push(recording: SessionRecording) -> int | None:
    """Return how many contacts were found while nobody pushed.

    None without a simulated participant: of others nobody knows.
    """
    told = recording.participant
    if not told:
        return None
    ends_ns = [each.time_ns for each in told[1:]] + [np.inf]
    pushes = [
        (each.time_ns - _TOLD_LATE_NS, end_ns + _TOLD_LATE_NS)
        for each, end_ns in zip(told, ends_ns, strict=True)
        if each.record.state is ParticipantState.PUSHING
    ]
    return sum(
        not any(begin_ns <= contact_end and onset <= end_ns for begin_ns, end_ns in pushes)
        for _, onset, contact_end in _contacts(recording)
    )


def _contacts(recording: SessionRecording) -> list[tuple[int, int, int]]:
    """Return stamp of the plan, begin and end of each contact, also of an older recording."""
    reports = {
        (heard.record.plan_stamp_ns, heard.record.onset_ns): heard.record.end_ns
        for heard in recording.contacts
    }
    old = {
        (record.plan_stamp_ns, record.stamp_ns): record.end_ns
        for record in recording.latest_corrections
        if isinstance(record, Correction)
    }
    return [(plan_ns, onset_ns, end_ns) for (plan_ns, onset_ns), end_ns in (reports | old).items()]
