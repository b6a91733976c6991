"""Check inference on simulated people: are its posteriors right on average?"""

from __future__ import annotations

import argparse
import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from reward_learning_ros.cli._recorded import ParallelParameters, kept_on_interrupt, progress_bar
from reward_learning_ros.core.errors import InvalidInputError
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import from_arguments, parameter
from reward_learning_ros.parameters.shared import dependence_parameter, method_parameter

NAME = 'calibrate'
HELP = 'simulation-based calibration of the inference'

# What calibrated inference passes: p of uniform ranks, and coverage of 90 % intervals.
P_VALUE = 0.01
COVERAGE = (0.85, 0.95)
EXIT_CALIBRATED = 0
EXIT_NOT_CALIBRATED = 1


@dataclass(frozen=True, kw_only=True)
class CalibrateParameters(ParallelParameters):
    """Which method is calibrated, on how many simulated people."""

    task: str = parameter('press', description='Task that the simulated people correct')
    humans: int = parameter(200, description='Number of simulated people', minimum=10)
    corrections: int = parameter(7, description='Corrections of each', minimum=1, maximum=1000)
    beta: str = parameter(
        'infer', description="Rationality of the people: a number, or 'infer' to infer it too"
    )
    method: str = method_parameter()
    dependence: str = dependence_parameter()
    seed: int = parameter(0, description='Seed of all random numbers', minimum=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the calibration."""
    parser.add_argument(
        '--keep',
        type=Path,
        metavar='FILE',
        help='where finished people are kept: the same command goes on from there, also with more '
        'of them',
    )
    parser.add_argument('--json', action='store_true', help='print JSON')
    add_parameters(parser, CalibrateParameters)


def run(options: argparse.Namespace) -> int:
    """Calibrate, print ranks and coverage, and return 0 only if both are as they should be."""
    from reward_learning_ros.experiments.calibration import calibrate

    config = from_arguments(CalibrateParameters, options)
    with (
        kept_on_interrupt(f'those in {options.keep} are') if options.keep else nullcontext(),
        progress_bar('simulated people', config.humans) as advance,
    ):
        result = calibrate(
            config.task,
            humans=config.humans,
            count=config.corrections,
            beta=_beta(config.beta),
            method=config.method,
            dependence=config.dependence,
            seed=config.seed,
            journal=options.keep,
            workers=config.workers or None,
            scheduler=config.scheduler or None,
            on_done=advance,
        )
    low, high = COVERAGE
    passed = bool(
        (result.p_values > P_VALUE).all()
        and (result.coverage >= low).all()
        and (result.coverage <= high).all()
    )
    rows = [
        {'quantity': name, 'p_value': float(p_value), 'coverage': float(covered)}
        for name, p_value, covered in zip(
            result.names, result.p_values, result.coverage, strict=True
        )
    ]
    if options.json:
        found = {'calibrated': passed, 'people': len(result.ranks), 'refused': result.refused}
        print(json.dumps({**found, 'quantities': rows}, indent=2))
    else:
        print(f'{"":<12}{"p of uniform ranks":>20}{"coverage of 90 %":>20}')
        for line in rows:
            print(f'{line["quantity"]:<12}{line["p_value"]:>20.3f}{line["coverage"]:>20.3f}')
        expected = ' to '.join(f'{share:.3f}' for share in result.expected_coverage)
        print(f'{len(result.ranks)} people; of exact inference 95 % of coverages are {expected}')
        if result.refused:
            print(f'{config.method} refused to infer θ of {result.refused} more')
        wanted = f'p > {P_VALUE}, coverage {low} to {high}'
        print(f'{"calibrated" if passed else "NOT calibrated"} ({wanted})')
    return EXIT_CALIBRATED if passed else EXIT_NOT_CALIBRATED


def _beta(text: str) -> float | str:
    if text == 'infer':
        return text
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(
            f"beta is {text!r}; it must be 'infer' or a positive number"
        ) from None
