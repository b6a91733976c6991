"""How fast recordings are written, read and searched for corrections, and with how much memory.

Run it with `python -m benchmarks bags`; times are processor time of one core.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'test'))

from helpers.bag_making import write_session
from helpers.sensing_scenarios import PLAN, recording

from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.redetection import RedetectionParameters, redetect
from reward_learning_ros.recording.session_topics import SessionTopics
from reward_learning_ros.sensing.synthetic import random_pushes

MINUTES = 5.0
# What the search for corrections needs, in a process of its own: its greatest memory.
_MEMORY = """
import sys
from pathlib import Path
from reward_learning_ros.recording.bag_reader import BagReader
from reward_learning_ros.recording.redetection import RedetectionParameters, redetect
from reward_learning_ros.recording.session_topics import SessionTopics
with BagReader(Path(sys.argv[1])) as bag:
    redetect(bag, SessionTopics(bag.path, bag.topics, {}), RedetectionParameters())
status = Path("/proc/self/status").read_text()
print(status.split("VmHWM:")[1].split()[0])
"""


def run() -> dict[str, float]:
    """Measure everything, print a table and return it by name."""
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for compression in ('none', 'zstd'):
            path = Path(folder) / compression
            started = time.process_time()
            messages = make_bag(path, MINUTES, compression)
            results[f'made and written, {compression}, s'] = time.process_time() - started
            size = sum(file.stat().st_size for file in path.glob('*.mcap'))
            results[f'size, {compression}, MiB'] = size / 2**20
            results |= reading(path, compression)
        results['messages'] = float(messages)
        for minutes in (1.0, MINUTES):
            path = Path(folder) / f'minutes_{minutes:g}'
            make_bag(path, minutes, 'zstd')
            output = subprocess.run(
                [sys.executable, '-c', _MEMORY, str(path)],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            results[f'greatest memory, {minutes:g} min, MiB'] = float(output) / 1024
    width = max(map(len, results))
    for name, value in results.items():
        print(f'{name:<{width}}  {value:12.4g}')
    return results


def make_bag(path: Path, minutes: float, compression: str) -> int:
    """Write a bag of three topics at 1 kHz in which a person pushes now and then."""
    pushes = random_pushes(round(12 * minutes), rng=np.random.default_rng(25))
    made = recording(60.0 * minutes, *pushes, seed=26)
    write_session(path, made, PLAN, compression=compression)
    return 3 * len(made.time_ns)


def reading(path: Path, compression: str) -> dict[str, float]:
    """Time the reading alone, and with the search for corrections."""
    parameters = RedetectionParameters()
    with BagReader(path) as bag:
        # Compiled code is loaded by the first call.
        next(bag.blocks(list(bag.topics)))
    started = time.process_time()
    with BagReader(path) as bag:
        for _ in bag.blocks(list(bag.topics)):
            pass
    read = time.process_time() - started
    started = time.process_time()
    with BagReader(path) as bag:
        found = redetect(bag, SessionTopics(bag.path, bag.topics, {}), parameters)
    return {
        f'read, {compression}, s': read,
        f'read and re-detected, {compression}, s': time.process_time() - started,
        f'corrections found, {compression}': float(len(found.corrections)),
    }


if __name__ == '__main__':
    run()
