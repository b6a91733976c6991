"""What listening at 1 kHz costs the recorder's node: samples used, share of a core, ratio.

Publisher and listener are processes of their own, and all of it is processor time, so a busy
machine matters little. A minute each: `python -m benchmarks.recorder --seconds 60`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks import arm_stream
from reward_learning_ros.nodes import arm_sources, names
from reward_learning_ros.nodes.arm_sources import SAMPLES_QOS
from reward_learning_ros.nodes.franka_robot_state import robot_state_type

SECONDS = 20.0
DOMAIN_ID = 98
RECORDER, ORDINARY = 'recorder', 'ordinary'
# Discovery and the choice of a source are over by then.
_SETTLED_SEC = 1.0


def run(seconds: float = SECONDS) -> dict[str, Any]:
    """Measure everything, print a table, and return the numbers."""
    recorder = _measure(RECORDER, arm_stream.TOPICS, seconds)
    ordinary = _measure(ORDINARY, arm_stream.TOPICS, seconds)
    franka = _measure(RECORDER, arm_stream.ROBOT_STATE, seconds)
    carrier = '' if robot_state_type() else ', its bytes carried by another type'
    results: dict[str, Any] = {
        'three topics at 1 kHz: samples used, % (99.9 wanted)': recorder['used_percent'],
        'three topics at 1 kHz: % of a core (at most 20 wanted)': recorder['core_percent'],
        'ordinary subscriptions that do nothing, SingleThreadedExecutor: % of a core': ordinary[
            'core_percent'
        ],
        'times less than those (4 wanted)': ordinary['core_percent'] / recorder['core_percent'],
        f'FrankaRobotState at 1 kHz{carrier}: samples used, %': franka['used_percent'],
        f'FrankaRobotState at 1 kHz{carrier}: % of a core (at most 25 wanted)': franka[
            'core_percent'
        ],
        'seconds each': seconds,
    }
    for name, value in results.items():
        print(f'{name:<90} {value:.4g}')
    return results


def _measure(listener: str, kind: str, seconds: float) -> dict[str, float]:
    """Start a listener and then a publisher, and return what the listener measured."""
    environment = {**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    listening = subprocess.Popen(
        [sys.executable, '-m', 'benchmarks.recorder', listener, kind, str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    # It publishes a little longer than it is listened to.
    publishing = subprocess.Popen(
        [
            *(sys.executable, '-m', 'benchmarks.arm_stream'),
            *(str(DOMAIN_ID), str(seconds + 3.0), kind),
        ],
        env=environment,
    )
    try:
        output, _ = listening.communicate(timeout=seconds + 120.0)
        publishing.wait(timeout=seconds + 120.0)
    finally:
        listening.kill()
        publishing.kill()
    measured: dict[str, float] = json.loads(output.splitlines()[-1])
    return measured


def listen_as_recorder(kind: str, seconds: float) -> dict[str, float]:
    """Run the recorder's node as its executable does."""
    import rclpy
    from rclpy.context import Context

    from reward_learning_ros.nodes.correction_recorder import CorrectionRecorderNode
    from reward_learning_ros.nodes.running import events_executor

    if kind == arm_stream.ROBOT_STATE:
        arm_sources.robot_state_type = arm_stream.carrier_type
    context = Context()
    rclpy.init(args=[], context=context, domain_id=DOMAIN_ID)
    node = CorrectionRecorderNode(context=context)
    executor = events_executor(context)
    executor.add_node(node)
    torque = node.orderer.counts[0]

    def spin(until_sec: float) -> None:
        while time.perf_counter() < until_sec:
            executor.spin_once(timeout_sec=0.05)

    while not torque.used:
        executor.spin_once(timeout_sec=0.05)
    spin(time.perf_counter() + _SETTLED_SEC)
    used, missing = torque.used, torque.missing
    start_sec, start_processor_sec = time.perf_counter(), time.process_time()
    spin(start_sec + seconds)
    processor_sec = time.process_time() - start_processor_sec
    used, missing = torque.used - used, torque.missing - missing
    measured = {
        'used_percent': 100.0 * used / (used + missing),
        'core_percent': 100.0 * processor_sec / (time.perf_counter() - start_sec),
    }
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    return measured


def listen_ordinarily(seconds: float) -> dict[str, float]:
    """Subscribe as the tutorials do, and do nothing with what comes."""
    import rclpy
    from geometry_msgs.msg import PoseStamped
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    context = Context()
    rclpy.init(args=[], context=context, domain_id=DOMAIN_ID)
    node = rclpy.create_node('ordinary', context=context)
    heard = [0]

    def on_message(message: Any) -> None:
        heard[0] += 1

    for message_type, topic in (
        (JointState, names.EXTERNAL_JOINT_TORQUES_TOPIC),
        (JointState, names.MEASURED_JOINT_STATES_TOPIC),
        (PoseStamped, names.CURRENT_POSE_TOPIC),
    ):
        node.create_subscription(message_type, topic, on_message, SAMPLES_QOS)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    while not heard[0]:
        executor.spin_once(timeout_sec=0.05)
    settled_sec = time.perf_counter() + _SETTLED_SEC
    while time.perf_counter() < settled_sec:
        executor.spin_once(timeout_sec=0.05)
    count, start_sec, start_processor_sec = heard[0], time.perf_counter(), time.process_time()
    while time.perf_counter() < start_sec + seconds:
        executor.spin_once(timeout_sec=0.05)
    processor_sec, wall_sec = (
        time.process_time() - start_processor_sec,
        time.perf_counter() - start_sec,
    )
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()
    # On a busy machine it may not hear everything: what each message costs counts.
    share_heard = (heard[0] - count) / (3000.0 * wall_sec)
    return {'core_percent': 100.0 * processor_sec / wall_sec / share_heard}


def main() -> int:
    """Measure, or be one of the processes that are measured."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.recorder', description=__doc__)
    parser.add_argument('listener', nargs='?', choices=(RECORDER, ORDINARY))
    parser.add_argument('kind', nargs='?')
    parser.add_argument('listen_seconds', nargs='?', type=float)
    parser.add_argument('--seconds', type=float, default=SECONDS, help='how long to listen')
    options = parser.parse_args()
    if options.listener is None:
        run(options.seconds)
    elif options.listener == RECORDER:
        print(json.dumps(listen_as_recorder(options.kind, options.listen_seconds)))
    else:
        print(json.dumps(listen_ordinarily(options.listen_seconds)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
