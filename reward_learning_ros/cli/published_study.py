"""Analyse the published user study again: every method, dependent and independent.

PATH is a folder with Task1, Task2 and Task3, as in the `user-study` folder of the authors'
repository. Pickles are read without running what is in them.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reward_learning_ros.cli._recorded import ParallelParameters, progress_bar
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import from_arguments

if TYPE_CHECKING:
    from reward_learning_ros.experiments.published_analysis import Line
    from reward_learning_ros.recording.published_recordings import Defect

NAME = 'published-study'
HELP = "analyse the published user study's recordings again"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    from reward_learning_ros.experiments.published_parameters import PublishedParameters

    parser.add_argument('path', type=Path, metavar='PATH', help='folder with Task1, Task2, Task3')
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument(
        '--output', type=Path, metavar='FILE', help='write one row per inference: .csv or .parquet'
    )
    add_parameters(parser, PublishedParameters, with_file=False, exclude=('method', 'dependence'))
    add_parameters(parser, ParallelParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Analyse all recordings, print errors beside those of a constant answer, and return 0.

    Raises:
        InvalidInputError: The folder holds no recording that can be used.
    """
    from reward_learning_ros.experiments.parameter_sweep import sweep
    from reward_learning_ros.experiments.published_analysis import (
        published_cells,
        read_study,
        summarise,
    )
    from reward_learning_ros.experiments.published_parameters import PublishedParameters
    from reward_learning_ros.study.statistics_tables import check_table, write_rows

    parameters = from_arguments(PublishedParameters, options)
    parallel = from_arguments(ParallelParameters, options)
    if options.output is not None:
        # Said before the work, not after it.
        check_table(options.output)
    survey = read_study(options.path)
    if not survey.taught:
        _print_defects(survey.defects)
        raise InvalidInputError(f'{options.path} holds no recording that can be used')
    cells = published_cells(survey.taught, parameters)
    with progress_bar('inferences', len(cells)) as advance:
        rows = sweep(
            cells,
            workers=parallel.workers or None,
            scheduler=parallel.scheduler or None,
            on_done=advance,
        )
    if options.output is not None:
        write_rows(rows, options.output)
    lines = summarise(rows)
    if options.json:
        content = {
            'recordings': len(survey.taught),
            'defects': [asdict(defect) for defect in survey.defects],
            'errors': [_plain(line) for line in lines],
        }
        print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(len(survey.taught), survey.defects, lines)
    return 0


def _plain(line: Line) -> dict[str, object]:
    # NaN is no JSON.
    return {name: None if value != value else value for name, value in asdict(line).items()}


def _print_defects(defects: tuple[Defect, ...]) -> None:
    for defect in defects:
        note = '' if defect.used else ' (not used)'
        print(f'{defect.place}: {defect.text}{note}', file=sys.stderr)


def _print(recordings: int, defects: tuple[Defect, ...], lines: list[Line]) -> None:
    from reward_learning_ros.core.text import counted

    _print_defects(defects)
    print(f'{counted(recordings, "recording")}, mean ‖θ − θ̂‖ ± standard error:')
    print(f'{"":<8}{"":<12}{"":<13}{"":>15}{"constant":>10}{"authors":>9}')
    for line in lines:
        authors = '' if line.authors is None else f'{line.authors:.2f}'
        print(
            f'{line.task:<8}{line.method:<12}{line.dependence:<13}'
            f'{line.error:>7.3f} ± {line.standard_error:.3f}{line.constant:>10.3f}{authors:>9}'
            + (f'  {line.failures} failed' if line.failures else '')
        )
    print('constant: θ̂ = (0.5, …) on the same recordings; authors: theirs, ten participants')
