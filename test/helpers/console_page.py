"""A process of the console, and a page of Chromium that opens it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

from helpers.domains import claimed_domain

# Generous: it is only ever waited for in full by a test that fails.
DEADLINE_SEC = 90.0


# A task with a short way: its pass takes few seconds also where the arm is in real time.
QUICK_TASK = """
duration_sec: 6.0
plan: {start: [0.4, -0.15, 0.4], end: [0.55, 0.15, 0.4], waypoints: 6}
space:
  delta_low: [-0.1, -0.1, -0.1]
  delta_high: [0.1, 0.1, 0.1]
  workspace_low: [0.35, -0.25, 0.3]
  workspace_high: [0.6, 0.25, 0.5]
features:
  - {name: low, primitive: height, scale: -1.0, offset: 0.3}
  - {name: short, primitive: path_length, squared: true, scale: -1.0}
presets: {low: [0.9, 0.4]}
scene:
  - {name: shelf, shape: box, role: goal, position: [0.6, 0.2, 0.2], size: [0.1, 0.1, 0.2]}
"""


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
            'REWARD_LEARNING_TASKS': str(folder / 'tasks'),
        }
        self.sessions = folder / 'sessions'
        (folder / 'tasks').mkdir()
        (folder / 'tasks' / 'quick.yaml').write_text(QUICK_TASK)
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

    def processes(self):
        """Return the command line of each process that this console started, or that is it."""
        mark = f'XDG_RUNTIME_DIR={self.environment["XDG_RUNTIME_DIR"]}'.encode()
        found = {}
        for entry in os.listdir('/proc'):
            if not entry.isdigit():
                continue
            try:
                with open(f'/proc/{entry}/environ', 'rb') as file:
                    is_ours = mark in file.read().split(b'\0')
                with open(f'/proc/{entry}/cmdline', 'rb') as file:
                    words = file.read().decode().split('\0')
            except OSError:
                continue
            if is_ours and words != ['']:
                found[int(entry)] = ' '.join(words)
        return found

    def kill(self, node):
        """Kill a node of the session that runs beside it."""
        module = f'reward_learning_ros.nodes.{node} '
        (pid,) = (pid for pid, command in self.processes().items() if module in command)
        os.kill(pid, signal.SIGKILL)

    def close(self):
        """End it, and whatever it started."""
        self.end()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def begin(self, *words):
        """Start a command of this package beside it; it ends with it."""
        subprocess.Popen(
            [sys.executable, '-m', 'reward_learning_ros.cli', *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def end(self, number=signal.SIGTERM):
        """End it with a signal; return how long that took."""
        started_sec = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(timeout=60.0)
        self.process.stdout.close()
        return time.monotonic() - started_sec


@contextlib.contextmanager
def running_console(folder):
    """Start a console in a domain of its own; end it afterwards."""
    with claimed_domain() as domain:
        made = Console(folder, domain)
        try:
            yield made
        finally:
            made.close()


@contextlib.contextmanager
def open_page(browser):
    """Open a page that notes its errors, and each request that is not for this machine."""
    context = browser.new_context(viewport={'width': 1440, 'height': 900})
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
