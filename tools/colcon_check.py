"""Build and test the package with colcon, outside the tree; run within the environment."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.pins import ROOT

PACKAGE = 'reward_learning_ros'
# colcon is to find and run tests here, a few quick ones; `make test` runs all of them.
TESTS = ('test/unit/package/test_architecture.py', 'test/unit/package/test_packaging.py')


def build_command(bases: Path, source: Path = ROOT) -> list[str]:
    """Return the command that builds and installs under a folder for colcon's output."""
    return [*_colcon(bases, 'build'), *_tree(bases, source)]


def check_commands(bases: Path) -> list[list[str]]:
    """Return the commands of the whole check, in their order."""
    test = [
        *_colcon(bases, 'test'),
        *_tree(bases, ROOT),
        '--return-code-on-test-failure',
        '--event-handlers',
        'console_direct+',
        '--pytest-args',
        *TESTS,
    ]
    result = [*_colcon(bases, 'test-result'), '--test-result-base', str(bases / 'build')]
    return [build_command(bases), test, [*result, '--verbose']]


def main() -> int:
    """Run the check, and return the exit code of the first command that fails."""
    with tempfile.TemporaryDirectory(prefix='colcon-check-') as folder:
        for command in check_commands(Path(folder)):
            print('+ ' + ' '.join(command[2:]), flush=True)
            code = subprocess.run(command, cwd=ROOT, check=False).returncode
            if code:
                return code
    return 0


def _colcon(bases: Path, verb: str) -> list[str]:
    return [sys.executable, '-m', 'colcon', '--log-base', str(bases / 'log'), verb]


def _tree(bases: Path, source: Path) -> list[str]:
    folders = ['--build-base', str(bases / 'build'), '--install-base', str(bases / 'install')]
    return ['--base-paths', str(source), '--packages-select', PACKAGE, *folders]


if __name__ == '__main__':
    sys.exit(main())
