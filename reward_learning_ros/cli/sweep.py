"""Infer θ from a whole study under many assumptions: one row for each inference.

STUDY is a folder with sessions (sessions/<study>), or a checkout of the published user study.
A sweep that was interrupted goes on where it was: finished cells are kept beside the output and
are not run again. Axes that the grid does not name stay as they were in the session.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_learning_ros.cli._recorded import (
    ParallelParameters,
    kept_on_interrupt,
    progress_bar,
    resolved_learning,
)
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import (
    from_arguments,
    from_texts,
    specifications,
    text_of,
)
from reward_learning_ros.parameters.sources import with_present_names

if TYPE_CHECKING:
    from reward_learning_ros.experiments.parameter_sweep import Cell
    from reward_learning_ros.learning import LearningParameters

NAME = 'sweep'
HELP = 'infer θ from a whole study under many assumptions'

EXIT_SUCCESS = 0
EXIT_FAILURE = 1
# Beside the output: the finished cells.
JOURNAL_ENDING = '.cells.jsonl'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    parser.add_argument('study', type=Path, metavar='STUDY', help='folder of the study')
    parser.add_argument(
        '--grid',
        nargs='+',
        default=[],
        metavar='NAME=VALUE,…',
        help='what is varied: method=double_mh,ignore beta=2,5,infer gamma=0.9,1 …',
    )
    parser.add_argument(
        '--from-streams',
        action='store_true',
        help='find the corrections again in the recorded torques and poses, so that the grid may '
        'vary thresholds too',
    )
    parser.add_argument(
        '--participants', nargs='+', default=[], metavar='NAME', help='only these (default: all)'
    )
    parser.add_argument(
        '--output',
        type=Path,
        default=Path('sweep.parquet'),
        metavar='FILE',
        help='table with one row per inference, .parquet or .csv (default: %(default)s)',
    )
    parser.add_argument('--json', action='store_true', help='print what was done as JSON')
    add_parameters(parser, ParallelParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Run what is not finished, write the table, and return 0 only if every inference succeeded.

    Raises:
        InvalidInputError: The grid or the study cannot be used.
    """
    from reward_learning_ros.core.text import counted
    from reward_learning_ros.experiments.parameter_sweep import parse_grid, sweep
    from reward_learning_ros.recording.published_recordings import FOLDERS
    from reward_learning_ros.study.statistics_tables import check_table, write_rows

    parallel = from_arguments(ParallelParameters, options)
    # Said before the work, not after it.
    check_table(options.output)
    grid = parse_grid(options.grid)
    is_published = any((options.study / folder / 'data').is_dir() for folder in FOLDERS.values())
    make = _published_cells if is_published else _session_cells
    cells = make(options, grid)
    journal = options.output.with_name(options.output.name + JOURNAL_ENDING)
    kept = f'finished inferences in {journal} are'
    with kept_on_interrupt(kept), progress_bar('inferences', len(cells)) as advance:
        rows = sweep(
            cells,
            journal=journal,
            workers=parallel.workers or None,
            scheduler=parallel.scheduler or None,
            on_done=advance,
        )
    write_rows(rows, options.output)
    failures = [row for row in rows if row['failure']]
    if options.json:
        content = {
            'output': str(options.output),
            'inferences': len(rows),
            'failures': [row['failure'] for row in failures],
        }
        print(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        print(f'{options.output}: {counted(len(rows), "inference")}')
        for row in failures:
            print(f'participant {row["participant"]}: {row["failure"]}', file=sys.stderr)
    return EXIT_FAILURE if failures else EXIT_SUCCESS


def _published_cells(options: argparse.Namespace, grid: Mapping[str, Sequence[str]]) -> list[Cell]:
    from reward_learning_ros.experiments.parameter_sweep import grid_points
    from reward_learning_ros.experiments.published_analysis import published_cell, read_study
    from reward_learning_ros.experiments.published_parameters import PublishedParameters

    if options.from_streams:
        raise InvalidInputError('the published study has no samples of the arm: no --from-streams')
    known = list(specifications(PublishedParameters))
    points = [from_texts(PublishedParameters, point) for point in grid_points(grid, known)]
    taught = read_study(options.study).taught
    chosen = _chosen(options.participants, [str(one.recording.participant) for one in taught])
    return [
        published_cell(one, point)
        for one in taught
        if str(one.recording.participant) in chosen
        for point in points
    ]


def _session_cells(options: argparse.Namespace, grid: Mapping[str, Sequence[str]]) -> list[Cell]:
    from reward_learning_ros.experiments.parameter_sweep import grid_points
    from reward_learning_ros.experiments.session_cells import (
        SessionAnalysis,
        bag_digest,
        session_cell,
    )
    from reward_learning_ros.learning import LearningParameters
    from reward_learning_ros.recording.redetection import RedetectionParameters
    from reward_learning_ros.session.folder import SessionFolder

    paths = sorted(file.parent for file in options.study.glob('**/session.yaml'))
    if not paths:
        raise InvalidInputError(f'{options.study} holds no session and no published study')
    thresholds = specifications(RedetectionParameters) if options.from_streams else {}
    points = list(grid_points(grid, [*specifications(LearningParameters), *thresholds]))
    sessions = {}
    for path in paths:
        try:
            session = SessionFolder(path=path).read()
            bag_digest(path.absolute())
            sessions[path.absolute()] = session
        except InvalidInputError as error:
            print(f'left out: {error}', file=sys.stderr)
    names = {path: str(session['session']['participant']) for path, session in sessions.items()}
    chosen = _chosen(options.participants, list(names.values()))
    cells = []
    for path, session in sessions.items():
        if names[path] not in chosen:
            continue
        for point in points:
            detection, varied = None, {}
            if options.from_streams:
                detection = _resolved(RedetectionParameters, session, 'correction_recorder', point)
                varied = {name: getattr(detection, name) for name in grid if name in thresholds}
            analysis = SessionAnalysis(
                path=path,
                learning=_resolved_learning(session, point),
                detection=detection,
            )
            cells.append(session_cell(analysis, names[path], session['session']['trial'], varied))
    return cells


def _resolved(
    cls: type[Any], session: Mapping[str, Any], node: str, point: Mapping[str, str]
) -> Any:
    """Return a configuration: default < that of the session's node < point of the grid."""
    of_node = with_present_names(cls, session['nodes'].get(node, {}).get('parameters', {}))
    known = specifications(cls)
    texts = {name: _text(value) for name, value in of_node.items() if name in known}
    return from_texts(cls, texts | {name: text for name, text in point.items() if name in known})


def _resolved_learning(session: Mapping[str, Any], point: Mapping[str, str]) -> LearningParameters:
    """Return how is learned; what a session does not say was as in those of its time."""
    from reward_learning_ros.learning import LearningParameters

    known = specifications(LearningParameters)
    chosen = from_texts(LearningParameters, {n: text for n, text in point.items() if n in known})
    return resolved_learning(
        session, {name: getattr(chosen, name) for name in point if name in known}
    )


def _text(value: Any) -> str:
    return text_of(tuple(value) if isinstance(value, list) else value)


def _chosen(asked: Sequence[str], there: Sequence[str]) -> set[str]:
    missing = sorted(set(asked) - set(there))
    if missing:
        raise InvalidInputError(
            f'there is no participant {missing[0]}; there are {", ".join(sorted(set(there)))}'
        )
    return set(asked or there)
