"""Run sessions in a row, and look whether anything grows.

    make soak HOURS=2
    make soak HOURS=0.1 ARGS='--task reach --realtime'

Every second session runs in real time, the others at speed. Of each process of a session memory,
file handles and threads are measured once a second; of each session, how long the next plan took
and how many messages a second its recording has. What grows within most sessions, or from the
first to the last one, by more than is allowed is a violation. Rows are kept after each session; a
plot is drawn at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.faults.report import keep_results, print_table
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.recording.bag_reader import BagReader
from tools.domains import claimed_domain

RESULTS = Path(__file__).parent / 'results'
_PERIOD_SEC = 1.0
# A session that takes longer hangs.
MAX_SESSION_SEC = 1800.0
# What may grow from the second half-minute of a session to its end: caches fill.
MAX_GROWTH = {'memory_mib': 60.0, 'handles': 5.0, 'threads': 2.0}
# And from the first to the last session, of the median of all.
MAX_DRIFT_SHARE = {'latency_sec': 0.5, 'messages_per_sec': 0.3, 'memory_mib': 0.2}
_SETTLED_SEC = 30.0

Sample = dict[str, float]


def measure(root: int) -> dict[str, Sample]:
    """Return memory, handles and threads of a process and all that it started, by their names."""
    parents: dict[int, int] = {}
    for entry in Path('/proc').iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int(
                    (entry / 'stat').read_text().rpartition(')')[2].split()[1]
                )
            except (OSError, ValueError, IndexError):
                # It ended in between.
                continue
    found: dict[str, Sample] = {}
    for pid in parents:
        ancestor = pid
        while ancestor in parents and ancestor != root:
            ancestor = parents[ancestor]
        if ancestor != root:
            continue
        try:
            words = Path(f'/proc/{pid}/cmdline').read_bytes().decode().split('\0')
            name = next((w.rpartition('.')[2] for w in words if '.nodes.' in w), 'supervisor')
            status = dict(
                line.split(':', 1)
                for line in Path(f'/proc/{pid}/status').read_text().splitlines()
                if ':' in line
            )
            found[name] = {
                'memory_mib': int(status['VmRSS'].split()[0]) / 1024.0,
                'threads': float(status['Threads']),
                'handles': float(len(list(Path(f'/proc/{pid}/fd').iterdir()))),
            }
        except (OSError, KeyError):
            continue
    return found


def run_session(folder: Path, number: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run one session, and return what was measured of it."""
    is_realtime = options.realtime or number % 2 == 1
    command = [sys.executable, '-m', 'reward_learning_ros.cli', 'session', '--json']
    command += ['--sessions', str(folder), '--study', 'soak', '--task', options.task]
    command += ['--seed', str(options.seed + number)]
    command += ['--realtime'] if is_realtime else []
    began_sec = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    samples: dict[str, list[tuple[float, Sample]]] = defaultdict(list)
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_PERIOD_SEC):
            now_sec = time.monotonic() - began_sec
            for name, sample in measure(process.pid).items():
                samples[name].append((now_sec, sample))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        output, errors = process.communicate(timeout=MAX_SESSION_SEC)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    finally:
        is_over.set()
        watcher.join()
    row: dict[str, Any] = {
        'session': number,
        'realtime': is_realtime,
        'code': process.returncode,
        'duration_sec': time.monotonic() - began_sec,
        'processes': {name: _of_process(each) for name, each in samples.items()},
    }
    if process.returncode:
        return {**row, 'errors': errors[-2000:]}
    summary = json.loads(output)
    latencies = summary['latency_sec']
    return {
        **row,
        'latency_sec': median(latencies) if latencies else None,
        'messages_per_sec': _rate(folder / 'soak' / 'p01' / f'{summary["trial"]:03d}' / 'bag'),
        'faults': len(summary['faults']),
    }


def _of_process(samples: Sequence[tuple[float, Sample]]) -> dict[str, Any]:
    """Return of a process its median and how much each value grew once it had settled."""
    settled = [sample for seconds, sample in samples if seconds > _SETTLED_SEC]
    if len(settled) < 10:
        settled = [sample for _, sample in samples]
    part = max(1, len(settled) // 5)
    found: dict[str, Any] = {}
    for name in MAX_GROWTH:
        values = [sample[name] for sample in settled]
        found[name] = median(values)
        found[f'{name} grew'] = median(values[-part:]) - median(values[:part])
    return found


def _rate(bag: Path) -> float | None:
    try:
        with BagReader(bag) as reader:
            times = [message.time_ns for message in reader.messages()]
    except RewardLearningError:
        return None
    span_sec = (max(times) - min(times)) / 1e9 if len(times) > 1 else 0.0
    return len(times) / span_sec if span_sec else None


def judge(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what failed, what grew within a session, and what drifted from session to session."""
    violations = [
        f'session {row["session"]} ended with code {row["code"]}: {row["errors"][-300:]}'
        for row in rows
        if row['code']
    ]
    done = [row for row in rows if not row['code']]
    names = sorted({name for row in done for name in row['processes']})
    for name in names:
        for value, allowed in MAX_GROWTH.items():
            # One session may be unlucky; what leaks does so in most.
            grown = [
                row['processes'][name][f'{value} grew'] for row in done if name in row['processes']
            ]
            if median(grown) > allowed:
                violations.append(
                    f'{value} of {name} grows by {median(grown):.1f} in a session; allowed: '
                    f'{allowed:g}'
                )
    for is_realtime in (False, True):
        same = [row for row in done if row['realtime'] is is_realtime]
        violations += _drifts(same, 'in real time' if is_realtime else 'at speed')
    return violations


def _drifts(rows: Sequence[Mapping[str, Any]], how: str) -> list[str]:
    found = []
    for name, allowed in MAX_DRIFT_SHARE.items():
        values = [_value(row, name) for row in rows]
        values = [value for value in values if value is not None]
        # Three say nothing about a trend.
        if len(values) < 4:
            continue
        slope = float(np.polyfit(np.arange(len(values)), values, 1)[0])
        drift = slope * (len(values) - 1) / max(abs(median(values)), 1e-9)
        worse = -drift if name == 'messages_per_sec' else drift
        if worse > allowed:
            found.append(f'{name} {how} changes by {drift:+.0%} over {len(values)} sessions')
    return found


def _value(row: Mapping[str, Any], name: str) -> float | None:
    if name == 'memory_mib':
        return float(sum(each['memory_mib'] for each in row['processes'].values()))
    value = row.get(name)
    return None if value is None else float(value)


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw what was measured of each session."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 6.0), layout='constrained')
    names = ('memory_mib', 'latency_sec', 'messages_per_sec')
    for panel, name in zip(
        np.atleast_1d(figure.subplots(len(names), sharex=True)), names, strict=True
    ):
        for is_realtime, label in ((False, 'at speed'), (True, 'real time')):
            points = [
                (row['session'], _value(row, name))
                for row in rows
                if row['realtime'] is is_realtime and _value(row, name) is not None
            ]
            if points:
                panel.plot(*zip(*points, strict=True), 'o-', label=label)
        panel.set_ylabel(name.replace('_', ' '))
        panel.set_ylim(bottom=0.0)
    panel.set_xlabel('session')
    panel.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main(arguments: list[str] | None = None) -> int:
    """Run sessions until the time is over; return 0 only if nothing failed or grew."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.soak',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('--hours', type=float, default=2.0, help='at least one session is run')
    parser.add_argument('--task', default='press')
    parser.add_argument('--realtime', action='store_true', help='all of them')
    parser.add_argument('--seed', type=int, default=0, help='of the first session')
    parser.add_argument('--output', type=Path, default=RESULTS, help='folder of JSON and plot')
    options = parser.parse_args(arguments)
    deadline_sec = time.monotonic() + 3600.0 * options.hours
    rows: list[dict[str, Any]] = []
    path = options.output / 'soak.json'
    with claimed_domain() as domain_id, tempfile.TemporaryDirectory() as folder:
        os.environ['ROS_DOMAIN_ID'] = str(domain_id)
        while not rows or time.monotonic() < deadline_sec:
            rows.append(run_session(Path(folder), len(rows), options))
            print(_line(rows[-1]), flush=True)
            keep_results(path, {'soak': {'rows': rows, 'violations': judge(rows)}})
    table = [
        {'process': name, **rows[-1]['processes'][name]} for name in sorted(rows[-1]['processes'])
    ]
    print_table('processes of the last session', table)
    draw(rows, options.output / 'soak.svg')
    violations = judge(rows)
    print(f'\nkept in {path} and {options.output / "soak.svg"}')
    for violation in violations:
        print(f'VIOLATED: {violation}')
    return 1 if violations else 0


def _line(row: Mapping[str, Any]) -> str:
    how = 'real time' if row['realtime'] else 'at speed'
    text = f'session {row["session"]}, {how}: code {row["code"]}, {row["duration_sec"]:.0f} s'
    for name, unit in (('memory_mib', 'MiB'), ('messages_per_sec', 'messages/s')):
        value = _value(row, name)
        text += '' if value is None else f', {value:.0f} {unit}'
    latency = row.get('latency_sec')
    return text + ('' if latency is None else f', plan after {latency:.2f} s')


if __name__ == '__main__':
    sys.exit(main())
