"""Two arms side by side in one domain: each has its namespace, its prefix and its clock."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.arm_ros import ArmAndPlayback, line_plan
from std_srvs.srv import SetBool

from reward_learning_ros.arm.simulation_parameters import (
    CLOCK_TOPIC,
    clock_topic,
)
from reward_learning_ros.interface import PlaybackState
from reward_learning_ros.nodes import arm_names, names
from reward_learning_ros.nodes.session_monitor import SessionMonitorNode

# Of the same kind; the prefix of one tells it from others in its description.
PREFIXES = {'left': 'left_fr3', 'right': 'fr3'}


def namespaced(make_ros, namespace):
    """Return an arm and its playback in a namespace, as a session starts them there."""
    return ArmAndPlayback(
        make_ros,
        shared_arguments=(
            *('-r', f'__ns:=/{namespace}', '-r', f'{CLOCK_TOPIC}:={clock_topic(namespace)}'),
            *('-p', f'prefix:={PREFIXES[namespace]}'),
        ),
    )


@pytest.fixture
def arms(make_ros):
    return {namespace: namespaced(make_ros, namespace) for namespace in PREFIXES}


def start(pair, frame_id):
    pair.take_plan(line_plan(pair.arm.time_ns, frame_id=frame_id))
    pair.await_ready()
    answer = pair.call(names.PLAYBACK_START_SERVICE)
    assert answer.success, answer.message
    pair.advance_until(lambda: pair.playback.state is PlaybackState.PLAYING)


def test_what_one_arm_does_the_other_does_not(arms):
    left, right = arms['left'], arms['right']
    assert left.arm.kinematics.description.joint_names[0] == 'left_fr3_joint1'
    assert right.arm.kinematics.description.joint_names[0] == 'fr3_joint1'
    before = right.arm.set_point.copy()
    start(left, 'left_fr3_link0')
    left.advance_for(1.0)
    # The other one lives on meanwhile, and has heard of none of it.
    right.advance_for(0.5)
    assert right.playback.state is PlaybackState.IDLE
    assert right.playback.status().plan_stamp_ns == 0
    np.testing.assert_array_equal(right.arm.set_point[0], before[0])
    # A stop of one is no stop of the other.
    start(right, 'fr3_link0')
    left.call(arm_names.USER_STOP_SERVICE, SetBool, SetBool.Request(data=True))
    left.advance_until(lambda: left.playback.state is PlaybackState.FAULT)
    right.advance_for(0.5)
    assert right.playback.state is PlaybackState.PLAYING
    right.advance_until(lambda: right.playback.state is PlaybackState.FINISHED)


def test_each_arm_has_its_own_time(arms):
    left, right = arms['left'], arms['right']
    left_clock = left.playback_node.get_clock()
    # Both began at once, and each went on until it had met the others.
    ahead_ns = right.arm.time_ns + 5 * 10**9
    left.advance_until(lambda: left_clock.now().nanoseconds >= ahead_ns)
    right.ros.executor.spin_once(timeout_sec=0.1)
    assert right.playback_node.get_clock().now().nanoseconds <= right.arm.time_ns
    assert right.arm.time_ns < left_clock.now().nanoseconds
    # ROS's own clock stays free for others.
    assert left.operator.count_publishers(CLOCK_TOPIC) == 0


def test_a_session_is_in_the_way_of_those_in_its_namespace_only(arms, ros):
    monitors = {
        namespace: ros.add(SessionMonitorNode(namespace=namespace, context=ros.context))
        for namespace in ('left', 'middle')
    }
    ros.wait_until(lambda: clock_topic('left') in monitors['left'].others())
    assert monitors['middle'].others() == ()
