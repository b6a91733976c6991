"""Simulate what tasks with physics need, so that no participant has to wait for it.

What was simulated is kept in the user's cache. A session prepares its own task before it starts.
"""

from __future__ import annotations

import argparse

NAME = 'prepare'
HELP = 'simulate what tasks with physics need, before a session does'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    parser.add_argument('tasks', nargs='+', metavar='TASK', help='name of a task')


def run(options: argparse.Namespace) -> int:
    """Prepare one task after the other and return 0.

    Raises:
        UnknownNameError: There is no such task.
    """
    from reward_learning_ros.tasks import load_task

    # A wrong name is refused before any work.
    for task in [load_task(name) for name in options.tasks]:
        task.prepare()
        print(f'{task.name} is ready', flush=True)
    return 0
