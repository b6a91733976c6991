"""Try the two commands of the README as a new user does, again and again, and print a table.

    python3 -m tools.fresh --times 10

Each time: a new clone of what is committed here, in a new folder with an empty HOME; `make
session`, `make test`, and nothing that git would call changed. The folders are removed; of a run
that failed, the words are kept.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional

from tools.pins import ROOT

# What a new user's shell has; anything else could be what makes it work only here.
KEPT = ('PATH', 'LANG', 'LC_ALL', 'TERM', 'TMPDIR', 'SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE')
KEPT_BEGINNINGS = ('PIP_', 'HTTP_', 'HTTPS_', 'NO_PROXY', 'http_', 'https_', 'no_proxy')
STEPS = (
    ('session', ['make', 'session']),
    ('test', ['make', 'test']),
    ('clean', ['git', 'status', '--porcelain']),
)


class Run(NamedTuple):
    """What came of one clone: what each step took, and what went wrong in the last of them."""

    seconds: Dict[str, float]
    problem: str

    def row(self, number: int) -> str:
        """Return a line of the table."""
        times = [
            f'{self.seconds[name]:7.0f} s' if name in self.seconds else '        -'
            for name in ('session', 'test')
        ]
        return f'{number:4d}  {"  ".join(times)}  {self.problem or "passed"}'


def main(arguments: Optional[List[str]] = None) -> int:
    """Run so often, print the table, and return 0 only if all was well every time."""
    parser = argparse.ArgumentParser(
        prog='python3 -m tools.fresh', description=(__doc__ or '').split('\n')[0]
    )
    parser.add_argument('--times', type=int, default=10, help='how often')
    parser.add_argument('--logs', default='fresh-logs', help='folder for the words of failures')
    options = parser.parse_args(arguments)
    runs: List[Run] = []
    is_cut_short = False
    try:
        for i in range(options.times):
            runs.append(try_once(Path(options.logs) / f'{i + 1}.log'))
            print(f'run {i + 1} of {options.times}: {runs[-1].row(i + 1).strip()}', flush=True)
    except KeyboardInterrupt:
        is_cut_short = True
    print(table(runs))
    return 1 if is_cut_short or any(run.problem for run in runs) else 0


def try_once(log: Path) -> Run:
    """Clone, run the commands, and remove everything but the log of a failure."""
    seconds: Dict[str, float] = {}
    folder = Path(tempfile.mkdtemp(prefix='fresh-'))
    try:
        home, clone = folder / 'home', folder / 'clone'
        home.mkdir()
        variables = new_user(home)
        for name, words in (('clone', ['git', 'clone', '-q', str(ROOT), str(clone)]), *STEPS):
            started_sec = time.monotonic()
            done = subprocess.run(
                words,
                cwd=str(clone if clone.exists() else folder),
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            seconds[name] = time.monotonic() - started_sec
            # git tells of changes by its output, not by its code.
            if done.returncode or (name == 'clean' and done.stdout):
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_bytes(done.stdout)
                return Run(seconds, f'FAILED: {" ".join(words)} ({log})')
        return Run(seconds, '')
    finally:
        shutil.rmtree(str(folder), ignore_errors=True)


def new_user(home: Path) -> Dict[str, str]:
    """Return the variables of a shell in which nothing was set up; how to reach an index stays."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or name.startswith(KEPT_BEGINNINGS)
    }
    # A venv that is active here would be one there too.
    own = os.environ.get('VIRTUAL_ENV')
    folders = kept.get('PATH', os.defpath).split(os.pathsep)
    kept['PATH'] = os.pathsep.join(path for path in folders if not own or not path.startswith(own))
    kept['HOME'] = str(home)
    return kept


def table(runs: List[Run]) -> str:
    """Return a line for each run, and the sum of it all."""
    lines = [' run    session       test']
    lines += [run.row(i + 1) for i, run in enumerate(runs)]
    passed = sum(not run.problem for run in runs)
    return '\n'.join([*lines, f'{passed} of {len(runs)} passed'])


if __name__ == '__main__':
    sys.exit(main())
