"""Which studies there are, and the session of a trial as the page runs it."""

from __future__ import annotations

from pathlib import Path

from reward_learning_ros.parameters import from_mapping
from reward_learning_ros.parameters.shared import SIMULATED
from reward_learning_ros.session.node_parameters import EVERY_PASS
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.study.desk import session_values
from reward_learning_ros.study.ledger import PROTOCOL_FILE, Ledger, TrialRecord


def studies(sessions: Path) -> list[str]:
    """Return the names of the studies in a folder."""
    return sorted(file.parent.name for file in sessions.glob(f'*/{PROTOCOL_FILE}'))


def session_of(
    ledger: Ledger, record: TrialRecord, sessions: Path, namespace: str = ''
) -> SessionParameters:
    """Return the session of a trial; where a person pulls a simulated arm, at their pace.

    Raises:
        InvalidInputError: The protocol says something that no session can do.
    """
    values = session_values(ledger, record, sessions)
    config = from_mapping(SessionParameters, values | {'namespace': namespace})
    if config.arm != SIMULATED or config.has_simulated_participant:
        return config
    person = {'realtime': True, 'consent': config.consent or EVERY_PASS}
    return from_mapping(SessionParameters, values | person | {'namespace': namespace})
