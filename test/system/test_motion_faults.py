"""A short `make faults ARGS=motion` against real processes, judged by measured velocities."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEADLINE_SEC = 500.0


def run_faults(folder, *options):
    """Run a campaign and return its results; it must find nothing violated."""
    command = [sys.executable, '-m', 'benchmarks.faults', 'motion', '--output', str(folder)]
    done = subprocess.run(
        [*command, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SEC,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return json.loads((folder / 'faults_motion.json').read_text(encoding='utf-8'))


@pytest.mark.timeout(600)
def test_an_order_of_events_does_not_move_the_arm_without_consent(tmp_path):
    results = run_faults(tmp_path, '--only', 'consent', '--orders', '2', '--seed', '9')
    assert results['consent']['seconds of motion'] > 1.0
    assert results['consent']['unwanted motions'] == []


@pytest.mark.timeout(600)
def test_a_fault_in_mid_motion_brings_the_arm_to_rest(tmp_path):
    faults = ('kill -9 playback', 'user stop')
    results = run_faults(tmp_path, '--only', 'holds', '--minutes', '0', '--faults', *faults)
    rows = results['holds']['faults']
    assert [row['fault'] for row in rows] == list(faults)
    # It moved after the fault, else it was not in mid-motion.
    assert all(0.0 < row['max, s'] <= row['bound, s'] for row in rows), rows
