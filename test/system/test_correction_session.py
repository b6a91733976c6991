"""Arm, playback and recorder as processes: a push of a person comes out as a correction."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from helpers.arm_ros import line_plan
from helpers.domains import claimed_domain
from helpers.ros import PrivateRos
from nav_msgs.msg import Path
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from reward_learning_ros.interface import (
    PlaybackState,
    contact_from_message,
    corrections_from_message,
    diagnostic_report_from_message,
    playback_status_from_message,
)
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import plan_to_message

pytestmark = pytest.mark.timeout(600)

DEADLINE_SEC = 120.0
PUSH_N = 18.0
PUSH_SEC = 1.5


class Person:
    """Three processes in simulated time, and who pushes the arm."""

    def __init__(self, domain_id: int) -> None:
        self.ros = PrivateRos(domain_id, ('--ros-args', '-p', 'use_sim_time:=true'))
        self.node = self.ros.create_node('person')
        self.status = self.diagnostics = None
        self.corrections, self.contacts = [], []
        # Where in the plan the arm was when the last contact was reported: its end was known then.
        self.reported_plan_sec = None
        # When, and what the arm felt (7,).
        self.torque = None
        subscribe = self.node.create_subscription
        subscribe(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_status, names.LATCHED_QOS
        )
        subscribe(
            MultiDOFJointTrajectory,
            names.CORRECTIONS_TOPIC,
            lambda message: self.corrections.append(corrections_from_message(message)),
            names.CORRECTIONS_QOS,
        )
        subscribe(
            DiagnosticStatus,
            names.CONTACTS_TOPIC,
            self._on_contact,
            names.CORRECTIONS_QOS,
        )
        subscribe(
            JointState,
            names.EXTERNAL_JOINT_TORQUES_TOPIC,
            self._on_torque,
            names.ROBOT_STATE_QOS,
        )
        subscribe(
            DiagnosticArray, names.DIAGNOSTICS_TOPIC, self._on_diagnostics, names.DIAGNOSTICS_QOS
        )
        self.plans = self.node.create_publisher(Path, names.PLAN_TOPIC, names.LATCHED_QOS)
        self.pushes = self.node.create_publisher(
            WrenchStamped, arm_names.PERSON_WRENCH_TOPIC, names.ROBOT_STATE_QOS
        )
        self.processes = [
            subprocess.Popen(
                [
                    *(sys.executable, '-m', f'reward_learning_ros.nodes.{module}', '--ros-args'),
                    *(part for name in options for part in ('-p', f'{name}:={options[name]}')),
                ],
                env={**os.environ, 'ROS_DOMAIN_ID': str(domain_id)},
            )
            for module, options in (
                (
                    'simulated_arm',
                    {
                        'clock': 'simulated',
                        'convenience_publish_rate': 250,
                        'push_timeout_sec': 1.0,
                        'torque_bias_nm': 2.0,
                    },
                ),
                ('trajectory_playback', {'use_sim_time': 'true'}),
                ('correction_recorder', {'use_sim_time': 'true'}),
            )
        ]

    def _on_status(self, message) -> None:
        self.status = playback_status_from_message(message)

    def _on_contact(self, message) -> None:
        self.contacts.append(contact_from_message(message))
        self.reported_plan_sec = self.status.plan_time_sec

    def _on_torque(self, message) -> None:
        stamp = message.header.stamp
        self.torque = (stamp.sec * 10**9 + stamp.nanosec, np.array(message.effort))

    def _on_diagnostics(self, message) -> None:
        report = diagnostic_report_from_message(message)
        for diagnostic in report.diagnostics:
            if diagnostic.name == 'correction_recorder':
                self.diagnostics = diagnostic.values

    def now_ns(self) -> int:
        return self.node.get_clock().now().nanoseconds

    def wait_until(self, condition) -> None:
        self.ros.wait_until(condition, DEADLINE_SEC)

    def call(self, service: str):
        client = self.node.create_client(Trigger, service)
        return self.ros.call(client, Trigger.Request(), DEADLINE_SEC)

    def push(self, force_n) -> tuple[int, int]:
        """Push for a while and let go; returns from when to when."""
        message = WrenchStamped()
        message.header.frame_id = 'fr3_link0'
        # On the arm's own clock: what it told last.
        start_ns, untouched_nm = self.torque
        peak_nm = 0.0

        def felt_nm() -> float:
            return float(np.abs(self.torque[1] - untouched_nm).max())

        def is_over() -> bool:
            nonlocal peak_nm
            peak_nm = max(peak_nm, felt_nm())
            share = min((self.torque[0] - start_ns) / 0.2e9, 1.0)
            force = message.wrench.force
            force.x, force.y, force.z = (share * np.asarray(force_n)).tolist()
            self.pushes.publish(message)
            return self.torque[0] > start_ns + PUSH_SEC * 1e9

        def is_let_go() -> bool:
            # Again and again: one message may be lost.
            self.pushes.publish(WrenchStamped(header=message.header))
            return felt_nm() < peak_nm / 4

        self.wait_until(is_over)
        self.wait_until(is_let_go)
        return start_ns, self.torque[0]

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(DEADLINE_SEC)
        self.ros.close()


@pytest.fixture
def person():
    with claimed_domain() as domain_id:
        person = Person(domain_id)
        yield person
        person.close()


def test_a_push_comes_out_as_a_correction_of_the_plan_that_was_played(person):
    person.wait_until(
        lambda: (
            person.status is not None
            and person.diagnostics
            and person.torque is not None
            and person.now_ns() > 0
        )
    )
    person.wait_until(lambda: person.diagnostics['samples_from'] != 'none')
    plan = line_plan(person.now_ns(), duration_sec=8.0)
    person.plans.publish(plan_to_message(plan))
    person.wait_until(lambda: person.status.plan_stamp_ns == plan.stamp_ns)
    person.wait_until(lambda: person.status.not_ready == '')
    response = person.call(names.PLAYBACK_START_SERVICE)
    assert response.success, response.message
    person.wait_until(lambda: person.status.state is PlaybackState.PLAYING)
    person.wait_until(lambda: person.status.plan_time_sec > 2.5)
    start_ns, end_ns = person.push((0.0, PUSH_N, 0.0))
    person.wait_until(lambda: person.contacts)
    person.wait_until(lambda: person.status.state is PlaybackState.FINISHED)
    person.wait_until(
        lambda: (
            person.corrections and len(person.corrections[-1].times_sec) == len(plan.times_sec) - 1
        )
    )

    (contact,) = person.contacts
    assert contact.plan_stamp_ns == plan.stamp_ns
    assert abs(contact.onset_ns - start_ns) < 0.3e9
    # It lasts until the tool is back at its set-point, which gave way by a hand's breadth.
    assert -0.5 < contact.duration_sec - (end_ns - start_ns) / 1e9 < 1.5
    assert 2.3 < contact.onset_plan_sec < 4.0
    assert 0.5 * PUSH_N < contact.peak_force_n < 1.5 * PUSH_N
    assert contact.confidence > 0.5
    told = person.corrections[-1]
    assert told.plan_stamp_ns == plan.stamp_ns
    # Pushed from there on, until the recorder knew that it was let go; before and after, nobody
    # did. The plan gives way until then, which on a busy machine is later than the end.
    pushed = plan.times_sec[1:][told.is_push]
    assert contact.onset_plan_sec < pushed[0]
    assert pushed[-1] < person.reported_plan_sec + plan.times_sec[1]
    moved = told.delta_positions.sum(axis=0)
    assert moved[1] > 0.03
    # An arm gives way more easily in some directions than in others.
    assert moved[1] / np.linalg.norm(moved) > 0.7
    assert int(person.diagnostics['torque.used']) > 1000
