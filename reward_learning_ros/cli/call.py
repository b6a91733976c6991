"""Ask a running session for something: to begin a pass, go on, accept, pause, finish.

Each is one service of docs/interfaces.md, so this is for machines without ROS 2's own tools. The
answer is printed in words. Exit codes: 0 done, 1 nobody answers, 2 wrong usage, 3 refused.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from reward_learning_ros.parameters import Parameters, from_arguments, parameter
from reward_learning_ros.parameters import add_arguments as add_parameters

NAME = 'call'
HELP = 'ask a running session: begin, continue, accept, undo, finish, …'

EXIT_DONE = 0
EXIT_REFUSED = 3

# What each asks for; `cli._operating` knows the service of each.
REQUESTS = {
    'begin': 'consent to the next pass',
    'continue': 'consent to going on after a hold',
    'home': 'consent to going home',
    'accept': 'take the plan that is shown as what the person wants',
    'undo': 'forget the last pass',
    'finish': 'end the session, accepted or not',
    'recover': 'recover the arm after a reflex or a user stop; moves nothing',
    'hand-over': 'another operator takes over',
    'pause': 'come to rest on the way',
    'resume': 'go on after a pause, by playback alone; in a session use continue',
    'stop': 'come to rest and give the pass up; this is no emergency stop',
}


@dataclass(frozen=True, kw_only=True)
class CallParameters(Parameters):
    """Whose session it is, and how long to wait for it."""

    namespace: str = parameter('', description='ROS namespace of the session', is_namespace=True)
    discovery_sec: float = parameter(
        5.0,
        description='How long to wait for the session to be found',
        minimum=0.1,
        maximum=60.0,
        unit='s',
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the request and the command's options to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = 'requests:\n' + '\n'.join(
        f'  {name:10} {meaning}' for name, meaning in REQUESTS.items()
    )
    parser.add_argument('request', choices=tuple(REQUESTS), metavar='REQUEST', help='see below')
    add_parameters(parser, CallParameters, with_file=False)


def run(options: argparse.Namespace) -> int:
    """Ask, print the answer, and return 0 if it was granted and 3 if it was refused.

    Raises:
        RewardLearningError: There is no ROS 2, or nobody answers.
    """
    config = from_arguments(CallParameters, options)
    from reward_learning_ros.cli._operating import call

    answer = call(options.request, config)
    print(f'{options.request}: {answer.text}')
    return EXIT_DONE if answer.is_granted else EXIT_REFUSED
