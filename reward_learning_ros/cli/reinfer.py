"""Infer θ again from recordings: with another method, another β, other thresholds.

PATH is the folder of a session, which knows how it was run, or any rosbag2 with a plan and
corrections or the samples of a Franka arm. From the same recording with the same seed comes, to
the last digit, the same θ as in the session.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_learning_ros.cli._recorded import (
    add_topics_argument,
    resolved,
    resolved_learning,
    session_of,
    settings_of,
    topics_of,
)
from reward_learning_ros.core.errors import (
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
)
from reward_learning_ros.parameters import Parameters, parameter, specifications
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters.shared import (
    beta_parameter,
    dependence_parameter,
    method_parameter,
)
from reward_learning_ros.parameters.sources import with_present_names

if TYPE_CHECKING:
    from reward_learning_ros.recording.reinference import Reinference

NAME = 'reinfer'
HELP = 'infer θ again from recorded sessions or other bags'


@dataclass(frozen=True, kw_only=True)
class ReinferParameters(Parameters):
    """What is changed most often; what is not given is as the session had it."""

    task: str = parameter('press', description='Task that was done')
    method: str = method_parameter()
    dependence: str = dependence_parameter()
    beta: float | None = beta_parameter()
    gamma: float = parameter(
        1.0, description='Discount of earlier trajectories', minimum=0.0, maximum=1.0
    )
    seed: int = parameter(0, description='Seed of all random numbers', minimum=0)


_OPTIONS = specifications(ReinferParameters)

EXIT_SUCCESS = 0
EXIT_FAILURE = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    parser.add_argument(
        'paths', nargs='+', type=Path, metavar='PATH', help='folder of a session, or a rosbag2'
    )
    parser.add_argument(
        '--from-streams',
        action='store_true',
        help='find the corrections again in the recorded torques and poses',
    )
    add_topics_argument(parser)
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument(
        '--report', type=Path, metavar='FOLDER', help='write a page on each recording there'
    )
    parser.add_argument(
        '--set',
        action='append',
        default=[],
        dest='settings',
        metavar='NAME=VALUE',
        help='any other parameter of the inference or, with --from-streams, of the correction '
        'recorder, such as on_threshold=6 (may be repeated)',
    )
    add_parameters(parser, ReinferParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Infer from each recording, print what came out, and return 0 only if all could be used.

    Raises:
        RewardLearningError: The options are wrong, or the only recording cannot be used.
    """
    from reward_learning_ros.cli._recorded import progress_bar

    topics = topics_of(options)
    given = _given(options)
    results: list[Reinference] = []
    failures: dict[str, str] = {}
    with progress_bar('re-inferring', len(options.paths)) as advance:
        for path in options.paths:
            try:
                results.append(_reinfer(path, topics, given, options.from_streams))
            except RewardLearningError as error:
                if len(options.paths) == 1:
                    raise
                failures[str(path)] = str(error)
            advance()
    rows = [_row(result) for result in results]
    if options.report is not None:
        for row, result in zip(rows, results, strict=True):
            row['report'] = str(_write_report(options.report, result))
    if options.json:
        print(json.dumps({'recordings': rows, 'failures': failures}, indent=2, allow_nan=False))
    else:
        for row, result in zip(rows, results, strict=True):
            _print(row, result)
        for path, reason in failures.items():
            print(f'{path}: {reason}', file=sys.stderr)
    return EXIT_FAILURE if failures else EXIT_SUCCESS


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """Return all parameters of the command line.

    Raises:
        UnknownNameError: There is no such parameter.
        InvalidInputError: It would change nothing.
    """
    from reward_learning_ros.learning import LearningParameters
    from reward_learning_ros.recording.redetection import RedetectionParameters

    learning = specifications(LearningParameters)
    detection = specifications(RedetectionParameters)
    settings = with_present_names(RedetectionParameters, settings_of(options.settings))
    for name in settings:
        if name not in {**learning, **detection}:
            raise UnknownNameError('parameter', name, {**learning, **detection})
        if name not in learning and not options.from_streams:
            raise InvalidInputError(f'{name} changes nothing without --from-streams')
    named = {name: value for name, value in vars(options).items() if name in _OPTIONS}
    return {**settings, **named}


def _reinfer(
    path: Path, topics: dict[str, str], given: dict[str, Any], from_streams: bool
) -> Reinference:
    from reward_learning_ros.recording.redetection import RedetectionParameters
    from reward_learning_ros.recording.reinference import detect_recorded, read_recorded, reinfer

    if not path.exists():
        raise InvalidInputError(f'{path}: there is no such file or folder')
    session = session_of(path)
    if session is None and 'task' not in given:
        raise InvalidInputError(f'{path} is not in the folder of a session: name its --task')
    learning = resolved_learning(session, given)
    if from_streams:
        detection = resolved(RedetectionParameters, session, 'correction_recorder', given)
        recorded = detect_recorded(path, detection, topics)
    else:
        recorded = read_recorded(path, topics)
    return reinfer(recorded, learning)


def _row(result: Reinference) -> dict[str, Any]:
    """Return what came out as JSON can hold it."""
    from reward_learning_ros.parameters import to_mapping

    theta, posterior = result.inferred.theta, result.inferred.posterior
    quality = posterior.diagnostics
    return {
        'path': str(result.recorded.path),
        'parameters': to_mapping(result.parameters),
        'passes': len(result.sequences),
        'corrections': result.pushes,
        'theta': {
            name: {
                'mean': float(theta.mean[index]),
                'sd': float(theta.sd[index]),
                'interval': [float(theta.quantiles[0, index]), float(theta.quantiles[2, index])],
            }
            for index, name in enumerate(theta.features)
        },
        'beta': float(posterior.beta_samples.mean()),
        'max_r_hat': _number(quality['max_r_hat']),
        'min_ess_bulk': _number(quality['min_ess_bulk']),
        'trusted': bool(posterior.is_trustworthy),
        'equals_published': result.equals_published,
        'warnings': list(result.inferred.reasons),
        'problems': list(result.problems),
    }


def _number(value: float) -> float | None:
    # NaN is no JSON.
    return float(value) if value == value else None


def _print(row: dict[str, Any], result: Reinference) -> None:
    from reward_learning_ros.core.text import counted

    parameters = result.parameters
    print(
        f'{row["path"]}: {counted(row["corrections"], "correction")} in '
        f'{counted(row["passes"], "pass", "passes")}, {parameters.task}, '
        f'{parameters.method}, {parameters.dependence}, seed {parameters.seed}'
    )
    print(result.inferred.posterior.summary())
    print(f'posterior: {"trusted" if row["trusted"] else "not trusted"}')
    if row['equals_published'] is not None:
        verdict = 'equals' if row['equals_published'] else 'differs from'
        print(f'θ {verdict} that of the session')
    if 'report' in row:
        print(row['report'])
    for problem in result.problems:
        print(f'problem: {problem}', file=sys.stderr)


def _write_report(folder: Path, result: Reinference) -> Path:
    from reward_learning_ros.parameters import to_mapping
    from reward_learning_ros.session.session_data import Fault, SessionData
    from reward_learning_ros.session.session_report import session_report

    parameters = to_mapping(result.parameters)
    learned, path = result.inferred, result.recorded.path
    data = SessionData(
        task=result.task,
        reason=f're-inferred from {path}',
        seed=result.parameters.seed,
        configuration={name: parameters[name] for name in ('method', 'dependence', 'beta')},
        initial_plan=result.sequences[0].plan,
        final_plan=learned.trajectory,
        sequences=result.sequences,
        corrections=result.recorded.corrections,
        posterior=learned.posterior,
        theta_star=result.recorded.theta_star,
        faults=tuple(Fault(source='recording', text=problem) for problem in result.problems),
    )
    # The last folders' names tell sessions apart: study, participant, trial.
    name = '_'.join(path.absolute().parts[-3:]).strip('/')
    page = folder / f'{name}.html'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        page.write_text(session_report(data), encoding='utf-8')
    except OSError as error:
        raise RewardLearningError(f'{page} cannot be written: {error.strerror}') from error
    return page
