"""How soon the belief follows the hand: the inference's node, and one who tells it of pushes.

The node is a process, with those that learn and make tables, as in a session; the person is this
process. From the moment at which corrections with one more waypoint are published to that at which
the live belief in them is heard: both ways over DDS are in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tools.domains import claimed_domain

PASSES = 15
# Longer than the period at which beliefs are told: each is asked for by itself.
PAUSE_SEC = 0.12
DEADLINE_SEC = 120.0


def latency(task: str = 'press') -> dict[str, Any]:
    """Push at two waypoints of each pass, tell all of them one by one, and wait for θ."""
    with claimed_domain() as domain_id:
        os.environ['ROS_DOMAIN_ID'] = str(domain_id)
        node = subprocess.Popen(
            [
                sys.executable,
                '-m',
                'reward_learning_ros.nodes.reward_inference',
                *('--ros-args', '-p', f'task:={task}', '--log-level', 'error'),
            ]
        )
        try:
            person = _Person()
            try:
                person.teach()
            finally:
                person.close()
        finally:
            node.terminate()
            node.wait(10.0)
    found_ms = 1e3 * np.array(person.latencies_sec)
    waits_sec = np.array(person.waits_for_tables_sec)
    return {
        'deltas told, and beliefs heard': f'{person.told}, {len(found_ms)}',
        'from a delta to theta, ms, median (at most 20)': float(np.median(found_ms)),
        'from a delta to theta, ms, 99 % (at most 50)': float(np.quantile(found_ms, 0.99)),
        'from a plan to all of its tables, s, median': float(np.median(waits_sec)),
        'from a plan to all of its tables, s, worst': float(waits_sec.max()),
    }


class _Person:
    """Who listens to plans and θ, and tells of what is done to passes."""

    def __init__(self) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticStatus
        from nav_msgs.msg import Path
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import MultiDOFJointTrajectory

        from reward_learning_ros.interface import (
            LiveTheta,
            inference_status_from_message,
            plan_from_message,
            theta_from_message,
        )
        from reward_learning_ros.nodes import names

        self.latencies_sec: list[float] = []
        self.waits_for_tables_sec: list[float] = []
        self.told = 0
        self._plan: Any = None
        self._status: Any = None
        self._heard_sec = 0.0
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node('person', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)

        def on_plan(message: Any) -> None:
            self._plan = plan_from_message(message)

        def on_status(message: Any) -> None:
            self._status = inference_status_from_message(message)

        def on_theta(message: Any) -> None:
            heard_sec = time.perf_counter()
            if isinstance(theta_from_message(message), LiveTheta):
                self._heard_sec = heard_sec

        for kind, topic, hear in (
            (Path, names.PLAN_TOPIC, on_plan),
            (DiagnosticStatus, names.INFERENCE_STATUS_TOPIC, on_status),
            (Float64MultiArray, names.THETA_TOPIC, on_theta),
        ):
            self._node.create_subscription(kind, topic, hear, names.LATCHED_QOS)
        self._corrections = self._node.create_publisher(
            MultiDOFJointTrajectory, names.CORRECTIONS_TOPIC, names.CORRECTIONS_QOS
        )
        self._playback, self._recorder = (
            self._node.create_publisher(DiagnosticStatus, topic, names.LATCHED_QOS)
            for topic in (names.PLAYBACK_STATUS_TOPIC, names.RECORDER_STATUS_TOPIC)
        )

    def teach(self) -> None:
        """Correct one plan after the other."""
        rng = np.random.default_rng(0)
        for _ in range(PASSES):
            before = self._plan
            self._wait(lambda before=before: self._plan is not None and self._plan is not before)
            began_sec = time.perf_counter()
            self._wait(self._has_tables)
            self.waits_for_tables_sec.append(time.perf_counter() - began_sec)
            self._correct(self._plan, rng)

    def close(self) -> None:
        """Be gone."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def _has_tables(self) -> bool:
        status = self._status
        return (
            status is not None
            and status.plan_stamp_ns == self._plan.stamp_ns
            and status.tables_wanted > 0
            and status.tables_ready == status.tables_wanted
        )

    def _correct(self, plan: Any, rng: np.random.Generator) -> None:
        from reward_learning_ros.interface import (
            PassCorrections,
            PlaybackState,
            PlaybackStatus,
            RecorderStatus,
        )
        from reward_learning_ros.nodes.conversions import (
            corrections_to_message,
            playback_status_to_message,
            recorder_status_to_message,
        )

        def playback(state: PlaybackState) -> None:
            status = PlaybackStatus(state=state, plan_stamp_ns=plan.stamp_ns)
            self._playback.publish(playback_status_to_message(status))

        playback(PlaybackState.PLAYING)
        self._spin(PAUSE_SEC)
        deltas = np.zeros((len(plan.times_sec), 3))
        for waypoint in rng.choice(np.arange(1, len(deltas)), 2, replace=False):
            deltas[waypoint] = rng.uniform(-0.04, 0.04, 3)
        for count in range(2, len(deltas) + 1):
            told = PassCorrections(
                plan_stamp_ns=plan.stamp_ns,
                frame_id=plan.frame_id,
                tool_frame='fr3_hand_tcp',
                times_sec=plan.times_sec[:count],
                delta_positions=deltas[:count],
                delta_orientations=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
            )
            message = corrections_to_message(told)
            self.told += 1
            told_sec = time.perf_counter()
            self._corrections.publish(message)
            self._wait(lambda told_sec=told_sec: self._heard_sec > told_sec)
            self.latencies_sec.append(self._heard_sec - told_sec)
            self._spin(PAUSE_SEC)
        status = RecorderStatus(plan_stamp_ns=plan.stamp_ns, digest=told.digest, is_complete=True)
        self._recorder.publish(recorder_status_to_message(status))
        playback(PlaybackState.FINISHED)

    def _wait(self, condition: Callable[[], object]) -> None:
        deadline_sec = time.perf_counter() + DEADLINE_SEC
        while not condition():
            if time.perf_counter() > deadline_sec:
                raise TimeoutError(f'nothing was heard within {DEADLINE_SEC:g} s')
            self._executor.spin_once(timeout_sec=0.02)

    def _spin(self, duration_sec: float) -> None:
        end_sec = time.perf_counter() + duration_sec
        while (left_sec := end_sec - time.perf_counter()) > 0.0:
            self._executor.spin_once(timeout_sec=left_sec)
