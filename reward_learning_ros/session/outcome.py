"""What a session came to: from its recording, by the learner that also ran live."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.core.posterior import Posterior
from reward_learning_ros.interface import (
    InferenceEvent,
    PlaybackState,
    SessionEnd,
    ThetaSummary,
)
from reward_learning_ros.learning import (
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
    SessionRecording,
    has_learned_from,
    read_session,
)
from reward_learning_ros.session.folder import SessionFolder, write_whole
from reward_learning_ros.session.pass_outcomes import corrections_without_push, pass_outcomes
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
        'live_theta': {} if outcome.live_theta is None else _theta(outcome.live_theta),
        'live_distance': outcome.live_distance,
        'live_updates': outcome.live_updates,
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
