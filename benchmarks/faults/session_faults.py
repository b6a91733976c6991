"""Faults that can happen to a session: each is made, and later mended."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from benchmarks.faults.relay import FAULT_TOPIC
from benchmarks.faults.session_station import KILL, KILLED, SessionStation
from benchmarks.faults.station import ARM
from reward_learning_ros.core.cores import available_cores
from reward_learning_ros.nodes import names
from reward_learning_ros.playback.configuration import (
    TrajectoryPlaybackParameters,
)
from reward_learning_ros.session.session_description import RECORDER
from tools.repeat import busy

# How long a fault lasts; whatever waits for a node waits for less.
LASTS_SEC = 2.0
# How long after a full disk the recorder is given to say that it records again.
_TOLD_SEC = 5.0
# How often a foreign node publishes.
FLOOD_HZ = 10_000
_INFERENCE = 'reward_inference'


@dataclass(frozen=True, kw_only=True)
class SessionFault:
    """A fault, and what may come of it.

    Attributes:
        make: makes it, as a context in which it lasts.
        withdraws: whether it takes consents away, so that the arm must come to rest.
        loses: whether the recording may lack what happens meanwhile.
        needs_relay: whether it is made by the relay.
    """

    make: Callable[[SessionStation], contextlib.AbstractContextManager[object]]
    withdraws: bool = False
    loses: bool = False
    needs_relay: bool = False


@contextlib.contextmanager
def _killed(station: SessionStation, node: str) -> Iterator[None]:
    station.happen(KILL, node)
    # What watches over the session starts it again, at the next look.
    yield


@contextlib.contextmanager
def _halted(station: SessionStation, node: str) -> Iterator[None]:
    station.signal(node, signal.SIGSTOP)
    try:
        yield
    finally:
        station.signal(node, signal.SIGCONT)


@contextlib.contextmanager
def _spoilt(station: SessionStation, fault: str) -> Iterator[None]:
    """Let the relay spoil the arm's state."""
    publisher = station.operator.create_publisher(String, FAULT_TOPIC, names.LATCHED_QOS)
    station.wait_until(publisher.get_subscription_count, 'the relay')
    publisher.publish(String(data=fault))
    try:
        yield
    finally:
        publisher.publish(String(data='none'))
        station.spin(0.2)
        station.operator.destroy_publisher(publisher)


@contextlib.contextmanager
def _foreign(
    station: SessionStation, kind: type, topic: str, message: Any, qos: Any, hz: float
) -> Iterator[None]:
    """Publish a message on a topic of the session, from a node that has no business there."""
    publisher = station.operator.create_publisher(kind, topic, qos)
    deadline_sec = time.monotonic() + LASTS_SEC
    sent, began_sec = 0, time.monotonic()
    try:
        while time.monotonic() < deadline_sec:
            while sent < (time.monotonic() - began_sec) * hz:
                publisher.publish(message)
                sent += 1
                if sent % 100 == 0 and time.monotonic() > deadline_sec:
                    break
            station.spin(0.0)
        yield
    finally:
        station.operator.destroy_publisher(publisher)


@contextlib.contextmanager
def _full_disk(station: SessionStation) -> Iterator[None]:
    """Let the recorder's files grow no further, as on a full disk; root is not needed for it."""
    process = station.processes[RECORDER]
    bag = station.bag
    size = max((file.stat().st_size for file in bag.glob('*.mcap')), default=0)
    with _limited(process.pid, resource.RLIMIT_FSIZE, size):
        yield
    # The recorder tells of it a little longer, and until then every consent is refused.
    station.spin(_TOLD_SEC)


@contextlib.contextmanager
def _no_memory(station: SessionStation, node: str) -> Iterator[None]:
    """Let a node have no more memory than it has."""
    pid = station.processes[node].pid
    with open(f'/proc/{pid}/statm', encoding='ascii') as file:
        pages = int(file.read().split()[0])
    with _limited(pid, resource.RLIMIT_AS, pages * resource.getpagesize()):
        yield


@contextlib.contextmanager
def _limited(pid: int | None, kind: int, value: int) -> Iterator[None]:
    if pid is None:
        raise RuntimeError('the node does not run')
    before = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (value, before[1]))
    try:
        yield
    finally:
        # It may have died of it.
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, kind, before)


@contextlib.contextmanager
def _slow_disk(station: SessionStation) -> Iterator[None]:
    """Let the recorder wait most of the time, as for a slow disk."""
    pid = station.processes[RECORDER].pid
    deadline_sec = time.monotonic() + LASTS_SEC
    while time.monotonic() < deadline_sec:
        for number, seconds in ((signal.SIGSTOP, 0.4), (signal.SIGCONT, 0.1)):
            if pid is not None:
                os.kill(pid, number)
            station.spin(seconds)
    yield


def _on_topic(
    kind: type, topic: str, message: Any, qos: Any = names.LATCHED_QOS, hz: float = 100.0
) -> SessionFault:
    return SessionFault(
        make=lambda station: _foreign(station, kind, topic, message, qos, hz),
    )


def _faults() -> dict[str, SessionFault]:
    found = {}
    for node in KILLED:
        loses = node in (ARM, RECORDER)
        found[f'kill -9 {node}'] = SessionFault(
            make=lambda station, node=node: _killed(station, node), withdraws=True, loses=loses
        )
        found[f'SIGSTOP {node}'] = SessionFault(
            make=lambda station, node=node: _halted(station, node), withdraws=True, loses=loses
        )
    for fault in ('stopped', 'frozen', 'nan', 'shuffled', 'doubled', 'delayed 0.1', 'delayed 2'):
        found[f'state {fault}'] = SessionFault(
            make=lambda station, fault=fault: _spoilt(station, fault),
            withdraws=fault in ('stopped', 'frozen', 'nan', 'delayed 2'),
            loses=True,
            needs_relay=True,
        )
    command = names.command_topic(TrajectoryPlaybackParameters().controller)
    state = JointState(name=['no_joint'], position=[float('nan')])
    status = DiagnosticStatus(name='nobody')
    found |= {
        'second publisher of commands': SessionFault(
            make=lambda station: _foreign(
                station, JointTrajectory, command, JointTrajectory(), names.COMMAND_QOS, 1.0
            ),
            withdraws=True,
        ),
        'wrong type of command': _on_topic(String, command, String(data='move'), 10),
        'wrong shape of state': _on_topic(
            JointState, names.MEASURED_JOINT_STATES_TOPIC, state, names.ROBOT_STATE_QOS
        ),
        'empty plan': _on_topic(Path, names.PLAN_TOPIC, Path()),
        'empty corrections': _on_topic(
            MultiDOFJointTrajectory,
            names.CORRECTIONS_TOPIC,
            MultiDOFJointTrajectory(),
            names.CORRECTIONS_QOS,
        ),
        'flood of playback/status': _on_topic(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, status, hz=FLOOD_HZ
        ),
        'flood of inference/status': _on_topic(
            DiagnosticStatus, names.INFERENCE_STATUS_TOPIC, status, hz=FLOOD_HZ
        ),
        'flood of theta': _on_topic(
            Float64MultiArray, names.THETA_TOPIC, Float64MultiArray(), hz=FLOOD_HZ
        ),
        'flood of state': _on_topic(
            JointState,
            names.MEASURED_JOINT_STATES_TOPIC,
            state,
            names.ROBOT_STATE_QOS,
            hz=FLOOD_HZ,
        ),
        'full disk': SessionFault(make=_full_disk, loses=True),
        'slow disk': SessionFault(make=_slow_disk),
        f'no memory for {_INFERENCE}': SessionFault(
            make=lambda station: _no_memory(station, _INFERENCE), withdraws=True
        ),
        'all cores busy': SessionFault(make=lambda station: busy(2 * available_cores())),
    }
    return found


FAULTS = _faults()
