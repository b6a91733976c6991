"""Convert recordings: into a session that can be replayed, or out of one into a table.

SOURCE is a session or any rosbag2, a CSV of corrections (columns correction, waypoint, delta_x,
delta_y, delta_z; for passes with their silence, pushed and onset_waypoint too), or a recording of
the published study (…/Task1/data/user1/demo1.pkl). TARGET is a table of corrections (.csv,
.parquet, .npz), or else a new folder: a session, or for a bag without one the copy of all that can
be read of it.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_learning_ros.cli._recorded import add_topics_argument, topics_of
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError

if TYPE_CHECKING:
    import numpy as np

    from reward_learning_ros.interface import Correction, PassCorrections, Plan

NAME = 'convert'
HELP = 'make a session of other recordings, or a table of a session'

_TABLES = ('.csv', '.parquet', '.npz')
# What people said, instead of what they did to the arm.
_STUDY_TABLES = ('answers', 'marks')
# As of a file; a folder may be called 2026.11.18.
_FILE_ENDING = re.compile(r'\.[A-Za-z]\w{0,9}')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    parser.add_argument('source', type=Path, metavar='SOURCE', help='what to convert')
    parser.add_argument('target', type=Path, metavar='TARGET', help='new file or folder')
    parser.add_argument(
        '--table',
        choices=('corrections', *_STUDY_TABLES),
        default='corrections',
        help='what of a session goes into the table (default: corrections)',
    )
    parser.add_argument('--task', help='task that was done, for a CSV of corrections')
    add_topics_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Convert, say what was written, and return 0.

    Raises:
        RewardLearningError: The source cannot be read, or the target not be written.
    """
    source, target = options.source, options.target
    if target.exists():
        raise InvalidInputError(f'{target} is there already; nothing is overwritten')
    if target.suffix not in ('', *_TABLES) and _FILE_ENDING.fullmatch(target.suffix):
        raise InvalidInputError(
            f'{target} ends in {target.suffix}: a table must end in {", ".join(_TABLES)}, and a '
            'folder in none'
        )
    if options.table in _STUDY_TABLES and target.suffix not in _TABLES[:2]:
        raise InvalidInputError(f'a table of {options.table} must end in .csv or .parquet')
    try:
        if options.table in _STUDY_TABLES:
            problems = _write_study_table(source, target, options.table)
        elif target.suffix in _TABLES:
            problems = _write_table(source, target, options)
        elif source.suffix in ('.csv', '.pkl'):
            problems = _write_session(source, target, options)
        else:
            from reward_learning_ros.recording.bag_making import copy_bag

            problems = copy_bag(source, target)
    except OSError as error:
        raise RewardLearningError(f'{error.filename or target}: {error.strerror}') from error
    for problem in problems:
        print(f'problem: {problem}', file=sys.stderr)
    print(target)
    return 0


def _write_table(source: Path, target: Path, options: argparse.Namespace) -> list[Any]:
    from reward_learning_ros.recording import correction_table

    if source.suffix in ('.csv', '.pkl'):
        plans, corrections, _, _ = _read(source, options)
        problems: list[Any] = []
    else:
        from reward_learning_ros.recording.reinference import read_recorded

        recorded = read_recorded(source, topics_of(options))
        plans, corrections = list(recorded.plans), recorded.corrections
        problems = list(recorded.problems)
    write = {
        '.csv': correction_table.write_csv,
        '.parquet': correction_table.write_parquet,
        '.npz': correction_table.write_numpy,
    }[target.suffix]
    write(target, correction_table.table_of(plans, corrections))
    return problems


def _write_study_table(source: Path, target: Path, table: str) -> list[Any]:
    """Write a table of answers or of marks."""
    from reward_learning_ros.recording.session_records import read_study_records
    from reward_learning_ros.study.statistics_tables import write_rows
    from reward_learning_ros.study.trial_answers import answer_rows, mark_rows

    records = read_study_records(source)
    rows = (answer_rows if table == 'answers' else mark_rows)(records)
    if not rows:
        raise InvalidInputError(f'{source} has no {table}')
    write_rows(rows, target)
    return list(records.problems)


def _write_session(source: Path, target: Path, options: argparse.Namespace) -> list[Any]:
    """Make a folder that `reinfer`, `conclude` and the replay take for a session's."""
    from reward_learning_ros.interface import PassCorrections
    from reward_learning_ros.learning import LearningParameters, parameters_as_recorded
    from reward_learning_ros.parameters import from_mapping, to_mapping
    from reward_learning_ros.recording.bag_making import write_corrections
    from reward_learning_ros.session.folder import SessionFolder
    from reward_learning_ros.session.session_parameters import HUMAN, SessionParameters

    plans, corrections, theta_star, session = _read(source, options)
    config = SessionParameters(participant_model=HUMAN, **session)
    folder = SessionFolder(path=target.absolute())
    write_corrections(folder.bag, plans, corrections, theta_star)
    parameters = {'task': config.task, 'method': config.method, 'dependence': config.dependence}
    # Corrections of contacts say nothing of silence: they are for the paper's model.
    has_passes = any(isinstance(record, PassCorrections) for record in corrections)
    learning = (
        from_mapping(LearningParameters, parameters)
        if has_passes
        else parameters_as_recorded(parameters)
    )
    nodes = {'reward_inference': {'parameters': to_mapping(learning)}}
    folder.write_configuration(config, nodes)
    return []


def _read(
    source: Path, options: argparse.Namespace
) -> tuple[list[Plan], Sequence[PassCorrections | Correction], np.ndarray | None, dict[str, Any]]:
    """Return plans, corrections, θ* if known, and what to call the session."""
    from reward_learning_ros.learning import LearningParameters
    from reward_learning_ros.learning.inference_result import tool_paths_of

    if source.suffix == '.csv':
        from reward_learning_ros.recording.correction_table import read_csv

        plan = None
        if options.task is not None:
            paths = tool_paths_of(LearningParameters(task=options.task))
            plan = paths.initial_plan(1_000_000_000)
        plans, corrections = read_csv(source, plan)
        name = re.sub(r'[^A-Za-z0-9_-]', '_', source.stem).lstrip('_-')[:64] or 'table'
        task = {} if options.task is None else {'task': options.task}
        return plans, corrections, None, {'study': 'converted', 'participant': name, **task}
    from reward_learning_ros.recording.bag_making import published_records
    from reward_learning_ros.recording.published_recordings import FOLDERS, read_recordings

    place = re.fullmatch(r'(.*)/(Task\d+)/data/user(\d+)/demo(\d+)\.pkl', source.as_posix())
    tasks = {folder: task for task, folder in FOLDERS.items()}
    if place is None or place[2] not in tasks:
        raise InvalidInputError(
            f'{source}: must be a recording of the published study, such as '
            'STUDY/Task1/data/user1/demo1.pkl'
        )
    study, folder, participant, trial = Path(place[1]), place[2], int(place[3]), int(place[4])
    name = options.task or f'published_{tasks[folder]}'
    paths = tool_paths_of(LearningParameters(task=name))
    for recording in read_recordings(study, folder):
        if (recording.participant, recording.trial) == (participant, trial):
            published_plans, published = published_records(recording, paths)
            session = {
                'study': 'published',
                'participant': f'p{participant:02d}',
                'trial': trial,
                'task': name,
            }
            return published_plans, published, recording.theta, session
    raise InvalidInputError(f'{source}: there is no such recording with its θ beside it')
