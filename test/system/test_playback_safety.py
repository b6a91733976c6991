"""Processes of the arm and of playback, and what is left when one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from helpers.arm_ros import line_plan
from helpers.domains import claimed_domain
from helpers.ros import PrivateRos
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.nodes import names
from reward_learning_ros.nodes.conversions import plan_to_message, playback_status_from_message

# Processes share the machine with other tests: what counts here is what happens, not how soon.
PATIENCE = {'horizon_sec': 1.0, 'state_timeout_sec': 3.0, 'clock_tolerance_sec': 3.0}
DEADLINE_SEC = 90.0


class Session:
    """Both processes in real time, and an operator."""

    def __init__(self, domain_id: int) -> None:
        self._domain_id = domain_id
        self.processes: dict[str, subprocess.Popen] = {}
        self.ros = PrivateRos(domain_id)
        self.operator = self.ros.create_node('operator')
        self.status = None
        self.desired = None
        self.operator.create_subscription(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_status, names.LATCHED_QOS
        )
        self.operator.create_subscription(
            JointState, names.DESIRED_JOINT_STATES_TOPIC, self._on_desired, names.ROBOT_STATE_QOS
        )
        self._plans = self.operator.create_publisher(Path, names.PLAN_TOPIC, names.LATCHED_QOS)

    def _on_status(self, message) -> None:
        self.status = playback_status_from_message(message)

    def _on_desired(self, message) -> None:
        self.desired = message

    def launch(self, module: str, **parameters: object) -> None:
        arguments = [part for name in parameters for part in ('-p', f'{name}:={parameters[name]}')]
        self.processes[module] = subprocess.Popen(
            [
                sys.executable,
                '-m',
                f'reward_learning_ros.nodes.{module}',
                '--ros-args',
                *arguments,
            ],
            env={**os.environ, 'ROS_DOMAIN_ID': str(self._domain_id)},
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until(self, condition) -> None:
        self.ros.wait_until(condition, DEADLINE_SEC)

    def call(self, service: str):
        client = self.operator.create_client(Trigger, service)
        return self.ros.call(client, Trigger.Request(), DEADLINE_SEC)

    def bring_up(self) -> None:
        """Start both processes."""
        self.launch('simulated_arm', convenience_publish_rate=100)
        self.launch('trajectory_playback', **PATIENCE)
        self.wait_until(lambda: self.desired is not None and self.status is not None)

    def start(self) -> None:
        """Get a slow plan going."""
        self.bring_up()
        plan = line_plan(self.operator.get_clock().now().nanoseconds, duration_sec=30.0)
        self._plans.publish(plan_to_message(plan))
        self.wait_until(lambda: self.status.plan_stamp_ns == plan.stamp_ns)
        self.wait_until(lambda: self.call(names.PLAYBACK_START_SERVICE).success)
        self.wait_until(lambda: self.status.state is PlaybackState.PLAYING)
        self.wait_until(lambda: self.status.progress > 0.01)

    def is_moving(self) -> bool:
        return bool(np.any(self.desired.velocity))

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()
        self.ros.close()


@pytest.fixture
def session():
    with claimed_domain() as domain_id:
        session = Session(domain_id)
        yield session
        session.close()


def test_playback_killed_in_mid_motion_leaves_the_arm_holding(session):
    session.start()
    session.wait_until(session.is_moving)
    session.processes['trajectory_playback'].send_signal(signal.SIGKILL)
    session.processes['trajectory_playback'].wait()
    session.wait_until(lambda: not session.is_moving())
    held = list(session.desired.position)
    moved_on = session.operator.get_clock().now().nanoseconds + 10**9

    def a_second_later():
        stamp = session.desired.header.stamp
        return stamp.sec * 10**9 + stamp.nanosec > moved_on

    session.wait_until(a_second_later)
    assert list(session.desired.position) == held
    # It holds on the way, not at the end of the plan.
    assert session.status.progress < 0.5


def test_a_killed_arm_makes_playback_say_so(session):
    session.start()
    session.processes['simulated_arm'].send_signal(signal.SIGKILL)
    session.wait_until(lambda: session.status.state is PlaybackState.FAULT)
    assert 'robot state is' in session.status.fault or 'no controller' in session.status.fault


def test_both_end_cleanly_when_told_to(session):
    session.bring_up()
    session.processes['simulated_arm'].send_signal(signal.SIGINT)
    session.processes['trajectory_playback'].send_signal(signal.SIGTERM)
    for process in session.processes.values():
        _, errors = process.communicate(timeout=DEADLINE_SEC)
        assert process.returncode == 0
        assert 'Traceback' not in errors
