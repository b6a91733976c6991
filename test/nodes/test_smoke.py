"""The smoke nodes: what is sent comes back equal, and nothing else counts as success."""

from __future__ import annotations

import dataclasses
import time

import pytest
from nav_msgs.msg import Path
from rclpy.parameter import Parameter

from reward_learning_ros.nodes.conversions import plan_from_message, plan_to_message
from reward_learning_ros.nodes.names import LATCHED_QOS
from reward_learning_ros.nodes.running import NodeFinished
from reward_learning_ros.nodes.smoke import SmokeNode


def start(make_ros, role, timeout_sec=20.0):
    ros = make_ros('--ros-args', '-p', f'role:={role}', '-p', f'timeout_sec:={timeout_sec}')
    ros.add(SmokeNode(context=ros.context))
    return ros


def spin_both(one, other):
    """Spin two contexts in turn until a node of the first one finishes; return its code."""
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        try:
            one.executor.spin_once(timeout_sec=0.01)
        except NodeFinished as finished:
            return finished.exit_code
        other.executor.spin_once(timeout_sec=0.01)
    raise TimeoutError('no node finished')


def test_what_is_sent_comes_back_equal(make_ros):
    assert spin_both(start(make_ros, 'caller'), start(make_ros, 'echo')) == 0


def test_a_caller_that_starts_first_is_heard_later(make_ros):
    echo = start(make_ros, 'echo')
    assert spin_both(start(make_ros, 'caller'), echo) == 0


def test_what_comes_back_changed_is_a_failure(make_ros):
    caller = start(make_ros, 'caller')
    other = make_ros()
    node = other.create_node('liar')
    publisher = node.create_publisher(Path, 'to_caller/plan', LATCHED_QOS)

    def send_back_changed(message):
        plan = plan_from_message(message)
        changed = dataclasses.replace(plan, positions=plan.positions + 1e-12)
        publisher.publish(plan_to_message(changed))

    node.create_subscription(Path, 'to_echo/plan', send_back_changed, LATCHED_QOS)
    assert spin_both(caller, other) == 1


@pytest.mark.parametrize(('role', 'expected'), [('caller', 1), ('echo', 0)])
def test_alone_it_ends_at_the_timeout(make_ros, role, expected):
    assert spin_both(start(make_ros, role, timeout_sec=0.3), make_ros()) == expected


def test_its_parameters_cannot_change_while_it_runs(make_ros):
    ros = make_ros()
    node = ros.add(SmokeNode(context=ros.context))
    (result,) = node.set_parameters([Parameter('seed', value=1)])
    assert not result.successful
