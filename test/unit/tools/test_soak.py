"""What `make soak` calls growth."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.soak import judge, measure


def row(number, *, memory_mib=100.0, grew=0.0, latency_sec=1.0, rate=3000.0, code=0):
    values = {'memory_mib': memory_mib, 'handles': 20.0, 'threads': 9.0}
    process = {**values, **{f'{name} grew': 0.0 for name in values}, 'handles grew': grew}
    return {
        'session': number,
        'realtime': False,
        'code': code,
        'errors': 'it died',
        'processes': {'session_recorder': process},
        'latency_sec': latency_sec,
        'messages_per_sec': rate,
    }


def test_sessions_that_stay_the_same_are_well():
    assert judge([row(number, latency_sec=1.0 + 0.1 * (number % 2)) for number in range(8)]) == []


@pytest.mark.parametrize(
    ('rows', 'words'),
    [
        ([row(0, code=1)], 'session 0 ended with code 1: it died'),
        ([row(n, grew=9.0) for n in range(5)], 'handles of session_recorder grows by 9.0'),
        ([row(n, latency_sec=1.0 + n) for n in range(5)], 'latency_sec at speed'),
        ([row(n, memory_mib=100.0 + 20.0 * n) for n in range(5)], 'memory_mib at speed'),
        ([row(n, rate=3000.0 - 500.0 * n) for n in range(5)], 'messages_per_sec at speed'),
    ],
)
def test_what_fails_grows_or_slows_down_is_told(rows, words):
    assert any(words in violation for violation in judge(rows))


def test_one_unlucky_session_is_no_leak():
    assert judge([row(n, grew=9.0 if n == 2 else 0.0) for n in range(5)]) == []


def test_all_that_a_process_started_is_measured():
    command = [
        sys.executable,
        '-c',
        'import sys; print(flush=True); sys.stdin.read()',
        'a.nodes.b',
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        found = measure(os.getpid())
        process.stdin.close()
    assert found['b']['memory_mib'] > 1.0
    assert found['b']['handles'] >= 3.0
    assert found['b']['threads'] == 1.0
