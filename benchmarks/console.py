"""What the console costs: share of a core in a session in real time, by how many pages are open.

Needs Chromium: `python -m benchmarks console`. The arm moves, is pushed and learns all the while.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tools.chromium import chromium
from tools.console_session import ConsoleSession, await_port, console_session

SECONDS = 20.0
# So many pages, and what they may cost, in per cent of a core.
PAGES = {0: None, 1: 15.0, 4: 25.0}
_SESSION = ('--realtime', '--seed', '3', '--max-passes', '100', '--participant-beta', '5')


def run() -> dict[str, Any]:
    """Measure, print a table, and return the numbers."""
    results: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        console_session(Path(folder), *_SESSION) as session,
        chromium() as browser,
    ):
        await_port(session.operator)
        context = browser.new_context(viewport={'width': 1440, 'height': 900})
        context.set_default_timeout(120_000.0)
        opened = 0
        for count, allowed in PAGES.items():
            for _ in range(count - opened):
                page = context.new_page()
                page.goto(session.operator)
                page.wait_for_selector('.rl-banner[data-light=moving]')
            opened = count
            wanted = '' if allowed is None else f' (at most {allowed:g} wanted)'
            name = f'{count} pages open: % of a core{wanted}'
            results[name] = _core_percent(session)
            print(f'{name:<60} {results[name]:.1f}', flush=True)
    results['seconds each'] = SECONDS
    return results


def _core_percent(session: ConsoleSession) -> float:
    """Return which share of a core the console takes for a while."""
    process = session.console_process()
    assert process is not None, 'the console is not there'
    before_sec, started_sec = _processor_sec(process), time.monotonic()
    time.sleep(SECONDS)
    took_sec = time.monotonic() - started_sec
    return 100.0 * (_processor_sec(process) - before_sec) / took_sec


def _processor_sec(process: int) -> float:
    # The name of the process, in brackets, may hold anything.
    fields = Path(f'/proc/{process}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf('SC_CLK_TCK')
