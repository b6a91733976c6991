"""What a session came to: from its recording, by the learner that also ran live."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.bags.errors import BagError
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.interface import (
    InferenceEvent,
    InferenceStatus,
    ParticipantState,
    PlaybackState,
    SessionEnd,
    ThetaSummary,
)
from reward_learning_ros.learning import Learner, LearningParameters, Lesson, ToolPaths, learn
from reward_learning_ros.learning.lesson import tool_paths_of
from reward_learning_ros.parameters import from_mapping, specifications
from reward_learning_ros.session.folder import SessionFolder, write_whole
from reward_learning_ros.session.recording import Heard, SessionRecording, read_recording
from reward_learning_ros.study.report import session_report
from reward_learning_ros.study.session_data import ABORTED, DONE, Fault, SessionData, Step

_INFERENCE = 'reward_inference'
_SIMULATED_ARM = 'simulated_arm'
# What a participant says of themselves is heard this late, about.
_TOLD_LATE_NS = 10**9


def conclude(folder: SessionFolder) -> dict[str, Any]:
    """Write posterior, report and summary of a session, and return the summary.

    Raises:
        RewardLearningError: The folder holds no session, or nothing of its recording can be read.
    """
    content = folder.read()
    recording = read_recording(folder.bag, content['session']['namespace'])
    parameters = learning_parameters(content)
    paths = tool_paths_of(parameters)
    learner = heard_by_learner(paths, recording)
    lesson, failure = None, ''
    if learner.corrections:
        try:
            lesson = learn(parameters, learner.sequences(), task=paths.task)
        except RewardLearningError as error:
            # The session took place all the same, and its report says what it came to.
            failure = f'nothing can be inferred: {error}'
    data = _session_data(content, recording, paths, learner, lesson)
    if lesson is not None:
        _write_posterior(folder.posterior, lesson.posterior)
    write_whole(folder.report, session_report(data))
    summary = _summary(data, recording, lesson)
    if failure:
        summary['warnings'].append(failure)
    folder.write_summary(summary)
    return summary


def has_ended(folder: SessionFolder) -> bool:
    """Tell whether a session came to its end, be its outcome written or not."""
    try:
        recording = read_recording(folder.bag, folder.read()['session']['namespace'])
    except BagError:
        # It was interrupted before anything was recorded.
        return False
    return _end_of(recording) is not None


def learning_parameters(content: dict[str, Any]) -> LearningParameters:
    """Return how the session learned, from what its `session.yaml` holds."""
    given = content['nodes'][_INFERENCE]['parameters']
    known = specifications(LearningParameters)
    return from_mapping(
        LearningParameters, {name: value for name, value in given.items() if name in known}
    )


def heard_by_learner(paths: ToolPaths, recording: SessionRecording) -> Learner:
    """Return a learner that heard what the live one heard, undone corrections left out."""
    learner = Learner(paths)
    for plan in recording.plans:
        learner.add_plan(plan.record)
    for correction in recording.corrections:
        try:
            learner.add_correction(correction.record)
        except RewardLearningError:
            # As the live one, which says so and goes on.
            continue
    if recording.inference:
        status = recording.inference[-1].record
        learner.keep_only(
            status.counted_among(heard.record.stamp_ns for heard in recording.corrections)
        )
    return learner


def corrections_without_push(recording: SessionRecording) -> int | None:
    """Return how many corrections were found while nobody pushed.

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
        not any(
            begin_ns <= correction.record.end_ns and correction.record.stamp_ns <= end_ns
            for begin_ns, end_ns in pushes
        )
        for correction in recording.corrections
    )


def _session_data(
    content: dict[str, Any],
    recording: SessionRecording,
    paths: ToolPaths,
    learner: Learner,
    lesson: Lesson | None,
) -> SessionData:
    session = content['session']
    end = _end_of(recording)
    participant = recording.participant[-1].record if recording.participant else None
    plans = [paths.trajectory_of(plan.record) for plan in recording.plans]
    chosen = ('method', 'dependence', 'beta', 'mode', 'arm', 'participant_model')
    return SessionData(
        task=paths.task,
        study=session['study'],
        participant=session['participant'],
        trial=session['trial'],
        outcome=ABORTED if end is None else DONE,
        reason='interrupted' if end is None else end.value,
        started=datetime.datetime.fromisoformat(content['started']),
        duration_sec=recording.duration_sec,
        seed=session['seed'],
        versions=content['versions'],
        configuration={name: session[name] for name in chosen},
        initial_plan=plans[0] if plans else None,
        final_plan=plans[-1] if plans else None,
        sequences=learner.sequences(),
        corrections=learner.corrections,
        posterior=None if lesson is None else lesson.posterior,
        steps=_steps(recording, paths, _speed_of(content)),
        theta_star=None if participant is None else participant.theta,
        beta_star=None if participant is None else participant.beta,
        faults=_faults(recording),
    )


def _end_of(recording: SessionRecording) -> SessionEnd | None:
    return recording.session[-1].record.end if recording.session else None


def _speed_of(content: dict[str, Any]) -> float:
    """Return how many seconds of the recording passed in one of the wall's."""
    arm = content['nodes'].get(_SIMULATED_ARM, {'parameters': {}})
    return float(arm['parameters'].get('speed', 1.0))


def _steps(recording: SessionRecording, paths: ToolPaths, speed: float) -> tuple[Step, ...]:
    """Return what each inference during the session came to."""
    plans = {heard.record.stamp_ns: heard.record for heard in recording.plans}
    ends_ns = {heard.record.stamp_ns: heard.record.end_ns for heard in recording.corrections}
    steps = []
    before: tuple[int, ...] = ()
    for heard in recording.inference:
        status: InferenceStatus = heard.record
        theta = _nearest(recording.thetas, heard.time_ns)
        if (
            status.event is not InferenceEvent.LEARNED
            or status.learned_from_ns in ((), before)
            or theta is None
        ):
            continue
        before = status.learned_from_ns
        plan = None if status.reasons else plans.get(status.plan_stamp_ns)
        last_ns = ends_ns.get(status.learned_from_ns[-1])
        latency = (
            None if plan is None or last_ns is None else (plan.stamp_ns - last_ns) / 1e9 / speed
        )
        steps.append(
            Step(
                corrections=len(status.learned_from_ns),
                theta=theta,
                trajectory=None if plan is None else paths.trajectory_of(plan),
                reasons=status.reasons,
                latency_sec=latency,
            )
        )
    return tuple(steps)


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
    faults += [Fault(source='recording', text=problem) for problem in recording.problems]
    return tuple(faults)


def playback_faults(recording: SessionRecording) -> list[Fault]:
    """Return why the arm held, also of what began and ended while nobody recorded."""
    faults = []
    was_fault, counted = False, 0
    for heard in recording.playback:
        status = heard.record
        if status.faults < counted:
            # Another process counts anew.
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
    data: SessionData, recording: SessionRecording, lesson: Lesson | None
) -> dict[str, Any]:
    end = _end_of(recording)
    passes = recording.session[-1].record.passes if recording.session else 0
    return {
        'study': data.study,
        'participant': data.participant,
        'trial': data.trial,
        'task': data.task.name,
        'seed': data.seed,
        'end': None if end is None else end.value,
        'passes': passes,
        'corrections': data.correction_count,
        'pushes': recording.participant[-1].record.pushes if recording.participant else None,
        'corrections_without_push': corrections_without_push(recording),
        'duration_sec': data.duration_sec,
        'theta': {} if lesson is None else _theta(lesson.theta),
        'beta': None if lesson is None else float(lesson.posterior.beta_samples.mean()),
        'warnings': [] if lesson is None else list(lesson.reasons),
        'agrees_with_live': _agrees(recording, lesson),
        'latency_sec': [step.latency_sec for step in data.steps if step.latency_sec is not None],
        'theta_star': None if data.theta_star is None else data.theta_star.tolist(),
        'error': data.error,
        'initial_regret': data.initial_regret,
        'regret': data.regret,
        'faults': [f'{fault.source}: {fault.text}' for fault in data.faults],
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


def _agrees(recording: SessionRecording, lesson: Lesson | None) -> bool | None:
    """Tell whether θ as published live is, to the last bit, that of the recording.

    None where nothing was learned live from the same corrections.
    """
    learned = [heard.record for heard in recording.inference if heard.record.learned_from_ns]
    if lesson is None or not recording.thetas or not learned:
        return None
    if len(learned[-1].learned_from_ns) != lesson.corrections:
        return None
    return bool(np.array_equal(recording.thetas[-1].record.table, lesson.theta.table))


def _write_posterior(path: Path, posterior: Posterior) -> None:
    temporary = path.with_name(f'.{path.name}.{os.getpid()}')
    try:
        posterior.to_arviz().to_netcdf(str(temporary))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
