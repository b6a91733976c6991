"""Nodes under test in processes of their own, and an operator who measures how the arm moves."""

from __future__ import annotations

import os
import signal
import time
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from reward_learning_ros.arm.description import FR3, RobotMode
from reward_learning_ros.interface import (
    PlaybackStatus,
    WrenchReading,
    diagnostic_from_message,
    playback_status_from_message,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import wrench_reading_to_message
from reward_learning_ros.nodes.polling import PolledSubscription
from reward_learning_ros.sensing.decoding import JointStateDecoder
from reward_learning_ros.session.processes import NodeProcess, command_of, environment
from reward_learning_ros.session.session_description import NodeDescription

ARM = 'simulated_arm'
PLAYBACK = 'trajectory_playback'
# The noise of measured velocities is 0.001 rad/s; the slowest motion is far above this.
MOVING_RAD_S = 0.02
# Between two states farther apart the arm left cycles out: its process was not let run.
MAX_GAP_SEC = 0.05
# Generous: the machine is busy on purpose, and the first start compiles.
DEADLINE_SEC = 120.0
# More than the arm's reflex allows, 70 N.
REFLEX_FORCE_N = 90.0
_SHUTDOWN_SEC = 3.0
# An arm that was not heard for so long is not known to move or to rest.
_SILENCE_SEC = 0.5
# Seconds of a stream at 1 kHz: nothing is lost while a process is started or killed.
_STREAM_QOS = QoSProfile(
    history=HistoryPolicy.KEEP_LAST, depth=4000, reliability=ReliabilityPolicy.BEST_EFFORT
)


class StuckError(Exception):
    """Something that was waited for did not happen; says what was seen last."""


def use_domain(domain_id: int) -> None:
    """Let this process and the nodes that it starts speak in one domain."""
    os.environ.update(environment(), ROS_DOMAIN_ID=str(domain_id))


class Station:
    """Nodes under test, and an operator.

    Use it as a context: at its end no process is left.

    Attributes:
        processes: by the name of the node.
        playback: what playback told last; None before it did.
        mode: what the arm told last about itself.
        times_ns: stamps of the measured joint states, on the arm's clock.
        speeds_rad_s: the fastest joint of each of them.
        positions_rad: (7,) measured last.

    Args:
        nodes: What to start, in this order.
        logs: Folder of their logs.
    """

    def __init__(self, nodes: tuple[NodeDescription, ...], logs: Path) -> None:
        self.processes = {
            node.name: NodeProcess(node.name, command_of(node), logs / f'{node.name}.log')
            for node in nodes
        }
        self.playback: PlaybackStatus | None = None
        self.mode: RobotMode | None = None
        self.times_ns: list[int] = []
        self.speeds_rad_s: list[float] = []
        self.positions_rad = np.array(FR3.home_rad)
        self._heard_sec = -float('inf')
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self.operator = rclpy.create_node('operator', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.operator)
        self._decode = JointStateDecoder(FR3.joint_names).decode
        self._measured = self.listen_to_joints(names.MEASURED_JOINT_STATES_TOPIC)
        self.operator.create_subscription(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_playback, names.LATCHED_QOS
        )
        self.operator.create_subscription(
            DiagnosticStatus, arm_names.ARM_STATUS_TOPIC, self._on_arm, names.LATCHED_QOS
        )
        self._hand = self.operator.create_publisher(
            WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
        )
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> Station:
        """Start all nodes."""
        for process in self.processes.values():
            process.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end(*self.processes)
        self.operator.destroy_node()
        self._executor.shutdown()
        self._context.try_shutdown()

    def end(self, *nodes: str) -> None:
        """Ask nodes to end, as Ctrl-C does, and kill those that do not."""
        for name in nodes:
            # One that was halted could not hear the request.
            self.signal(name, signal.SIGCONT)
            self.processes[name].interrupt()
        deadline_sec = time.monotonic() + _SHUTDOWN_SEC
        for name in nodes:
            self.processes[name].wait(deadline_sec - time.monotonic())
            self.processes[name].kill()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a node that runs."""
        process = self.processes[name]
        if process.is_running and process.pid is not None:
            os.kill(process.pid, number)

    def kill(self, name: str) -> None:
        """Kill -9 a node; `start_missing` starts it again, as a supervisor does."""
        self.processes[name].kill()

    def start_missing(self) -> None:
        """Start those nodes again that ended."""
        for process in self.processes.values():
            if not process.is_running:
                process.kill()
                process.start()

    def listen_to_joints(self, topic: str) -> PolledSubscription:
        """Return a subscription to a topic of joint states that loses nothing."""
        return PolledSubscription(self.operator, JointState, topic, _STREAM_QOS)

    def take_joints(self, subscription: PolledSubscription) -> list[Any]:
        """Return the records that came since the last call."""
        return [self._decode(data) for data, _ in subscription.take()]

    def spin(self, seconds: float) -> None:
        """Listen for some time; at least once."""
        deadline_sec = time.monotonic() + seconds
        while True:
            self._executor.spin_once(timeout_sec=0.01)
            self.measure()
            if time.monotonic() >= deadline_sec:
                return

    def measure(self) -> None:
        """Take the measured joint states that came."""
        for record in self.take_joints(self._measured):
            self.times_ns.append(record.time_ns)
            self.speeds_rad_s.append(float(np.abs(record.velocity).max()))
            self.positions_rad = np.array(record.position)
            self._heard_sec = time.monotonic()

    def wait_until(
        self, condition: Callable[[], object], what: str, timeout_sec: float = DEADLINE_SEC
    ) -> None:
        """Listen until something is true.

        Raises:
            StuckError: It did not become true in time.
        """
        deadline_sec = time.monotonic() + timeout_sec
        while not condition():
            if time.monotonic() > deadline_sec:
                raise StuckError(f'{what}: not within {timeout_sec:.0f} s; {self.situation()}')
            self.spin(0.0)

    def situation(self) -> str:
        """Return what was told last, in words."""
        mode = 'unknown' if self.mode is None else self.mode.text
        log_tails = [
            f'{name} ({"runs" if process.is_running else "ended"}): {process.log_tail()}'
            for name, process in self.processes.items()
        ]
        return '\n  '.join([f'arm {mode}, playback {self.playback}', *log_tails])

    def client(self, service: str, service_type: Any = Trigger) -> Any:
        """Return the one client of a service."""
        if service not in self._clients:
            self._clients[service] = self.operator.create_client(service_type, service)
        return self._clients[service]

    def ask(self, service: str, service_type: Any = Trigger, request: Any = None) -> Any | None:
        """Call a service without waiting; return the future, None if nobody offers it."""
        client = self.client(service, service_type)
        if not client.service_is_ready():
            return None
        return client.call_async(request or service_type.Request())

    def call(self, service: str, service_type: Any = Trigger, request: Any = None) -> Any:
        """Call a service as soon as somebody offers it, and return the response."""
        futures: list[Any] = []

        def is_done() -> bool:
            if not futures:
                future = self.ask(service, service_type, request)
                if future is not None:
                    futures.append(future)
            return bool(futures) and futures[0].done()

        self.wait_until(is_done, f'an answer of {service}')
        return futures[0].result()

    def ask_for_stop(self, is_pressed: bool) -> Any | None:
        """Press or release the user stop without waiting."""
        return self.ask(arm_names.USER_STOP_SERVICE, SetBool, SetBool.Request(data=is_pressed))

    def push(self, force_n: tuple[float, float, float]) -> None:
        """Let a hand push the tool, until it is told otherwise or the push times out."""
        reading = WrenchReading(
            stamp_ns=time.time_ns(),
            frame_id=FR3.base_frame,
            force=np.array(force_n),
            torque=np.zeros(3),
        )
        self._hand.publish(wrench_reading_to_message(reading))

    def trip_reflex(self) -> bool:
        """Push too hard until the arm stops in a reflex; return whether it did."""
        deadline_sec = time.monotonic() + 1.0
        while (
            self.mode is not None
            and self.mode.follows_commands
            and time.monotonic() < deadline_sec
        ):
            self.push((REFLEX_FORCE_N, 0.0, 0.0))
            self.spin(0.0)
        self.push((0.0, 0.0, 0.0))
        return self.mode is RobotMode.REFLEX

    def now_ns(self) -> int:
        """Return the time on the arm's clock, by default the wall's."""
        return time.time_ns()

    @property
    def is_moving(self) -> bool:
        """Whether the arm is measured to move, now."""
        return self._is_heard and self.speeds_rad_s[-1] > MOVING_RAD_S

    def has_rested(self, seconds: float) -> bool:
        """Tell whether the arm is measured to be at rest for so long by now."""
        if not self._is_heard:
            return False
        oldest_ns = self.times_ns[-1] - round(seconds * 1e9)
        first = bisect_left(self.times_ns, oldest_ns)
        return max(self.speeds_rad_s[first:]) <= MOVING_RAD_S

    @property
    def _is_heard(self) -> bool:
        return bool(self.times_ns) and time.monotonic() - self._heard_sec < _SILENCE_SEC

    def _on_playback(self, message: DiagnosticStatus) -> None:
        self.on_playback(playback_status_from_message(message))

    def on_playback(self, status: PlaybackStatus) -> None:
        """Take note of what playback tells."""
        self.playback = status

    def _on_arm(self, message: DiagnosticStatus) -> None:
        text = diagnostic_from_message(message).values.get(arm_names.ROBOT_MODE_KEY, '')
        if text.isdecimal():
            self.on_mode(RobotMode.of(int(text)))

    def on_mode(self, mode: RobotMode) -> None:
        """Take note of the arm's mode."""
        self.mode = mode
