"""Run tests again and again, and print which of them failed how often; run in the environment.

    python -m tools.repeat --times 10 [--load 4] [pytest's arguments]

Busy processes beside the tests, as on a machine that has other things to do, are `--load`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tools.pins import ROOT

# Tests of nodes and of processes: what they do depends on discovery, clocks and the scheduler.
TESTS = (
    'test/nodes',
    'test/system',
    'test/unit/core/test_kernel_cache.py',
    'test/unit/core/test_library.py',
    'test/unit/learning/test_learning_worker.py',
    'test/unit/study/test_ledger.py',
    'test/unit/experiments/test_parallel.py',
    'test/unit/experiments/test_sweep.py',
)
# pytest's codes for tests that passed and for tests that failed; any other is a run that broke.
_RAN = (0, 1)
# Told to do what it cannot, or nothing: it would say the same the next time.
_USELESS = (4, 5)
_INTERRUPTED = 130
# Ends with who started it, even if that one is killed and cannot end it.
_BUSY = 'import os, sys; parent = int(sys.argv[1])\nwhile os.getppid() == parent: pass'


class Tally:
    """What came of the runs so far.

    Attributes:
        ran: How often each test ran.
        failures: How often each test failed.
        broken: Runs that did not come to their end, in words.
    """

    def __init__(self) -> None:
        self.ran: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.broken: list[str] = []

    def add(self, outcomes: dict[str, bool]) -> None:
        """Count the tests of a run, each with whether it failed."""
        self.ran.update(outcomes.keys())
        self.failures.update(name for name, is_failed in outcomes.items() if is_failed)

    @property
    def is_clean(self) -> bool:
        """Whether something ran, and nothing failed or broke."""
        return bool(self.ran) and not self.failures and not self.broken

    def table(self, *, load: int) -> str:
        """Return the tests that failed, most often first, and the sum of it all."""
        runs = max(self.ran.values(), default=0)
        lines = [
            f'{count:4d} of {self.ran[name]}  {name}'
            for name, count in self.failures.most_common()
        ]
        lines += [f'   broken  {text}' for text in self.broken]
        beside = f'{load} busy processes beside' if load else 'nothing beside'
        broken = f', {len(self.broken)} broken runs' if self.broken else ''
        total = f'{sum(self.failures.values())} failures{broken}: {len(self.ran)} tests, '
        return '\n'.join([*lines, f'{total}{runs} times, {beside}'])


def main(arguments: list[str] | None = None) -> int:
    """Run, print the table, and return 0 only if every test passed every time."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.repeat', description=(__doc__ or '').split('\n')[0]
    )
    parser.add_argument('--times', type=_count, default=10, help='how often')
    parser.add_argument('--load', type=int, default=0, help='busy processes beside the tests')
    options, pytest_arguments = parser.parse_known_args(arguments)
    tally = Tally()
    code = _INTERRUPTED
    try:
        with busy(options.load):
            repeat(options.times, pytest_arguments, tally)
        code = 0 if tally.is_clean else 1
    except KeyboardInterrupt:
        tally.broken.append('interrupted')
    print(tally.table(load=options.load), flush=True)
    return code


def repeat(times: int, pytest_arguments: list[str], tally: Tally) -> None:
    """Run the tests so often, and tell of each run."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(times):
            report = Path(folder) / f'{i}.xml'
            started_sec = time.monotonic()
            code = run_once(report, pytest_arguments)
            outcomes = read(report)
            tally.add(outcomes)
            words = f'{sum(outcomes.values())} of {len(outcomes)} failed'
            if code not in _RAN:
                words = f'pytest ended with code {code}, {words} until then'
                tally.broken.append(f'run {i + 1}: {words}')
            taken_sec = time.monotonic() - started_sec
            print(f'run {i + 1} of {times}: {words}, {taken_sec:.0f} s', flush=True)
            if code in _USELESS:
                return


def run_once(report: Path, pytest_arguments: list[str]) -> int:
    """Run the tests, show what failed, and return pytest's exit code."""
    command = [sys.executable, '-m', 'pytest', '-q', '--no-header', f'--junitxml={report}']
    is_told = any(
        not argument.startswith('-') and '/' in argument for argument in pytest_arguments
    )
    done = subprocess.run(
        [*command, *(() if is_told else TESTS), *pytest_arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        print(done.stdout, flush=True)
    return done.returncode


def read(report: Path) -> dict[str, bool]:
    """Return which tests ran, and whether each of them failed; none without a whole report."""
    outcomes: dict[str, bool] = {}
    try:
        cases = list(ElementTree.parse(report).iter('testcase'))
    except (OSError, ElementTree.ParseError):
        return outcomes
    for case in cases:
        if case.find('skipped') is None:
            name = f'{case.get("classname")}::{case.get("name")}'
            is_failed = case.find('failure') is not None or case.find('error') is not None
            outcomes[name] = outcomes.get(name, False) or is_failed
    return outcomes


@contextlib.contextmanager
def busy(count: int) -> Iterator[list[int]]:
    """Keep this many processes busy; gives their ids."""
    command = [sys.executable, '-c', _BUSY, str(os.getpid())]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'{text}: must be 1 or more')
    return number


if __name__ == '__main__':
    sys.exit(main())
