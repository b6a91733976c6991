"""The shell around every node: start, spin, end cleanly, and say in one line what is wrong."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.exceptions import NotInitializedException
from rclpy.executors import (
    Executor,
    ExternalShutdownException,
    MultiThreadedExecutor,
    SingleThreadedExecutor,
)
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions, uninstall_signal_handlers
from std_msgs.msg import String

from reward_learning_ros.core.errors import (
    InvalidInputError,
    RewardLearningError,
    UnknownNameError,
)
from reward_learning_ros.nodes import names

EXIT_SUCCESS = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2

# How long a spin waits before it looks whether the context still lives.
_SPIN_SEC = 1.0

# The error of rcl, the C library below; rclpy gives it no public name.
_RCLError = rclpy_implementation.RCLError

ExecutorFactory = Callable[[Context], Executor]


class NodeFinished(Exception):  # noqa: N818 - it is not an error
    """Raised in a callback of a node that has done its work: ends the process with a code.

    EventsExecutor logs every exception of a callback, this one too, before it passes it on.
    """

    def __init__(self, exit_code: int = EXIT_SUCCESS) -> None:
        self.exit_code = exit_code
        super().__init__(f'finished with exit code {exit_code}')


def run(
    build: Callable[[Context], Node],
    arguments: Sequence[str] | None = None,
    *,
    make_executor: ExecutorFactory | None = None,
) -> int:
    """Build a node, spin it until it is told to end, and return the exit code of the process.

    Ctrl-C, SIGTERM and a shutdown from outside are the ordinary ways to end: code 0, no
    traceback. An error that we raise on purpose is printed as one line: code 2 if the
    configuration is wrong, else 1. Any other exception is a bug and keeps its traceback.

    Args:
        build: Makes the node in the context that it is given.
        arguments: Command line, by default that of the process.
        make_executor: Makes the executor; by default a SingleThreadedExecutor.
    """
    context = Context()
    with _interrupts_until_spinning() as interrupts:
        try:
            _initialize(context, arguments)
            _spin(build, context, make_executor or single_threaded_executor, interrupts)
        except NodeFinished as finished:
            return finished.exit_code
        except (KeyboardInterrupt, ExternalShutdownException):
            return EXIT_SUCCESS
        except (_RCLError, NotInitializedException):
            # A signal ends the context at any moment, also in the middle of a spin or of a
            # callback that publishes; what rcl then says about it is no error.
            if context.ok():
                raise
        except RewardLearningError as error:
            print(f'{Path(sys.argv[0]).name}: error: {error}', file=sys.stderr)  # noqa: T201
            return EXIT_USAGE if isinstance(error, InvalidInputError) else EXIT_FAILURE
        finally:
            context.try_shutdown()
            uninstall_signal_handlers()
    return EXIT_SUCCESS


class _Interrupts:
    """Whether Ctrl-C raises KeyboardInterrupt, besides ending the context."""

    def __init__(self) -> None:
        self.raising = True

    def __call__(self, number: int, frame: object) -> None:
        if self.raising:
            raise KeyboardInterrupt


@contextlib.contextmanager
def _interrupts_until_spinning() -> Iterator[_Interrupts]:
    """Let Ctrl-C interrupt the building of a node, but no callback.

    While it spins, the end of the context is enough; a KeyboardInterrupt in some callback would
    be reported by the executor as the fault of that callback. rclpy's handler calls the one that
    it found, so ours must be there first.
    """
    interrupts = _Interrupts()
    before = signal.signal(signal.SIGINT, interrupts)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def _initialize(context: Context, arguments: Sequence[str] | None) -> None:
    try:
        rclpy.init(
            args=None if arguments is None else list(arguments),
            context=context,
            signal_handler_options=SignalHandlerOptions.ALL,
        )
    except _RCLError as error:
        # `--ros-args` that it cannot read.
        raise InvalidInputError(' '.join(str(error).split())) from error


def _spin(
    build: Callable[[Context], Node],
    context: Context,
    make_executor: ExecutorFactory,
    interrupts: _Interrupts,
) -> None:
    with contextlib.ExitStack() as stack:
        node = build(context)
        # Destroyed while its context lives: what it publishes last still reaches the others.
        stack.callback(node.destroy_node)
        executor = make_executor(context)
        stack.callback(executor.shutdown)
        executor.add_node(node)
        interrupts.raising = False
        # Not executor.spin(): that of EventsExecutor runs no callback in Jazzy and Kilted.
        while context.ok():
            executor.spin_once(timeout_sec=_SPIN_SEC)


def single_threaded_executor(context: Context) -> Executor:
    """Return the executor for almost every node: one callback at a time."""
    return SingleThreadedExecutor(context=context)


def multi_threaded_executor(context: Context) -> Executor:
    """Return an executor for a node whose callbacks wait for others; costs twice as much."""
    return MultiThreadedExecutor(context=context)


def events_executor(context: Context) -> Executor:
    """Return the executor for 1 kHz topics, a third of the cost; where missing, the ordinary one.

    Humble does not have it.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return single_threaded_executor(context)
    return EventsExecutor(context=context)


EXECUTORS: dict[str, ExecutorFactory] = {
    'single_threaded': single_threaded_executor,
    'multi_threaded': multi_threaded_executor,
    'events': events_executor,
}


def executor_named(name: str) -> ExecutorFactory:
    """Return what makes the executor of a name in `EXECUTORS`.

    Raises:
        UnknownNameError: There is none of that name.
    """
    try:
        return EXECUTORS[name]
    except KeyError:
        raise UnknownNameError('executor', name, EXECUTORS) from None


# On the steady clock: simulated time stands still while the simulation is away.
_PERIOD_SEC = 0.5


class Heartbeat:
    """Publishes a heartbeat; a node whose callbacks hang stops publishing it."""

    def __init__(self, node: Node) -> None:
        self._publisher = node.create_publisher(
            String, names.HEARTBEAT_TOPIC, names.DIAGNOSTICS_QOS
        )
        # With which start of it: one that died and came back was away, however briefly.
        self._message = String(data=f'{node.get_name()} {os.getpid()}.{time.monotonic_ns()}')
        node.create_timer(_PERIOD_SEC, self.beat, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def beat(self) -> None:
        """Say it now."""
        self._publisher.publish(self._message)


class HeartbeatWatch:
    """Watches the heartbeats of the nodes that must be alive."""

    def __init__(self, node: Node, watched: Sequence[str], timeout_sec: float) -> None:
        self._timeout_sec = timeout_sec
        self._heard_sec = dict.fromkeys(watched, -float('inf'))
        self._starts: dict[str, str] = {}
        if watched:
            node.create_subscription(
                String, names.HEARTBEAT_TOPIC, self._on_beat, names.DIAGNOSTICS_QOS
            )

    def _on_beat(self, message: String) -> None:
        name, _, start = message.data.partition(' ')
        if name not in self._heard_sec:
            return
        is_same = self._starts.get(name, start) == start
        self._starts[name] = start
        # Another start of it counts from its second beat on, so that it is missed once.
        self._heard_sec[name] = time.monotonic() if is_same else -float('inf')

    @property
    def missing(self) -> tuple[str, ...]:
        """The nodes that were not heard lately."""
        oldest = time.monotonic() - self._timeout_sec
        return tuple(name for name, heard in self._heard_sec.items() if heard < oldest)


def raise_priority(priority: int) -> str | None:
    """Give every thread of this process a real-time priority, and spare it long collections.

    Threads that are made later inherit it from the one that makes them.

    Args:
        priority: 1 to 99; ros2_control takes 50 by default.

    Returns:
        Why that was not allowed; None if it was.
    """
    # What was made so far lives as long as the process: a full collection need not look at it.
    gc.collect()
    gc.freeze()
    try:
        for thread in Path('/proc/self/task').iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(int(thread.name), os.SCHED_RR, os.sched_param(priority))
    except (AttributeError, OSError) as error:
        return str(error)
    return None
