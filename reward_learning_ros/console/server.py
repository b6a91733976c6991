"""Serves the pages: NiceGUI in this thread, ROS in another, the gate before everything."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from pathlib import Path

# NiceGUI makes a folder for what it would keep, which is nothing: not where the user works.
os.environ.setdefault('NICEGUI_STORAGE_PATH', str(Path(tempfile.gettempdir()) / 'nicegui-unused'))

import uvicorn
from fastapi import FastAPI
from nicegui import ui
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation

from reward_learning_ros.console.access import Role, Tokens, address_of, open_tokens, token_file_of
from reward_learning_ros.console.console_node import ConsoleNode
from reward_learning_ros.console.pages import add_pages
from reward_learning_ros.console.security import Gate
from reward_learning_ros.core.errors import RewardLearningError
from reward_learning_ros.nodes.running import events_executor
from reward_learning_ros.session.node_parameters import ConsoleParameters

# Ctrl-C ends everything within five seconds, open pages too.
_SHUTDOWN_SEC = 1
_SPIN_SEC = 0.2
# A page that was not heard for so long is built again; a busy machine is late by seconds.
_RECONNECT_SEC = 15.0
# The error of rcl, the C library below; rclpy gives it no public name.
RCLError = rclpy_implementation.RCLError


def serve(node: ConsoleNode, context: Context) -> None:
    """Serve the pages of a node until somebody ends it.

    Raises:
        RewardLearningError: The port is taken, or a file of the tokens or of TLS cannot be used.
    """
    config = node.config
    tokens = open_tokens(token_file_of(config))
    listener = _listener(config)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    add_pages(node)
    ui.run_with(
        app,
        title='reward learning',
        reconnect_timeout=_RECONNECT_SEC,
        show_welcome_message=False,
        # Our own styles: nothing is compiled in the browser.
        tailwind=False,
    )
    server = uvicorn.Server(
        uvicorn.Config(
            Gate(app, config, tokens),
            log_level='warning',
            access_log=False,
            # Behind no proxy: nobody may say that he is somebody else.
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_SHUTDOWN_SEC,
            ssl_certfile=config.tls_certificate or None,
            ssl_keyfile=config.tls_key or None,
        )
    )
    spinning = threading.Thread(
        target=_spin, args=(node, context, server), name='ros', daemon=True
    )
    spinning.start()
    _print_addresses(config, tokens)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        # uvicorn raises it again once all is closed: it is the ordinary way to end.
        pass
    finally:
        context.try_shutdown()
        spinning.join(_SHUTDOWN_SEC)


def _spin(node: ConsoleNode, context: Context, server: uvicorn.Server) -> None:
    executor = events_executor(context)
    executor.add_node(node)
    try:
        while context.ok():
            executor.spin_once(timeout_sec=_SPIN_SEC)
    except (ExternalShutdownException, RCLError):
        # The end of the context shows in the middle of a spin.
        if context.ok():
            raise
    finally:
        # Without ROS the page would show an old truth.
        server.should_exit = True


def _listener(config: ConsoleParameters) -> socket.socket:
    """Return a socket that listens, or say that the port is taken before anything starts."""
    family = socket.AF_INET6 if ':' in config.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((config.host, config.port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise RewardLearningError(
            f'{config.host}:{config.port} cannot be listened on: {error.strerror}; another '
            'console may be running, or take another --port'
        ) from error
    return listener


def _print_addresses(config: ConsoleParameters, tokens: Tokens) -> None:
    lines = [
        f'console: {address_of(config, tokens, Role.OPERATOR)}',
        f'for the participant: {address_of(config, tokens, Role.PARTICIPANT)}',
    ]
    if not config.is_local and config.insecure:
        lines.append('without TLS: everybody on this network can read these addresses')
    print(*lines, sep='\n', flush=True)  # noqa: T201
