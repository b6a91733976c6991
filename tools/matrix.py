"""Run the test suite on the other ROS 2 distribution and on the oldest and newest Python."""

import argparse
import subprocess
import sys
from typing import List, NamedTuple, Optional

from tools import interpreters
from tools.console import ProblemError, say
from tools.pins import ROOT


class Entry(NamedTuple):
    """One environment in which the suite must pass."""

    distribution: str
    python: Optional[str]

    def __str__(self) -> str:
        return f'{self.distribution} wheels, Python {self.python or interpreters.find().version}'


KILTED = Entry('kilted', None)
ENTRIES = (
    KILTED,
    Entry('jazzy', interpreters.SUPPORTED[0]),
    Entry('jazzy', interpreters.SUPPORTED[-1]),
)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the chosen entries, and return the first failure's exit code."""
    parser = argparse.ArgumentParser(
        prog='python3 -m tools.matrix', description=(__doc__ or '').split('\n')[0]
    )
    parser.add_argument(
        '--one', action='store_true', help='only one of them; another with the next commit'
    )
    parser.add_argument('--build', metavar='FOLDER', help='where the environments are made')
    options, pytest_arguments = parser.parse_known_args(arguments)
    where = ['--build', options.build] if options.build else []
    for entry in [available(choose(commit()))] if options.one else ENTRIES:
        say(f'test matrix: {entry}')
        code = run(entry, where, pytest_arguments)
        if code:
            say(f'test matrix: {entry}: failed')
            return code
    return 0


def commit() -> str:
    """Return the hash of the commit that is checked out, or of none in an unpacked archive."""
    try:
        asked = subprocess.run(
            ['git', 'rev-parse', 'HEAD'],
            cwd=str(ROOT),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            universal_newlines=True,
        )
    except OSError:
        return '0'
    return asked.stdout.strip() or '0'


def choose(commit_hash: str) -> Entry:
    """Return the entry of a commit; counting commits would not rotate in a shallow clone."""
    return ENTRIES[int(commit_hash, 16) % len(ENTRIES)]


def available(entry: Entry) -> Entry:
    """Return the entry, or Kilted on the Python at hand where the machine lacks the entry's."""
    try:
        interpreters.find(entry.python)
    except ProblemError as problem:
        say(f'{problem} Until then: {KILTED}')
        return KILTED
    return entry


def run(entry: Entry, where: List[str], pytest_arguments: List[str]) -> int:
    """Run the suite in the environment of an entry, and return its exit code."""
    environment = [sys.executable, '-m', 'tools.environment', '--ros', entry.distribution, *where]
    environment += ['--with', 'test', '--compiled']
    if entry.python:
        environment += ['--python', entry.python]
    return subprocess.run(
        [*environment, 'python', '-m', 'pytest', *pytest_arguments], cwd=str(ROOT)
    ).returncode


if __name__ == '__main__':
    sys.exit(main())
