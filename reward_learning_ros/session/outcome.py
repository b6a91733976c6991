"""What a session came to: from its recording, by the learner that also ran live."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.interface import (
    Correction,
    InferenceEvent,
    InferenceStatus,
    ParticipantState,
    PassCorrections,
    Plan,
    PlaybackState,
    SessionEnd,
    ThetaSummary,
)
from reward_learning_ros.learning import (
    Corrections,
    InferenceResult,
    Learner,
    LearningParameters,
    ToolPaths,
    learn,
    parameters_as_recorded,
    stamp_of,
)
from reward_learning_ros.learning.inference_result import tool_paths_of
from reward_learning_ros.recording.problems import BagError
from reward_learning_ros.recording.session_records import (
    Heard,
    SessionRecording,
    has_learned_from,
    read_session,
)
from reward_learning_ros.session.folder import SessionFolder, write_whole
from reward_learning_ros.session.session_data import (
    ABORTED,
    DONE,
    Fault,
    PassOutcome,
    SessionData,
)
from reward_learning_ros.session.session_report import session_report
from reward_learning_ros.session.understanding import meant_and_recorded

_INFERENCE = 'reward_inference'
_SIMULATED_ARM = 'simulated_arm'
# What is reported of how a session was run; sessions of before lack some of it.
_CONFIGURATION = (
    'method',
    'dependence',
    'beta',
    'human_model',
    'mode',
    'replan',
    'arm',
    'participant_model',
)
# What a participant says of themselves is heard this late, about.
_TOLD_LATE_NS = 10**9


def conclude(folder: SessionFolder) -> dict[str, Any]:
    """Write posterior, report and summary of a session, and return the summary.

    Raises:
        RewardLearningError: The folder holds no session, nothing of its recording can be read, or
            nothing can be written there.
    """
    content = folder.read()
    folder.check_writable()
    recording = read_session(folder.bag, namespace=content['session']['namespace'])
    parameters = learning_parameters(content)
    paths = tool_paths_of(parameters)
    learner = heard_by_learner(paths, recording)
    result, failure = None, ''
    sequences = learner.sequences()
    if sequences:
        try:
            result = learn(parameters, sequences, task=paths.task)
        except RewardLearningError as error:
            # The session took place all the same, and its report says what it came to.
            failure = f'nothing can be inferred: {error}'
    data = _session_data(content, recording, paths, learner, result)
    summary = _summary(data, recording, result)
    if failure:
        summary['warnings'].append(failure)
    report = session_report(data)
    # Again: that took a while, and HDF5 ends the process where it finds no room.
    folder.check_writable()
    try:
        if result is not None:
            _write_posterior(folder.posterior, result.posterior)
        write_whole(folder.report, report)
        folder.write_summary(summary)
    except OSError as error:
        raise folder.write_error(folder.path, error.strerror or error) from error
    return summary


def has_ended(folder: SessionFolder) -> bool:
    """Tell whether a session came to its end, be its outcome written or not."""
    try:
        recording = read_session(folder.bag, namespace=folder.read()['session']['namespace'])
    except BagError:
        # It was interrupted before anything was recorded.
        return False
    return _end_of(recording) is not None


def learning_parameters(content: dict[str, Any]) -> LearningParameters:
    """Return how the session learned, from what its `session.yaml` holds."""
    return parameters_as_recorded(content['nodes'][_INFERENCE]['parameters'])


def heard_by_learner(paths: ToolPaths, recording: SessionRecording) -> Learner:
    """Return a learner that heard what the live one heard, undone passes left out."""
    learner = Learner(paths)
    for plan in recording.plans:
        learner.add_plan(plan.record)
    for correction in recording.corrections:
        try:
            learner.add_corrections(correction.record)
        except RewardLearningError:
            # As the live one, which says so and goes on.
            continue
    if recording.inference:
        learner.keep_only(map(stamp_of, recording.active_corrections))
    return learner


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


def _session_data(
    content: dict[str, Any],
    recording: SessionRecording,
    paths: ToolPaths,
    learner: Learner,
    result: InferenceResult | None,
) -> SessionData:
    session = content['session']
    end = _end_of(recording)
    participant = recording.participant[-1].record if recording.participant else None
    plans = [paths.trajectory_of(plan.record) for plan in recording.plans]
    return SessionData(
        task=paths.task,
        study=session['study'],
        participant=session['participant'],
        trial=session['trial'],
        outcome=ABORTED if end is None else DONE,
        reason='interrupted' if end is None else end.value.replace('_', ' '),
        started=datetime.datetime.fromisoformat(content['started']),
        duration_sec=recording.duration_sec,
        seed=session['seed'],
        versions=content['versions'],
        configuration={name: session[name] for name in _CONFIGURATION if name in session},
        initial_plan=plans[0] if plans else None,
        final_plan=plans[-1] if plans else None,
        sequences=learner.sequences(),
        corrections=learner.active,
        contacts=tuple(heard.record for heard in recording.contacts),
        posterior=None if result is None else result.posterior,
        trusted=None if result is None else result.is_trusted,
        passes=pass_outcomes(recording, paths, _speed_of(content)),
        theta_star=None if participant is None else participant.theta,
        beta_star=None if participant is None else participant.beta,
        faults=_faults(recording),
    )


def _end_of(recording: SessionRecording) -> SessionEnd | None:
    return recording.session[-1].record.end if recording.session else None


def _speed_of(content: dict[str, Any]) -> float:
    """Return how many seconds of the recording passed in one on the wall clock."""
    arm = content['nodes'].get(_SIMULATED_ARM, {'parameters': {}})
    return float(arm['parameters'].get('speed', 1.0))


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
            )
        )
    return tuple(outcomes)


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


def _faults(recording: SessionRecording) -> tuple[Fault, ...]:
    """Return what went wrong, each as often as it began."""
    faults = playback_faults(recording)
    for heard in recording.inference:
        if heard.record.event is InferenceEvent.FAILED:
            seconds = recording.seconds_at(heard.time_ns)
            faults.append(Fault(source=_INFERENCE, text=heard.record.fault, time_sec=seconds))
    faults += [Fault(source='recording', text=str(problem)) for problem in recording.problems]
    return tuple(faults)


def playback_faults(recording: SessionRecording) -> list[Fault]:
    """Return why the arm held, also of what began and ended while nobody recorded."""
    faults = []
    was_fault, counted = False, 0
    for heard in recording.playback:
        status = heard.record
        if status.faults < counted:
            # Another process counts from zero.
            counted = 0
        is_fault = status.state is PlaybackState.FAULT
        if (is_fault and not was_fault) or status.faults > counted:
            text = status.fault or status.last_fault
            if (missed := status.faults - counted - 1) > 0:
                text += f' ({missed} more before it, not recorded)'
            seconds = recording.seconds_at(heard.time_ns)
            faults.append(Fault(source='trajectory_playback', text=text, time_sec=seconds))
        was_fault, counted = is_fault, status.faults
    return faults


def _summary(
    data: SessionData, recording: SessionRecording, result: InferenceResult | None
) -> dict[str, Any]:
    end = _end_of(recording)
    passes = recording.session[-1].record.passes if recording.session else len(data.passes)
    compared = meant_and_recorded(recording)
    return {
        'study': data.study,
        'participant': data.participant,
        'trial': data.trial,
        'task': data.task.name,
        'seed': data.seed,
        'end': None if end is None else end.value,
        'passes': passes,
        'by_pass': [_pass_summary(data, each) for each in data.passes],
        'corrections': data.correction_count,
        'pushes': recording.participant[-1].record.pushes if recording.participant else None,
        'corrections_without_push': corrections_without_push(recording),
        'meant_and_recorded': None if compared is None else compared.summary(),
        'duration_sec': data.duration_sec,
        'prior': _theta(data.prior),
        'theta': {} if result is None else _theta(result.theta),
        'beta': None if result is None else float(result.posterior.beta_samples.mean()),
        'trusted': data.trusted,
        'warnings': [] if result is None else list(result.reasons),
        'agrees_with_live': _agrees(recording, result),
        'latency_sec': [each.latency_sec for each in data.passes if each.latency_sec is not None],
        'wait_sec': [each.wait_sec for each in data.passes if each.wait_sec is not None],
        'theta_star': None if data.theta_star is None else data.theta_star.tolist(),
        'unasked_error': data.unasked_error,
        'error': data.error,
        'initial_regret': data.initial_regret,
        'unasked_regret': data.unasked_regret,
        'regret': data.regret,
        'faults': [f'{fault.source}: {fault.text}' for fault in data.faults],
    }


def _pass_summary(data: SessionData, outcome: PassOutcome) -> Mapping[str, Any]:
    theta, trajectory = outcome.theta, outcome.trajectory
    return {
        'plan_stamp_ns': outcome.plan_stamp_ns,
        'pushes': outcome.pushes,
        'told_waypoints': outcome.told,
        'active': outcome.is_active,
        'understood': data.understood_of(outcome),
        'theta': {} if theta is None else _theta(theta),
        'learned_share': None if theta is None else data.learned_share_of(theta),
        'error': None if theta is None else data.error_of(theta.mean),
        'regret': None if trajectory is None else data.regret_of(trajectory),
        'latency_sec': outcome.latency_sec,
        'wait_sec': outcome.wait_sec,
        'not_shown_because': list(outcome.reasons),
    }


def _theta(theta: ThetaSummary) -> dict[str, Any]:
    return {
        name: {
            'mean': float(theta.mean[index]),
            'sd': float(theta.sd[index]),
            'interval': [float(theta.quantiles[0, index]), float(theta.quantiles[2, index])],
        }
        for index, name in enumerate(theta.features)
    }


def _agrees(recording: SessionRecording, result: InferenceResult | None) -> bool | None:
    """Tell whether θ as published live is, to the last bit, that of the recording.

    None where nothing was learned live from the same corrections.
    """
    if result is None or not recording.thetas or not recording.inference:
        return None
    if not has_learned_from(recording.inference[-1].record, recording.active_corrections):
        return None
    return bool(np.array_equal(recording.thetas[-1].record.table, result.theta.table))


def _write_posterior(path: Path, posterior: Posterior) -> None:
    temporary = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        posterior.to_arviz().to_netcdf(str(temporary))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
