"""A Dask cluster for tests: a real scheduler and real workers, each a process."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

# Of a machine that is busy with other things.
DEADLINE_SEC = 120.0


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE_SEC
    while not (found := condition()):
        assert time.monotonic() < deadline, 'waited in vain'
        time.sleep(0.01)
    return found


def environment():
    """Return an environment in which modules beside this one can be imported too."""
    others = os.environ.get('PYTHONPATH', '').split(os.pathsep)
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), *others]))
    return {**os.environ, 'PYTHONPATH': path}


def has_ended(process_id):
    """Return whether a process is gone, or waits only for a parent that takes note of it."""
    try:
        words = Path(f'/proc/{process_id}/stat').read_text().rpartition(')')[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return words[0] == 'Z'


class Cluster:
    """A scheduler and workers of its own, each a process; a context manager."""

    def __init__(self, folder, workers):
        self._folder = folder
        self._file = folder / 'scheduler.json'
        self.scheduler = self._start('scheduler', '--port', '0')
        self.workers = [
            self._start('worker', '--nthreads', '1', '--no-nanny', '--name', f'{index}')
            for index in range(workers)
        ]

    def _start(self, kind, *options):
        own = ('--scheduler-file', str(self._file), '--host', '127.0.0.1', '--no-dashboard')
        return subprocess.Popen(
            [sys.executable, '-m', f'distributed.cli.dask_{kind}', *own, *options],
            env=environment(),
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(DEADLINE_SEC)

    @property
    def address(self):
        text = wait_for(lambda: self._file.exists() and self._file.read_text())
        return json.loads(text)['address']
