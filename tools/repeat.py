"""Run tests again and again, and print which of them failed how often; run in the environment.

    python -m tools.repeat --times 10 [--load 4] [pytest's arguments]

Busy processes beside the tests, as on a machine that has other things to do, are `--load`.
"""

from __future__ import annotations

import argparse
import contextlib
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
TESTS = ('test/nodes', 'test/system')
# pytest's codes for tests that passed and for tests that failed; any other is a run that broke.
_RAN = (0, 1)


def main(arguments: list[str] | None = None) -> int:
    """Run, print the table, and return 0 only if every test passed every time."""
    parser = argparse.ArgumentParser(
        prog='python -m tools.repeat', description=(__doc__ or '').split('\n')[0]
    )
    parser.add_argument('--times', type=_count, default=10, help='how often')
    parser.add_argument('--load', type=int, default=0, help='busy processes beside the tests')
    options, pytest_arguments = parser.parse_known_args(arguments)
    failures: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    with busy(options.load), tempfile.TemporaryDirectory() as folder:
        for i in range(options.times):
            report = Path(folder) / f'{i}.xml'
            started_sec = time.monotonic()
            code = run_once(report, pytest_arguments)
            if code not in _RAN:
                print(f'run {i + 1} of {options.times} broke: pytest ended with code {code}')
                return code
            outcomes = read(report)
            ran.update(outcomes.keys())
            failures.update(name for name, is_failed in outcomes.items() if is_failed)
            print(
                f'run {i + 1} of {options.times}: {sum(outcomes.values())} of {len(outcomes)} '
                f'failed, {time.monotonic() - started_sec:.0f} s',
                flush=True,
            )
    print(table(failures, ran, load=options.load))
    return 1 if failures else 0


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
    """Return which tests ran, and whether each of them failed."""
    outcomes: dict[str, bool] = {}
    for case in ElementTree.parse(report).iter('testcase'):
        if case.find('skipped') is None:
            name = f'{case.get("classname")}::{case.get("name")}'
            is_failed = case.find('failure') is not None or case.find('error') is not None
            outcomes[name] = outcomes.get(name, False) or is_failed
    return outcomes


def table(failures: Counter[str], ran: Counter[str], *, load: int) -> str:
    """Return the tests that failed, most often first, and the sum of it all."""
    runs = max(ran.values(), default=0)
    lines = [f'{count:4d} of {ran[name]}  {name}' for name, count in failures.most_common()]
    beside = f'{load} busy processes beside' if load else 'nothing beside'
    total = f'{sum(failures.values())} failures: {len(ran)} tests, {runs} times, {beside}'
    return '\n'.join([*lines, total])


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep this many processes busy."""
    processes = [
        subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(count)
    ]
    try:
        yield
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
