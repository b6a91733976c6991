"""Tell what is here, what is missing, and what to do about it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reward_learning_ros.cli import _findings as findings
from reward_learning_ros.cli._findings import Finding
from reward_learning_ros.parameters import Parameters, from_arguments, parameter
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters.shared import ARMS, FRANKA, SIMULATED

NAME = 'doctor'
HELP = 'what is here, what is missing, and what to do about it'

EXIT_READY = 0
EXIT_NOT_READY = 1

# Fast DDS repeats its announcements every 3 s: by then two participants have met.
_DISCOVERY_SEC = 5.0
# Starting Python and a node on a busy machine, beyond the time to listen.
_START_SEC = 60.0
_PREFLIGHT_ALONE = 'run `python -m reward_learning_ros.nodes.arm_preflight` and read what it says'
_MARKS = {'ok': 'ok', 'note': 'note', 'missing': 'MISSING'}
_COLORS = {'ok': 'green', 'note': 'yellow', 'missing': 'bold red'}


@dataclass(frozen=True, kw_only=True)
class DoctorParameters(Parameters):
    """What `doctor` looks at: the machine, and an arm if it is asked to."""

    arm: str = parameter(
        SIMULATED,
        description='The arm of the session that should start',
        choices=ARMS,
    )
    namespace: str = parameter('', description='ROS namespace of the arm', is_namespace=True)
    seconds: float = parameter(
        2.0,
        description='How long to listen to the topics of the arm',
        minimum=0.1,
        maximum=600.0,
        unit='s',
    )
    record: float = parameter(
        0.0,
        description='Record a running arm for so long, and judge the contact thresholds by it; '
        'let it play a plan, push it once or twice. 0: not',
        minimum=0.0,
        maximum=600.0,
        unit='s',
    )
    figure: str = parameter(
        'contacts.svg', description='Where the figure of that recording is written (PNG, SVG)'
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the doctor."""
    parser.add_argument('--json', action='store_true', help='print JSON')
    add_parameters(parser, DoctorParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Look, print, and return 0 only if a session could start."""
    config = from_arguments(DoctorParameters, options)
    with ThreadPoolExecutor(max_workers=1) as beside:
        # Both mostly listen: they do so at the same time.
        checks = beside.submit(preflight, config) if config.arm == FRANKA else None
        inspected, failure = inspect(config)
        found = examine(config, inspected, failure)
        if inspected is not None and checks is not None:
            found += checks.result()
    contacts: dict[str, Any] = {}
    if config.record > 0.0:
        recorded, contacts = record_contacts(config)
        found += recorded
    is_ready = not any(finding.blocks for finding in found)
    if options.json:
        report = {
            'ready': is_ready,
            'arm': config.arm,
            'findings': [{'state': finding.state, **asdict(finding)} for finding in found],
            'topics': [] if inspected is None else inspected['topics'],
            'contacts': contacts,
        }
        print(json.dumps(report, indent=2))
    else:
        print_findings(found)
        print(verdict(config.arm, found))
    return EXIT_READY if is_ready else EXIT_NOT_READY


def inspect(config: DoctorParameters) -> tuple[Mapping[str, Any] | None, str]:
    """Return what a node in a process of its own sees, or None and why there is none."""
    command = [
        sys.executable,
        '-m',
        'reward_learning_ros.nodes.inspection',
        config.namespace,
        str(config.seconds),
        # An arm that is not needed is not waited for.
        str(_DISCOVERY_SEC if config.arm == FRANKA else 0.0),
    ]
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=config.seconds + _START_SEC
        )
    except subprocess.TimeoutExpired:
        return None, 'it hangs'
    lines = process.stdout.splitlines()
    if process.returncode == 0 and lines:
        return json.loads(lines[-1]), ''
    log_tail = process.stderr.strip().splitlines()[-1:] or [f'exit code {process.returncode}']
    return None, log_tail[0]


def preflight(config: DoctorParameters) -> list[Finding]:
    """Return what playback would look at before it moved the arm: rates, limits, signs."""
    # Topics are discovered first; then the streams are listened to.
    seconds = _DISCOVERY_SEC + config.seconds
    command = [sys.executable, '-m', 'reward_learning_ros.nodes.arm_preflight', '--ros-args']
    command += ['-p', f'seconds:={seconds}']
    if config.namespace:
        command += ['-r', f'__ns:=/{config.namespace.strip("/")}']
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + _START_SEC
        )
    except subprocess.TimeoutExpired:
        return [Finding(name='preflight', found='it hangs', advice=_PREFLIGHT_ALONE, blocks=True)]
    lines = process.stdout.splitlines()
    try:
        return [Finding(**check) for check in json.loads(lines[-1])]
    except (IndexError, ValueError, TypeError):
        log_tail = process.stderr.strip().splitlines()[-1:] or ['it said nothing']
        return [Finding(name='preflight', found=log_tail[0], advice=_PREFLIGHT_ALONE, blocks=True)]


def record_contacts(config: DoctorParameters) -> tuple[list[Finding], dict[str, Any]]:
    """Return what a recording of the arm says about contacts, and the numbers behind it."""
    from reward_learning_ros.cli._contacts import contact_findings
    from reward_learning_ros.figures.figure_style import check_figure_path

    figure = check_figure_path(Path(config.figure))
    return contact_findings(config.namespace, config.record, figure)


def examine(
    config: DoctorParameters, inspected: Mapping[str, Any] | None, failure: str
) -> list[Finding]:
    """Return everything that was found, in the order to read it."""
    found = [
        findings.python_finding(),
        findings.ros_finding(),
        findings.middleware_finding(inspected, failure),
        *findings.message_findings(config.arm),
        *findings.package_findings(config.arm),
        *findings.machine_findings(),
        *findings.network_findings(),
    ]
    release = findings.franka_finding(config.arm)
    if release is not None:
        found.append(release)
    if inspected is not None:
        found += findings.topic_findings(
            inspected['topics'], arm=config.arm, namespace=config.namespace
        )
    return found


def verdict(arm: str, found: Sequence[Finding]) -> str:
    """Return the last line: whether a session could start."""
    blocking = [finding.name for finding in found if finding.blocks]
    if blocking:
        return f'A session with the {arm} arm cannot start: {", ".join(blocking)}.'
    return f'A session with the {arm} arm can start.'


def print_findings(found: Sequence[Finding]) -> None:
    """Print a table on a terminal, plain lines elsewhere."""
    if sys.stdout.isatty() and findings.is_installed('rich'):
        _print_table(found)
        return
    width = max(len(finding.name) for finding in found)
    for finding in found:
        print(f'{_MARKS[finding.state]:7}  {finding.name:{width}}  {finding.found}')
        if finding.advice:
            print(f'{"":7}  {"":{width}}  -> {finding.advice}')


def _print_table(found: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_edge=False, header_style='bold')
    for header in ('', 'what', 'found', 'what to do'):
        table.add_column(header, overflow='fold')
    for finding in found:
        mark = Text(_MARKS[finding.state], style=_COLORS[finding.state])
        # As text: a name in brackets would be read as a style.
        table.add_row(mark, Text(finding.name), Text(finding.found), Text(finding.advice))
    Console().print(table)
