"""The data of a study as tables: one row for each trial, and one for each weight learned in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from reward_learning_ros.core.errors import InvalidInputError, UnknownNameError
from reward_learning_ros.core.planner import regret
from reward_learning_ros.core.task import Task
from reward_learning_ros.study.ledger import DONE, Ledger, TrialRecord
from reward_learning_ros.study.protocol import Goal
from reward_learning_ros.tasks import load_task

SUMMARY_FILE = 'summary.json'
# Numbers that a session's summary has under the same name.
_COPIED = (
    'corrections',
    'passes',
    'duration_sec',
    'beta',
    'trusted',
    'initial_regret',
    'unasked_regret',
)

TrialRow = dict[str, Any]
# No measure of a session comes near.
_MAX_NUMBER = 1e100


def trial_rows(ledger: Ledger) -> list[TrialRow]:
    """Return a row for each trial of each participant, whatever became of it.

    Measures stand in the rows of trials that are done; Error and Regret are those of the session,
    else, where the participant is a person, of the θ that they were asked to teach.

    Raises:
        InvalidInputError: A trial is done, but its session left no summary that can be read.
    """
    return [
        _trial_row(ledger, record) for records in ledger.records().values() for record in records
    ]


def theta_rows(ledger: Ledger) -> list[TrialRow]:
    """Return a row for each weight that was learned in a trial that is done."""
    rows = []
    for records in ledger.records().values():
        for record in records:
            summary = _summary(ledger, record)
            if summary is None:
                continue
            wanted = wanted_theta(record.trial.goal)
            task = _task(record.trial.goal.task)
            for index, feature in enumerate(task.feature_names):
                weight = summary['theta'].get(feature)
                if weight is not None:
                    rows.append(
                        {
                            'participant': record.trial.participant,
                            'trial': record.trial.number,
                            'task': record.trial.goal.task,
                            'condition': record.trial.condition.name,
                            'feature': feature,
                            'mean': weight['mean'],
                            'sd': weight['sd'],
                            'low': weight['interval'][0],
                            'high': weight['interval'][1],
                            'wanted': float(wanted[index]),
                        }
                    )
    return rows


def session_path(ledger: Ledger, record: TrialRecord) -> Path:
    """Return the folder of the session of a trial's last attempt."""
    return ledger.folder / record.trial.participant / f'{record.session_number:03d}'


def wanted_theta(goal: Goal) -> np.ndarray:
    """Return the θ (d,) that a participant is asked to teach.

    Raises:
        UnknownNameError: The task has no such preset.
    """
    presets = _task(goal.task).presets
    name = goal.preset or next(iter(presets), '')
    if name not in presets:
        raise UnknownNameError(f'preset of task {goal.task}', name, presets)
    return np.asarray(presets[name])


def _trial_row(ledger: Ledger, record: TrialRecord) -> TrialRow:
    trial = record.trial
    row: TrialRow = {
        'study': ledger.protocol.name,
        'participant': trial.participant,
        'trial': trial.number,
        'task': trial.goal.task,
        'preset': trial.goal.preset,
        'goal': trial.goal.name,
        'condition': trial.condition.name,
        'method': trial.condition.method,
        'dependence': trial.condition.dependence,
        'mode': trial.condition.mode,
        'seed': trial.seed,
        'state': record.state,
        'reason': record.reason,
        'attempts': record.attempts,
        'changed': record.changed,
        'end': None,
        **dict.fromkeys(_COPIED),
        'latency_sec': None,
        'error': None,
        'regret': None,
    }
    summary = _summary(ledger, record)
    if summary is not None:
        row.update({name: summary.get(name) for name in ('end', *_COPIED)})
        latencies = summary.get('latency_sec') or []
        row['latency_sec'] = float(np.median(latencies)) if latencies else None
        row.update(_measures(trial.goal, trial.seed, summary))
    return row


def check_session(ledger: Ledger, record: TrialRecord) -> None:
    """Refuse a trial of whose last attempt there is no session that has ended.

    Raises:
        InvalidInputError: There is none; says what to do.
    """
    trial, folder = record.trial, session_path(ledger, record)
    name = f'trial {trial.number} of {trial.participant}'
    if not folder.is_dir():
        raise InvalidInputError(
            f'{name} cannot be done: there is no session {folder}. Run it, or mark the trial '
            'aborted'
        )
    try:
        _read_summary(folder / SUMMARY_FILE)
    except InvalidInputError as error:
        raise InvalidInputError(
            f'{name} cannot be done: {error}. `reward_learning conclude {folder}` writes it'
        ) from error


def _summary(ledger: Ledger, record: TrialRecord) -> Mapping[str, Any] | None:
    if record.state != DONE:
        return None
    path = session_path(ledger, record) / SUMMARY_FILE
    try:
        return _read_summary(path)
    except InvalidInputError as error:
        trial = record.trial
        raise InvalidInputError(
            f'trial {trial.number} of {trial.participant} is done, but {error}. '
            f'`reward_learning conclude {path.parent}` writes it again; without a session, mark '
            'the trial excluded'
        ) from error


def _read_summary(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInputError(f'{path} cannot be read: {error}') from error
    if not isinstance(content, Mapping) or not isinstance(content.get('theta'), Mapping):
        raise InvalidInputError(f'{path} is not the summary of a session')
    if wrong := _wrong_entry(content):
        raise InvalidInputError(f'{path} is not the summary of a session: {wrong}')
    return content


def _wrong_entry(summary: Mapping[str, Any]) -> str:
    """Return what in a summary cannot be used, in words; empty if all can."""
    for name, weight in summary['theta'].items():
        interval = weight.get('interval') if isinstance(weight, Mapping) else None
        if not isinstance(interval, list) or len(interval) != 2:
            return f'theta, {name} has no interval of two numbers'
        if not all(map(_is_number, (weight.get('mean'), weight.get('sd'), *interval))):
            return f'theta, {name} has something else than numbers'
    for name in ('end', *_COPIED):
        if not isinstance(summary.get(name), str | float | int | None):
            return f'{name} is neither text nor number'
    for name in ('error', 'regret'):
        if summary.get(name) is not None and not _is_number(summary[name]):
            return f'{name} is {summary[name]!r}, which is no number'
    latencies = summary.get('latency_sec') or []
    if not isinstance(latencies, list) or not all(map(_is_number, latencies)):
        return 'latency_sec is no list of numbers'
    return ''


def _is_number(value: object) -> bool:
    """Tell whether something is a finite number; JSON of Python may have NaN."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # By the comparison, not as a float: JSON has whole numbers that are none.
    return is_number and -_MAX_NUMBER < value < _MAX_NUMBER  # type: ignore[operator]


def _measures(goal: Goal, seed: int, summary: Mapping[str, Any]) -> TrialRow:
    if summary.get('error') is not None:
        return {'error': summary['error'], 'regret': summary.get('regret')}
    task = _task(goal.task)
    weights = summary['theta']
    if any(feature not in weights for feature in task.feature_names):
        return {}
    learned = np.array([weights[feature]['mean'] for feature in task.feature_names])
    wanted = wanted_theta(goal)
    return {
        'error': float(np.linalg.norm(wanted - learned)),
        'regret': regret(task, wanted, learned, seed=seed),
    }


@cache
def _task(name: str) -> Task:
    return load_task(name)
