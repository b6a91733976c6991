"""A console of its own for each test, and a page of Chromium that opens it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from helpers.domains import claimed_domain
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
)
# Generous: it is only ever waited for in full by a test that fails.
DEADLINE_SEC = 120.0


def pytest_collection_modifyitems(items):
    for item in items:
        if 'browser' not in item.path.parts:
            continue
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.timeout(600))
        if CHROMIUM is None:
            reason = 'there is no Chromium: `apt-get install chromium`'
            item.add_marker(pytest.mark.skip(reason=reason))


class Console:
    """A process of the console.

    Attributes:
        address: of the operator's page, with its token.
        participant: of the participant's page.
        root: the address without page and token.
        process: the process.
    """

    def __init__(self, folder, domain):
        # The tokens are kept there, and no other console's are used.
        self.environment = {
            **os.environ,
            'ROS_DOMAIN_ID': str(domain),
            'XDG_RUNTIME_DIR': str(folder),
        }
        self.sessions = folder / 'sessions'
        with socket.create_server(('127.0.0.1', 0)) as probe:
            self.port = probe.getsockname()[1]
        self.root = f'http://127.0.0.1:{self.port}'
        self.start()

    def start(self):
        """Start it, or start it again, and wait until it listens."""
        command = [sys.executable, '-m', 'reward_learning_ros.cli', 'console']
        command += ['--port', str(self.port), '--sessions', str(self.sessions)]
        self.process = subprocess.Popen(
            command,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        lines = [self.process.stdout.readline() for _ in range(2)]
        assert lines[0].startswith('console: http'), lines
        self.address = lines[0].split()[-1]
        self.participant = lines[1].split()[-1]

    def run(self, *words):
        """Run a command of this package beside it and return what it printed."""
        command = [sys.executable, '-m', 'reward_learning_ros.cli', *words]
        done = subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SEC,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end(self, number=signal.SIGTERM):
        """End it with a signal; return how long that took."""
        started_sec = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(timeout=60.0)
        self.process.stdout.close()
        return time.monotonic() - started_sec


@pytest.fixture
def console(tmp_path):
    with claimed_domain() as domain:
        made = Console(tmp_path, domain)
        try:
            yield made
        finally:
            made.end()


@pytest.fixture(scope='module')
def chromium():
    # While Playwright is open its event loop runs in this thread, and no other one can: it must be
    # closed before the same process runs other tests.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A page that notes its errors, and each request that is not for this machine."""
    context = chromium.new_context(viewport={'width': 1440, 'height': 900})
    opened = context.new_page()
    opened.set_default_timeout(DEADLINE_SEC * 1000.0)
    opened.errors, opened.foreign = [], []
    opened.on('pageerror', lambda error: opened.errors.append(str(error)))

    def note(request):
        if not request.url.startswith(('http://127.0.0.1', 'data:', 'blob:')):
            opened.foreign.append(request.url)

    opened.on('request', note)
    yield opened
    context.close()
