"""Cases of what people and studies keep in files: YAML, CSV, JSON, pickles, journals."""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from benchmarks.fuzz.campaign import Target
from benchmarks.fuzz.mutation import mutated, rewritten
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.interface import Plan
from reward_learning_ros.parameters import from_file
from reward_learning_ros.recording.correction_table import read_csv
from reward_learning_ros.recording.published_recordings import read_recording, trial_files
from reward_learning_ros.session.folder import SessionFolder
from reward_learning_ros.session.outcome import learning_parameters
from reward_learning_ros.session.session_description import describe
from reward_learning_ros.session.session_parameters import SessionParameters
from reward_learning_ros.study.ledger import DONE, JOURNAL_FILE, PROTOCOL_FILE, Ledger
from reward_learning_ros.study.protocol import Condition, Goal, Protocol, read_protocol
from reward_learning_ros.study.tidy import SUMMARY_FILE, theta_rows, trial_rows
from reward_learning_ros.tasks.task_files import check_task
from tools.pins import ROOT

_PLAN = Plan(
    stamp_ns=10**9,
    frame_id='fr3_link0',
    positions=np.array([[0.3, 0.0, 0.5], [0.4, 0.1, 0.4], [0.5, 0.1, 0.3]]),
    orientations=np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)),
    times_sec=np.array([0.0, 1.0, 2.0]),
)
_TABLES = (
    'correction,waypoint,delta_x,delta_y,delta_z\n0,0,0,0,0\n0,1,0.01,0,0\n0,2,0,0.02,0\n',
    'correction,waypoint,pushed,delta_x,delta_y,delta_z,time_sec,plan_stamp_ns\n'
    '0,0,0,0,0,0,0.0,1000000000\n0,1,1,0.01,0,0,1.0,1000000000\n0,2,0,0,0,0,2.0,1000000000\n',
)
_PARAMETERS = (
    'task: press\nmethod: double_mh\nbeta: 10.0\nseed: 3\nparticipant_theta: [1.0, 0.5, 0.1, 0]\n',
    'session:\n  ros__parameters:\n    study: pilot\n    speed: 4.0\n    max_passes: 3\n',
)
_NODES = (
    'trajectory_playback:\n  ros__parameters:\n    hold_within_sec: 0.5\n',
    '/**:\n  ros__parameters:\n    use_sim_time: true\n'
    'reward_inference:\n  ros__parameters:\n    method: double_mh\n    seed: 1\n',
)
_SUMMARY = {
    'end': 'accepted',
    'passes': 2,
    'corrections': 7,
    'duration_sec': 60.0,
    'theta': {
        name: {'mean': 0.5, 'sd': 0.1, 'interval': [0.3, 0.7]}
        for name in ('goal', 'button', 'obstacle', 'length')
    },
    'beta': 10.0,
    'trusted': True,
    'latency_sec': [0.5, 1.0],
    'error': None,
    'regret': 0.1,
}


def _in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """Return what writes a case into a file of a name and reads that."""

    def check(case: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(case)
            read(path)

    return check


def _protocol() -> Protocol:
    return Protocol(
        name='pilot',
        goals=(Goal(task='press', preset='goal'),),
        conditions=(
            Condition(name='dependent'),
            Condition(name='other', dependence='independent'),
        ),
        participants=('p01', 'p02'),
    )


def _study(folder: Path) -> Ledger:
    ledger = Ledger.create(_protocol(), folder / 'pilot')
    for number in (1, 2):
        ledger.start('p01')
        if number == 1:
            ledger.mark('p01', number, DONE)
    return ledger


def _study_files() -> tuple[str, str]:
    """Return the protocol and the journal of a study under way."""
    with tempfile.TemporaryDirectory() as folder:
        path = _study(Path(folder)).folder
        return (path / PROTOCOL_FILE).read_text(), (path / JOURNAL_FILE).read_text()


def _check_journal(case: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(_protocol(), Path(folder) / 'pilot')
        (ledger.folder / JOURNAL_FILE).write_bytes(case)
        ledger.records()
        ledger.next()
        ledger.start('p02')


def _check_summary(case: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = _study(Path(folder))
        session = ledger.folder / 'p01' / '001'
        session.mkdir(parents=True)
        (session / SUMMARY_FILE).write_bytes(case)
        trial_rows(ledger)
        theta_rows(ledger)


def _check_session(path: Path) -> None:
    folder = SessionFolder(path=path.parent)
    content = folder.read()
    refusal = None
    for use in (lambda: folder.read_configuration(), lambda: learning_parameters(content)):
        try:
            use()
        except RewardLearningError as error:
            refusal = error
    if refusal is not None:
        raise refusal


def _session_file() -> str:
    with tempfile.TemporaryDirectory() as folder:
        session = SessionFolder(path=Path(folder))
        config = SessionParameters(task='press')
        session.write_configuration(config, describe(config, session).to_mapping())
        return session.configuration.read_text()


def _check_nodes(path: Path) -> None:
    config = SessionParameters(task='press', parameters_file=str(path))
    describe(config, SessionFolder(path=path.parent))


def _check_pickle(case: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo, theta = trial_files(Path(folder), 1)
        demo.write_bytes(case)
        theta.write_bytes(pickle.dumps(np.ones(4)))
        read_recording(Path(folder), 1, 1)


def _pickles() -> list[bytes]:
    rows = np.column_stack([np.arange(4.0), np.zeros((4, 3))])
    return [
        *(pickle.dumps(rows, protocol) for protocol in range(5)),
        pickle.dumps(rows.tolist()),
        # What runs code where nobody forbids it.
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
    ]


def targets() -> tuple[Target, ...]:
    """Return what reads these files."""
    protocol, journal = _study_files()
    tasks = [path.read_text() for path in sorted((ROOT / 'config' / 'tasks').glob('*.yaml'))]

    def of_texts(
        name: str, reads: str, seeds: tuple[str, ...] | list[str], check: Callable[[bytes], None]
    ) -> Target:
        return Target(name=name, reads=reads, cases=rewritten(seeds), check=check)

    return (
        of_texts('tasks', 'YAML files of tasks', tasks, _in_file('made_up.yaml', check_task)),
        of_texts(
            'parameters',
            'YAML files of parameters',
            _PARAMETERS,
            _in_file('parameters.yaml', lambda path: from_file(SessionParameters, path)),
        ),
        of_texts(
            'node_parameters',
            'ROS 2 parameter files of a session',
            _NODES,
            _in_file('parameters.yaml', _check_nodes),
        ),
        of_texts(
            'protocol',
            'protocols of studies',
            [protocol],
            _in_file(PROTOCOL_FILE, read_protocol),
        ),
        of_texts('journal', 'journals of studies', [journal], _check_journal),
        of_texts(
            'summary',
            'summaries of sessions, in the analysis of a study',
            [json.dumps(_SUMMARY, indent=2)],
            _check_summary,
        ),
        of_texts(
            'session',
            'session.yaml',
            [_session_file()],
            _in_file('session.yaml', _check_session),
        ),
        of_texts(
            'csv',
            'CSV tables of corrections',
            _TABLES,
            _in_file('table.csv', lambda path: read_csv(path, _PLAN)),
        ),
        Target(
            name='pickle',
            reads='pickles of the published study',
            cases=st.one_of(mutated(_pickles()), st.binary(max_size=60)),
            check=_check_pickle,
        ),
    )
