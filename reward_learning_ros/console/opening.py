"""Opens the page of a console in the browser of who started it, where there is one."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path

from reward_learning_ros.console.access import Role, address_of, open_tokens, token_file_of
from reward_learning_ros.parameters import from_mapping, mapping_from_file
from reward_learning_ros.session.node_parameters import CONSOLE, ConsoleParameters
from reward_learning_ros.session.session_parameters import SessionParameters

# A console on a busy machine takes some seconds until it listens.
_PATIENCE_SEC = 60.0
_PERIOD_SEC = 0.3
_SCREENS = ('DISPLAY', 'WAYLAND_DISPLAY')


def open_console(session: SessionParameters) -> list[str]:
    """Open the page of a session's console as soon as it is there; return what to tell of it.

    Raises:
        InvalidInputError: The file of the tokens cannot be used.
    """
    values = {'port': session.console_port}
    if session.parameters_file:
        file = Path(session.parameters_file)
        values |= mapping_from_file(ConsoleParameters, file, node=CONSOLE)
    config = from_mapping(ConsoleParameters, values)
    tokens = open_tokens(token_file_of(config))
    address = address_of(config, tokens, Role.OPERATOR)
    open_when_there(config, address)
    return [
        f'console: {address}',
        f'for the participant: {address_of(config, tokens, Role.PARTICIPANT)}',
    ]


def open_when_there(config: ConsoleParameters, address: str) -> None:
    """Open an address once its port listens; not where nobody would see it."""
    if not sys.stdout.isatty() or not any(os.environ.get(name) for name in _SCREENS):
        return

    def wait_and_open() -> None:
        deadline = time.monotonic() + _PATIENCE_SEC
        while time.monotonic() < deadline:
            with (
                contextlib.suppress(OSError),
                socket.create_connection((config.host, config.port), timeout=_PERIOD_SEC),
            ):
                webbrowser.open(address)
                return
            time.sleep(_PERIOD_SEC)

    threading.Thread(target=wait_and_open, name='browser', daemon=True).start()
