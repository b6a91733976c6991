"""What an operator does with the trials of a study: how one is run, what became of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from reward_learning_ros.parameters import from_mapping
from reward_learning_ros.parameters.shared import AT_ONCE, BETWEEN_PASSES
from reward_learning_ros.parameters.sources import text_of
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.study.ledger import DONE, Ledger, TrialRecord
from reward_learning_ros.study.tidy import check_session, wanted_theta

# What protocols call it.
_REPLANS = {'online': AT_ONCE, 'after_pass': BETWEEN_PASSES}


def mark_trial(
    ledger: Ledger, participant: str, number: int, state: str, reason: str = ''
) -> TrialRecord:
    """Note what became of a trial, and return it as it is now.

    Raises:
        InvalidInputError: There is no such trial, this cannot become of it, a reason is missing,
            or it is to be done and left no session that has ended.
    """
    if state == DONE:
        record = ledger.record(participant, number)
        if record.attempts:
            # One without would be found only when the whole study is analysed.
            check_session(ledger, record)
    return ledger.mark(participant, number, state, reason)


def session_values(ledger: Ledger, record: TrialRecord, sessions: Path) -> dict[str, Any]:
    """Return what a trial's session differs in from the defaults, checked."""
    trial = record.trial
    values = {
        'sessions': str(sessions),
        'study': ledger.protocol.name,
        'participant': trial.participant,
        'trial': record.session_number,
        'task': trial.goal.task,
        'method': trial.condition.method,
        'dependence': trial.condition.dependence,
        'replan': _REPLANS[trial.condition.mode],
        'arm': ledger.protocol.arm,
        'participant_model': ledger.protocol.participant_model,
        'participant_theta': tuple(float(weight) for weight in wanted_theta(trial.goal)),
        'seed': trial.seed,
    }
    if ledger.protocol.consent:
        values['consent'] = ledger.protocol.consent
    from_mapping(SessionParameters, values)
    return values


def session_command(values: dict[str, Any]) -> str:
    """Return the command that runs a session."""
    words = ['reward_learning', 'session']
    for name, value in values.items():
        words.append('--' + name.replace('_', '-'))
        words += [str(item) for item in (value if isinstance(value, tuple) else (value,))]
    return shlex.join(words)


def launch_command(values: dict[str, Any]) -> str:
    """Return the same for ROS 2's own launch."""
    words = ['ros2', 'launch', 'reward_learning_ros', 'session.launch.py']
    return shlex.join([*words, *(f'{name}:={text_of(value)}' for name, value in values.items())])
