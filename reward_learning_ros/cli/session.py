"""Run a session: the arm shows its plan, a person corrects it, and the arm learns from that.

By default everything is simulated, faster than real time: `reward_learning session`. The same
nodes are started by `ros2 launch reward_learning_ros session.launch.py`, with the same options as
launch arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError
from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import from_arguments, specifications
from reward_learning_ros.parameters.shared import SIMULATED
from reward_learning_ros.session.session_parameters import SessionParameters

if TYPE_CHECKING:
    from rich.console import Console

    from reward_learning_ros.session.folder import SessionFolder
    from reward_learning_ros.session.session_description import SessionDescription

NAME = 'session'
HELP = 'a session: play, be corrected, learn, show it'

# How often processes and topics are looked at.
_PERIOD_SEC = 0.1
# How long to look around for another session before one begins.
_LOOK_SEC = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a session."""
    parser.add_argument('--json', action='store_true', help='print the summary as JSON')
    parser.add_argument(
        '--resume',
        metavar='FOLDER',
        type=Path,
        help='go on with an interrupted session; its own parameters apply',
    )
    add_parameters(parser, SessionParameters)


def run(options: argparse.Namespace) -> int:
    """Run a session to its end and return the exit code.

    Raises:
        RewardLearningError: There is no ROS 2, a parameter is refused, another session runs, or
            a node keeps dying.
    """
    from rich.console import Console

    from reward_learning_ros.session.folder import SessionFolder
    from reward_learning_ros.session.outcome import conclude, has_ended
    from reward_learning_ros.session.processes import check_ros
    from reward_learning_ros.session.terminal import summary_lines

    console = Console(stderr=options.json)
    _check_resume(options)
    if options.resume:
        folder = SessionFolder(path=options.resume.absolute())
        given = folder.read_configuration()
    else:
        given = from_arguments(SessionParameters, options)
    domain = check_ros()
    # Interrupted between its end and its report, it lacks only the report.
    if options.resume is None or folder.is_complete or not has_ended(folder):
        folder = _run_nodes(given, options.resume, domain, console)
    with console.status('learning once more from the recording, and writing the report'):
        summary = conclude(folder)
    if options.json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print(*summary_lines(summary), folder.report, sep='\n')
    return 0


def _run_nodes(
    given: SessionParameters, resume: Path | None, domain: int, console: Console
) -> SessionFolder:
    """Run the nodes of a session until it has ended, and return its folder."""
    from reward_learning_ros.console.console_process import require_nicegui
    from reward_learning_ros.session.folder import session_lock
    from reward_learning_ros.session.session_description import begin
    from reward_learning_ros.tasks import load_task

    who = f'{given.study}/{given.participant} in {Path(given.sessions).absolute()}'
    with session_lock(domain, given.namespace, who) as lock:
        if given.console:
            require_nicegui()
        folder, config, description = begin(given, resume)
        lock.text = str(folder.path)
        try:
            # Beside the nodes of a session, which keep the cores busy, this takes much longer.
            load_task(config.task).prepare()
            _conduct(config, description, folder, console)
        except KeyboardInterrupt:
            console.print(
                f'Interrupted. To go on: reward_learning session --resume {folder.path}\n'
                f'To end it here: reward_learning conclude {folder.path}',
                highlight=False,
                markup=False,
                soft_wrap=True,
            )
            raise
    return folder


def _check_resume(options: argparse.Namespace) -> None:
    """Refuse options that a session which goes on has already."""
    if options.resume is None:
        return
    given = [name for name in specifications(SessionParameters) if hasattr(options, name)]
    if given:
        raise InvalidInputError(
            '--resume takes the parameters of the session; not allowed with it: '
            + ', '.join('--' + name.replace('_', '-') for name in given)
        )


def _conduct(
    config: SessionParameters,
    description: SessionDescription,
    folder: SessionFolder,
    console: Console,
) -> None:
    """Run the nodes until the conductor says that the session has ended."""
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor

    from reward_learning_ros.console.opening import open_console
    from reward_learning_ros.learning.inference_result import tool_paths_of
    from reward_learning_ros.nodes.session_monitor import SessionMonitorNode
    from reward_learning_ros.session.node_parameters import (
        NO_CONSENT,
    )
    from reward_learning_ros.session.outcome import learning_parameters
    from reward_learning_ros.session.processes import environment
    from reward_learning_ros.session.session_data import LatestStatuses, PassReporter
    from reward_learning_ros.session.supervisor import Supervisor
    from reward_learning_ros.session.terminal import (
        SessionProgress,
        SessionTerminal,
        operating_lines,
    )

    # This process listens where its nodes speak.
    os.environ.update(environment())
    context = Context()
    rclpy.init(args=[], context=context)
    try:
        monitor = SessionMonitorNode(namespace=config.namespace, context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(monitor)
        deadline = time.monotonic() + _LOOK_SEC
        while time.monotonic() < deadline:
            executor.spin_once(timeout_sec=_PERIOD_SEC)
        if others := monitor.others():
            raise RewardLearningError(
                f'somebody else publishes {", ".join(others)}: end that session, or take another '
                'ROS_DOMAIN_ID'
            )
        paths = tool_paths_of(learning_parameters(folder.read()))
        reporter = PassReporter(paths, config.seed)
        title = f'{config.task}, {config.study}/{config.participant}/{config.trial:03d}'
        with (
            SessionTerminal(console, title, folder.logs) as terminal,
            Supervisor(description, folder, terminal.say) as supervisor,
        ):
            if config.console:
                for line in open_console(config):
                    terminal.say(line)
            if not config.has_simulated_participant:
                for line in operating_lines(
                    is_simulated_arm=config.arm == SIMULATED,
                    needs_consent=config.consent_rule != NO_CONSENT,
                    namespace=config.namespace,
                ):
                    terminal.say(line)
            while not supervisor.poll():
                executor.spin_once(timeout_sec=_PERIOD_SEC)
                terminal.show(
                    SessionProgress(
                        session=monitor.session,
                        playback=monitor.playback,
                        theta=monitor.theta,
                        recording_warning=monitor.recording_warning,
                    )
                )
                heard = LatestStatuses(
                    session=monitor.session,
                    inference=monitor.inference,
                    theta=monitor.theta,
                    plan=monitor.plan,
                    participant=monitor.participant,
                )
                if line := reporter.update(heard):
                    terminal.say(line)
    finally:
        context.try_shutdown()
