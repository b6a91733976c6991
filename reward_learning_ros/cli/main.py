"""The `reward_learning` command: finds the commands, runs one, turns errors into exit codes.

A command is a module of this package that does not begin with an underscore. It has NAME, HELP,
`add_arguments(parser)` and `run(options) -> int`, and imports what is heavy (ROS, NumPy, figures)
only when it runs: `--help` is fast and needs no ROS.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import signal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

import reward_learning_ros
from reward_learning_ros import cli
from reward_learning_ros.core.errors import InvalidInputError, RewardLearningError

EXIT_FAILURE = 1
EXIT_USAGE = 2
# As a shell reports a process that ended by a signal.
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_TERMINATED = 128 + signal.SIGTERM

_OWN_NAME = 'main'


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code of the process."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = make_parser(given)
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return EXIT_USAGE
    # Without this SIGTERM would end the process at once and leave its children running.
    signal.signal(signal.SIGTERM, _terminate)
    try:
        exit_code: int = options.run(options)
    except RewardLearningError as error:
        if options.debug:
            raise
        print(f'{parser.prog} {options.command}: error: {error}', file=sys.stderr)
        return EXIT_USAGE if isinstance(error, InvalidInputError) else EXIT_FAILURE
    except KeyboardInterrupt:
        if options.debug:
            raise
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. Python must not flush into the pipe at its end.
        sys.stdout = None
        return EXIT_FAILURE
    return exit_code


def make_parser(given: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Return the parser of the command that is asked for, or of all if it is not clear which."""
    parser = argparse.ArgumentParser(
        prog='reward_learning', description=reward_learning_ros.__doc__
    )
    parser.add_argument(
        '--version', action='version', version=f'%(prog)s {reward_learning_ros.__version__}'
    )
    parser.add_argument(
        '--debug', action='store_true', help='show the whole traceback of an error'
    )
    modules = command_modules()
    asked = next((word for word in given if not word.startswith('-')), None)
    subparsers = parser.add_subparsers(dest='command', metavar='COMMAND')
    for name in [asked] if asked in modules else modules:
        command = importlib.import_module(modules[name])
        _check(command, name)
        subparser = subparsers.add_parser(
            command.NAME, help=command.HELP, description=command.__doc__
        )
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def command_modules() -> dict[str, str]:
    """Return the name of each command and the module that it is in."""
    return {
        module.name.replace('_', '-'): f'{cli.__name__}.{module.name}'
        for module in sorted(pkgutil.iter_modules(cli.__path__), key=lambda found: found.name)
        if not module.name.startswith('_') and module.name != _OWN_NAME
    }


def _check(command: ModuleType, name: str) -> None:
    for attribute in ('NAME', 'HELP', 'add_arguments', 'run'):
        if not hasattr(command, attribute):
            raise TypeError(f'{command.__name__} is not a command: it has no {attribute}')
    if name != command.NAME:
        raise TypeError(f'{command.__name__}.NAME must be {name!r}, as its file')


def _terminate(number: int, frame: object) -> NoReturn:
    raise SystemExit(EXIT_TERMINATED)
