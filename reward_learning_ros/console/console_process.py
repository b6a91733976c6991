"""The process of the console: its node, its pages, its end."""

from __future__ import annotations

import importlib.util
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from reward_learning_ros.core.errors import (
    InvalidInputError,
    MissingExtraError,
    RewardLearningError,
)

EXIT_SUCCESS = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2


def require_nicegui() -> None:
    """Raise `MissingExtraError` unless NiceGUI is installed.

    Raises:
        MissingExtraError: NiceGUI is not installed.
    """
    if importlib.util.find_spec('nicegui') is None:
        raise MissingExtraError('nicegui', 'console', 'the console')


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the console until it is told to end, and return the exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        run(arguments)
    except KeyboardInterrupt:
        return EXIT_SUCCESS
    except RewardLearningError as error:
        print(f'console: error: {error}', file=sys.stderr)  # noqa: T201
        return EXIT_USAGE if isinstance(error, InvalidInputError) else EXIT_FAILURE
    return EXIT_SUCCESS


def run(arguments: Sequence[str] | None = None) -> None:
    """Serve the console until it is told to end.

    Args:
        arguments: Command line of the node, by default that of the process.

    Raises:
        RewardLearningError: A parameter is refused, or the port is taken.
        MissingExtraError: NiceGUI is not installed.
    """
    require_nicegui()
    import rclpy
    from rclpy.context import Context
    from rclpy.signals import SignalHandlerOptions

    from reward_learning_ros.console.console_node import ConsoleNode
    from reward_learning_ros.console.server import serve

    context = Context()
    rclpy.init(
        args=None if arguments is None else list(arguments),
        context=context,
        # The server of the pages is told of Ctrl-C, and ends both.
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        node = ConsoleNode(context=context)
        try:
            serve(node, context)
        finally:
            node.destroy_node()
    finally:
        context.try_shutdown()


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
