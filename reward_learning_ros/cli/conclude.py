"""Write what a session came to: posterior, summary and report, from its recording.

A session does so at its end. For one that was interrupted, and shall not go on, do it with this.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

NAME = 'conclude'
HELP = 'write posterior, summary and report of a recorded session'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options to its parser."""
    parser.add_argument('folder', metavar='FOLDER', type=Path, help='folder of the session')
    parser.add_argument('--json', action='store_true', help='print the summary as JSON')


def run(options: argparse.Namespace) -> int:
    """Learn from the recording, write the files and return 0.

    Raises:
        RewardLearningError: The folder holds no session, or its recording cannot be read.
    """
    from rich.console import Console

    from reward_learning_ros.session.folder import SessionFolder
    from reward_learning_ros.session.outcome import conclude
    from reward_learning_ros.session.terminal import summary_lines

    folder = SessionFolder(path=options.folder.absolute())
    with Console(stderr=True).status('learning from the recording, and writing the report'):
        summary = conclude(folder)
    if options.json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print(*summary_lines(summary), folder.report, sep='\n')
    return 0
