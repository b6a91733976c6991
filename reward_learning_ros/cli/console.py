"""Serve the console: a page in the browser from which sessions are run, watched and taught.

It prints an address that holds a token; open that. It can be ended and started again at any
moment: no session notices, and open pages go on.
"""

from __future__ import annotations

import argparse
import json

from reward_learning_ros.parameters import add_arguments as add_parameters
from reward_learning_ros.parameters import from_arguments, to_mapping
from reward_learning_ros.session.node_parameters import ConsoleParameters

NAME = 'console'
HELP = 'the page in the browser: run a session, watch it, pull the simulated arm'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the console."""
    parser.add_argument('--namespace', default='', help='ROS namespace of the session')
    add_parameters(parser, ConsoleParameters)


def run(options: argparse.Namespace) -> int:
    """Serve the console until Ctrl-C, and return the exit code.

    Raises:
        RewardLearningError: A parameter is refused, NiceGUI is missing, or the port is taken.
    """
    import os

    from reward_learning_ros.console.access import (
        Role,
        address_of,
        open_tokens,
        token_file_of,
    )
    from reward_learning_ros.console.console_process import run as run_console
    from reward_learning_ros.console.opening import open_when_there
    from reward_learning_ros.session.processes import check_ros, environment

    config = from_arguments(ConsoleParameters, options)
    check_ros()
    # It listens where the nodes of a session speak.
    os.environ.update(environment())
    words = ['--ros-args', '-r', f'__ns:=/{options.namespace.strip("/")}']
    defaults = to_mapping(ConsoleParameters())
    for name, value in to_mapping(config).items():
        if value != defaults[name]:
            words += ['-p', f'{name}:={json.dumps(value)}']
    tokens = open_tokens(token_file_of(config))
    open_when_there(config, address_of(config, tokens, Role.OPERATOR))
    run_console(words)
    return 0
