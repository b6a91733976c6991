"""The paper's experiments with simulated people: its figures, and what every method gets wrong.

`figures` draws the working example; `push`, `close` and `pour` are the simulations, `study` the
user study with simulated participants, `methods` what each method costs and how near it comes to
the exact posterior, and `all` everything. Rows are kept for each person, so a
run that was interrupted goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reward_learning_ros.cli._recorded import (
    ParallelParameters,
    kept_on_interrupt,
    progress_bar,
)
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import from_arguments, parameter, to_mapping

if TYPE_CHECKING:
    from reward_learning_ros.experiments.simulations import Setup
    from reward_learning_ros.figures.run_report import Section

NAME = 'simulate'
HELP = "the paper's experiments with simulated people"

FIGURES, STUDY, COMPARISON, ALL = 'figures', 'study', 'methods', 'all'
SIMULATIONS = ('push', 'close', 'pour')
EXPERIMENTS = (FIGURES, *SIMULATIONS, STUDY, COMPARISON)


@dataclass(frozen=True, kw_only=True)
class SimulateParameters(ParallelParameters):
    """Who is simulated, and how hard the methods work."""

    humans: int = parameter(100, description='Simulated people, for each task and β', minimum=3)
    participants: int = parameter(
        10, description='Simulated participants of the user study', minimum=3
    )
    betas: tuple[float, ...] = parameter(
        (5.0, 25.0), description='How rational they are', minimum=1e-6
    )
    study_tasks: tuple[str, ...] = parameter(
        ('press', 'reach', 'push_study'), description='Tasks of the user study'
    )
    method_tasks: tuple[str, ...] = parameter(
        ('cup', 'press', 'reach', 'push', 'close', 'pour'),
        description='Tasks on which methods are compared with the exact posterior',
    )
    goals: str = parameter(
        'presets',
        description='What participants teach: three presets of each task, or θ of the prior',
        choices=('presets', 'prior'),
    )
    budget: str = parameter(
        'thorough',
        description='What every method gets: enough, or what the authors of the paper gave',
        choices=('thorough', 'printed'),
    )
    domain: str = parameter(
        'task',
        description="Where θ may be: as the task says, or in the box of the authors' code",
        choices=('task', 'box', 'unit_nonnegative'),
    )
    library_size: int = parameter(
        0, description='Trajectories of push, close and pour; 0 leaves it to the task', minimum=0
    )
    runs: int = parameter(
        100, description='Repetitions of sampling in the working example', minimum=2
    )
    seed: int = parameter(0, description='Seed of all random numbers', minimum=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the experiments."""
    parser.add_argument(
        'experiments',
        nargs='+',
        choices=(*EXPERIMENTS, ALL),
        metavar='EXPERIMENT',
        help=', '.join((*EXPERIMENTS, ALL)),
    )
    parser.add_argument(
        '--output',
        type=Path,
        default=Path('simulations'),
        metavar='FOLDER',
        help='where rows, tables and figures are kept (default: %(default)s)',
    )
    parser.add_argument(
        '--format',
        nargs='+',
        default=['svg', 'pdf'],
        choices=('svg', 'pdf', 'png'),
        help='of the figures (default: svg pdf)',
    )
    parser.add_argument('--json', action='store_true', help='print JSON')
    add_parameters(parser, SimulateParameters)


def run(options: argparse.Namespace) -> int:
    """Run the experiments, write rows, tables and figures, print the tables, and return 0."""
    from reward_learning_ros.experiments.simulations import Setup
    from reward_learning_ros.figures.figure_style import require_matplotlib

    # Said before the work, not after it.
    require_matplotlib()
    config = from_arguments(SimulateParameters, options)
    wanted = set(EXPERIMENTS if ALL in options.experiments else options.experiments)
    setup = Setup(
        budget=config.budget,
        domain=config.domain,
        seed=config.seed,
        library_size=config.library_size or None,
    )
    output = _Output(options.output, options.format)
    results: dict[str, Any] = {}
    if FIGURES in wanted:
        results[FIGURES] = _working_example(config, output)
    tasks = [task for task in SIMULATIONS if task in wanted]
    if tasks:
        results['simulations'] = _simulations(config, setup, tasks, output)
    if STUDY in wanted:
        results[STUDY] = _study(config, setup, output)
    if COMPARISON in wanted:
        results[COMPARISON] = _methods(config, output)
    output.report(config)
    if options.json:
        print(json.dumps(results, indent=2, allow_nan=False))
    else:
        for result in results.values():
            print(result['text'])
        print('written: ' + ', '.join(str(path) for path in output.written))
    return 0


class _Output:
    """Where results go, and what went there."""

    def __init__(self, folder: Path, formats: Sequence[str]) -> None:
        self.folder = folder
        self.formats = tuple(f'.{name}' for name in formats)
        self.written: list[Path] = []
        self.sections: list[Section] = []

    def figure(self, draw: Any, result: Any, folder: Path, name: str) -> Path:
        """Draw a figure in every format that was asked for; return the SVG for the report."""
        for suffix in dict.fromkeys(('.svg', *self.formats)):
            path = folder / f'{name}{suffix}'
            draw(result, path)
            self.written.append(path)
        return folder / f'{name}.svg'

    def report(self, config: SimulateParameters) -> None:
        """Write all that was found as one page."""
        from reward_learning_ros.figures.run_report import RunReport, write_run

        chosen = to_mapping(config)
        for name in ('workers', 'scheduler'):
            # They change nothing of what is found.
            del chosen[name]
        report = RunReport(
            title='Simulated experiments', sections=self.sections, configuration=chosen
        )
        self.written.append(write_run(report, self.folder))


def _working_example(config: SimulateParameters, output: _Output) -> dict[str, Any]:
    from reward_learning_ros.experiments import simulation_figures as figures
    from reward_learning_ros.experiments.simulation_report import example_section
    from reward_learning_ros.experiments.working_example import working_example
    from reward_learning_ros.study.statistics_tables import write_rows

    result = working_example(runs=config.runs, seed=config.seed)
    folder = output.folder / 'working_example'
    drawn = (
        output.figure(figures.draw_approximations, result, folder, 'approximations'),
        output.figure(figures.draw_comparison, result, folder, 'sampling_or_maximum'),
    )
    output.sections.append(example_section(result, drawn))
    write_rows(list(result.rows()), folder / 'rows.csv')
    output.written.append(folder / 'rows.csv')
    return {'text': result.summary(), 'rows': list(result.rows())}


def _simulations(
    config: SimulateParameters, setup: Setup, tasks: Sequence[str], output: _Output
) -> dict[str, Any]:
    from reward_learning_ros.experiments import simulation_figures as figures
    from reward_learning_ros.experiments.simulation_analysis import analyse_simulations
    from reward_learning_ros.experiments.simulation_report import analysis_section
    from reward_learning_ros.experiments.simulations import simulate

    folder = output.folder / f'simulations-{setup.budget}-{setup.domain}-seed{setup.seed}'
    total = len(tasks) * len(config.betas) * config.humans
    kept = f'those in {folder} are'
    with kept_on_interrupt(kept), progress_bar('simulated people', total) as advance:
        rows, timings = simulate(
            tasks,
            betas=config.betas,
            humans=config.humans,
            setup=setup,
            folder=folder,
            workers=config.workers or None,
            scheduler=config.scheduler or None,
            on_done=advance,
        )
    analysis = analyse_simulations(rows, timings)
    drawn = output.figure(figures.draw_simulations, analysis, folder, 'error_and_regret')
    output.sections.append(analysis_section('Simulations', analysis, drawn))
    return _kept(analysis, folder, output)


def _study(config: SimulateParameters, setup: Setup, output: _Output) -> dict[str, Any]:
    from reward_learning_ros.experiments import simulation_figures as figures
    from reward_learning_ros.experiments.simulation_analysis import analyse_study
    from reward_learning_ros.experiments.simulation_report import analysis_section
    from reward_learning_ros.experiments.user_study import GOALS, PRESETS, simulate_study

    goals = '' if config.goals == PRESETS else f'-{config.goals}'
    folder = output.folder / f'study-{setup.budget}-{setup.domain}{goals}-seed{setup.seed}'
    total = len(config.study_tasks) * len(config.betas) * config.participants * GOALS
    kept = f'finished trials in {folder} are'
    with kept_on_interrupt(kept), progress_bar('trials', total) as advance:
        rows, timings = simulate_study(
            config.study_tasks,
            betas=config.betas,
            participants=config.participants,
            goals=config.goals,
            setup=setup,
            folder=folder,
            workers=config.workers or None,
            scheduler=config.scheduler or None,
            on_done=advance,
        )
    analysis = analyse_study(rows, timings)
    drawn = output.figure(figures.draw_study, analysis, folder, 'error_and_regret')
    output.sections.append(analysis_section('User study', analysis, drawn))
    return _kept(analysis, folder, output)


def _methods(config: SimulateParameters, output: _Output) -> dict[str, Any]:
    from reward_learning_ros.experiments import simulation_figures as figures
    from reward_learning_ros.experiments.method_comparison import compare_methods, comparison_text
    from reward_learning_ros.experiments.simulation_report import methods_section
    from reward_learning_ros.figures.run_report import write_text
    from reward_learning_ros.study.statistics_tables import write_rows

    folder = output.folder / f'methods-seed{config.seed}'
    journal = folder / 'people.jsonl'
    total = len(config.method_tasks) * len(config.betas) * config.humans
    with kept_on_interrupt(f'those in {journal} are'), progress_bar('people', total) as advance:
        cells = compare_methods(
            config.method_tasks,
            humans=config.humans,
            betas=config.betas,
            library_size=config.library_size or None,
            seed=config.seed,
            journal=journal,
            workers=config.workers or None,
            scheduler=config.scheduler or None,
            on_done=advance,
        )
    drawn = output.figure(figures.draw_methods, cells, folder, 'accuracy_and_cost')
    output.sections.append(methods_section(cells, drawn))
    text = comparison_text(cells)
    write_rows([asdict(cell) for cell in cells], folder / 'methods.csv')
    write_text(folder / 'methods.txt', f'{text}\n')
    output.written.extend([folder / 'methods.csv', folder / 'methods.txt'])
    rows = [
        {name: None if value != value else value for name, value in asdict(cell).items()}
        for cell in cells
    ]
    return {'text': text, 'cells': rows}


def _kept(analysis: Any, folder: Path, output: _Output) -> dict[str, Any]:
    """Write what an analysis found beside the rows, and return it to be printed."""
    from reward_learning_ros.experiments.simulation_report import (
        analysis_mapping,
        analysis_text,
        write_analysis,
    )

    write_analysis(analysis, folder)
    output.written.extend(sorted(folder.glob('*.csv')) + sorted(folder.glob('*.txt')))
    return {'text': analysis_text(analysis), **analysis_mapping(analysis)}
