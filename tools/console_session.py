"""A session with its console, and pages of Chromium that show it: to film and to measure."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.domains import claimed_domain
from tools.pins import ROOT

_CONSOLE = 'reward_learning_ros.console'


@dataclass(frozen=True, kw_only=True)
class ConsoleSession:
    """A running session.

    Attributes:
        operator: address of the operator's page, with its token.
        participant: of the participant's page.
        process: that was started; it ends with the session.
    """

    operator: str
    participant: str
    process: subprocess.Popen[bytes]

    def console_process(self) -> int | None:
        """Return the id of the process that serves the pages; None while there is none."""
        found = subprocess.run(
            ['pgrep', '-P', str(self.process.pid), '-f', _CONSOLE],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        return int(found[0]) if found else None


@contextlib.contextmanager
def console_session(folder: Path, *options: str) -> Iterator[ConsoleSession]:
    """Start `reward_learning session --console` with further options; end it afterwards."""
    from reward_learning_ros.console.access import Role, address_of, open_tokens
    from reward_learning_ros.session.node_parameters import ConsoleParameters

    with socket.create_server(('127.0.0.1', 0)) as probe:
        port = probe.getsockname()[1]
    tokens = open_tokens(folder / 'reward_learning_ros' / 'console_tokens.json')
    config = ConsoleParameters(port=port)
    with claimed_domain() as domain, (folder / 'session.log').open('wb') as log:
        process = subprocess.Popen(
            [
                *(sys.executable, '-m', 'reward_learning_ros.cli', 'session', '--console'),
                *('--console-port', str(port), *options),
            ],
            cwd=folder,
            env={
                **os.environ,
                'ROS_DOMAIN_ID': str(domain),
                'PYTHONPATH': str(ROOT),
                # Where it finds the tokens from above.
                'XDG_RUNTIME_DIR': str(folder),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield ConsoleSession(
                operator=address_of(config, tokens, Role.OPERATOR),
                participant=address_of(config, tokens, Role.PARTICIPANT),
                process=process,
            )
        finally:
            process.terminate()
            process.wait()


def await_port(address: str, seconds: float = 60.0) -> None:
    """Wait until somebody listens at an address.

    Raises:
        TimeoutError: Nobody does.
    """
    import time
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            socket.create_connection((parts.hostname or '', parts.port or 0), 1.0).close()
            return
        time.sleep(0.1)
    raise TimeoutError(f'nobody listens at {parts.netloc}')
