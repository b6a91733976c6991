"""Arm, playback and recorder as processes: a push of a person comes out as one correction."""

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
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory

from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.conversions import (
    correction_from_message,
    diagnostic_report_from_message,
    plan_to_message,
    playback_status_from_message,
)

DEADLINE_SEC = 120.0
PUSH_N = 18.0
PUSH_SEC = 1.5


class Person:
    """Three processes in simulated time, and who pushes the arm."""

    def __init__(self, domain_id: int) -> None:
        self.ros = PrivateRos(domain_id, ('--ros-args', '-p', 'use_sim_time:=true'))
        self.node = self.ros.create_node('person')
        self.status = self.diagnostics = None
        self.corrections = []
        subscribe = self.node.create_subscription
        subscribe(
            DiagnosticStatus, names.PLAYBACK_STATUS_TOPIC, self._on_status, names.LATCHED_QOS
        )
        subscribe(
            MultiDOFJointTrajectory,
            names.CORRECTIONS_TOPIC,
            lambda message: self.corrections.append(correction_from_message(message)),
            names.CORRECTIONS_QOS,
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
        start_ns = self.now_ns()

        def is_over() -> bool:
            share = min((self.now_ns() - start_ns) / 0.2e9, 1.0)
            force = message.wrench.force
            force.x, force.y, force.z = (share * np.asarray(force_n)).tolist()
            self.pushes.publish(message)
            return self.now_ns() > start_ns + PUSH_SEC * 1e9

        self.wait_until(is_over)
        force = message.wrench.force
        force.x = force.y = force.z = 0.0
        self.pushes.publish(message)
        return start_ns, self.now_ns()

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


def test_a_push_comes_out_as_one_correction_of_the_plan_that_was_played(person):
    person.wait_until(
        lambda: person.status is not None and person.diagnostics and person.now_ns() > 0
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
    person.wait_until(lambda: person.corrections)
    person.wait_until(lambda: person.now_ns() > end_ns + 2e9)

    (correction,) = person.corrections
    assert correction.plan_stamp_ns == plan.stamp_ns
    assert abs(correction.stamp_ns - start_ns) < 0.3e9
    assert abs(correction.duration_sec - PUSH_SEC) < 0.5
    assert 2.3 < correction.onset_time_sec < 4.0
    moved = correction.delta_positions[-1]
    assert moved[1] > 0.03
    # An arm gives way more easily in some directions than in others.
    assert moved[1] / np.linalg.norm(moved) > 0.7
    # Nothing before the contact is corrected.
    assert not correction.delta_positions[:3].any()
    assert 0.5 * PUSH_N < correction.peak_force < 1.5 * PUSH_N
    assert correction.confidence > 0.5
    assert int(person.diagnostics['torque.used']) > 1000
